"""A direction of negative curvature, along which a stationary point is left downhill.

With H + δD = LᵀΔL on the dofs outside the active set, a negative pivot Δ_k tells that H is not
positive semi-definite, and x = L⁻¹e_k is a direction of negative curvature: xᵀ(H + δD)x = Δ_k. The
shift δ keeps null directions, which redundant skeletons have, from looking like negative ones.

A pivot that almost vanishes makes x almost flat, although some other direction may bend down
steeply: with H = (2 1; 1 0) the first one found is (0, 1). So δ grows until nothing negative is
left, and the last direction before that is taken; its curvature is within a factor of the worst.

Dofs that sit on a limit without being pushed against it may leave it, but not pass it. Where such
limits shut a direction both ways, the dofs that they stop are held and the rest is looked at again;
where nothing is left, single dofs and pairs on one path are. That finds nearly every way down; what
it may miss, the certificate of a result does not (`solvers/_critical_cone.py`).
"""

from __future__ import annotations

import math

import numpy as np

from exactik.compile import jit, jit_forceinline
from exactik.kernels.linear.active_set import clear_step, copy_free_block
from exactik.kernels.linear.loops import eliminate_blocks
from exactik.kernels.linear.ltdl import factor

FLAT_CURVATURE = 1e-7  # share of D: a curvature above −FLAT_CURVATURE · D is not negative
SHIFT_GROWTH, MAX_SHIFTS = 10.0, 30  # of δ; far beyond any curvature, where numbers are numbers
NEAR_LIMIT = 1e-9  # [rad or m], or share of a smaller range: a dof this near sits on its limit
NEGLIGIBLE_ENTRY = 1e-9  # of the largest of a direction: a limit may clip it


@jit_forceinline
def is_convex_by_blocks(joints, S, P, g, H, descent):
    """Return whether H + δD is positive definite on the dofs outside the active set, in O(n).

    For the layout JOINT_BLOCKS; descent.step and descent.rhs are overwritten.
    """
    clear_step(descent)
    return eliminate_blocks(joints, S, P, g, H, FLAT_CURVATURE, descent) > 0.0


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


@jit
def is_open(box, q, descent, i, x):
    """Return whether dof i may move in the sense of x, as far as limits are concerned."""
    j = box.coordinate[i]
    if j < 0:
        return True
    near = NEAR_LIMIT * min(descent.upper[i] - descent.lower[i], 1.0)
    return q[j] - descent.lower[i] > near if x < 0.0 else descent.upper[i] - q[j] > near


@jit
def open_descent_direction(pattern, box, q, g, H, descent):
    """Write a direction of negative curvature that limits leave open to descent.step; else False.

    Its largest entry is 1. More dofs may be in the active set afterwards.
    """
    step, active_set, count = descent.step, descent.active_set, descent.step.shape[0]
    for i in range(count):
        descent.rhs[i] = active_set[i]
    for _ in range(count):
        if not negative_curvature_direction(pattern, g, H, descent):
            break
        ahead, back = 0.0, 0.0
        for i in range(count):
            if abs(step[i]) > NEGLIGIBLE_ENTRY:
                ahead += 0.0 if is_open(box, q, descent, i, step[i]) else step[i] * step[i]
                back += 0.0 if is_open(box, q, descent, i, -step[i]) else step[i] * step[i]
        sense = 1.0 if ahead <= back else -1.0
        for i in range(count):
            step[i] *= sense
            shut = abs(step[i]) > NEGLIGIBLE_ENTRY and not is_open(box, q, descent, i, step[i])
            active_set[i] = 1.0 if shut else active_set[i]
        if min(ahead, back) == 0.0:
            return True
    for i in range(count):
        active_set[i] = descent.rhs[i]
    return open_pair_direction(pattern, box, q, H, descent)


@jit
def open_pair_direction(pattern, box, q, H, descent):
    """Write a direction of negative curvature of one dof, or of two on a path; False if none."""
    step, active_set, count = descent.step, descent.active_set, descent.step.shape[0]
    for i in range(count):
        step[i] = 0.0
    for i in range(count):
        level = np.int64(pattern.dof_level[i])
        flat = FLAT_CURVATURE * descent.scale[i]
        for sense in (1.0, -1.0):
            if active_set[i] != 0.0 or not is_open(box, q, descent, i, sense):
                continue
            if H[i, level] < -flat:
                step[i] = sense
                return True
            above = i
            for a in range(level - 1, -1, -1):
                above = np.int64(pattern.dof_parent[above])
                other = -sense if H[i, a] > 0.0 else sense
                if active_set[above] != 0.0 or not is_open(box, q, descent, above, other):
                    continue
                own = max(H[i, level] + flat, flat)
                above_flat = FLAT_CURVATURE * descent.scale[above]
                across = max(H[above, a] + above_flat, above_flat)
                if abs(H[i, a]) > math.sqrt(own) * math.sqrt(across):
                    largest = max(math.sqrt(own), math.sqrt(across))
                    step[i] = sense * math.sqrt(across) / largest
                    step[above] = other * math.sqrt(own) / largest
                    return True
    return False
