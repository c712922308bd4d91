"""The chain rule of the tree, once per order of derivative, for every joint and every goal.

Derived in docs/maths.md §4, §6 and §9. Each frame k holds the wrench w = (τ, F) and the symmetric
6×6 𝓗 of its whole subtree (`sums`). With the world twists S_i = (ω_i, v_i):

    gradient     g_i = −S_i · w_k
    Hessian      H_ij = S_j · p_i ,    p_i = 𝓗_k S_i − ½ (ω_i × τ + v_i × F ;  ω_i × F)

for dof i of joint k and every dof j above it on the path or itself; 0 on different branches. The
second part of p_i is half the Lie bracket [S_j, S_i] against w: ancestors carry the later joint
along. Inside one joint that formula supposes that outer dofs carry inner ones and not the reverse,
which Euler angles and hinges fulfil. A ball joint in other coordinates adds what the inner dof i
does to the axis of the outer dof j,

    H_ij −= D_ji · (τ − p_k × F) ,     D_ji = ∂ω_j/∂θ_i ,  j ≤ i      (`subtract_joint_curvature`)

and `tree.custom` has what a custom joint adds. Dofs are those of the joints, driven ones too.

Gauss–Newton is the same sweep with its own 𝓗 and w = 0.

H is stored as ancestor rows: H[i, l] couples dof i with the dof at level l of its path. Frames
are visited depth first, so the twists of the current path lie side by side in `path` and a row is
one vector loop.
"""

from __future__ import annotations

import numpy as np

from exactik.compile import jit, jit_forceinline
from exactik.kernels.goals.sums import EXACT, SUMS_SIZE
from exactik.kernels.linear.articulated import multiply_rows
from exactik.kernels.linear.ltdl import pad_to_lanes
from exactik.kernels.linear.six_vectors import dot, load
from exactik.kernels.linear.vec8 import (
    make_vec8,
    scale_vec8,
    store_six,
    vec8_entry,
)
from exactik.kernels.tree.custom import subtract_custom_curvature
from exactik.kernels.tree.packed import AXES, CUSTOM, EXP_MAP, NO_ROTATION, QUATERNION
from exactik.spatial import cross, exp_coefficients, left_jacobian_derivative


@jit_forceinline
def sweep_gradient(tree, S, sums, free, g):
    """Write g (nv,) from the wrenches of subtrees; `free` is 0 for locked dofs, 1 for others."""
    for k in range(1, tree.parent.shape[0]):
        for i in range(np.int64(tree.joint_v[k]), np.int64(tree.joint_v[k + 1])):
            g[i] = -free[i] * dot(load(S, i), load(sums, k))


@jit_forceinline
def momentum_columns(sums, k, order):
    """Return the columns of the matrix that takes S_i to p_i.

    𝓗 for Gauss–Newton; for the exact Hessian 𝓗 + ½ [[ [τ], [F] ], [ [F], 0 ]], no longer symmetric.
    """
    tx, ty, tz, fx, fy, fz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    if order == EXACT:
        tx, ty, tz = 0.5 * sums[k, 0], 0.5 * sums[k, 1], 0.5 * sums[k, 2]
        fx, fy, fz = 0.5 * sums[k, 3], 0.5 * sums[k, 4], 0.5 * sums[k, 5]
    h01, h02, h12 = sums[k, 7], sums[k, 8], sums[k, 13]
    h03, h04, h05 = sums[k, 9], sums[k, 10], sums[k, 11]
    h13, h14, h15 = sums[k, 14], sums[k, 15], sums[k, 16]
    h23, h24, h25 = sums[k, 18], sums[k, 19], sums[k, 20]
    h34, h35, h45 = sums[k, 22], sums[k, 23], sums[k, 25]
    return (
        make_vec8(sums[k, 6], h01 + tz, h02 - ty, h03, h04 + fz, h05 - fy),
        make_vec8(h01 - tz, sums[k, 12], h12 + tx, h13 - fz, h14, h15 + fx),
        make_vec8(h02 + ty, h12 - tx, sums[k, 17], h23 + fy, h24 - fx, h25),
        make_vec8(h03, h13 + fz, h23 - fy, sums[k, 21], h34, h35),
        make_vec8(h04 - fz, h14, h24 + fx, h34, sums[k, 24], h45),
        make_vec8(h05 + fy, h15 - fx, h25, h35, h45, sums[k, 26]),
    )


@jit_forceinline
def six_entries(x):
    """Return the first six entries of a vec8, apart."""
    return (
        vec8_entry(x, 0),
        vec8_entry(x, 1),
        vec8_entry(x, 2),
        vec8_entry(x, 3),
        vec8_entry(x, 4),
        vec8_entry(x, 5),
    )


@jit_forceinline
def sweep_hessian(tree, q, R, p, S, sums, free, order, path, H):
    """Write H (nv, width) as ancestor rows from the sums of subtrees, order GAUSS_NEWTON or EXACT.

    `path` (6, width) is scratch; width is the deepest level + 1, padded.
    """
    for n in range(tree.frame_order.shape[0]):
        k = np.int64(tree.frame_order[n])
        first, end = np.int64(tree.joint_v[k]), np.int64(tree.joint_v[k + 1])
        depth = np.int64(tree.joint_depth[k])
        columns = momentum_columns(sums, k, order)
        for i in range(first, end):
            momentum = scale_vec8(free[i], multiply_rows(columns, S, i))
            p0, p1, p2, p3, p4, p5 = six_entries(momentum)
            for a in range(pad_to_lanes(depth)):
                turning = p0 * path[0, a] + p1 * path[1, a] + p2 * path[2, a]
                H[i, a] = turning + (p3 * path[3, a] + p4 * path[4, a] + p5 * path[5, a])
            for j in range(first, i + 1):
                H[i, depth + j - first] = free[j] * dot(load(S, j), six_entries(momentum))
        for i in range(first, end):
            for c in range(6):
                path[c, depth + i - first] = free[i] * S[i, c]
        if order == EXACT:
            subtract_joint_curvature(tree, k, q, R, p, S, sums, free, H)


@jit_forceinline
def sweep_joint_blocks(tree, q, R, p, S, sums, free, order, g, P, H):
    """Write g, p_i to P (nv, 6), and the block of each joint with itself to its ancestor rows in H.

    All that `joint_blocks` and `linear.articulated` need of the Hessian, in O(n); `sums` are those
    of the goals on each frame, and become those of subtrees on the way from the tips to the root.
    """
    for back in range(1, tree.parent.shape[0]):
        k = tree.parent.shape[0] - back
        first, end = np.int64(tree.joint_v[k]), np.int64(tree.joint_v[k + 1])
        depth = np.int64(tree.joint_depth[k])
        columns = momentum_columns(sums, k, order)
        for i in range(first, end):
            momentum = scale_vec8(free[i], multiply_rows(columns, S, i))
            g[i] = -free[i] * dot(load(S, i), load(sums, k))
            store_six(P, i, momentum)
            for j in range(first, i + 1):
                H[i, depth + j - first] = free[j] * dot(load(S, j), six_entries(momentum))
        if order == EXACT:
            subtract_joint_curvature(tree, k, q, R, p, S, sums, free, H)
        parent = np.int64(tree.parent[k])
        for j in range(SUMS_SIZE):
            sums[parent, j] += sums[k, j]


@jit_forceinline
def subtract_joint_curvature(tree, k, q, R, p, S, sums, free, H):
    """Subtract D_ji · (τ − p_k × F) for the pairs j ≤ i of a ball joint; hinges need none."""
    kind = tree.rotation[k]
    if kind == CUSTOM:
        subtract_custom_curvature(tree, k, q, R, p, sums, free, H)
    elif kind != AXES and kind != NO_ROTATION:
        subtract_ball_curvature(tree, k, q, R, p, S, sums, free, H)


@jit
def subtract_ball_curvature(tree, k, q, R, p, S, sums, free, H):
    """As `subtract_joint_curvature`, for a ball joint."""
    shifts = np.int64(tree.shift_count[k])
    first = np.int64(tree.joint_v[k]) + shifts
    idx_q = np.int64(tree.joint_q[k]) + shifts
    level = np.int64(tree.joint_depth[k]) + shifts
    fx, fy, fz = cross(p[k, 0], p[k, 1], p[k, 2], sums[k, 3], sums[k, 4], sums[k, 5])
    mx, my, mz = sums[k, 0] - fx, sums[k, 1] - fy, sums[k, 2] - fz  # moment about the joint
    kind = tree.rotation[k]
    if kind == QUATERNION:  # D_ji = ½ ω_i × ω_j
        for i in range(1, 3):
            for j in range(i):
                a, b = first + i, first + j
                dx, dy, dz = cross(S[a, 0], S[a, 1], S[a, 2], S[b, 0], S[b, 1], S[b, 2])
                H[a, level + j] -= 0.5 * free[a] * free[b] * (dx * mx + dy * my + dz * mz)
        return
    # Exponential map and swing: D_ji = P dJ_l(w; e_j, e_i), P = R_λ pre. Bring the moment to the
    # base frame instead.
    mx, my, mz = multiply_transposed(R, np.int64(tree.parent[k]), mx, my, mz)
    mx, my, mz = multiply_transposed(tree.pre, k, mx, my, mz)
    curved = 3 if kind == EXP_MAP else 2  # the twist, innermost, bends no other axis
    w = (q[idx_q], q[idx_q + 1], q[idx_q + 2] if kind == EXP_MAP else 0.0)
    _, b_, c_, db, dc = exp_coefficients(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    for i in range(curved):
        for j in range(i + 1):
            a, b = first + i, first + j
            dx, dy, dz = left_jacobian_derivative(w, j, i, b_, c_, db, dc)
            H[a, level + j] -= free[a] * free[b] * (dx * mx + dy * my + dz * mz)


@jit_forceinline
def multiply_transposed(M, k, x, y, z):
    """Return M_kᵀ (x, y, z)."""
    return (
        M[k, 0, 0] * x + M[k, 1, 0] * y + M[k, 2, 0] * z,
        M[k, 0, 1] * x + M[k, 1, 1] * y + M[k, 2, 1] * z,
        M[k, 0, 2] * x + M[k, 1, 2] * y + M[k, 2, 2] * z,
    )
