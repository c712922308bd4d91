"""Goals on where an axis of a bone points: in a direction, or at a place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import require_shape
from exactik.goals._geometry import refuse_any, require_direction
from exactik.goals._goal import Term
from exactik.goals._relative import RelativeGoal
from exactik.kernels.goals.terms import AIM, DIRECTION
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.model import Skeleton


@dataclass(frozen=True, eq=False)
class DirectionGoal(RelativeGoal):
    """An axis of a bone should point in a fixed direction.

    Residual: target − R axis (both made unit vectors), 3 rows, no unit.

    Attributes:
        bone: name of the bone.
        axis: direction in the bone's frame, shape (3,).
        target: direction, shape (3,).
        relative_to: bone in whose axes the target and the rows are; None for the world.
    """

    axis: ArrayLike
    target: ArrayLike

    def default_name(self) -> str:
        """Return bone.direction."""
        return f"{super().default_name()}.direction"

    def terms(self, skeleton: Skeleton) -> list[Term]:
        """Return one direction term."""
        axis = require_direction(f"axis of goal {self.label!r}", self.axis)
        target = require_direction(f"target of goal {self.label!r}", self.target)
        return self.relate([Term(DIRECTION, self.bone, axis=axis, target=target)])

    def check_targets(self, what: str, targets: Array) -> Array:
        """Return the unit vectors along the targets, (B, 3)."""
        length = np.linalg.norm(targets, axis=1, keepdims=True)
        refuse_any(length[:, 0] < 1e-12, what, "the zero vector; a direction is needed")
        return targets / length

    def join_target_derivatives(self, derivatives: list[Array]) -> Array:
        """Return the derivatives by the vector given, of which only the direction counts."""
        target = np.asarray(self.target, float)
        unit = target / np.linalg.norm(target)
        return derivatives[0] @ (np.eye(3) - np.outer(unit, unit)) / np.linalg.norm(target)

    def gather_target_gradients(self, targets: Array, by_term: Array) -> Array:
        """Return the gradients by the vectors given, of which only the direction counts."""
        length = np.linalg.norm(targets, axis=1, keepdims=True)
        along = np.sum(targets * by_term[:, 0], axis=1, keepdims=True) / length**2
        return (by_term[:, 0] - along * targets) / length


@dataclass(frozen=True, eq=False)
class AimGoal(RelativeGoal):
    """An axis of a bone, seen from a point of it, should point at a place (a gaze, a barrel).

    Residual: (target − e)/|target − e| − R axis with e = p + R point, 3 rows, no unit.

    Attributes:
        bone: name of the bone.
        axis: direction in the bone's frame, shape (3,).
        target: place to look at [m], shape (3,).
        point: where the axis starts in the bone's frame [m], shape (3,).
        relative_to: bone in whose frame the target is, and in whose axes the rows are; None for
            the world.
    """

    axis: ArrayLike
    target: ArrayLike
    point: ArrayLike = (0.0, 0.0, 0.0)

    def default_name(self) -> str:
        """Return bone.aim."""
        return f"{super().default_name()}.aim"

    def terms(self, skeleton: Skeleton) -> list[Term]:
        """Return one aim term."""
        axis = require_direction(f"axis of goal {self.label!r}", self.axis)
        point = require_shape(f"point of goal {self.label!r}", self.point, 3)
        target = require_shape(f"target of goal {self.label!r}", self.target, 3)
        return self.relate([Term(AIM, self.bone, point, axis, target)])
