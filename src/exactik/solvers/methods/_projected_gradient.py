"""The projected gradient with back-tracking (Armijo), of the projected line search paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from exactik.kernels.calculus.sums import GAUSS_NEWTON
from exactik.kernels.descent import state as at
from exactik.solvers._loop import CompiledMethod
from exactik.typing import Array

__all__ = ["ProjectedGradient"]


@dataclass(frozen=True, kw_only=True)
class ProjectedGradient(CompiledMethod):
    """q ← clip(q − τ g), τ halved until the cost falls enough and doubled for the next step.

    Attributes:
        initial_step: first τ tried.
        max_step: largest change of a dof in one step [rad or m].
    """

    name: ClassVar[str] = "projected-gradient"
    max_iterations: int = 5000
    tolerance: float = 1e-6
    initial_step: float = 1.0
    max_step: float = np.inf

    def settings(self) -> dict[int, float]:
        """Gradients only; the curvature serves the stopping test."""
        return {
            at.RULE: at.GRADIENT_ONLY,
            at.CURVATURE: GAUSS_NEWTON,
            at.FIRST_LENGTH: 0.5 * self.initial_step,
            at.LONGEST_STEP: self.max_step,
        }

    def control(self, state: Array) -> float:
        """Return τ."""
        return float(state[at.LENGTH])
