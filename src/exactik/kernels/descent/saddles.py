"""A direction of negative curvature, along which a stationary point is left downhill.

With H + δD = LᵀΔL on the dofs outside the active set, a negative pivot Δ_k tells that H is not
positive semi-definite, and x = L⁻¹e_k is a direction of negative curvature: xᵀ(H + δD)x = Δ_k. The
shift δ keeps null directions, which redundant skeletons have, from looking like negative ones.

A pivot that almost vanishes makes x almost flat, although some other direction may bend down
steeply: with H = (2 1; 1 0) the first one found is (0, 1). So δ grows until nothing negative is
left, and the last direction before that is taken; its curvature is within a factor of the worst.
"""

from __future__ import annotations

import numpy as np

from exactik.kernels.linear.active_set import copy_free_block
from exactik.kernels.linear.articulated import (
    JOINT_BLOCKS,
    eliminate_joints,
    negative_pivot_direction,
)
from exactik.kernels.linear.ltdl import factor
from exactik.spatial import jit

__all__ = ["negative_curvature_direction"]

FLAT_CURVATURE = 1e-7  # share of D: a curvature above −FLAT_CURVATURE · D is not negative
SHIFT_GROWTH, MAX_SHIFTS = 10.0, 8  # δ grows to FLAT_CURVATURE · 10⁸ at most


@jit
def negative_curvature_direction(tree, pattern, layout, g, H, work, descent):
    """Write a direction of negative curvature, largest entry 1, to descent.step; False if none.

    Its sign is such that it goes down where the gradient is not quite zero.
    """
    step, x = descent.step, descent.rhs
    for i in range(step.shape[0]):
        step[i] = 0.0
    pivot, _ = factor_shifted(tree, pattern, layout, g, H, work, FLAT_CURVATURE, descent)
    if pivot > 0.0:
        return False
    shift = FLAT_CURVATURE
    for _ in range(MAX_SHIFTS):
        pivot, _ = factor_shifted(tree, pattern, layout, g, H, work, SHIFT_GROWTH * shift, descent)
        if pivot > 0.0:
            break
        shift *= SHIFT_GROWTH
    _, k = factor_shifted(tree, pattern, layout, g, H, work, shift, descent)
    if layout == JOINT_BLOCKS:
        negative_pivot_direction(tree, work.S, k, descent)
    else:
        solve_for_pivot(pattern, k, descent)
    largest, slope = 0.0, 0.0
    for i in range(step.shape[0]):
        step[i] = x[i] if descent.active_set[i] == 0.0 else 0.0
        largest = max(largest, abs(step[i]))
        slope += g[i] * step[i]
    for i in range(step.shape[0]):
        step[i] *= (-1.0 if slope > 0.0 else 1.0) / largest
    return True


@jit
def factor_shifted(tree, pattern, layout, g, H, work, shift, descent):
    """Factor H + δD; return the smallest pivot, and the dof of the first that is not positive."""
    if layout == JOINT_BLOCKS:
        return eliminate_joints(tree, work.S, work.P, g, H, shift, descent)
    L, count = descent.L, pattern.dof_order.shape[0]
    copy_free_block(pattern, H, shift, descent.scale, descent.active_set, L)
    pivot = factor(pattern, L)
    # Of the negative pivots the one eliminated first: it may have spoiled later ones.
    for back in range(1, count + 1):
        i = np.int64(pattern.dof_order[count - back])
        if not L[i, np.int64(pattern.dof_level[i])] > 0.0:
            return pivot, i
    return pivot, -1


@jit
def solve_for_pivot(pattern, k, descent):
    """Write x = L⁻¹e_k to descent.rhs."""
    L, path, x = descent.L, descent.path, descent.rhs
    for n in range(pattern.dof_order.shape[0]):
        i = np.int64(pattern.dof_order[n])
        level = np.int64(pattern.dof_level[i])
        value = 1.0 if i == k else 0.0
        for a in range(level):
            value -= L[i, a] * path[a] if path[a] != 0.0 else 0.0  # 0 · ∞ counts as 0
        path[level] = x[i] = value
