"""Other targets for the same goals, for one problem or a whole batch of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import as_floats, require_finite
from exactik.errors import GoalError, ShapeError, UnknownNameError
from exactik.goals._goal import Goal
from exactik.goals._packing import PackedGoals, choose_origin
from exactik.kernels.goals.targets import Targets, retarget
from exactik.kernels.goals.terms import AIM, POSITION
from exactik.typing import Array

__all__ = ["pack_batch_targets", "retarget_goals"]


def retarget_goals(
    goals: Sequence[Goal], packed: PackedGoals, targets: Mapping[str, ArrayLike]
) -> tuple[tuple[Goal, ...], PackedGoals]:
    """Return goals and packed goals with new targets; see `Problem.with_targets`."""
    batch_of_one = {
        name: require_finite(what, as_floats(what, value))[None]
        for name, value in _require_mapping(targets).items()
        for what in (f"target of goal {name!r}",)
    }
    points, rotations = _write_targets(goals, packed, batch_of_one, single=True)
    arrays = packed.copy_arrays()
    retarget(arrays, _relate_to_origin(packed, points, rotations), 0)
    named = dict(zip(packed.rows, goals, strict=True))
    for name, value in batch_of_one.items():
        named[name] = named[name].with_target(value[0])
    custom = tuple(term._replace(goal=named[term.name]) for term in packed.custom)
    packed = replace(packed, arrays=arrays, custom=custom, targets=points[0])
    return tuple(named.values()), packed


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
    """Return targets as the kernels take them: places relative to one among them."""
    kind = packed.arrays.terms.kind
    is_place = (kind == POSITION) | (kind == AIM)
    origin = choose_origin(kind, points)
    return Targets(origin, points - is_place[:, None] * origin[:, None], rotations)


def _write_targets(
    goals: Sequence[Goal],
    packed: PackedGoals,
    targets: Mapping[str, ArrayLike],
    single: bool = False,
) -> tuple[Array, Array]:
    """Return targets (B, n, 3) and rotations (B, n, 3, 3) of all terms, in world coordinates."""
    named = dict(zip(packed.rows, goals, strict=True))
    B = None
    checked: dict[str, Array] = {}
    for name, value in targets.items():
        checked[name] = _check_targets(named, name, value, single)
        if B is not None and len(checked[name]) != B:
            raise ShapeError(f"targets of goal {name!r} are {len(checked[name])}; of others {B}")
        B = len(checked[name])
    if B is None:
        raise GoalError("no targets were given; name at least one goal")
    points = np.repeat(packed.targets[None], B, axis=0)
    rotations = np.repeat(packed.arrays.terms.rotation[None], B, axis=0)
    for name, value in checked.items():
        terms = packed.terms[name]
        named[name].write_targets(value, points[:, terms], rotations[:, terms])
    return points, rotations


def _check_targets(named: Mapping[str, Goal], name: str, value: ArrayLike, single: bool) -> Array:
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
    return goal.check_targets(what, require_finite(what, array))
