"""Products with a Hessian of which only the blocks of the joints are written, in O(n).

By `sweeps`, the rest of H follows from p_i, the momentum of dof i, and the twists of the dofs above
it: with V_λ, the twist that x gives to the parent of joint k,

    xᵀHx = Σ_k [ x_kᵀH_kk x_k + 2 x_k·P_kᵀV_λ ]
"""

from __future__ import annotations

import numpy as np

from exactik.compile import jit
from exactik.kernels.linear.six_vectors import add_scaled, dot, load, store


@jit
def quadratic_form(joints, S, P, H, x, V):
    """Return xᵀHx from the blocks of the joints; V (n+1, 6) is scratch."""
    total = 0.0
    for c in range(6):
        V[0, c] = 0.0
    for k in range(1, joints.parent.shape[0]):
        first, end = np.int64(joints.first_v[k]), np.int64(joints.first_v[k + 1])
        shift = np.int64(joints.depth[k]) - first
        above = load(V, np.int64(joints.parent[k]))
        twist = above
        for i in range(first, end):
            row = dot(load(P, i), above) + 0.5 * H[i, i + shift] * x[i]
            for j in range(first, i):
                row += H[i, j + shift] * x[j]
            total += 2.0 * x[i] * row
            twist = add_scaled(twist, x[i], load(S, i))
        store(V, k, twist)
    return total


@jit
def multiply_joint_blocks(tree, S, P, H, free, x, V, A, y):
    """Write y = H x (nv,) in O(n) from the blocks of the joints; V, A (n+1, 6) are scratch.

    Down the tree V_k is the twist that x gives to frame k, up the tree A_k the momentum of all that
    hangs on it. `free` is 0 for locked dofs, whose entries of x are not read.
    """
    frame_count = tree.parent.shape[0]
    for c in range(6):
        V[0, c] = A[0, c] = 0.0
    for k in range(1, frame_count):
        first, end = np.int64(tree.first_v[k]), np.int64(tree.first_v[k + 1])
        shift = np.int64(tree.depth[k]) - first
        above = load(V, np.int64(tree.parent[k]))
        twist = above
        for i in range(first, end):
            y[i] = dot(load(P, i), above) + H[i, i + shift] * x[i]
            for j in range(first, i):  # rows and columns of locked dofs are 0
                y[i] += H[i, j + shift] * x[j]
                y[j] += H[i, j + shift] * x[i]
            twist = add_scaled(twist, free[i] * x[i], load(S, i))
        store(V, k, twist)
        for c in range(6):
            A[k, c] = 0.0
    for back in range(1, frame_count):
        k = frame_count - back
        momentum = load(A, k)
        for i in range(np.int64(tree.first_v[k]), np.int64(tree.first_v[k + 1])):
            y[i] += free[i] * dot(load(S, i), load(A, k))
            momentum = add_scaled(momentum, x[i], load(P, i))
        parent = np.int64(tree.parent[k])
        store(A, parent, add_scaled(load(A, parent), 1.0, momentum))
