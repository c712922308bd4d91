"""Damped Newton steps inside a box of limits, by an active-set method.

Minimise the model  g·s + ½ sᵀ(H + μD)s  subject to  lower ≤ q + s ≤ upper.  The active set begins
with the dofs that sit on a limit which the gradient pushes against. The others are solved for; a
dof whose step leaves the box is put on its limit and joins the active set, and the rest is solved
for again with its share moved to the right-hand side. Each round adds at least one dof, so the
rounds end; `MAX_ROUNDS` bounds them, the last one without solving again.

Matrices are stored as ancestor rows (`sweeps`, `ltdl`) and factored; or only the blocks of their
joints are stored, and the linear systems are solved by the articulated recursion (`articulated`).
`pattern` tells whose rows: those of a tree, or of one chain of all dofs for matrices that are full.
"""

from __future__ import annotations

import math

import numpy as np

from exactik.compile import jit, jit_forceinline
from exactik.kernels.linear.articulated import JOINT_BLOCKS
from exactik.kernels.linear.loops import eliminate_blocks, reduce_blocks, substitute_blocks
from exactik.kernels.linear.ltdl import factor, pad_to_lanes, solve

MAX_ROUNDS = 8  # of solving again with more dofs in the active set
# Curvatures below these are rounding: relative to the largest one, and to the cost per rad² or m².
NEGLIGIBLE_CURVATURE = 1e-12
COST_CURVATURE_FLOOR = 1e-9


@jit
def clip_to_limits(coordinate, lower, upper, q):
    """Clip the coordinates of q (nq,) in place; `coordinate` (nv,) as in `Box`."""
    for i in range(coordinate.shape[0]):
        j = coordinate[i]
        if j >= 0:
            q[j] = min(max(q[j], lower[i]), upper[i])


@jit
def update_active_set(coordinate, lower, upper, free, q, g, active_set):
    """Write 1 to `active_set` (nv,) for dofs locked or pushed against a limit, 0 for others."""
    for i in range(active_set.shape[0]):
        j = coordinate[i]
        pushed = j >= 0 and ((q[j] <= lower[i] and g[i] > 0.0) or (q[j] >= upper[i] and g[i] < 0.0))
        active_set[i] = 1.0 if pushed or free[i] == 0.0 else 0.0


@jit_forceinline
def relative_projected_gradient(g, active_set, curvature, cost):
    """Return the largest |g_i| / √(2 cost · curvature_i) of the dofs outside the active set.

    For cost ½ rᵀWr and curvature (JᵀWJ)_ii this is the cosine of the angle between the residual and
    what dof i does to it: between 0 and 1 and without units, 0 at a stationary point. Where
    the curvature of a dof is mere rounding, that of the others is the measure, and where none has
    any, as for an arm folded back upon its root, the cost itself, unless it is diverging. Other
    measures of curvature than JᵀWJ may be smaller; more than 1 is no cosine and counts as 1.
    """
    largest = 0.0
    for i in range(g.shape[0]):
        largest = max(largest, curvature[i])
    floor = max(NEGLIGIBLE_CURVATURE * largest, COST_CURVATURE_FLOOR * min(cost, 1.0))
    # The largest g²/curvature, found by products: quotients and roots take as long as all the rest.
    square, divisor = 0.0, 1.0
    for i in range(g.shape[0]):
        if active_set[i] == 0.0 and g[i] != 0.0:
            own = max(curvature[i], floor)
            if not (g[i] * g[i] < np.inf and own < np.inf):
                return 1.0
            if g[i] * g[i] * divisor > square * own:
                square, divisor = g[i] * g[i], own
    scale = 2.0 * cost * divisor
    if square == 0.0:
        return 0.0
    return math.sqrt(square / scale) if square < scale else 1.0


@jit_forceinline
def multiply_ancestor_rows(pattern, H, x, path, y):
    """Write y = H x: down the paths for the rows, up again for the columns.

    `path` (width,) is scratch, one number per level of the current path.
    """
    count = pattern.dof_order.shape[0]
    for n in range(count):
        i = np.int64(pattern.dof_order[n])
        level = np.int64(pattern.dof_level[i])
        path[level] = x[i]
        total = 0.0
        for a in range(level + 1):
            total += H[i, a] * path[a]
        y[i] = total
    for a in range(path.shape[0]):
        path[a] = 0.0
    for back in range(1, count + 1):
        i = np.int64(pattern.dof_order[count - back])
        level = np.int64(pattern.dof_level[i])
        y[i] += path[level]
        path[level] = 0.0
        for a in range(level):
            path[a] += H[i, a] * x[i]


@jit_forceinline
def copy_free_block(pattern, H, damping, scale, active_set, L):
    """L = H + μD, with rows and columns of the active set replaced by those of the identity."""
    count = active_set.shape[0]
    for i in range(count):
        level = np.int64(pattern.dof_level[i])
        for a in range(pad_to_lanes(level + 1)):
            L[i, a] = H[i, a]
        L[i, level] += damping * scale[i]
    for n in range(count):
        i = np.int64(pattern.dof_order[n])
        if active_set[i] == 0.0:
            continue
        level = np.int64(pattern.dof_level[i])
        for a in range(level):
            L[i, a] = 0.0
        L[i, level] = 1.0
        for m in range(n + 1, count):  # the dofs below follow it
            below = np.int64(pattern.dof_order[m])
            if np.int64(pattern.dof_level[below]) <= level:
                break
            L[below, level] = 0.0


@jit_forceinline
def solve_damped(joints, pattern, layout, g, H, S, P, damping, descent):
    """Write x with (H + μD)x = −g to descent.rhs, for entries of the active set as in descent.step.

    Returns the smallest pivot; where it is not positive, there is no x.
    """
    active_set, step, rhs = descent.active_set, descent.step, descent.rhs
    if layout == JOINT_BLOCKS:
        smallest_pivot = eliminate_blocks(joints, S, P, g, H, damping, descent)
        if smallest_pivot > 0.0:
            substitute_blocks(joints, S, descent)
        return smallest_pivot
    copy_free_block(pattern, H, damping, descent.scale, active_set, descent.L)
    smallest_pivot = factor(pattern, descent.L)
    if smallest_pivot > 0.0:
        largest = 0.0
        for i in range(step.shape[0]):
            largest = max(largest, abs(step[i]))
        if largest > 0.0:
            multiply_ancestor_rows(pattern, H, step, descent.path, rhs)
        for i in range(step.shape[0]):
            known = rhs[i] if largest > 0.0 else 0.0
            rhs[i] = -g[i] - known if active_set[i] == 0.0 else 0.0
        solve(pattern, descent.L, rhs, descent.path)
    return smallest_pivot


@jit_forceinline
def solve_again(joints, pattern, layout, S, descent):
    """Replace descent.rhs, 0 in the active set, by x with (H + μD)x = rhs: H of `solve_damped`."""
    rhs = descent.rhs
    if layout == JOINT_BLOCKS:
        reduce_blocks(joints, S, descent)
        substitute_blocks(joints, S, descent)
        for i in range(rhs.shape[0]):
            rhs[i] = -rhs[i]
    else:
        solve(pattern, descent.L, rhs, descent.path)


@jit
def box_step(joints, pattern, coordinate, layout, q, g, H, S, P, damping, descent):
    """Write the step (nv,) to descent.step; return the smallest pivot, not positive if it failed.

    On return descent.active_set also holds the dofs that were put on a limit; descent.scale is D.
    """
    clear_step(descent)
    smallest_pivot = np.inf
    for _ in range(MAX_ROUNDS):
        smallest_pivot = solve_damped(joints, pattern, layout, g, H, S, P, damping, descent)
        if not smallest_pivot > 0.0:
            return smallest_pivot
        if not hold_at_limits(coordinate, q, descent):
            break
    take_free_entries(descent)
    return smallest_pivot


@jit_forceinline
def clear_step(descent):
    """Write zeros to descent.step, for `solve_damped`: no dof has been put on a limit."""
    for i in range(descent.step.shape[0]):
        descent.step[i] = 0.0


@jit_forceinline
def hold_at_limits(coordinate, q, descent):
    """Put dofs that the solution in descent.rhs moves out of the box on their limit.

    They join the active set, with their step in descent.step. Returns whether there were any.
    """
    active_set, step, rhs = descent.active_set, descent.step, descent.rhs
    lower, upper = descent.lower, descent.upper
    outside = False
    for i in range(step.shape[0]):
        if active_set[i] != 0.0:
            continue
        j = coordinate[i]
        if j >= 0 and (q[j] + rhs[i] < lower[i] or q[j] + rhs[i] > upper[i]):
            limit = lower[i] if rhs[i] < 0.0 else upper[i]
            step[i] = limit - q[j]
            active_set[i] = 1.0
            outside = True
    return outside


@jit_forceinline
def take_free_entries(descent):
    """Complete descent.step by the solution in descent.rhs, for dofs outside the active set."""
    for i in range(descent.step.shape[0]):
        if descent.active_set[i] == 0.0:
            descent.step[i] = descent.rhs[i]
