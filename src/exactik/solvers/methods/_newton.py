"""Newton's method with the exact Hessian in a trust region, whose sub-problem is solved exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from exactik.kernels.calculus.sums import EXACT
from exactik.kernels.descent.options import CURVATURE, INITIAL_TRUST_RADIUS, RULE, TRUST_REGION
from exactik.kernels.descent.state import TRUST_RADIUS
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
            RULE: TRUST_REGION,
            CURVATURE: EXACT,
            INITIAL_TRUST_RADIUS: self.initial_radius,
        }

    def control(self, state: Array) -> float:
        """Return the radius."""
        return float(state[TRUST_RADIUS])
