"""Goals that watch one bone: where a point of it is, how it is turned, where it looks.

Each goal is a list of three-row terms; the calculus of a term is in `kernels.goals.terms`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import require_shape
from exactik.errors import GoalError
from exactik.goals._goal import Goal
from exactik.kernels.goals import terms as kinds
from exactik.spatial import is_rotation, matrix_from_wxyz, nearest_rotation
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.model import Skeleton

__all__ = [
    "AimGoal",
    "DirectionGoal",
    "MarkerGoal",
    "OrientationGoal",
    "PoseGoal",
    "PositionGoal",
    "Term",
    "TermGoal",
]

_ZERO, _EYE = np.zeros(3), np.eye(3)


class Term(NamedTuple):
    """Three rows of residual on one bone; the kind says which fields matter (`kernels.goals`)."""

    kind: int
    bone: str
    point: Array = _ZERO
    axis: Array = _ZERO
    target: Array = _ZERO
    rotation: Array = _EYE


def _unit(what: str, value: ArrayLike) -> Array:
    vector = require_shape(what, value, 3)
    length = np.linalg.norm(vector)
    if length < 1e-12:
        raise GoalError(f"{what} is the zero vector; a direction is needed")
    return vector / length


def _rotation(what: str, value: ArrayLike) -> Array:
    matrix = require_shape(what, value, 3, 3)
    if not is_rotation(matrix):
        raise GoalError(f"{what} is not a rotation matrix (orthonormal, determinant +1)")
    return nearest_rotation(matrix)


@dataclass(frozen=True, eq=False)
class TermGoal(Goal):
    """A goal made of terms, each with three rows."""

    def terms(self, skeleton: Skeleton) -> list[Term]:
        """Return the terms in the order of the rows."""
        raise NotImplementedError

    def rows(self, skeleton: Skeleton) -> int:
        """Return three rows per term."""
        return 3 * len(self.terms(skeleton))


@dataclass(frozen=True, eq=False)
class PositionGoal(TermGoal):
    """A point of a bone should be at a place.

    Residual: target − (p + R point) [m], world axes, 3 rows.

    Attributes:
        bone: name of the bone.
        target: place in the world [m], shape (3,).
        point: tool point in the bone's frame [m], shape (3,).
    """

    bone: str
    target: ArrayLike
    point: ArrayLike = (0.0, 0.0, 0.0)

    def default_name(self) -> str:
        """Return the bone's name."""
        return self.bone

    def terms(self, skeleton: Skeleton) -> list[Term]:
        """Return one position term."""
        point = require_shape(f"point of goal {self.label!r}", self.point, 3)
        target = require_shape(f"target of goal {self.label!r}", self.target, 3)
        return [Term(kinds.POSITION, self.bone, point, target=target)]


@dataclass(frozen=True, eq=False)
class MarkerGoal(TermGoal):
    """A marker of the skeleton should be at a place.

    Attributes:
        marker: name of the marker.
        target: place in the world [m], shape (3,).
    """

    marker: str
    target: ArrayLike

    def default_name(self) -> str:
        """Return the marker's name."""
        return self.marker

    def terms(self, skeleton: Skeleton) -> list[Term]:
        """Return one position term at the marker's local point."""
        bone, point = skeleton.marker(self.marker)
        target = require_shape(f"target of goal {self.label!r}", self.target, 3)
        return [Term(kinds.POSITION, bone, np.asarray(point), target=target)]


@dataclass(frozen=True, eq=False)
class DirectionGoal(TermGoal):
    """An axis of a bone should point in a fixed world direction.

    Residual: target − R axis (both made unit vectors), 3 rows, no unit.

    Attributes:
        bone: name of the bone.
        axis: direction in the bone's frame, shape (3,).
        target: direction in the world, shape (3,).
    """

    bone: str
    axis: ArrayLike
    target: ArrayLike

    def default_name(self) -> str:
        """Return bone.direction."""
        return f"{self.bone}.direction"

    def terms(self, skeleton: Skeleton) -> list[Term]:
        """Return one direction term."""
        axis = _unit(f"axis of goal {self.label!r}", self.axis)
        target = _unit(f"target of goal {self.label!r}", self.target)
        return [Term(kinds.DIRECTION, self.bone, axis=axis, target=target)]


@dataclass(frozen=True, eq=False)
class AimGoal(TermGoal):
    """An axis of a bone, seen from a point of it, should point at a place (a gaze, a barrel).

    Residual: (target − e)/|target − e| − R axis with e = p + R point, 3 rows, no unit.

    Attributes:
        bone: name of the bone.
        axis: direction in the bone's frame, shape (3,).
        target: place to look at in the world [m], shape (3,).
        point: where the axis starts in the bone's frame [m], shape (3,).
    """

    bone: str
    axis: ArrayLike
    target: ArrayLike
    point: ArrayLike = (0.0, 0.0, 0.0)

    def default_name(self) -> str:
        """Return bone.aim."""
        return f"{self.bone}.aim"

    def terms(self, skeleton: Skeleton) -> list[Term]:
        """Return one aim term."""
        axis = _unit(f"axis of goal {self.label!r}", self.axis)
        point = require_shape(f"point of goal {self.label!r}", self.point, 3)
        target = require_shape(f"target of goal {self.label!r}", self.target, 3)
        return [Term(kinds.AIM, self.bone, point, axis, target)]


@dataclass(frozen=True, eq=False)
class OrientationGoal(TermGoal):
    """A bone should be turned in a given way.

    kind="log": residual log(R_target R_boneᵀ) [rad], a world vector, 3 rows; the cost is half the
    squared angle.
    kind="axes": residual is the difference of the three axes, 9 rows (x, y, z axis after each
    other); smooth everywhere, also half a turn away, where the log has a kink.

    Attributes:
        bone: name of the bone.
        target: rotation of the bone in the world, (3, 3); or give `wxyz` instead.
        kind: "log" or "axes".
        wxyz: the target as a quaternion, shape (4,).

    For kind="axes" the weight may also be three numbers, one per axis of the bone.
    """

    bone: str
    target: ArrayLike | None = None
    kind: str = "log"
    wxyz: ArrayLike | None = field(default=None, kw_only=True)

    def default_name(self) -> str:
        """Return bone.orientation."""
        return f"{self.bone}.orientation"

    @property
    def rotation(self) -> Array:
        """The target as a rotation matrix, (3, 3)."""
        if (self.target is None) == (self.wxyz is None):
            raise GoalError(
                f"goal {self.label!r} needs a target (3, 3) or wxyz (4,), one of the two"
            )
        if self.wxyz is not None:
            wxyz = require_shape(f"wxyz of goal {self.label!r}", self.wxyz, 4)
            if np.linalg.norm(wxyz) < 1e-12:
                raise GoalError(f"wxyz of goal {self.label!r} is the zero quaternion")
            return matrix_from_wxyz(wxyz)
        assert self.target is not None
        return _rotation(f"target of goal {self.label!r}", self.target)

    def terms(self, skeleton: Skeleton) -> list[Term]:
        """Return one log term or three direction terms."""
        rotation = self.rotation
        if self.kind == "log":
            return [Term(kinds.LOG, self.bone, rotation=rotation)]
        if self.kind == "axes":
            return [
                Term(kinds.DIRECTION, self.bone, axis=_EYE[a], target=rotation[:, a])
                for a in range(3)
            ]
        raise GoalError(f"kind of goal {self.label!r} is {self.kind!r}; it must be 'log' or 'axes'")

    def _spread(self, weight: Array, rows: int) -> Array:
        return np.repeat(weight, 3) if rows == 9 and weight.shape == (3,) else weight


@dataclass(frozen=True, eq=False)
class PoseGoal(TermGoal):
    """A bone should be at a place and turned in a given way: a position and a log orientation goal.

    Residual: position [m] (3 rows), then rotation vector [rad] (3 rows).

    Attributes:
        bone: name of the bone.
        target: rigid transform of the tool in the world, (4, 4): its rotation is the bone's, its
            origin the place of `point` [m].
        point: tool point in the bone's frame [m], shape (3,).

    The weight may also be two numbers, one for the position and one for the rotation.
    """

    bone: str
    target: ArrayLike
    point: ArrayLike = (0.0, 0.0, 0.0)

    def default_name(self) -> str:
        """Return the bone's name."""
        return self.bone

    def terms(self, skeleton: Skeleton) -> list[Term]:
        """Return one position and one log term."""
        what = f"target of goal {self.label!r}"
        transform = require_shape(what, self.target, 4, 4)
        if not np.allclose(transform[3], (0, 0, 0, 1), atol=1e-9):
            raise GoalError(f"{what} is not a rigid transform: its last row must be (0, 0, 0, 1)")
        rotation = _rotation(f"rotation of {what}", transform[:3, :3])
        point = require_shape(f"point of goal {self.label!r}", self.point, 3)
        return [
            Term(kinds.POSITION, self.bone, point, target=transform[:3, 3]),
            Term(kinds.LOG, self.bone, rotation=rotation),
        ]

    def _spread(self, weight: Array, rows: int) -> Array:
        return np.repeat(weight, 3) if weight.shape == (2,) else weight
