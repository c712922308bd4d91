"""Newton's method with the exact Hessian in a trust region, whose sub-problem is solved exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from exactik.kernels.calculus.sums import EXACT
from exactik.kernels.descent import state as at
from exactik.solvers._loop import CompiledMethod
from exactik.typing import Array

__all__ = ["Newton"]


@dataclass(frozen=True, kw_only=True)
class Newton(CompiledMethod):
    """Exact Newton in a trust region.

    Attributes:
        initial_radius: length of the longest first step [rad or m], measured over the strengths.
    """

    name: ClassVar[str] = "newton"
    initial_radius: float = 1.0

    def settings(self) -> dict[int, float]:
        """A radius, exact curvature."""
        return {
            at.RULE: at.RADIUS_BOUND,
            at.CURVATURE: EXACT,
            at.FIRST_RADIUS: self.initial_radius,
        }

    def control(self, state: Array) -> float:
        """Return the radius."""
        return float(state[at.RADIUS])
