"""Other targets for the same goals, for one problem or a whole batch of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import as_floats, require_finite
from exactik.errors import GoalError, ShapeError, UnknownNameError
from exactik.goals._goal import Goal
from exactik.goals._packing import PackedGoals, choose_origin
from exactik.kernels.goals.targets import Targets, retarget
from exactik.kernels.goals.terms import LOG
from exactik.typing import Array


class NewTargets(NamedTuple):
    """Other targets for the goals of a problem.

    Attributes:
        values: name of each goal with a new one → the target as it was given.
        points: targets of all terms in world coordinates, (1, n, 3).
        packed: the same as the kernels take them: a batch of one problem.
    """

    values: dict[str, Array]
    points: Array
    packed: Targets


def check_new_targets(
    goals: Mapping[str, Goal],
    packed: PackedGoals,
    before: NewTargets | None,
    targets: Mapping[str, ArrayLike],
) -> NewTargets:
    """Return new targets for goals by name, checked; see `Problem.with_targets`.

    Args:
        goals: by name, with any targets.
        packed: the same goals.
        before: targets that took the place of those in `packed` already.
        targets: by name of the goal.
    """
    if len(_require_mapping(targets)) == 0:
        raise GoalError("no targets were given; name at least one goal")
    if before is None:
        values, points = {}, packed.targets[None].copy()
        rotations = packed.arrays.terms.rotation[None].copy()
    else:
        values, points = before.values.copy(), before.points.copy()
        rotations = before.packed.rotation.copy()
    for name, value in targets.items():
        # A copy, because the caller may go on to change theirs.
        own = np.array(as_floats(f"target of goal {name!r}", value))
        checked, terms = _check_targets(goals, name, own[None], single=True), packed.terms[name]
        goals[name].write_targets(checked, points[:, terms], rotations[:, terms])
        values[name] = own
    return NewTargets(
        values=values, points=points, packed=_relate_to_origin(packed, points.copy(), rotations)
    )


def retarget_goals(goals: Mapping[str, Goal], new: NewTargets) -> tuple[Goal, ...]:
    """Return the goals with new targets."""
    return tuple(
        goal.with_target(new.values[name]) if name in new.values else goal
        for name, goal in goals.items()
    )


def retarget_packed(packed: PackedGoals, goals: Sequence[Goal], new: NewTargets) -> PackedGoals:
    """Return the packed goals with new targets; `goals` have them already."""
    arrays, named = packed.copy_arrays(), dict(zip(packed.rows, goals, strict=True))
    retarget(arrays, new.packed, 0)
    custom = tuple(term._replace(goal=named[term.name]) for term in packed.custom)
    return replace(packed, arrays=arrays, custom=custom, targets=new.points[0])


def pack_batch_targets(
    goals: Sequence[Goal], packed: PackedGoals, targets: Mapping[str, ArrayLike]
) -> Targets:
    """Return the targets of B problems, from arrays (B, …) by name of the goal."""
    return _relate_to_origin(packed, *_write_targets(goals, packed, _require_mapping(targets)))


def _require_mapping(targets: Mapping[str, ArrayLike]) -> Mapping[str, ArrayLike]:
    if not isinstance(targets, Mapping):
        raise GoalError(f"targets is {type(targets).__name__}; expected a dict, goal name → target")
    return targets


def _relate_to_origin(packed: PackedGoals, points: Array, rotations: Array) -> Targets:
    """Return targets as the kernels take them: `points`, in place, relative to one among them."""
    origin = choose_origin(packed.origin_terms, points)
    points -= packed.is_place * origin[:, None]
    return Targets(origin, points, rotations)


def _write_targets(
    goals: Sequence[Goal],
    packed: PackedGoals,
    targets: Mapping[str, ArrayLike],
) -> tuple[Array, Array]:
    """Return targets (B, n, 3) and rotations (B, n, 3, 3) of all terms, in world coordinates."""
    named = dict(zip(packed.rows, goals, strict=True))
    B = None
    checked: dict[str, Array] = {}
    for name, value in targets.items():
        checked[name] = _check_targets(named, name, value)
        if B is not None and len(checked[name]) != B:
            raise ShapeError(f"targets of goal {name!r} are {len(checked[name])}; of others {B}")
        B = len(checked[name])
    if B is None:
        raise GoalError("no targets were given; name at least one goal")
    points = np.zeros((B, *packed.targets.shape))  # a turn has none
    for name, terms in packed.terms.items():
        if name not in checked:
            points[:, terms] = packed.targets[terms]
    rotation = packed.arrays.terms.rotation
    rotations = np.zeros((B, *rotation.shape))  # no memory is taken until it is written on
    if (packed.arrays.terms.kind == LOG).any():
        rotations[:] = rotation
    for name, value in checked.items():
        terms = packed.terms[name]
        named[name].write_targets(value, points[:, terms], rotations[:, terms])
    return points, rotations


def _check_targets(
    named: Mapping[str, Goal], name: str, value: ArrayLike, single: bool = False
) -> Array:
    """Return targets (B, …) of a goal, checked and normalised; `single` if the user gave one."""
    if name not in named:
        raise UnknownNameError("goal", name, tuple(named))
    goal, what = named[name], f"target of goal {name!r}"
    shape = goal.target_shape
    if shape is None:
        raise GoalError(f"goal {name!r} is a {type(goal).__name__}, which has no target to set")
    array = as_floats(what, value)
    if array.ndim != len(shape) + 1 or array.shape[1:] != shape:
        shown, expected = array.shape, f"({', '.join(map(str, ('B', *shape)))})"
        if single:
            shown, expected = shown[1:], str(shape)
        raise ShapeError(f"{what} has shape {shown}; expected {expected}")
    require_finite(what, array[0] if single else array)
    return goal.check_targets(what, array)
