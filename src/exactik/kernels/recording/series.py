"""Many frames at their poses: derivatives for whole-sequence solves, and error bars.

Independent noise of standard deviation σ in the markers moves a minimum by (docs/maths.md §15)

    cov(q*) = σ² A⁻¹ B A⁻¹ ,    A = H + P ,   B = JᵀW²J + P

with the exact Hessian H of the markers and the weights P of the posture, an own prior of standard
deviation σ/√P. Directions that no marker sees keep the prior's.
"""

from __future__ import annotations

import math

import numpy as np

from exactik.kernels.calculus.evaluate import evaluate
from exactik.kernels.calculus.sums import EXACT, GAUSS_NEWTON
from exactik.kernels.goals.clouds import gather
from exactik.kernels.linear.box import copy_free, hold, rows_product
from exactik.kernels.linear.ltdl import Pattern, factor, solve
from exactik.kernels.recording.frames import set_frame
from exactik.spatial import jit_inline_always, jit_nogil

__all__ = ["convex", "evaluate_frames", "spread"]


@jit_nogil
def evaluate_frames(tree, goals, frames, order, which, q, cost, g, H, work):
    """Write cost (n,), gradient (n, nv) and curvature (n, nv, width) at q (n, nq), to `order`."""
    for k in range(q.shape[0]):
        set_frame(tree, goals, frames, which[k], q[k])
        cost[k] = evaluate(tree, goals, q[k], np.int64(order), work)
        for i in range(g.shape[1]):
            g[k, i] = work.g[i]
            for j in range(H.shape[2]):
                H[k, i, j] = work.H[i, j]


@jit_nogil
def convex(tree, goals, box, frames, flat, which, q, found, search, work):
    """Write 1 to `found` (n,) where the Hessian of the free dofs has no curvature below −flat · D.

    D is the largest curvature of each dof, as for descents.
    """
    pattern = Pattern(tree.order, tree.upward, tree.level)
    for k in range(q.shape[0]):
        set_frame(tree, goals, frames, which[k], q[k])
        evaluate(tree, goals, q[k], np.int64(EXACT), work)
        hold(box.plain, box.lower, box.upper, box.free, q[k], work.g, search.held)
        largest = 0.0
        for i in range(search.scale.shape[0]):
            search.scale[i] = abs(work.H[i, np.int64(pattern.level[i])])
            largest = max(largest, search.scale[i])
        for i in range(search.scale.shape[0]):
            search.scale[i] = max(search.scale[i], 1e-3 * largest)
        copy_free(pattern, work.H, flat, search.scale, search.held, search.L)
        found[k] = 1.0 if factor(pattern, search.L) > 0.0 else 0.0


@jit_inline_always
def square_weights(goals):
    """Replace every weight of a marker by its square."""
    for m in range(goals.terms.weight.shape[0]):
        for i in range(3):
            goals.terms.weight[m, i, i] *= goals.terms.weight[m, i, i]
    gather(goals.terms, goals.slot, goals.clouds)


@jit_nogil
def spread(tree, goals, box, frames, prior, sigma, which, q, B, sd, search, work):
    """Write the standard deviation of every dof [rad or m], (n, nv), at poses q (n, nq).

    Args: `prior` (nv,) weights to add to the posture's; `sigma` [m] (n,) noise of the markers. Dofs
    that a limit or a lock holds have none. B (nv, width) is scratch.
    """
    pattern = Pattern(tree.order, tree.upward, tree.level)
    count = sd.shape[1]
    for k in range(q.shape[0]):
        set_frame(tree, goals, frames, which[k], q[k])
        evaluate(tree, goals, q[k], np.int64(EXACT), work)
        hold(box.plain, box.lower, box.upper, box.free, q[k], work.g, search.held)
        copy_free(pattern, work.H, 1.0, prior, search.held, search.L)
        definite = factor(pattern, search.L) > 0.0
        if not definite:  # not quite a minimum: Gauss–Newton's curvature is never negative
            evaluate(tree, goals, q[k], np.int64(GAUSS_NEWTON), work)
            copy_free(pattern, work.H, 1.0, prior, search.held, search.L)
            factor(pattern, search.L)
        square_weights(goals)
        evaluate(tree, goals, q[k], np.int64(GAUSS_NEWTON), work)
        copy_free(pattern, work.H, 1.0, prior, search.held, B)
        for i in range(count):
            if search.held[i] != 0.0:
                sd[k, i] = 0.0
                continue
            for a in range(count):
                search.right[a] = 0.0
            search.right[i] = 1.0
            solve(pattern, search.L, search.right, search.level)
            rows_product(pattern, B, search.right, search.level, search.step)
            total = 0.0
            for a in range(count):
                total += search.right[a] * search.step[a]
            sd[k, i] = sigma[k] * math.sqrt(max(total, 0.0))
