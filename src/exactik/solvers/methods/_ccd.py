"""Cyclic coordinate descent, with the exact minimiser of each dof (`kernels.single`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from exactik.kernels.calculus.sums import EXACT
from exactik.kernels.descent.options import COORDINATE_DESCENT, CURVATURE, RULE
from exactik.kernels.descent.state import STEP_LENGTH
from exactik.solvers._loop import CompiledMethod
from exactik.typing import Array

__all__ = ["CCD"]


@dataclass(frozen=True, kw_only=True)
class CCD(CompiledMethod):
    """One dof at a time, from the tips to the root; an iteration is a sweep over all dofs.

    Strengths make no difference: each dof goes to its own minimum.
    """

    name: ClassVar[str] = "ccd"
    max_iterations: int = 1000
    tolerance: float = 1e-6

    def settings(self) -> dict[int, float]:
        """One dof at a time; exact curvature."""
        return {RULE: COORDINATE_DESCENT, CURVATURE: EXACT}

    def control(self, state: Array) -> float:
        """Return the length of the step."""
        return float(state[STEP_LENGTH])
