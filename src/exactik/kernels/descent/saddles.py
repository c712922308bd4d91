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
from exactik.kernels.linear.ltdl import factor
from exactik.spatial import jit

__all__ = ["negative_curvature_direction"]

FLAT_CURVATURE = 1e-7  # share of D: a curvature above −FLAT_CURVATURE · D is not negative
SHIFT_GROWTH, MAX_SHIFTS = 10.0, 8  # δ grows to FLAT_CURVATURE · 10⁸ at most


@jit
def negative_curvature_direction(pattern, g, H, descent):
    """Write a direction of negative curvature, largest entry 1, to descent.step; False if none.

    Its sign is such that it goes down where the gradient is not quite zero.
    """
    L, step, path = descent.L, descent.step, descent.path
    copy_free_block(pattern, H, FLAT_CURVATURE, descent.scale, descent.active_set, L)
    if factor(pattern, L) > 0.0:
        return False
    shift = FLAT_CURVATURE
    for _ in range(MAX_SHIFTS):
        copy_free_block(pattern, H, SHIFT_GROWTH * shift, descent.scale, descent.active_set, L)
        if factor(pattern, L) > 0.0:
            break
        shift *= SHIFT_GROWTH
    copy_free_block(pattern, H, shift, descent.scale, descent.active_set, L)
    factor(pattern, L)
    count = pattern.dof_order.shape[0]
    # Of the negative pivots the one eliminated first: it may have spoiled later ones.
    k = -1
    for back in range(1, count + 1):
        i = np.int64(pattern.dof_order[count - back])
        if not L[i, np.int64(pattern.dof_level[i])] > 0.0:
            k = i
            break
    largest, slope = 0.0, 0.0
    for n in range(count):
        i = np.int64(pattern.dof_order[n])
        level = np.int64(pattern.dof_level[i])
        x = 1.0 if i == k else 0.0
        for a in range(level):
            x -= L[i, a] * path[a] if path[a] != 0.0 else 0.0  # 0 · ∞ counts as 0
        path[level] = x
        step[i] = x if descent.active_set[i] == 0.0 else 0.0
        largest = max(largest, abs(step[i]))
        slope += g[i] * step[i]
    for i in range(step.shape[0]):
        step[i] *= (-1.0 if slope > 0.0 else 1.0) / largest
    return True
