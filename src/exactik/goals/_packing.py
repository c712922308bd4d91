"""From goals to the plain arrays of `kernels.work`, and each goal's rows of the residual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactik._arrays import frozen, shaped
from exactik.errors import GoalError
from exactik.goals._custom import FrameGoal
from exactik.goals._frame_goals import Term, TermGoal
from exactik.goals._goal import Goal
from exactik.goals._joint_goals import PostureGoal, SoftLimitGoal
from exactik.kernels import clouds as cloud
from exactik.kernels import terms as kinds
from exactik.kernels.clouds import Clouds
from exactik.kernels.coordinates import Coordinates
from exactik.kernels.terms import Terms
from exactik.kernels.work import Goals
from exactik.model import Skeleton

__all__ = ["CustomTerm", "PackedGoals", "checked_goal", "pack_goals"]

Array = NDArray[np.float64]


class CustomTerm(NamedTuple):
    """A goal written in Python, its frame, its rows and their weight."""

    goal: FrameGoal
    frame: int
    rows: slice
    weight: Array


@dataclass(frozen=True, eq=False)
class PackedGoals:
    """Goals ready for the kernels.

    Attributes:
        arrays: the built-in goals.
        custom: the goals written in Python.
        rows: name of each goal → its rows of the residual, in order.
        weight: W over all rows of the residual, (m, m).
        coupled: whether J must be formed: W was given whole, or couples rows of different terms.
        placeless: whether no goal names a place, so that `arrays.origin` may be chosen at will.
    """

    arrays: Goals
    custom: tuple[CustomTerm, ...]
    rows: dict[str, slice]
    weight: Array
    coupled: bool
    placeless: bool


def pack_goals(
    skeleton: Skeleton, goals: Sequence[Goal], free: Array, weight: Array | None = None
) -> PackedGoals:
    """Return the packed goals.

    Args:
        skeleton: the figure that they are on.
        goals: in the order of the rows of the residual.
        free: (nv,) 0 for a locked dof, else 1.
        weight: W over all rows, in place of the goals' own weights.
    """
    rows: dict[str, slice] = {}
    terms: list[tuple[Term, int]] = []
    custom: list[tuple[FrameGoal, slice]] = []
    postures: list[tuple[PostureGoal, slice]] = []
    limits: list[slice] = []
    end = 0
    for goal in goals:
        own = slice(end, end + checked_goal(goal).rows(skeleton))
        end = own.stop
        rows[_unused(goal.label, rows)] = own
        if isinstance(goal, TermGoal):
            terms += [(term, own.start + 3 * i) for i, term in enumerate(goal.terms(skeleton))]
        elif isinstance(goal, FrameGoal):
            custom.append((goal, own))
        elif isinstance(goal, PostureGoal):
            postures.append((goal, own))
        elif isinstance(goal, SoftLimitGoal):
            limits.append(own)
    full = np.zeros((end, end))
    for goal, own in zip(goals, rows.values(), strict=True):
        full[own, own] = goal.weight_matrix(skeleton) if weight is None else weight[own, own]
    if weight is not None:
        full = weight
    blocks = [slice(row, row + 3) for _, row in terms] + [own for _, own in custom]
    coupled = weight is not None or not _is_block_diagonal(full, blocks)
    reference = _reference([term for term, _ in terms])
    origin = np.zeros(3) if reference is None else reference
    packed = _pack_terms(skeleton, terms, full, origin, pool=not coupled)
    frames = np.unique(packed.frame[packed.pooled == 1])
    slot = np.zeros(len(skeleton.bones) + 1, np.uint32)
    slot[frames] = np.arange(len(frames))
    clouds = Clouds(
        frames, np.zeros((len(frames), 4, 7)), np.zeros(len(frames), np.uint32), np.zeros(1)
    )
    cloud.gather(packed, slot, clouds)
    arrays = Goals(
        origin=origin,
        free=free,
        terms=packed,
        apart=np.flatnonzero(packed.pooled == 0).astype(np.uint32),
        slot=slot,
        clouds=clouds,
        coordinates=_pack_coordinates(skeleton, postures, limits, full),
    )
    own_terms = tuple(
        CustomTerm(goal, skeleton.bone_index(goal.bone) + 1, own, full[own, own])
        for goal, own in custom
    )
    return PackedGoals(arrays, own_terms, rows, frozen(full), coupled, reference is None)


def checked_goal(goal: Goal) -> Goal:
    """Return the goal if it is of a kind that can be evaluated, else raise."""
    kinds_of_goal = (TermGoal, FrameGoal, PostureGoal, SoftLimitGoal)
    if not isinstance(goal, kinds_of_goal) or type(goal) in (TermGoal, FrameGoal):
        raise GoalError(
            f"{goal!r} is no goal that can be evaluated; subclass FrameGoal to write your own"
        )
    return goal


def _unused(name: str, taken: dict[str, slice]) -> str:
    """Return the name, numbered from the second time on."""
    unused, count = name, 1
    while unused in taken:
        count += 1
        unused = f"{name}#{count}"
    return unused


def _is_block_diagonal(matrix: Array, blocks: list[slice]) -> bool:
    """Tell whether all weight lies inside the blocks or on the diagonal."""
    rest = matrix - np.diag(np.diag(matrix))
    for block in blocks:
        rest[block, block] = 0.0
    return not rest.any()


def _reference(terms: list[Term]) -> Array | None:
    """Return a point near the figure: about a far origin the lever arms would lose their digits.

    Where markers should be is near; where eyes should look may be far, and is taken only if there
    is nothing else. None if no goal names a place.
    """
    for kind in (kinds.POSITION, kinds.AIM):
        places = [term.target for term in terms if term.kind == kind]
        if len(places) > 0:
            return np.mean(places, axis=0)
    return None


def _pack_terms(
    skeleton: Skeleton, terms: list[tuple[Term, int]], weight: Array, origin: Array, pool: bool
) -> Terms:
    count = len(terms)
    packed = Terms(
        kind=np.array([t.kind for t, _ in terms], np.uint32),
        frame=np.array([skeleton.bone_index(t.bone) + 1 for t, _ in terms], np.uint32),
        point=np.array([t.point for t, _ in terms]).reshape(count, 3),
        axis=np.array([t.axis for t, _ in terms]).reshape(count, 3),
        target=np.array(
            [
                t.target - origin if t.kind in (kinds.POSITION, kinds.AIM) else t.target
                for t, _ in terms
            ]
        ).reshape(count, 3),
        rotation=np.array([t.rotation for t, _ in terms]).reshape(count, 3, 3),
        weight=np.array([weight[i : i + 3, i : i + 3] for _, i in terms]).reshape(count, 3, 3),
        pooled=np.zeros(count, np.uint32),
        row=np.array([row for _, row in terms], np.uint32),
    )
    if pool:
        isotropic = (packed.weight == packed.weight[:, :1, :1] * np.eye(3)).all(axis=(1, 2))
        point_like = (packed.kind == kinds.POSITION) | (packed.kind == kinds.DIRECTION)
        packed.pooled[isotropic & point_like] = 1
    return packed


def _pack_coordinates(
    skeleton: Skeleton,
    postures: list[tuple[PostureGoal, slice]],
    limits: list[slice],
    weight: Array,
) -> Coordinates:
    diagonal = np.diag(weight)
    rest = [
        skeleton.normalised(shaped(f"q_rest of goal {goal.label!r}", goal.q_rest, skeleton.nq))
        for goal, _ in postures
    ]
    return Coordinates(
        rest=np.array(rest).reshape(len(postures), skeleton.nq),
        rest_weight=np.array([diagonal[own] for _, own in postures]).reshape(
            len(postures), skeleton.nv
        ),
        rest_row=np.array([own.start for _, own in postures], np.uint32),
        limit_weight=np.array([diagonal[own] for own in limits]).reshape(len(limits), skeleton.nv),
        limit_row=np.array([own.start for own in limits], np.uint32),
        lower=skeleton.lower,
        upper=skeleton.upper,
    )
