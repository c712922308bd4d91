"""Error bars of the poses of a recording, and whether these are minima.

Independent noise of standard deviation σ in the markers moves a minimum by (docs/maths.md §15)

    cov(q*) = σ² A⁻¹ B A⁻¹ ,    A = H + P ,   B = JᵀW²J + P

with the exact Hessian H of the markers and the weights P of the posture, which is a prior of
standard deviation σ/√P. Directions that no marker sees keep that of the prior.
"""

from __future__ import annotations

import math

import numpy as np

from exactik.kernels.calculus.evaluate import evaluate
from exactik.kernels.calculus.sums import EXACT, GAUSS_NEWTON
from exactik.kernels.goals.clouds import reduce_to_clouds
from exactik.kernels.linear.active_set import (
    copy_free_block,
    multiply_ancestor_rows,
    update_active_set,
)
from exactik.kernels.linear.ltdl import AncestorPattern, factor, solve
from exactik.kernels.recording.frames import set_frame
from exactik.spatial import jit, jit_nogil

__all__ = [
    "check_convexity",
    "compute_variance",
    "estimate_standard_deviations",
    "factor_frame",
]


@jit_nogil
def check_convexity(
    tree, goals, box, frames, flat_curvature, frame_numbers, q, is_convex, descent, work
):
    """Write 1 to `is_convex` (n,) where no curvature of the free dofs is below −flat_curvature · D.

    D is the largest curvature of each dof, as for descents.
    """
    pattern = AncestorPattern(tree.dof_order, tree.dof_parent, tree.dof_level)
    for k in range(q.shape[0]):
        set_frame(tree, goals, frames, frame_numbers[k], q[k])
        evaluate(tree, goals, q[k], np.int64(EXACT), work)
        update_active_set(
            box.coordinate, box.lower, box.upper, box.free, q[k], work.g, descent.active_set
        )
        largest = 0.0
        for i in range(descent.scale.shape[0]):
            descent.scale[i] = abs(work.H[i, np.int64(pattern.dof_level[i])])
            largest = max(largest, descent.scale[i])
        for i in range(descent.scale.shape[0]):
            descent.scale[i] = max(descent.scale[i], 1e-3 * largest)
        copy_free_block(
            pattern, work.H, flat_curvature, descent.scale, descent.active_set, descent.L
        )
        is_convex[k] = 1.0 if factor(pattern, descent.L) > 0.0 else 0.0


@jit
def square_weights(goals):
    """Replace every weight of a marker by its square."""
    for m in range(goals.terms.weight.shape[0]):
        for i in range(3):
            goals.terms.weight[m, i, i] *= goals.terms.weight[m, i, i]
    reduce_to_clouds(goals.terms, goals.cloud_of_frame, goals.clouds)


@jit
def factor_frame(tree, goals, box, frames, prior, frame, q, pattern, B, descent, work):
    """Write the factors of A to `descent.L` and B, without the dofs in the active set."""
    set_frame(tree, goals, frames, frame, q)
    evaluate(tree, goals, q, np.int64(EXACT), work)
    update_active_set(box.coordinate, box.lower, box.upper, box.free, q, work.g, descent.active_set)
    copy_free_block(pattern, work.H, 1.0, prior, descent.active_set, descent.L)
    definite = factor(pattern, descent.L) > 0.0
    if not definite:  # not quite a minimum; Gauss–Newton's curvature is never negative
        evaluate(tree, goals, q, np.int64(GAUSS_NEWTON), work)
        copy_free_block(pattern, work.H, 1.0, prior, descent.active_set, descent.L)
        factor(pattern, descent.L)
    square_weights(goals)
    evaluate(tree, goals, q, np.int64(GAUSS_NEWTON), work)
    copy_free_block(pattern, work.H, 1.0, prior, descent.active_set, B)


@jit
def compute_variance(pattern, B, descent):
    """Return (A⁻¹a)ᵀ B (A⁻¹a) of the combination a in `descent.rhs`, which it overwrites."""
    solve(pattern, descent.L, descent.rhs, descent.path)
    multiply_ancestor_rows(pattern, B, descent.rhs, descent.path, descent.step)
    total = 0.0
    for i in range(descent.rhs.shape[0]):
        total += descent.rhs[i] * descent.step[i]
    return max(total, 0.0)


@jit_nogil
def estimate_standard_deviations(
    tree, goals, box, frames, prior, sigma, frame_numbers, q, B, sd, descent, work
):
    """Write the standard deviation of every dof [rad or m], (n, nv), at poses q (n, nq).

    Args: `prior` (nv,) weights to add to the posture's; `sigma` [m] (n,) noise of the markers. Dofs
    that a limit or a lock holds get 0. B (nv, width) is scratch.
    """
    pattern = AncestorPattern(tree.dof_order, tree.dof_parent, tree.dof_level)
    count = sd.shape[1]
    for k in range(q.shape[0]):
        factor_frame(
            tree, goals, box, frames, prior, frame_numbers[k], q[k], pattern, B, descent, work
        )
        for i in range(count):
            if descent.active_set[i] != 0.0:
                sd[k, i] = 0.0
                continue
            for a in range(count):
                descent.rhs[a] = 0.0
            descent.rhs[i] = 1.0
            sd[k, i] = sigma[k] * math.sqrt(compute_variance(pattern, B, descent))
