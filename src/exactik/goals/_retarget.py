"""Other targets for the same goals, for one problem or a whole batch of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import as_floats, require_finite
from exactik.errors import GoalError, ShapeError, UnknownNameError
from exactik.goals._frame_goals import (
    AimGoal,
    DirectionGoal,
    MarkerGoal,
    OrientationGoal,
    PoseGoal,
    PositionGoal,
    TermGoal,
)
from exactik.goals._goal import Goal
from exactik.goals._packing import PackedGoals, choose_origin
from exactik.kernels.goals.targets import Targets, retarget
from exactik.kernels.goals.terms import AIM, POSITION
from exactik.spatial import is_rotation, nearest_rotation
from exactik.typing import Array, BoolArray

__all__ = ["pack_batch_targets", "retarget_goals"]


SHAPES: dict[type[TermGoal], tuple[int, ...]] = {
    **dict.fromkeys((PositionGoal, MarkerGoal, DirectionGoal, AimGoal), (3,)),
    OrientationGoal: (3, 3),
    PoseGoal: (4, 4),
}


def retarget_goals(
    goals: Sequence[Goal], packed: PackedGoals, targets: Mapping[str, ArrayLike]
) -> tuple[tuple[Goal, ...], PackedGoals]:
    """Return goals and packed goals with new targets; see `Problem.with_targets`."""
    one = {
        name: require_finite(what, as_floats(what, value))[None]
        for name, value in _mapping(targets).items()
        for what in (f"target of goal {name!r}",)
    }
    absolute, rotation = _placed(goals, packed, one, True)
    arrays = packed.copy_arrays()
    retarget(arrays, _relative(packed, absolute, rotation), 0)
    named = dict(zip(packed.rows, goals, strict=True))
    for name, value in one.items():
        aside = {"wxyz": None} if isinstance(named[name], OrientationGoal) else {}
        named[name] = replace(named[name], target=value[0], **aside)
    return tuple(named.values()), replace(packed, arrays=arrays, targets=absolute[0])


def pack_batch_targets(
    goals: Sequence[Goal], packed: PackedGoals, targets: Mapping[str, ArrayLike]
) -> Targets:
    """Return the targets of B problems, from arrays (B, …) by name of the goal."""
    return _relative(packed, *_placed(goals, packed, _mapping(targets)))


def _mapping(targets: Mapping[str, ArrayLike]) -> Mapping[str, ArrayLike]:
    if not isinstance(targets, Mapping):
        raise GoalError(f"targets is {type(targets).__name__}; expected a dict, goal name → target")
    return targets


def _relative(packed: PackedGoals, target: Array, rotation: Array) -> Targets:
    """Return targets as the kernels take them: places relative to one among them."""
    kind = packed.arrays.terms.kind
    place = (kind == POSITION) | (kind == AIM)
    origin = choose_origin(kind, target)
    return Targets(origin, target - place[:, None] * origin[:, None], rotation)


def _placed(
    goals: Sequence[Goal],
    packed: PackedGoals,
    targets: Mapping[str, ArrayLike],
    one: bool = False,
) -> tuple[Array, Array]:
    """Return targets (B, n, 3) and rotations (B, n, 3, 3) of all terms, in world coordinates."""
    named = dict(zip(packed.rows, goals, strict=True))
    terms, B = packed.arrays.terms, None
    values: dict[str, Array] = {}
    for name, value in targets.items():
        values[name] = value = _checked(named, name, value, one)
        if B is not None and len(value) != B:
            raise ShapeError(f"targets of goal {name!r} are {len(value)}; of others {B}")
        B = len(value)
    if B is None:
        raise GoalError("no targets were given; name at least one goal")
    target = np.repeat(packed.targets[None], B, axis=0)
    rotation = np.repeat(terms.rotation[None], B, axis=0)
    for name, value in values.items():
        goal = named[name]
        first = int(np.searchsorted(terms.row, packed.rows[name].start))
        if isinstance(goal, PoseGoal):
            target[:, first], rotation[:, first + 1] = value[:, :3, 3], value[:, :3, :3]
        elif isinstance(goal, OrientationGoal):
            if goal.kind == "log":
                rotation[:, first] = value
            else:
                target[:, first : first + 3] = np.swapaxes(value, 1, 2)
        else:
            target[:, first] = value
    return target, rotation


def _checked(named: Mapping[str, Goal], name: str, value: ArrayLike, one: bool) -> Array:
    """Return targets (B, …) of a goal, sound and normalised; `one` if the user gave one alone."""
    if name not in named:
        raise UnknownNameError("goal", name, tuple(named))
    goal = named[name]
    shape = next((shape for kind, shape in SHAPES.items() if isinstance(goal, kind)), None)
    if shape is None:
        raise GoalError(f"goal {name!r} is a {type(goal).__name__}, which has no target to set")
    what = f"target of goal {name!r}"
    array = as_floats(what, value)
    if array.ndim != len(shape) + 1 or array.shape[1:] != shape:
        shown, expected = array.shape, f"(B, {', '.join(map(str, shape))})"
        if one:
            shown, expected = shown[1:], str(shape)
        raise ShapeError(f"{what} has shape {shown}; expected {expected}")
    array = require_finite(what, array)
    if isinstance(goal, DirectionGoal):
        length = np.linalg.norm(array, axis=1, keepdims=True)
        _refuse_any(length[:, 0] < 1e-12, what, "the zero vector; a direction is needed")
        return array / length
    if isinstance(goal, PoseGoal):
        crooked = np.abs(array[:, 3] - (0, 0, 0, 1)).max(axis=1, initial=0.0) > 1e-9
        _refuse_any(crooked, what, "not a rigid transform: its last row must be (0, 0, 0, 1)")
    if isinstance(goal, PoseGoal | OrientationGoal):
        if not is_rotation(array[:, :3, :3]):
            crooked = np.array([not is_rotation(block) for block in array[:, :3, :3]])
            _refuse_any(crooked, what, "not a rotation matrix (orthonormal, determinant +1)")
        array = array.copy()
        array[:, :3, :3] = nearest_rotation(array[:, :3, :3])
    return array


def _refuse_any(wrong: BoolArray, what: str, fault: str) -> None:
    """Raise, naming the first problem of a batch whose target is wrong."""
    if wrong.any():
        where = f" (problem {int(np.argmax(wrong))} of the batch)" if len(wrong) > 1 else ""
        raise GoalError(f"{what}{where} is {fault}")
