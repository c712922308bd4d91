"""A box of limits: staying inside it, and a damped Newton step that does.

Minimise the model  g·s + ½ sᵀ(H + μD)s  subject to  low ≤ q + s ≤ high.  Dofs that sit on a limit
which the gradient pushes against are held from the start. The rest is solved for; a dof whose step
leaves the box is put on its limit, held there, and the others are solved for again, its share moved
to the right-hand side. Each round holds one dof more at least, so the rounds end; `ROUNDS` bounds
them, and what is left outside is cut off.

Matrices are by ancestor rows (`sweeps`, `ltdl`), and `pattern` says whose: a tree's own, or a chain
of all dofs for matrices that are full.
"""

from __future__ import annotations

import math

import numpy as np

from exactik.kernels.linear.ltdl import factor, solve
from exactik.spatial import jit, jit_forceinline, jit_inline_always

__all__ = [
    "box_step",
    "clip_to_limits",
    "copy_free_block",
    "multiply_ancestor_rows",
    "relative_projected_gradient",
    "update_active_set",
]

MAX_ROUNDS = 8
NEGLIGIBLE_CURVATURE = 1e-12  # of the largest curvature: less is rounding
COST_CURVATURE_FLOOR = 1e-9  # of the cost, per rad² or m²: a curvature that is rounding


@jit
def clip_to_limits(plain, low, high, q):
    """Move every limited coordinate of q (nq,) to its nearest limit where outside, in place."""
    for i in range(plain.shape[0]):
        j = plain[i]
        if j >= 0:
            q[j] = min(max(q[j], low[i]), high[i])


@jit
def update_active_set(plain, low, high, free, q, g, held):
    """Write 1 to `held` (nv,) for the dofs that are locked or pushed against a limit, else 0."""
    for i in range(held.shape[0]):
        j = plain[i]
        pushed = j >= 0 and ((q[j] <= low[i] and g[i] > 0.0) or (q[j] >= high[i] and g[i] < 0.0))
        held[i] = 1.0 if pushed or free[i] == 0.0 else 0.0


@jit_forceinline
def relative_projected_gradient(g, held, curvature, cost):
    """Return the largest |g_i| / √(2 cost · curvature_i) of the dofs that are not held.

    For cost ½ rᵀWr and curvature (JᵀWJ)_ii this is the cosine of the angle between the residual and
    what dof i does to it: between 0 and 1 and without units, 0 at a stationary point. Dofs that do
    nothing but for rounding are measured by what the others do, and where none does anything, as
    for an arm folded back upon its root, by the cost itself, unless it is diverging.
    """
    steepest, largest = 0.0, 0.0
    for i in range(g.shape[0]):
        largest = max(largest, curvature[i])
    for i in range(g.shape[0]):
        if held[i] == 0.0 and g[i] != 0.0:
            least = max(NEGLIGIBLE_CURVATURE * largest, COST_CURVATURE_FLOOR * min(cost, 1.0))
            scale = math.sqrt(2.0 * cost * max(curvature[i], least))
            steepest = max(steepest, abs(g[i]) / scale if scale > 0.0 else 1.0)
    return steepest


@jit_inline_always
def multiply_ancestor_rows(pattern, H, x, level, y):
    """Write y = H x: down the paths for the rows, up again for the columns; `level` is scratch."""
    count = pattern.dof_order.shape[0]
    for n in range(count):
        i = np.int64(pattern.dof_order[n])
        own = np.int64(pattern.dof_level[i])
        level[own] = x[i]
        total = 0.0
        for at in range(own + 1):
            total += H[i, at] * level[at]
        y[i] = total
    for at in range(level.shape[0]):
        level[at] = 0.0
    for back in range(1, count + 1):
        i = np.int64(pattern.dof_order[count - back])
        own = np.int64(pattern.dof_level[i])
        y[i] += level[own]
        level[own] = 0.0
        for at in range(own):
            level[at] += H[i, at] * x[i]


@jit_inline_always
def copy_free_block(pattern, H, damping, scale, held, L):
    """L = H + μD without the rows and columns of held dofs, which get a unit diagonal."""
    for i in range(held.shape[0]):
        own = np.int64(pattern.dof_level[i])
        above = i
        for at in range(own - 1, -1, -1):
            above = np.int64(pattern.dof_parent[above])
            L[i, at] = H[i, at] if held[i] == 0.0 and held[above] == 0.0 else 0.0
        L[i, own] = H[i, own] + damping * scale[i] if held[i] == 0.0 else 1.0


@jit
def box_step(pattern, plain, low, high, q, g, H, damping, descent):
    """Write the step (nv,) to descent.step; return the smallest pivot, not positive if it failed.

    On entry descent.active_set marks what may not move, and on return also what was put on a limit;
    descent.scale is D.
    """
    held, step, right = descent.active_set, descent.step, descent.rhs
    for i in range(step.shape[0]):
        step[i] = 0.0
    smallest = np.inf
    for rounds in range(MAX_ROUNDS):
        copy_free_block(pattern, H, damping, descent.scale, held, descent.L)
        smallest = factor(pattern, descent.L)
        if not smallest > 0.0:
            return smallest
        if rounds > 0:
            multiply_ancestor_rows(pattern, H, step, descent.path, right)
        for i in range(step.shape[0]):
            moved = right[i] if rounds > 0 else 0.0
            right[i] = -g[i] - moved if held[i] == 0.0 else 0.0
        solve(pattern, descent.L, right, descent.path)
        outside = False
        for i in range(step.shape[0]):
            if held[i] != 0.0:
                continue
            j = plain[i]
            if j >= 0 and (q[j] + right[i] < low[i] or q[j] + right[i] > high[i]):
                limit = low[i] if right[i] < 0.0 else high[i]
                step[i] = limit - q[j]
                held[i] = 1.0
                outside = True
        if not outside:
            break
    for i in range(step.shape[0]):
        if held[i] == 0.0:
            step[i] = right[i]
    return smallest
