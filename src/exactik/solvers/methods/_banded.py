"""A banded preconditioner: the Cholesky factor of a matrix near its diagonal (docs/maths.md §14).

Of H, scaled to a unit diagonal, keep the entries with |i − j| ≤ b and factor

    M = C ( band(C⁻¹ H C⁻¹) + κ I ) C ,    C = √|diag H| ,

with κ = 0 if its pivots are clear of zero, else with the first κ of a growing sequence for which
they are: the band of an indefinite matrix, and often of a definite one, is indefinite. b = 0 is
Jacobi's preconditioner. The dofs of a limb follow one another, so a band holds what couples most.
"""

from __future__ import annotations

import numpy as np

from exactik.typing import Array

__all__ = ["BandedPreconditioner"]


MIN_PIVOT_ROOT = 1e-5  # root of a pivot; the diagonal is 1
SHIFTS = tuple(1e-4 * 4.0**k for k in range(60))  # κ
ZERO_DIAGONAL = 1e-12  # |H_ii|, as a share of the largest, that counts as none


class BandedPreconditioner:
    """M ≈ H, positive definite, that is cheap to solve with: O(b²n) to set up, O(bn) each time."""

    def __init__(self, H: Array, bandwidth: int):
        """Factor the band of a symmetric matrix.

        Args:
            H: (n, n).
            bandwidth: b, number of diagonals below the main one.
        """
        from scipy.linalg import cho_solve_banded, cholesky_banded

        self._solve = cho_solve_banded
        n, size = len(H), np.abs(np.diag(H))
        flat = size <= ZERO_DIAGONAL * float(size.max(initial=0.0))
        self.scale = 1.0 / np.sqrt(np.where(flat, 1.0, size))
        band = np.zeros((min(bandwidth, n - 1) + 1, n))
        for k in range(len(band)):
            band[k, : n - k] = np.diag(H, k) * self.scale[k:] * self.scale[: n - k]
        band[0, flat] = 1.0
        for kappa in (0.0, *SHIFTS):
            shifted = band.copy()
            shifted[0] += kappa
            try:
                self.factor = cholesky_banded(shifted, lower=True, check_finite=False)
            except np.linalg.LinAlgError:
                continue
            if self.factor[0].min() >= MIN_PIVOT_ROOT:
                return
        raise AssertionError("a matrix with entries that are no numbers")

    def solve(self, r: Array) -> Array:
        """Return M⁻¹ r, (n,)."""
        return self.scale * self._solve((self.factor, True), self.scale * r, check_finite=False)
