"""Error bars of linear combinations of dofs, such as joint angles that several dofs make up.

With the covariance of `error_bars` a combination aᵀv has the variance

    σ² (A⁻¹a)ᵀ B (A⁻¹a)

which is not the sum of the dofs' own variances: where markers tell the bend of a spine but not
which of its joints bends, each of them is uncertain and their sum is not.
"""

from __future__ import annotations

import math

import numpy as np

from exactik.kernels.calculus.evaluate import evaluate
from exactik.kernels.calculus.sums import EXACT, GAUSS_NEWTON
from exactik.kernels.linear.active_set import (
    copy_free_block,
    multiply_ancestor_rows,
    update_active_set,
)
from exactik.kernels.linear.ltdl import AncestorPattern, factor, solve
from exactik.kernels.recording.error_bars import square_weights
from exactik.kernels.recording.frames import set_frame
from exactik.spatial import jit_nogil

__all__ = ["estimate_combination_deviations"]


@jit_nogil
def estimate_combination_deviations(
    tree, goals, box, frames, prior, sigma, frame_numbers, q, rows, B, sd, descent, work
):
    """Write the standard deviation of every combination of dofs, (n, m), at poses q (n, nq).

    Args: as for `estimate_standard_deviations`, and `rows` (n, m, nv), the combinations of each
    frame. Dofs that a limit or a lock holds add nothing.
    """
    pattern = AncestorPattern(tree.dof_order, tree.dof_parent, tree.dof_level)
    count = rows.shape[2]
    for k in range(q.shape[0]):
        set_frame(tree, goals, frames, frame_numbers[k], q[k])
        evaluate(tree, goals, q[k], np.int64(EXACT), work)
        update_active_set(
            box.coordinate, box.lower, box.upper, box.free, q[k], work.g, descent.active_set
        )
        copy_free_block(pattern, work.H, 1.0, prior, descent.active_set, descent.L)
        if not factor(pattern, descent.L) > 0.0:
            evaluate(tree, goals, q[k], np.int64(GAUSS_NEWTON), work)
            copy_free_block(pattern, work.H, 1.0, prior, descent.active_set, descent.L)
            factor(pattern, descent.L)
        square_weights(goals)
        evaluate(tree, goals, q[k], np.int64(GAUSS_NEWTON), work)
        copy_free_block(pattern, work.H, 1.0, prior, descent.active_set, B)
        for m in range(rows.shape[1]):
            for i in range(count):
                descent.rhs[i] = 0.0 if descent.active_set[i] != 0.0 else rows[k, m, i]
            solve(pattern, descent.L, descent.rhs, descent.path)
            multiply_ancestor_rows(pattern, B, descent.rhs, descent.path, descent.step)
            total = 0.0
            for i in range(count):
                total += descent.rhs[i] * descent.step[i]
            sd[k, m] = sigma[k] * math.sqrt(max(total, 0.0))
