"""Goals that users write: a residual of one bone's frame, with or without its derivatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exactik.errors import GoalError, ShapeError
from exactik.goals._goal import Goal
from exactik.spatial import exp_rotation

__all__ = ["FrameGoal"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FrameGoal(Goal):
    """Base of a goal of your own: subclass it, give it `residual`, and use it like any other goal.

        class OnSphere(FrameGoal):
            def residual(self, rotation, position):
                return np.array([0.5 - np.linalg.norm(position)])

        goal = OnSphere("hand", weight=2.0)

    Override `derivatives` too where you know them: exact, and faster. Without them
    `numerical_derivatives` takes fourth-order central differences of the residual, good to about
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
        raise NotImplementedError

    def derivatives(self, rotation: Array, position: Array) -> tuple[Array, Array]:
        """Return first and second derivatives of the residual, (m, 6) and (m, 6, 6).

        With respect to (ω, δ): the bone turned to exp([ω]) R about its own origin, the origin
        shifted to p + δ, both in world axes, at ω = δ = 0 (docs/maths.md §5).
        """
        return numerical_derivatives(self.residual, rotation, position)

    def default_name(self) -> str:
        """Return bone and class."""
        return f"{self.bone}.{type(self).__name__}"

    def rows(self, skeleton: object) -> int:
        """Return the length of the residual, found by evaluating it once at the identity."""
        residual = np.asarray(self.residual(np.eye(3), np.array([0.3, 0.2, 0.1])), dtype=float)
        if residual.ndim != 1:
            raise ShapeError(
                f"residual of goal {self.label!r} has shape {residual.shape}; expected (m,)"
            )
        return len(residual)

    def evaluate(
        self, rotation: Array, position: Array, rows: int, order: int
    ) -> tuple[Array, Array, Array]:
        """Return residual, first and second derivatives, checked; the last two zero for order 0."""
        residual = np.asarray(self.residual(rotation, position), dtype=float)
        first, second = np.zeros((rows, 6)), np.zeros((rows, 6, 6))
        if order > 0:
            first, second = (
                np.asarray(d, dtype=float) for d in self.derivatives(rotation, position)
            )
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
        return residual, first, second


def numerical_derivatives(
    residual: Callable[[Array, Array], Array],
    rotation: Array,
    position: Array,
    first_step: float = 2e-3,
    second_step: float = 6e-3,
) -> tuple[Array, Array]:
    """Return derivatives of `residual` with respect to (ω, δ) by fourth-order central differences.

    A fourth-order stencil errs by about step⁴/30 and rounding/step (first), step⁴/90 and
    rounding/step² (second derivative); the steps balance the two.
    """

    def at(x: Array) -> Array:
        return np.asarray(residual(exp_rotation(x[:3]) @ rotation, position + x[3:]), dtype=float)

    def slope(direction: Array, h: float) -> Array:
        near = at(h * direction) - at(-h * direction)
        far = at(2 * h * direction) - at(-2 * h * direction)
        return (8.0 * near - far) / (12.0 * h)

    here = at(np.zeros(6))

    def bend(direction: Array, h: float) -> Array:
        near = at(h * direction) + at(-h * direction) - 2.0 * here
        far = at(2 * h * direction) + at(-2 * h * direction) - 2.0 * here
        return (16.0 * near - far) / (12.0 * h * h)

    e = np.eye(6)
    first = np.stack([slope(e[i], first_step) for i in range(6)], axis=-1)
    second = np.empty((len(here), 6, 6))
    for i in range(6):
        second[:, i, i] = bend(e[i], second_step)
    for i in range(6):
        for j in range(i):
            mixed = bend(e[i] + e[j], second_step) - bend(e[i] - e[j], second_step)
            second[:, i, j] = second[:, j, i] = 0.25 * mixed
    return first, second
