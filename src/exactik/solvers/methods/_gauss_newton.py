"""Gauss–Newton without damping: full steps, halved where the cost does not fall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from exactik.kernels.calculus.sums import GAUSS_NEWTON
from exactik.kernels.descent.options import CURVATURE, LINE_SEARCH, RULE
from exactik.kernels.descent.state import STEP_LENGTH
from exactik.solvers._loop import CompiledMethod
from exactik.typing import Array

__all__ = ["GaussNewton"]


@dataclass(frozen=True, kw_only=True)
class GaussNewton(CompiledMethod):
    """JᵀWJ s = −g inside the limits, with a back-tracking line search.

    Where JᵀWJ is singular, as in every redundant figure, it is damped just enough to be factored.
    """

    name: ClassVar[str] = "gauss-newton"

    def settings(self) -> dict[int, float]:
        """A line search, Gauss–Newton's curvature."""
        return {RULE: LINE_SEARCH, CURVATURE: GAUSS_NEWTON}

    def control(self, state: Array) -> float:
        """Return the length of the step."""
        return float(state[STEP_LENGTH])
