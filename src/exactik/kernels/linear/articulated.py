"""The damped Newton step of a tree in O(n): Featherstone's articulated-body recursion.

With V_k = V_λ + Σ S_i x_i, the twist that a step x gives to frame k with parent λ, the model is

    g·x + ½ xᵀ(H + μD)x  =  Σ_k [ x_k·(g_k + P_kᵀV_λ) + ½ x_kᵀ(H_kk + μD_k)x_k ]

where H_kk is the block of joint k with itself and P = M S of `sweeps.sweep_joint_blocks`: a
linear-quadratic regulator on the tree with the state V, solved by a Riccati recursion without the
rest of H (docs/maths.md §10). Eliminating the dofs of a joint, the innermost first, leaves to its
parent what its subtree has absorbed, a symmetric 6×6 Δ and a wrench a, in a row of `absorbed`:

    tips → root    y = Δ S ,  U = P − y ,  B = H_kk + μD − Sᵀy ,  t = g − Sᵀa
                   d = B_ii ,  l = B_ij/d :   B_j −= l B_i ,  U_j −= l U_i ,  t_j −= l t_i  (j < i)
                   Δ += U_i U_iᵀ/d ,  a += U_i t_i/d ;   then Δ_λ += Δ ,  a_λ += a
    root → tips    x_i = −(t_i + U_i·V_λ)/d_i − Σ_{j<i} l_ij x_j

The pivots d are those of LᵀDL with the same order of elimination. A dof in the active set keeps its
entry x_i of `step`: it adds B_ji x_i to t_j of its joint and −U_i x_i to a, and 1/d = 0 leaves the
rest as it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.kernels.linear.six_vectors import add_scaled, dot, load, store
from exactik.spatial import jit, jit_forceinline
from exactik.typing import IndexArray

__all__ = [
    "ABSORBED_SIZE",
    "DELTA_SIZE",
    "JOINT_BLOCKS",
    "MIN_ARTICULATED_DOFS",
    "WHOLE_ROWS",
    "JointPattern",
    "eliminate_joints",
    "multiply_delta",
    "reduce_right_side",
    "substitute_joints",
]


class JointPattern(NamedTuple):
    """Which joint hangs on which: what the recursion needs of a `Tree`.

    A tree has fields of the same names; this is a shorter list of arguments.
    """

    parent: IndexArray  #     (n+1,)
    last_child: IndexArray  # (n+1,)
    first_v: IndexArray  #    (n+2,)
    depth: IndexArray  #      (n+1,)


WHOLE_ROWS, JOINT_BLOCKS = 0, 1
"""Layouts of a Hessian: all of its ancestor rows, to be factored (`ltdl`); or of each row only the
part in the block of its joint, beside the momenta P."""

MIN_ARTICULATED_DOFS = 20  # with fewer, rows of H and their factors take less time
DELTA_SIZE, ABSORBED_SIZE = 21, 27  # the upper triangle of Δ, row by row; and a behind it


@jit_forceinline
def multiply_delta(A, k, s):
    """Return Δ_k s."""
    a, b, c, u, v, w = s
    return (
        (A[k, 0] * a + A[k, 1] * b + A[k, 2] * c) + (A[k, 3] * u + A[k, 4] * v + A[k, 5] * w),
        (A[k, 1] * a + A[k, 6] * b + A[k, 7] * c) + (A[k, 8] * u + A[k, 9] * v + A[k, 10] * w),
        (A[k, 2] * a + A[k, 7] * b + A[k, 11] * c) + (A[k, 12] * u + A[k, 13] * v + A[k, 14] * w),
        (A[k, 3] * a + A[k, 8] * b + A[k, 12] * c) + (A[k, 15] * u + A[k, 16] * v + A[k, 17] * w),
        (A[k, 4] * a + A[k, 9] * b + A[k, 13] * c) + (A[k, 16] * u + A[k, 18] * v + A[k, 19] * w),
        (A[k, 5] * a + A[k, 10] * b + A[k, 14] * c) + (A[k, 17] * u + A[k, 19] * v + A[k, 20] * w),
    )


@jit_forceinline
def load_absorbed(A, k):
    """Return the 27 numbers of row k: they stay in registers while a joint is eliminated."""
    first = (A[k, 0], A[k, 1], A[k, 2], A[k, 3], A[k, 4], A[k, 5], A[k, 6], A[k, 7], A[k, 8])
    second = (A[k, 9], A[k, 10], A[k, 11], A[k, 12], A[k, 13], A[k, 14], A[k, 15], A[k, 16])
    third = (A[k, 17], A[k, 18], A[k, 19], A[k, 20], A[k, 21], A[k, 22], A[k, 23], A[k, 24])
    return first + second + third + (A[k, 25], A[k, 26])


@jit_forceinline
def add_product(m, u, t, r):
    """Return Δ + r u uᵀ and a + r t u."""
    a, b, c, d, e, f = u[0] * r, u[1] * r, u[2] * r, u[3] * r, u[4] * r, u[5] * r
    return (
        m[0] + a * u[0],
        m[1] + a * u[1],
        m[2] + a * u[2],
        m[3] + a * u[3],
        m[4] + a * u[4],
        m[5] + a * u[5],
        m[6] + b * u[1],
        m[7] + b * u[2],
        m[8] + b * u[3],
        m[9] + b * u[4],
        m[10] + b * u[5],
        m[11] + c * u[2],
        m[12] + c * u[3],
        m[13] + c * u[4],
        m[14] + c * u[5],
        m[15] + d * u[3],
        m[16] + d * u[4],
        m[17] + d * u[5],
        m[18] + e * u[4],
        m[19] + e * u[5],
        m[20] + f * u[5],
        m[21] + a * t,
        m[22] + b * t,
        m[23] + c * t,
        m[24] + d * t,
        m[25] + e * t,
        m[26] + f * t,
    )


@jit_forceinline
def store_absorbed(A, k, m):
    """Write 27 numbers to row k."""
    A[k, 0] = m[0]
    A[k, 1] = m[1]
    A[k, 2] = m[2]
    A[k, 3] = m[3]
    A[k, 4] = m[4]
    A[k, 5] = m[5]
    A[k, 6] = m[6]
    A[k, 7] = m[7]
    A[k, 8] = m[8]
    A[k, 9] = m[9]
    A[k, 10] = m[10]
    A[k, 11] = m[11]
    A[k, 12] = m[12]
    A[k, 13] = m[13]
    A[k, 14] = m[14]
    A[k, 15] = m[15]
    A[k, 16] = m[16]
    A[k, 17] = m[17]
    A[k, 18] = m[18]
    A[k, 19] = m[19]
    A[k, 20] = m[20]
    A[k, 21] = m[21]
    A[k, 22] = m[22]
    A[k, 23] = m[23]
    A[k, 24] = m[24]
    A[k, 25] = m[25]
    A[k, 26] = m[26]


@jit_forceinline
def add_absorbed(A, k, m):
    """Add 27 numbers to row k."""
    A[k, 0] += m[0]
    A[k, 1] += m[1]
    A[k, 2] += m[2]
    A[k, 3] += m[3]
    A[k, 4] += m[4]
    A[k, 5] += m[5]
    A[k, 6] += m[6]
    A[k, 7] += m[7]
    A[k, 8] += m[8]
    A[k, 9] += m[9]
    A[k, 10] += m[10]
    A[k, 11] += m[11]
    A[k, 12] += m[12]
    A[k, 13] += m[13]
    A[k, 14] += m[14]
    A[k, 15] += m[15]
    A[k, 16] += m[16]
    A[k, 17] += m[17]
    A[k, 18] += m[18]
    A[k, 19] += m[19]
    A[k, 20] += m[20]
    A[k, 21] += m[21]
    A[k, 22] += m[22]
    A[k, 23] += m[23]
    A[k, 24] += m[24]
    A[k, 25] += m[25]
    A[k, 26] += m[26]


@jit_forceinline
def eliminate_joints(joints, S, P, g, H, damping, descent):
    """Run the sweep from the tips to the root; return the smallest pivot.

    At a joint with a pivot that is not positive it ends, and what it returns is not positive. Of H
    (nv, width) only the blocks H_kk are read. `descent` gives D in `scale`, and in `step` the
    entries of its active set, 0 for other dofs; it receives t in `rhs` and l in the blocks of `L`.
    """
    U, A, L, rhs = descent.U, descent.absorbed, descent.L, descent.rhs
    scale, active_set, step = descent.scale, descent.active_set, descent.step
    frame_count, smallest = joints.parent.shape[0], np.inf
    for back in range(1, frame_count):
        k = frame_count - back
        if joints.last_child[k] == 0:
            for c in range(ABSORBED_SIZE):
                A[k, c] = 0.0
        first, end = np.int64(joints.first_v[k]), np.int64(joints.first_v[k + 1])
        # The column of dof j in the rows of its joint is j + shift.
        shift = np.int64(joints.depth[k]) - first
        wrench = (A[k, 21], A[k, 22], A[k, 23], A[k, 24], A[k, 25], A[k, 26])
        for i in range(first, end):
            s = load(S, i)
            y = multiply_delta(A, k, s)
            store(U, i, add_scaled(load(P, i), -1.0, y))
            rhs[i] = g[i] - dot(s, wrench)
            for j in range(first, i):
                L[i, j + shift] = H[i, j + shift] - dot(load(S, j), y)
            L[i, i + shift] = H[i, i + shift] + damping * scale[i] - dot(s, y)
        for i in range(first, end):
            if step[i] != 0.0:
                for j in range(first, end):
                    rhs[j] += step[i] * (L[i, j + shift] if j < i else L[j, i + shift])
                for c in range(6):
                    A[k, DELTA_SIZE + c] -= step[i] * U[i, c]
        parent, failed = np.int64(joints.parent[k]), False
        absorbed = load_absorbed(A, k)
        for i in range(end - 1, first - 1, -1):
            pivot = L[i, i + shift] if active_set[i] == 0.0 else np.inf
            failed |= not pivot > 0.0
            smallest = min(smallest, pivot)
            inverse = 1.0 / pivot
            u, t = load(U, i), rhs[i]
            for j in range(first, i):
                ratio = L[i, j + shift] * inverse
                for m in range(first, j + 1):
                    L[j, m + shift] -= ratio * L[i, m + shift]
                store(U, j, add_scaled(load(U, j), -ratio, u))
                rhs[j] -= ratio * t
            for j in range(first, i):
                L[i, j + shift] *= inverse
            descent.inverse_pivot[i] = inverse
            if parent > 0:
                absorbed = add_product(absorbed, u, t, inverse)
        if failed:
            return min(smallest, 0.0)
        if np.int64(joints.last_child[parent]) == k:  # the first to come here
            store_absorbed(A, parent, absorbed)
        else:
            add_absorbed(A, parent, absorbed)
    return smallest


@jit
def reduce_right_side(joints, S, descent):
    """Take descent.rhs for g in what was eliminated last: it becomes t, for `substitute_joints`."""
    U, A, L, rhs = descent.U, descent.absorbed, descent.L, descent.rhs
    frame_count = joints.parent.shape[0]
    for k in range(frame_count):
        for c in range(DELTA_SIZE, ABSORBED_SIZE):
            A[k, c] = 0.0
    for back in range(1, frame_count):
        k = frame_count - back
        first, end = np.int64(joints.first_v[k]), np.int64(joints.first_v[k + 1])
        shift, parent = np.int64(joints.depth[k]) - first, np.int64(joints.parent[k])
        wrench = (A[k, 21], A[k, 22], A[k, 23], A[k, 24], A[k, 25], A[k, 26])
        for i in range(first, end):
            rhs[i] -= dot(load(S, i), wrench)
        for i in range(end - 1, first - 1, -1):
            for j in range(first, i):
                rhs[j] -= L[i, j + shift] * rhs[i]
            wrench = add_scaled(wrench, rhs[i] * descent.inverse_pivot[i], load(U, i))
        for c in range(6):
            A[parent, DELTA_SIZE + c] += wrench[c]


@jit_forceinline
def substitute_joints(joints, S, descent):
    """Run the sweep from the root to the tips: descent.rhs, which holds t, becomes x."""
    U, V, L, rhs = descent.U, descent.V, descent.L, descent.rhs
    active_set, step = descent.active_set, descent.step
    store(V, 0, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    for k in range(1, joints.parent.shape[0]):
        first, end = np.int64(joints.first_v[k]), np.int64(joints.first_v[k + 1])
        shift = np.int64(joints.depth[k]) - first
        above = load(V, np.int64(joints.parent[k]))
        twist = above
        for i in range(first, end):
            x = step[i]
            if active_set[i] == 0.0:
                x = -(rhs[i] + dot(load(U, i), above)) * descent.inverse_pivot[i]
                for j in range(first, i):
                    if active_set[j] == 0.0:
                        x -= L[i, j + shift] * rhs[j]
            rhs[i] = x
            twist = add_scaled(twist, x, load(S, i))
        store(V, k, twist)
