"""The Jacobian transpose: d = τ S² Jᵀe, steepest descent with a length from a formula.

With e = W½ r, J for W½ J and g = −Jᵀe (docs/maths.md §14), τ is either fixed or Buss's

    τ = e·z / z·z ,   z = J S² Jᵀe ,

which minimises |e − τz|, the linear model of the residual along d. It exceeds 0 unless g = 0.

A fixed τ is stable near a minimum iff τ < 2/λ_max(SHS) there, with H the Hessian of ½ rᵀWr; it is a
length for one figure, one choice of weights and one unit, and no default can be right. Where a text
has no ½ in its cost and follows −∇(rᵀWr), its τ counts twice here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from exactik.errors import UsageError
from exactik.solvers._view import View
from exactik.solvers.methods._jacobian_method import JacobianMethod, JacobianStepper
from exactik.typing import Array, BoolArray


@dataclass(frozen=True, kw_only=True)
class JacobianTranspose(JacobianMethod):
    """Steepest descent without a search: cheap steps, very many of them.

    Attributes:
        step: fixed length τ; None for Buss's. Above 2/λ_max of the Hessian it cannot settle: the
            safeguard then halves it step by step, and without safeguard the figure jitters or
            diverges.
    """

    name: ClassVar[str] = "jacobian-transpose"
    max_iterations: int = 2000
    tolerance: float = 1e-6
    step: float | None = None

    def __post_init__(self) -> None:
        """Check the length."""
        super().__post_init__()
        if self.step is not None and not self.step > 0:
            raise UsageError(f"JacobianTranspose(step={self.step!r}): must be > 0, or None")

    def stepper(self, view: View) -> _TransposeStepper:
        """Return a fresh stepper."""
        return _TransposeStepper(self, view)


class _TransposeStepper(JacobianStepper):
    resolves = False  # every dof follows its own slope, whatever the others do

    def __init__(self, method: JacobianTranspose, view: View):
        super().__init__(method, view)
        self.fixed = method.step

    def solve(self, J: Array, e: Array, free: BoolArray) -> Array:
        slope = J.T @ e
        if self.fixed is not None:
            self.unit = self.fixed
        else:
            z = J @ slope
            square = float(z @ z)
            self.unit = float(e @ z) / square if square > 0.0 else 0.0
        return self.unit * slope
