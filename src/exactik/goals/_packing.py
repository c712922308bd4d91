"""Pack goals into the plain arrays of the kernels; find each goal's rows of the residual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactik._arrays import freeze, require_shape
from exactik.errors import GoalError
from exactik.goals._custom import FrameGoal
from exactik.goals._frame_goals import Term, TermGoal
from exactik.goals._goal import Goal
from exactik.goals._joint_goals import PostureGoal, SoftLimitGoal
from exactik.kernels.calculus.workspace import Goals
from exactik.kernels.goals import clouds as cloud
from exactik.kernels.goals import terms as kinds
from exactik.kernels.goals.clouds import Clouds
from exactik.kernels.goals.coordinates import CoordinateGoals
from exactik.kernels.goals.terms import Terms
from exactik.model import Skeleton
from exactik.typing import Array

__all__ = ["CustomTerm", "PackedGoals", "choose_origin", "pack_goals", "require_evaluable"]


class CustomTerm(NamedTuple):
    """A goal written in Python, its frame, its rows and their weight."""

    goal: FrameGoal
    frame: int
    rows: slice
    weight: Array


class Owner(NamedTuple):
    """A goal, its rows of the residual, their weight (m, m), and the terms that it is made of."""

    goal: Goal
    rows: slice
    weight: Array
    terms: list[Term]

    @property
    def couples(self) -> bool:
        """Whether the weight couples what the kernels treat apart: terms, or dofs."""
        size = 3 if isinstance(self.goal, TermGoal) else 1
        if isinstance(self.goal, FrameGoal) or len(self.weight) == size:
            return False
        rest = self.weight.copy()
        for i in range(0, len(rest), size):
            rest[i : i + size, i : i + size] = 0.0
        return bool(rest.any())


@dataclass(frozen=True, eq=False)
class PackedGoals:
    """Goals ready for the kernels.

    Attributes:
        arrays: the built-in goals.
        custom: the goals written in Python.
        rows: name of each goal → its rows of the residual, in order.
        weights: the weight of each goal, or the one of all rows.
        coupled: whether J must be formed: W was given whole, or couples rows of different terms.
        targets: of the terms, (n, 3), in world coordinates to the last digit.
    """

    arrays: Goals
    custom: tuple[CustomTerm, ...]
    rows: dict[str, slice]
    weights: tuple[Array, ...]
    coupled: bool
    targets: Array

    @property
    def size(self) -> int:
        """Number of rows of the residual."""
        return sum(len(weight) for weight in self.weights)

    def copy_arrays(self) -> Goals:
        """Return the arrays with copies of all that depends on the targets, to be written on."""
        old = self.arrays
        terms = old.terms._replace(
            target=old.terms.target.copy(), rotation=old.terms.rotation.copy()
        )
        rows, used, floor = old.clouds.rows, old.clouds.rows_used, old.clouds.floor
        clouds = Clouds(old.clouds.frame, rows.copy(), used.copy(), floor.copy())
        return old._replace(origin=old.origin.copy(), terms=terms, clouds=clouds)

    @cached_property
    def weight(self) -> Array:
        """W over all rows of the residual, (m, m)."""
        if len(self.weights) == 1:
            return self.weights[0]
        full, end = np.zeros((self.size, self.size)), 0
        for weight in self.weights:
            own = slice(end, end + len(weight))
            full[own, own], end = weight, own.stop
        return freeze(full)


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
    owners: list[Owner] = []
    rows: dict[str, slice] = {}
    for goal in goals:
        require_evaluable(goal)
        terms = goal.terms(skeleton) if isinstance(goal, TermGoal) else []
        count = 3 * len(terms) if isinstance(goal, TermGoal) else goal.rows(skeleton)
        start = owners[-1].rows.stop if len(owners) > 0 else 0
        own = slice(start, start + count)
        rows[_unused(goal.label, rows)] = own
        W = goal.weight_matrix(count) if weight is None else weight[own, own]
        owners.append(Owner(goal, own, W, terms))
    coupled = weight is not None or any(owner.couples for owner in owners)
    terms = [term for owner in owners for term in owner.terms]
    kind = np.array([term.kind for term in terms], np.uint32)
    targets = np.array([term.target for term in terms]).reshape(-1, 3)
    origin = choose_origin(kind, targets)
    packed = _pack_terms(skeleton, owners, origin, pool=not coupled)
    slot, clouds = _pool(skeleton, packed)
    arrays = Goals(
        origin=origin,
        free=free,
        terms=packed,
        single_terms=np.flatnonzero(packed.in_cloud == 0).astype(np.uint32),
        cloud_of_frame=slot,
        clouds=clouds,
        coordinates=_pack_coordinates(skeleton, owners),
    )
    custom = tuple(
        CustomTerm(owner.goal, skeleton.bone_index(owner.goal.bone) + 1, owner.rows, owner.weight)
        for owner in owners
        if isinstance(owner.goal, FrameGoal)
    )
    weights = tuple(owner.weight for owner in owners) if weight is None else (weight,)
    return PackedGoals(arrays, custom, rows, weights, coupled, targets)


def require_evaluable(goal: Goal) -> Goal:
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


def choose_origin(kind: NDArray[np.uint32], target: Array) -> Array:
    """Return what targets (…, n, 3) are stored relative to: a place among them, to keep digits.

    The median, because one marker that is far off should not cost the others theirs.
    """
    for code in (kinds.POSITION, kinds.AIM):
        places = target[..., kind == code, :]
        if places.shape[-2] == 1:
            return places[..., 0, :].copy()
        if places.shape[-2] > 1:
            return np.median(places, axis=-2)
    return np.zeros((*target.shape[:-2], 3))


def _pack_terms(skeleton: Skeleton, owners: list[Owner], origin: Array, pool: bool) -> Terms:
    terms = [term for owner in owners for term in owner.terms]
    rows = [owner.rows.start + 3 * i for owner in owners for i in range(len(owner.terms))]
    weights = [
        owner.weight[3 * i : 3 * i + 3, 3 * i : 3 * i + 3]
        for owner in owners
        for i in range(len(owner.terms))
    ]
    count = len(terms)
    kind = np.array([t.kind for t in terms], np.uint32)
    place = (kind == kinds.POSITION) | (kind == kinds.AIM)
    packed = Terms(
        kind=kind,
        frame=np.array([skeleton.bone_index(t.bone) + 1 for t in terms], np.uint32),
        point=np.array([t.point for t in terms]).reshape(count, 3),
        axis=np.array([t.axis for t in terms]).reshape(count, 3),
        target=np.array([t.target for t in terms]).reshape(count, 3) - place[:, None] * origin,
        rotation=np.array([t.rotation for t in terms]).reshape(count, 3, 3),
        weight=np.array(weights).reshape(count, 3, 3),
        in_cloud=np.zeros(count, np.uint32),
        row=np.array(rows, np.uint32),
    )
    if pool:
        isotropic = (packed.weight == packed.weight[:, :1, :1] * np.eye(3)).all(axis=(1, 2))
        point_like = (kind == kinds.POSITION) | (kind == kinds.DIRECTION)
        packed.in_cloud[isotropic & point_like] = 1
    return packed


def _pool(skeleton: Skeleton, terms: Terms) -> tuple[NDArray[np.uint32], Clouds]:
    """Return the cloud of each frame, (n_frames,), and the clouds of the pooled terms."""
    frames = np.unique(terms.frame[terms.in_cloud == 1])
    slot = np.zeros(len(skeleton.bones) + 1, np.uint32)
    slot[frames] = np.arange(len(frames))
    count = len(frames)
    clouds = Clouds(frames, np.zeros((count, 4, 7)), np.zeros(count, np.uint32), np.zeros(1))
    cloud.reduce_to_clouds(terms, slot, clouds)
    return slot, clouds


def _pack_coordinates(skeleton: Skeleton, owners: list[Owner]) -> CoordinateGoals:
    postures = [owner for owner in owners if isinstance(owner.goal, PostureGoal)]
    limits = [owner for owner in owners if isinstance(owner.goal, SoftLimitGoal)]
    rest = [
        skeleton.normalised(
            require_shape(f"q_rest of goal {goal.label!r}", goal.q_rest, skeleton.nq)
        )
        for goal in (owner.goal for owner in postures)
        if isinstance(goal, PostureGoal)
    ]

    def diagonals(owners: list[Owner]) -> Array:
        return np.array([np.diag(o.weight) for o in owners]).reshape(len(owners), skeleton.nv)

    return CoordinateGoals(
        rest=np.array(rest).reshape(len(postures), skeleton.nq),
        rest_weight=diagonals(postures),
        rest_row=np.array([owner.rows.start for owner in postures], np.uint32),
        limit_weight=diagonals(limits),
        limit_row=np.array([owner.rows.start for owner in limits], np.uint32),
        lower=skeleton.lower,
        upper=skeleton.upper,
    )
