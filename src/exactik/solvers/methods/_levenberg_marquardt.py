"""Levenberg–Marquardt with Fletcher's rule for the damping, as in the exact-Hessian paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from exactik.kernels.calculus.sums import GAUSS_NEWTON
from exactik.kernels.descent.options import CURVATURE, FLETCHER, INITIAL_DAMPING, RULE
from exactik.solvers._loop import CompiledMethod

__all__ = ["LevenbergMarquardt"]


@dataclass(frozen=True, kw_only=True)
class LevenbergMarquardt(CompiledMethod):
    """(JᵀWJ + λ diag(JᵀWJ)) s = −g inside the limits.

    Attributes:
        initial_damping: λ of the first step.
    """

    name: ClassVar[str] = "levenberg-marquardt"
    initial_damping: float = 1.0

    def settings(self) -> dict[int, float]:
        """Fletcher's damping, Gauss–Newton's curvature."""
        return {
            RULE: FLETCHER,
            CURVATURE: GAUSS_NEWTON,
            INITIAL_DAMPING: self.initial_damping,
        }
