"""Gauss–Newton without damping: full steps, halved where the cost does not fall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from exactik.kernels.calculus.sums import GAUSS_NEWTON
from exactik.kernels.descent import state as at
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
        return {at.RULE: at.LINE, at.CURVATURE: GAUSS_NEWTON}

    def control(self, state: Array) -> float:
        """Return the length of the step."""
        return float(state[at.LENGTH])
