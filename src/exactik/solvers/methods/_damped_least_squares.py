"""Damped least squares, alias the singularity-robust inverse: y minimises |e − JSy|² + λ²|y|².

With J for W½ JS and e = W½ r (docs/maths.md §14), the step d = S y comes from either of

    y = (JᵀJ + λ²I)⁻¹ Jᵀe = Jᵀ (JJᵀ + λ²I)⁻¹ e ;

the smaller matrix is factored by Cholesky. A singular value σ is inverted as σ/(σ² + λ²) ≤ 1/(2λ),
so that |d| ≤ |e| max S / (2λ) however near a singular pose is. The price: at a target that can be
reached, what is left of e shrinks by λ²/(σ² + λ²) a step, not quadratically.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from exactik.errors import UsageError
from exactik.solvers._view import View
from exactik.solvers.methods._jacobian_method import JacobianMethod, JacobianStepper
from exactik.typing import Array, BoolArray


@dataclass(frozen=True, kw_only=True)
class DampedLeastSquares(JacobianMethod):
    """Damped least squares with a constant damping.

    Attributes:
        damping: λ, compared with the singular values of W½ J: √weight · m per rad. Large values
            are slow, small ones wild near singular poses. Texts that add λI in place of λ²I mean
            its square.
        max_step: on by default, so that λ can be small.
    """

    name: ClassVar[str] = "damped-least-squares"
    max_iterations: int = 1000
    tolerance: float = 1e-8
    max_step: float | None = 0.5
    damping: float = 0.02

    def __post_init__(self) -> None:
        """Check the damping."""
        super().__post_init__()
        if not self.damping > 0:
            raise UsageError(
                f"DampedLeastSquares(damping={self.damping!r}): must be > 0; "
                "PseudoInverse is the method without damping"
            )

    def stepper(self, view: View) -> _DampedStepper:
        """Return a fresh stepper."""
        return _DampedStepper(self, view)


class _DampedStepper(JacobianStepper):
    def __init__(self, method: DampedLeastSquares, view: View):
        super().__init__(method, view)
        self.damping = method.damping

    def solve(self, J: Array, e: Array, free: BoolArray) -> Array:
        return solve_damped(J, e, self.damping)


def solve_damped(J: Array, e: Array, damping: float) -> Array:
    """Return (JᵀJ + λ²I)⁻¹ Jᵀe, (n,), for J (m, n) and e (m,)."""
    from scipy.linalg import cho_factor, cho_solve  # heavy, and not needed to import exactik

    m, n = J.shape
    A = J @ J.T if m < n else J.T @ J
    # Below its rounding errors a damping would not keep the factor from failing.
    rounding = len(A) * np.finfo(float).eps * np.trace(A)
    A[np.diag_indices_from(A)] += max(damping**2, rounding)
    factor = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
    if m < n:
        return J.T @ cho_solve(factor, e, check_finite=False)
    return cho_solve(factor, J.T @ e, check_finite=False)
