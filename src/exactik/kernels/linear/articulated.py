"""The damped Newton step of a tree in O(n): Featherstone's articulated-body recursion.

With V_k = V_λ + Σ S_i x_i, the twist that a step x gives to frame k with parent λ, the model is

    g·x + ½ xᵀ(H + μD)x  =  Σ_k [ x_k·(g_k + P_kᵀV_λ) + ½ x_kᵀ(H_kk + μD_k)x_k ]

where H_kk is the block of joint k with itself and P = M S of `sweeps.sweep_joint_blocks`: a
linear-quadratic regulator on the tree with the state V, solved by a Riccati recursion without the
rest of H (docs/maths.md §10). Eliminating the dofs of a joint, the innermost first, leaves to its
parent what its subtree has absorbed, a symmetric 6×6 Δ and a wrench a:

    tips → root    y = Δ S ,  U = P − y ,  B = H_kk + μD − Sᵀy ,  t = g − Sᵀa
                   d = B_ii ,  l = B_ij/d :   B_j −= l B_i ,  U_j −= l U_i ,  t_j −= l t_i  (j < i)
                   Δ += U_i U_iᵀ/d ,  a += U_i t_i/d ;   then Δ_λ += Δ ,  a_λ += a
    root → tips    x_i = −(t_i + U_i·V_λ)/d_i − Σ_{j<i} l_ij x_j

Rows of eight numbers make one product of two, [Δ | a | 0]ᵀ S = [y | S·a | 0]: each frame has six of
these rows in `absorbed`, and each dof [U | t | 0] in `U`. Multiplied with [V | 1 | 0] of `V`, that
is U·V + t.

The pivots d are those of LᵀDL with the same order of elimination. A dof in the active set keeps its
entry x_i of `step`: with 1/d = 0 it only adds B_ij x_i to t_j and −U_i x_i to a. So for any dof,

    w = [U_i | t_i | 0]/d − [0 | x_i | 0] :   [U_j | t_j | 0] −= B_ij w ,  [Δ | a | 0] += U_i w
"""

from __future__ import annotations

import numpy as np

from exactik.compile import jit, jit_forceinline
from exactik.kernels.linear.vec8 import (
    add_scaled_vec8,
    add_vec8,
    dot_vec8,
    load_six,
    load_vec8,
    make_vec8,
    replace_entry,
    scale_vec8,
    store_vec8,
    vec8_entry,
)

WHOLE_ROWS, JOINT_BLOCKS = 0, 1
"""Layouts of a Hessian: all of its ancestor rows, to be factored (`ltdl`); or of each row only the
part in the block of its joint, beside the momenta P."""

MIN_ARTICULATED_DOFS = 20  # with fewer, rows of H and their factors take less time
LAST = 6  # the column behind six others: a, t, and 1 behind V


@jit_forceinline
def multiply_rows(rows, S, i):
    """Return the sum of six rows, each times its entry of the twist of dof i."""
    first = add_scaled_vec8(scale_vec8(S[i, 0], rows[0]), S[i, 1], rows[1])
    second = add_scaled_vec8(scale_vec8(S[i, 3], rows[3]), S[i, 4], rows[4])
    first = add_scaled_vec8(first, S[i, 2], rows[2])
    return add_vec8(first, add_scaled_vec8(second, S[i, 5], rows[5]))


@jit_forceinline
def load_absorbed(A, k):
    """Return the six rows of frame k: they stay in registers while a joint is eliminated."""
    return (
        load_vec8(A, 6 * k),
        load_vec8(A, 6 * k + 1),
        load_vec8(A, 6 * k + 2),
        load_vec8(A, 6 * k + 3),
        load_vec8(A, 6 * k + 4),
        load_vec8(A, 6 * k + 5),
    )


@jit_forceinline
def store_absorbed(A, k, rows):
    """Write the six rows of frame k."""
    store_vec8(A, 6 * k, rows[0])
    store_vec8(A, 6 * k + 1, rows[1])
    store_vec8(A, 6 * k + 2, rows[2])
    store_vec8(A, 6 * k + 3, rows[3])
    store_vec8(A, 6 * k + 4, rows[4])
    store_vec8(A, 6 * k + 5, rows[5])


@jit_forceinline
def add_product(rows, u, v):
    """Return rows + u vᵀ, of u its first six entries."""
    return (
        add_scaled_vec8(rows[0], vec8_entry(u, 0), v),
        add_scaled_vec8(rows[1], vec8_entry(u, 1), v),
        add_scaled_vec8(rows[2], vec8_entry(u, 2), v),
        add_scaled_vec8(rows[3], vec8_entry(u, 3), v),
        add_scaled_vec8(rows[4], vec8_entry(u, 4), v),
        add_scaled_vec8(rows[5], vec8_entry(u, 5), v),
    )


@jit_forceinline
def start_dof(rows, S, P, g, i):
    """Return [y | S·a | 0] and [U | t | 0] of dof i before any dof of its joint is eliminated."""
    y = multiply_rows(rows, S, i)
    return y, add_scaled_vec8(replace_entry(load_six(P, i), LAST, g[i]), -1.0, y)


@jit_forceinline
def absorb_dof(rows, i, u, diagonal, descent):
    """Eliminate dof i from what hangs on the joint; return the rows, w, 1/d and d."""
    pivot = np.inf
    if descent.active_set[i] == 0.0:
        pivot = diagonal if diagonal > -np.inf else -np.inf  # −∞ if it is no number
    inverse = 1.0 / pivot
    store_vec8(descent.U, i, u)
    descent.inverse_pivot[i] = inverse
    last = replace_entry(make_vec8(0.0, 0.0, 0.0, 0.0, 0.0, 0.0), LAST, 1.0)
    w = add_scaled_vec8(scale_vec8(inverse, u), -descent.step[i], last)
    return add_product(rows, u, w), w, inverse, pivot


@jit_forceinline
def eliminate_three(first, count, depth, rows, S, P, g, H, damping, descent):
    """Eliminate the dofs of a joint with three at most; return its rows and the smallest pivot."""
    L, scale, smallest = descent.L, descent.scale, np.inf
    i, j, k = first, first + 1, first + 2
    y, u_i = start_dof(rows, S, P, g, i)
    s_i = load_six(S, i)
    B_ii = H[i, depth] + damping * scale[i] - dot_vec8(s_i, y)
    if count > 1:
        y, u_j = start_dof(rows, S, P, g, j)
        s_j = load_six(S, j)
        B_ji = H[j, depth] - dot_vec8(s_i, y)
        B_jj = H[j, depth + 1] + damping * scale[j] - dot_vec8(s_j, y)
        if count > 2:
            y, u_k = start_dof(rows, S, P, g, k)
            B_ki, B_kj = H[k, depth] - dot_vec8(s_i, y), H[k, depth + 1] - dot_vec8(s_j, y)
            B_kk = H[k, depth + 2] + damping * scale[k] - dot_vec8(load_six(S, k), y)
            rows, w, inverse, smallest = absorb_dof(rows, k, u_k, B_kk, descent)
            L[k, depth], L[k, depth + 1] = B_ki * inverse, B_kj * inverse
            B_ii -= B_ki * inverse * B_ki
            B_ji -= B_kj * inverse * B_ki
            B_jj -= B_kj * inverse * B_kj
            u_i = add_scaled_vec8(u_i, -B_ki, w)
            u_j = add_scaled_vec8(u_j, -B_kj, w)
        rows, w, inverse, pivot = absorb_dof(rows, j, u_j, B_jj, descent)
        smallest = min(smallest, pivot)
        L[j, depth] = B_ji * inverse
        B_ii -= B_ji * inverse * B_ji
        u_i = add_scaled_vec8(u_i, -B_ji, w)
    rows, w, inverse, pivot = absorb_dof(rows, i, u_i, B_ii, descent)
    return rows, min(smallest, pivot)


@jit
def eliminate_any(first, count, depth, rows, S, P, g, H, damping, descent):
    """As `eliminate_three`, for any joint."""
    U, L, smallest = descent.U, descent.L, np.inf
    for a in range(count):
        i = first + a
        y, u = start_dof(rows, S, P, g, i)
        store_vec8(U, i, u)
        for b in range(a + 1):
            L[i, depth + b] = H[i, depth + b] - dot_vec8(load_six(S, first + b), y)
        L[i, depth + a] += damping * descent.scale[i]
    for a in range(count - 1, -1, -1):
        i = first + a
        rows, w, inverse, pivot = absorb_dof(rows, i, load_vec8(U, i), L[i, depth + a], descent)
        smallest = min(smallest, pivot)
        for b in range(a):
            ratio = L[i, depth + b] * inverse
            for c in range(b + 1):
                L[first + b, depth + c] -= ratio * L[i, depth + c]
            u = load_vec8(U, first + b)
            store_vec8(U, first + b, add_scaled_vec8(u, -L[i, depth + b], w))
        for b in range(a):
            L[i, depth + b] *= inverse
    return rows, smallest


@jit_forceinline
def eliminate_joints(joints, S, P, g, H, damping, descent):
    """Run the sweep from the tips to the root; return the smallest pivot.

    At a joint with a pivot that is not positive it ends, and what it returns is not positive. Of H
    (nv, width) only the blocks H_kk are read. `descent` gives D in `scale`, and in `step` the
    entries of its active set, 0 for other dofs; it receives these in `rhs`, t in `U` and l in the
    blocks of `L`.
    """
    A, frame_count, smallest = descent.absorbed, joints.parent.shape[0], np.inf
    for i in range(descent.step.shape[0]):
        descent.rhs[i] = descent.step[i]
    nothing = make_vec8(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for back in range(1, frame_count):
        k = frame_count - back
        first, depth = np.int64(joints.first_v[k]), np.int64(joints.depth[k])
        count = np.int64(joints.first_v[k + 1]) - first
        rows = (nothing, nothing, nothing, nothing, nothing, nothing)
        if joints.last_child[k] != 0:
            rows = load_absorbed(A, k)
        pivot = np.inf
        if count > 3:
            rows, pivot = eliminate_any(first, count, depth, rows, S, P, g, H, damping, descent)
        elif count > 0:
            rows, pivot = eliminate_three(first, count, depth, rows, S, P, g, H, damping, descent)
        smallest = min(smallest, pivot)
        if not smallest > 0.0:
            return smallest
        parent = np.int64(joints.parent[k])
        if parent == 0:
            continue
        if np.int64(joints.last_child[parent]) != k:  # not the first to come here
            above = load_absorbed(A, parent)
            rows = (
                add_vec8(rows[0], above[0]),
                add_vec8(rows[1], above[1]),
                add_vec8(rows[2], above[2]),
                add_vec8(rows[3], above[3]),
                add_vec8(rows[4], above[4]),
                add_vec8(rows[5], above[5]),
            )
        store_absorbed(A, parent, rows)
    return smallest


@jit
def reduce_right_side(joints, S, descent):
    """Take descent.rhs for g in what was eliminated last: t in `U`, for `substitute_joints`.

    Its entries for the active set are those that x will have, and are not multiplied with anything.
    """
    U, wrenches, L, rhs = descent.U, descent.V, descent.L, descent.rhs
    frame_count = joints.parent.shape[0]
    for k in range(frame_count):
        store_vec8(wrenches, k, make_vec8(0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    for back in range(1, frame_count):
        k = frame_count - back
        first, end = np.int64(joints.first_v[k]), np.int64(joints.first_v[k + 1])
        shift, parent = np.int64(joints.depth[k]) - first, np.int64(joints.parent[k])
        wrench = load_vec8(wrenches, k)
        for i in range(first, end):
            U[i, LAST] = rhs[i] - dot_vec8(load_six(S, i), wrench)
        for i in range(end - 1, first - 1, -1):
            for j in range(first, i):
                U[j, LAST] -= L[i, j + shift] * U[i, LAST]
            t = U[i, LAST] * descent.inverse_pivot[i]
            wrench = add_scaled_vec8(wrench, t, load_six(U, i))
        store_vec8(wrenches, parent, add_vec8(load_vec8(wrenches, parent), wrench))


@jit_forceinline
def substitute_joints(joints, S, descent):
    """Run the sweep from the root to the tips: x in descent.rhs, which has its active set's."""
    U, V, L, x = descent.U, descent.V, descent.L, descent.rhs
    store_vec8(V, 0, replace_entry(make_vec8(0.0, 0.0, 0.0, 0.0, 0.0, 0.0), LAST, 1.0))
    for k in range(1, joints.parent.shape[0]):
        first, end = np.int64(joints.first_v[k]), np.int64(joints.first_v[k + 1])
        shift = np.int64(joints.depth[k]) - first
        above = load_vec8(V, np.int64(joints.parent[k]))
        twist = above
        for i in range(first, end):
            if descent.active_set[i] == 0.0:
                x[i] = -dot_vec8(load_vec8(U, i), above) * descent.inverse_pivot[i]
                for j in range(first, i):
                    x[i] -= L[i, j + shift] * x[j]
            twist = add_scaled_vec8(twist, x[i], load_six(S, i))
        store_vec8(V, k, twist)
