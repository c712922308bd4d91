"""The projected gradient with back-tracking (Armijo), of the projected line search paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from exactik.kernels.calculus.sums import GAUSS_NEWTON
from exactik.kernels.descent.options import (
    CURVATURE,
    GRADIENT_DESCENT,
    INITIAL_STEP_LENGTH,
    MAX_STEP_ENTRY,
    RULE,
)
from exactik.kernels.descent.state import STEP_LENGTH
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
            RULE: GRADIENT_DESCENT,
            CURVATURE: GAUSS_NEWTON,
            INITIAL_STEP_LENGTH: 0.5 * self.initial_step,
            MAX_STEP_ENTRY: self.max_step,
        }

    def control(self, state: Array) -> float:
        """Return τ."""
        return float(state[STEP_LENGTH])
