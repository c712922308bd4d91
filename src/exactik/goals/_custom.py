"""Goals that users write: a residual of one bone's frame, with or without its derivatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exactik._arrays import contiguous_copy
from exactik.errors import GoalError, ShapeError
from exactik.goals._goal import Goal, refuse_goal
from exactik.kernels.goals.sums import EXACT, VALUE
from exactik.spatial import exp_rotation
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.model import Skeleton


@dataclass(frozen=True, eq=False)
class FrameGoal(Goal):
    """Base of a goal of your own: subclass it, give it `residual`, and use it like any other goal.

        class OnSphere(FrameGoal):
            def residual(self, rotation, position):
                return np.array([0.5 - np.linalg.norm(position)])

        goal = OnSphere("hand", weight=2.0)

    Fields of its own make it `@dataclass(frozen=True, eq=False)`, as the built-in goals are.

    Override `derivatives` too where you know them: exact, and faster. Without them
    the goal takes fourth-order central differences of the residual, good to about
    1e-10 in the first and 1e-7 in the second derivatives for a residual that varies on the scale of
    1 m and 1 rad.

    Attributes:
        bone: name of the bone whose frame the goal watches.
    """

    bone: str

    def residual(self, rotation: Array, position: Array) -> Array:
        """Return r = target − model, shape (m,).

        Args:
            rotation: R_world_bone, (3, 3).
            position: origin of the bone in the world [m], (3,).
        """
        refuse_goal(self)

    def derivatives(self, rotation: Array, position: Array) -> tuple[Array, Array]:
        """Return first and second derivatives of the residual, (m, 6) and (m, 6, 6).

        With respect to (ω, δ): the bone turned to exp([ω]) R about its own origin, the origin
        shifted to p + δ, both in world axes, at ω = δ = 0 (docs/maths.md §5).
        """
        return (
            differentiate_once(self.residual, rotation, position),
            differentiate_twice(self.residual, rotation, position),
        )

    def default_name(self) -> str:
        """Return bone and class."""
        return f"{self.bone}.{type(self).__name__}"

    @property
    def evaluated_bone(self) -> str:
        """Name of the bone."""
        return self.bone

    def rows(self, skeleton: Skeleton) -> int:
        """Return the length of the residual, found by evaluating it once at the rest pose."""
        pose, bone = skeleton.forward(skeleton.neutral()), skeleton.bone_index(self.bone)
        residual = np.asarray(self.residual(pose.rotations[bone], pose.positions[bone]))
        if residual.ndim != 1:
            raise ShapeError(
                f"residual of goal {self.label!r} has shape {residual.shape}; expected (m,)"
            )
        return len(residual)

    def evaluate(
        self, rotation: Array, position: Array, rows: int, order: int
    ) -> tuple[Array, Array, Array]:
        """Return residual, first and second derivatives, checked; zero where `order` needs none."""
        residual = np.asarray(self.residual(rotation, position), dtype=float)
        first, second = np.zeros((rows, 6)), np.zeros((rows, 6, 6))
        if order > VALUE:
            if order < EXACT and type(self).derivatives is FrameGoal.derivatives:
                first = differentiate_once(self.residual, rotation, position)
            else:
                first, second = self._compute_derivatives(rotation, position)
        for name, array, shape in (
            ("residual", residual, (rows,)),
            ("first derivative", first, (rows, 6)),
            ("second derivative", second, (rows, 6, 6)),
        ):
            if array.shape != shape:
                raise ShapeError(
                    f"{name} of goal {self.label!r} has shape {array.shape}; expected {shape}"
                )
            if not np.isfinite(array).all():
                raise GoalError(f"{name} of goal {self.label!r} is not finite at this pose")
        asymmetry = np.abs(second - np.swapaxes(second, 1, 2)).max(initial=0.0)
        if asymmetry > 1e-9 * np.abs(second).max(initial=0.0):
            raise GoalError(f"second derivative of goal {self.label!r} is not symmetric")
        return residual, first, second

    def _compute_derivatives(self, rotation: Array, position: Array) -> tuple[Array, Array]:
        pair = self.derivatives(rotation, position)
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise GoalError(
                f"derivatives of goal {self.label!r} are no pair; expected (first, second), "
                "(m, 6) and (m, 6, 6)"
            )
        return contiguous_copy(pair[0]), contiguous_copy(pair[1])


def _displace(
    residual: Callable[[Array, Array], Array], rotation: Array, position: Array
) -> Callable[[Array], Array]:
    """Return the residual as a function of (ω, δ), (6,)."""

    def evaluate(x: Array) -> Array:
        return np.asarray(residual(exp_rotation(x[:3]) @ rotation, position + x[3:]), dtype=float)

    return evaluate


def differentiate_once(
    residual: Callable[[Array, Array], Array],
    rotation: Array,
    position: Array,
    step: float = 2e-3,
) -> Array:
    """Return ∂r/∂(ω, δ), (m, 6), by fourth-order central differences.

    They err by about step⁴/30 and rounding/step; the step balances the two.
    """
    r, h = _displace(residual, rotation, position), step
    columns = [
        (8.0 * (r(h * e) - r(-h * e)) - (r(2 * h * e) - r(-2 * h * e))) / (12.0 * h)
        for e in np.eye(6)
    ]
    return np.stack(columns, axis=-1)


def differentiate_twice(
    residual: Callable[[Array, Array], Array],
    rotation: Array,
    position: Array,
    step: float = 6e-3,
) -> Array:
    """Return ∂²r/∂(ω, δ)², (m, 6, 6), by fourth-order central differences.

    They err by about step⁴/90 and rounding/step²; mixed ones by polarisation.
    """
    r, h = _displace(residual, rotation, position), step
    r0 = r(np.zeros(6))

    def curvature(direction: Array) -> Array:
        near = r(h * direction) + r(-h * direction) - 2.0 * r0
        far = r(2 * h * direction) + r(-2 * h * direction) - 2.0 * r0
        return (16.0 * near - far) / (12.0 * h * h)

    e = np.eye(6)
    second = np.empty((len(r0), 6, 6))
    for i in range(6):
        second[:, i, i] = curvature(e[i])
        for j in range(i):
            mixed = 0.25 * (curvature(e[i] + e[j]) - curvature(e[i] - e[j]))
            second[:, i, j] = second[:, j, i] = mixed
    return second
