"""Error bars of linear combinations of dofs, such as joint angles that several dofs make up.

With the covariance of `error_bars` a combination aᵀv has the variance

    σ² (A⁻¹a)ᵀ B (A⁻¹a)

which is not the sum of the dofs' own variances: where markers tell the bend of a spine but not
which of its joints bends, each of them is uncertain and their sum is not.
"""

from __future__ import annotations

import math

import numpy as np

from exactik.compile import jit_nogil
from exactik.kernels.recording.error_bars import compute_variance, eliminate_frame


@jit_nogil
def estimate_combination_deviations(
    tree, goals, box, frames, prior, sigma, frame_numbers, q, rows, sd, descent, work
):
    """Write the standard deviation of every combination of dofs, (n, m), at poses q (n, nq).

    Args: as for `estimate_standard_deviations`, and `rows` (n, m, nv), the combinations of each
    frame. Dofs that a limit or a lock holds add nothing.
    """
    for k in range(q.shape[0]):
        smallest_pivot = eliminate_frame(
            tree, goals, box, frames, prior, frame_numbers[k], q[k], descent, work
        )
        for m in range(rows.shape[1]):
            for i in range(rows.shape[2]):
                descent.rhs[i] = 0.0 if descent.active_set[i] != 0.0 else rows[k, m, i]
            definite = smallest_pivot > 0.0
            variance = compute_variance(tree, descent, work) if definite else np.inf
            sd[k, m] = sigma[k] * math.sqrt(variance)
