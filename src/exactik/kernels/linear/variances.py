"""Diagonal of A⁻¹ G A⁻¹ in O(n) for two matrices of a tree, of which only joint blocks are written.

It is −d/dε of the diagonal of (A + εG)⁻¹ at ε = 0; so the recursion that inverts A is
differentiated along G. With x of covariance (A + εG)⁻¹, frame k with parent λ has the twist
V_k = V_λ + Σ S_i x_i, and the elimination of `articulated` leaves for the dofs of its joint

    x = −Γ V_λ + e ,    Γ_i = U_i/d_i − Σ_{j<i} l_ij Γ_j ,    e_i = ε_i − Σ_{j<i} l_ij e_j

with independent ε_i of variance 1/d_i. From the root to the tips, with Π = cov(V) and C = cov(e),

    Y = Π_λ Γᵀ ,    cov(x) = C + Γ Y ,    Π_k = Π_λ − S Yᵀ − Y Sᵀ + S cov(x) Sᵀ

(docs/maths.md §10). Rates along G follow line by line from the product rule. Dofs in the active
set have 1/d = 0 and neither vary nor carry anything.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.compile import jit, jit_forceinline
from exactik.kernels.linear.six_vectors import add_scaled, dot, load, store
from exactik.kernels.tree.packed import Tree
from exactik.typing import Array

MAX_JOINT_DOFS = 6  # three shifts and three turns
TRIANGLE_SIZE = 21  # numbers of a symmetric 6×6: its upper triangle, row by row


class VarianceScratch(NamedTuple):
    """What the recursion keeps; symmetric 6×6 by their upper triangles."""

    delta_rate: Array  #      (n+1, TRIANGLE_SIZE) rate of Δ, what the frames have absorbed
    twist: Array  #           (n+1, TRIANGLE_SIZE) Π
    twist_rate: Array  #      (n+1, TRIANGLE_SIZE)
    block: Array  #           (nv, MAX_JOINT_DOFS) rows of C, then of cov(x), in the joint's block
    block_rate: Array  #      (nv, MAX_JOINT_DOFS)
    product: Array  #         (nv, 6) Y, and other scratch
    product_rate: Array  #    (nv, 6)


def new_variance_scratch(tree: Tree) -> VarianceScratch:
    """Return scratch for one thread."""
    n, nv = len(tree.parent), int(tree.first_v[-1])
    return VarianceScratch(
        delta_rate=np.zeros((n, TRIANGLE_SIZE)),
        twist=np.zeros((n, TRIANGLE_SIZE)),
        twist_rate=np.zeros((n, TRIANGLE_SIZE)),
        block=np.zeros((nv, MAX_JOINT_DOFS)),
        block_rate=np.zeros((nv, MAX_JOINT_DOFS)),
        product=np.zeros((nv, 6)),
        product_rate=np.zeros((nv, 6)),
    )


@jit_forceinline
def multiply_symmetric(M, k, s):
    """Return M_k s."""
    a, b, c, u, v, w = s
    return (
        (M[k, 0] * a + M[k, 1] * b + M[k, 2] * c) + (M[k, 3] * u + M[k, 4] * v + M[k, 5] * w),
        (M[k, 1] * a + M[k, 6] * b + M[k, 7] * c) + (M[k, 8] * u + M[k, 9] * v + M[k, 10] * w),
        (M[k, 2] * a + M[k, 7] * b + M[k, 11] * c) + (M[k, 12] * u + M[k, 13] * v + M[k, 14] * w),
        (M[k, 3] * a + M[k, 8] * b + M[k, 12] * c) + (M[k, 15] * u + M[k, 16] * v + M[k, 17] * w),
        (M[k, 4] * a + M[k, 9] * b + M[k, 13] * c) + (M[k, 16] * u + M[k, 18] * v + M[k, 19] * w),
        (M[k, 5] * a + M[k, 10] * b + M[k, 14] * c) + (M[k, 17] * u + M[k, 19] * v + M[k, 20] * w),
    )


@jit_forceinline
def add_products(M, k, X, Y, i):
    """M_k += X_i Y_iᵀ + Y_i X_iᵀ."""
    index = 0
    for a in range(6):
        for b in range(a, 6):
            M[k, index] += X[i, a] * Y[i, b] + Y[i, a] * X[i, b]
            index += 1


@jit
def compute_variances(joints, S, P, H, variance, scratch, descent):
    """Write the diagonal of A⁻¹ G A⁻¹ (nv,), 0 for dofs in the active set.

    A is what `eliminate_joints` last eliminated in `descent`; G has the momenta P and blocks H of
    `sweep_joint_blocks`. All of these are overwritten.
    """
    differentiate_elimination(joints, S, P, H, scratch, descent)
    for c in range(TRIANGLE_SIZE):
        scratch.twist[0, c] = scratch.twist_rate[0, c] = 0.0
    for k in range(1, joints.parent.shape[0]):
        write_gains(joints, k, P, H, scratch, descent)
        propagate(joints, k, S, P, variance, scratch, descent)


@jit_forceinline
def differentiate_elimination(joints, S, P, H, scratch, descent):
    """Replace P and H by the rates of U, of l and, on the diagonal, of the pivots d."""
    U, L, rate = descent.U, descent.L, scratch.delta_rate
    frame_count = joints.parent.shape[0]
    for k in range(frame_count):
        for c in range(TRIANGLE_SIZE):
            rate[k, c] = 0.0
    for back in range(1, frame_count):
        k = frame_count - back
        first, end = np.int64(joints.first_v[k]), np.int64(joints.first_v[k + 1])
        shift = np.int64(joints.depth[k]) - first
        for i in range(first, end):
            y = multiply_symmetric(rate, k, load(S, i))
            store(P, i, add_scaled(load(P, i), -1.0, y))
            for j in range(first, i + 1):
                H[i, j + shift] -= dot(load(S, j), y)
        parent = np.int64(joints.parent[k])
        for i in range(end - 1, first - 1, -1):
            inverse = descent.inverse_pivot[i]
            if inverse == 0.0:
                continue
            pivot, pivot_rate = 1.0 / inverse, H[i, i + shift]
            u, u_rate = load(U, i), load(P, i)
            for j in range(first, i):
                ratio = L[i, j + shift]
                ratio_rate = (H[i, j + shift] - ratio * pivot_rate) * inverse
                for m in range(first, j + 1):
                    H[j, m + shift] -= (
                        ratio_rate * pivot * L[i, m + shift] + ratio * H[i, m + shift]
                    )
                store(P, j, add_scaled(add_scaled(load(P, j), -ratio_rate, u), -ratio, u_rate))
            for j in range(first, i):
                H[i, j + shift] = (H[i, j + shift] - L[i, j + shift] * pivot_rate) * inverse
            # d(UUᵀ/d) = U zᵀ + z Uᵀ
            for c in range(6):
                half = 0.5 * U[i, c] * pivot_rate * inverse
                scratch.product[i, c] = (P[i, c] - half) * inverse
            if parent > 0:
                add_products(rate, parent, U, scratch.product, i)
        for c in range(TRIANGLE_SIZE):
            rate[parent, c] += rate[k, c]


@jit_forceinline
def write_gains(joints, k, P, H, scratch, descent):
    """Replace U by Γ and P by its rate for the dofs of joint k; write C and its rate."""
    U, L, C, C_rate = descent.U, descent.L, scratch.block, scratch.block_rate
    first, end = np.int64(joints.first_v[k]), np.int64(joints.first_v[k + 1])
    shift = np.int64(joints.depth[k]) - first
    for i in range(first, end):
        inverse = descent.inverse_pivot[i]
        inverse_rate = -H[i, i + shift] * inverse * inverse
        for c in range(6):
            P[i, c] = P[i, c] * inverse + U[i, c] * inverse_rate
            U[i, c] *= inverse
        own, own_rate = inverse, inverse_rate
        for j in range(first, i):
            C[i, j - first] = C_rate[i, j - first] = 0.0
        for m in range(first, i if inverse != 0.0 else first):
            ratio, rate = L[i, m + shift], H[i, m + shift]
            for c in range(6):
                P[i, c] -= rate * U[m, c] + ratio * P[m, c]
                U[i, c] -= ratio * U[m, c]
            for j in range(first, i):
                row, column = (m, j) if m > j else (j, m)
                C[i, j - first] -= ratio * C[row, column - first]
                C_rate[i, j - first] -= (
                    rate * C[row, column - first] + ratio * C_rate[row, column - first]
                )
        for m in range(first, i if inverse != 0.0 else first):
            ratio, rate = L[i, m + shift], H[i, m + shift]
            own -= ratio * C[i, m - first]
            own_rate -= rate * C[i, m - first] + ratio * C_rate[i, m - first]
        C[i, i - first], C_rate[i, i - first] = own, own_rate


@jit_forceinline
def propagate(joints, k, S, P, variance, scratch, descent):
    """Write the variances of the dofs of joint k, and Π of its frame if anything hangs on it."""
    U, M, M_rate = descent.U, scratch.block, scratch.block_rate
    Y, Y_rate = scratch.product, scratch.product_rate
    first, end = np.int64(joints.first_v[k]), np.int64(joints.first_v[k + 1])
    parent = np.int64(joints.parent[k])
    for i in range(first, end):
        gain, gain_rate = load(U, i), load(P, i)
        store(Y, i, multiply_symmetric(scratch.twist, parent, gain))
        y = multiply_symmetric(scratch.twist_rate, parent, gain)
        store(Y_rate, i, add_scaled(y, 1.0, multiply_symmetric(scratch.twist, parent, gain_rate)))
        for j in range(first, i + 1):
            y, y_rate = load(Y, j), load(Y_rate, j)
            M[i, j - first] += dot(gain, y)
            M_rate[i, j - first] += dot(gain_rate, y) + dot(gain, y_rate)
        variance[i] = -M_rate[i, i - first]
    if joints.last_child[k] == 0:
        return
    for c in range(TRIANGLE_SIZE):
        scratch.twist[k, c] = scratch.twist[parent, c]
        scratch.twist_rate[k, c] = scratch.twist_rate[parent, c]
    for i in range(first, end):
        # −Y_i + ½ M_ii S_i + Σ_{j<i} M_ij S_j: every pair of dofs once.
        for c in range(6):
            own, own_rate = 0.5 * M[i, i - first] * S[i, c], 0.5 * M_rate[i, i - first] * S[i, c]
            for j in range(first, i):
                own += M[i, j - first] * S[j, c]
                own_rate += M_rate[i, j - first] * S[j, c]
            Y[i, c], Y_rate[i, c] = own - Y[i, c], own_rate - Y_rate[i, c]
        add_products(scratch.twist, k, S, Y, i)
        add_products(scratch.twist_rate, k, S, Y_rate, i)
