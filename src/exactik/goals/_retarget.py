"""Other targets for the same goals, for one problem or a whole batch of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exactik._arrays import finite, frozen, numbers
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
from exactik.goals._packing import PackedGoals, reference
from exactik.kernels.targets import Targets, retarget
from exactik.kernels.terms import AIM, POSITION
from exactik.model import Skeleton
from exactik.spatial import is_rotation, nearest_rotation

__all__ = ["batch_targets", "retargeted"]

Array = NDArray[np.float64]

SHAPES: dict[type[TermGoal], tuple[int, ...]] = {
    **dict.fromkeys((PositionGoal, MarkerGoal, DirectionGoal, AimGoal), (3,)),
    OrientationGoal: (3, 3),
    PoseGoal: (4, 4),
}


def retargeted(
    skeleton: Skeleton, goals: Sequence[Goal], packed: PackedGoals, targets: Mapping[str, ArrayLike]
) -> tuple[tuple[Goal, ...], PackedGoals]:
    """Return goals and packed goals with new targets; see `Problem.with_targets`."""
    one = {
        name: numbers(f"target of goal {name!r}", value)[None] for name, value in targets.items()
    }
    new = batch_targets(skeleton, goals, packed, one)
    arrays = packed.own_arrays()
    retarget(arrays, new, 0)
    named = dict(zip(packed.rows, goals, strict=True))
    for name, value in one.items():
        target = frozen(value[0].copy())
        aside = {"wxyz": None} if isinstance(named[name], OrientationGoal) else {}
        named[name] = replace(named[name], target=target, **aside)
    return tuple(named.values()), replace(packed, arrays=arrays)


def batch_targets(
    skeleton: Skeleton, goals: Sequence[Goal], packed: PackedGoals, targets: Mapping[str, ArrayLike]
) -> Targets:
    """Return the targets of B problems, from arrays (B, …) by name of the goal."""
    named = dict(zip(packed.rows, goals, strict=True))
    terms, B = packed.arrays.terms, None
    place = (terms.kind == POSITION) | (terms.kind == AIM)
    values: dict[str, Array] = {}
    for name, value in targets.items():
        values[name] = value = _checked(named, name, value)
        if B is not None and len(value) != B:
            raise ShapeError(f"targets of goal {name!r} are {len(value)}; of others {B}")
        B = len(value)
    if B is None:
        raise GoalError("no targets were given; name at least one goal")
    old = terms.target + place[:, None] * packed.arrays.origin
    target = np.repeat(old[None], B, axis=0)
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
    origin = reference(terms.kind, target)
    target -= place[:, None] * origin[:, None]
    return Targets(origin, target, rotation)


def _checked(named: Mapping[str, Goal], name: str, value: ArrayLike) -> Array:
    """Return targets (B, …) of a goal, sound and normalised."""
    if name not in named:
        raise UnknownNameError("goal", name, tuple(named))
    goal = named[name]
    shape = next((shape for kind, shape in SHAPES.items() if isinstance(goal, kind)), None)
    if shape is None:
        raise GoalError(f"goal {name!r} is a {type(goal).__name__}, which has no target to set")
    what = f"target of goal {name!r}"
    array = finite(what, numbers(what, value))
    if array.ndim != len(shape) + 1 or array.shape[1:] != shape:
        inner = ", ".join(map(str, shape))
        raise ShapeError(f"{what} has shape {array.shape[1:]}; expected ({inner}) for each problem")
    if isinstance(goal, DirectionGoal):
        length = np.linalg.norm(array, axis=1, keepdims=True)
        if (length < 1e-12).any():
            raise GoalError(f"{what} is the zero vector; a direction is needed")
        return array / length
    if isinstance(goal, PoseGoal) and np.abs(array[:, 3] - (0, 0, 0, 1)).max(initial=0.0) > 1e-9:
        raise GoalError(f"{what} is not a rigid transform: its last row must be (0, 0, 0, 1)")
    if isinstance(goal, PoseGoal | OrientationGoal):
        if not is_rotation(array[:, :3, :3]):
            raise GoalError(
                f"rotation of {what} is not a rotation matrix (orthonormal, determinant +1)"
            )
        array = array.copy()
        array[:, :3, :3] = nearest_rotation(array[:, :3, :3])
    return array
