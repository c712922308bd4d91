"""Forward kinematics of one configuration, with every dof's world twist (docs/maths.md §2, §3).

    P_k = R_λ pre_k                       base of joint k in the world, λ its parent
    p_k = p_λ + R_λ offset_k + P_k d(q)   joint centre, origin of the bone
    R_k = P_k Q(q) post_k

Twists S = (ω, v): a point x of the bone moves with ω × x + v per unit of the dof.

    shift along a:        S = (0, P_k a)
    turn about axis u:    S = (ω, p_k × ω),  ω = P_k u

| rotation    | Q(q)                       | u_a (base frame)                    |
|-------------|----------------------------|-------------------------------------|
| AXES        | R_A(α) R_B(β) R_C(γ)       | each axis, turned by the outer ones |
| EXP_MAP     | exp[w]                     | J_l(w) e_a                          |
| SWING_TWIST | exp[w] R_Z(τ), w = (α,β,0) | J_l(w) e_x, J_l(w) e_y, exp[w] e_z  |
| QUATERNION  | R(wxyz)                    | Q e_a (right update)                |
| CUSTOM      | see `custom`               |                                     |

A frame under construction travels as a tuple `m` (`frames`). The world is shifted by −`origin`:
moments are then taken about a point near the skeleton, which ten kilometres away keeps its digits.
"""

from __future__ import annotations

import numpy as np

from exactik.compile import jit, jit_forceinline
from exactik.kernels.tree.custom import custom_shift, move_custom_joint
from exactik.kernels.tree.frames import (
    frame_axis,
    load_frame,
    multiply_map,
    multiply_matrix,
    multiply_vector,
    rotate_about_axis,
    store_frame,
    write_turn_twist,
)
from exactik.kernels.tree.packed import AXES, CUSTOM, EXP_MAP, NO_ROTATION, QUATERNION
from exactik.spatial import exp_coefficients, sincos


@jit_forceinline
def forward_kinematics(tree, q, origin, sine, cosine, R, p, S):
    """Fill R (n+1, 3, 3), p (n+1, 3) [m, relative to origin] and S; row 0 is the world.

    q and S (…, 6) are those of the joints, driven dofs included (`packed`).
    """
    sincos(q, sine, cosine)
    store_frame(R, 0, (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0))
    for i in range(3):
        p[0, i] = -origin[i]
    for k in range(1, tree.parent.shape[0]):
        parent = np.int64(tree.parent[k])
        idx_q, idx_v = np.int64(tree.joint_q[k]), np.int64(tree.joint_v[k])
        end = np.int64(tree.joint_v[k + 1])
        m = load_frame(R, parent)
        x, y, z = multiply_vector(m, tree.offset[k, 0], tree.offset[k, 1], tree.offset[k, 2])
        x, y, z = x + p[parent, 0], y + p[parent, 1], z + p[parent, 2]
        if tree.has_pre[k] != 0:
            m = multiply_matrix(m, tree.pre, k)
        shifts = np.int64(tree.shift_count[k])
        if shifts != 0:
            dx, dy, dz = write_shift_twists(tree, k, shifts, q, idx_q, idx_v, m, S)
            x, y, z = x + dx, y + dy, z + dz
            idx_q += shifts
            idx_v += shifts
        kind = tree.rotation[k]
        if kind == AXES:
            for i in range(idx_v, end):
                axis = tree.turn_axes[k, i - idx_v]
                wx, wy, wz = frame_axis(m, axis)
                write_turn_twist(S, i, wx, wy, wz, x, y, z)
                m = rotate_about_axis(m, axis, sine[idx_q + i - idx_v], cosine[idx_q + i - idx_v])
        elif kind == CUSTOM:
            m, x, y, z = move_custom_joint(tree, k, q, idx_q, idx_v, end, m, x, y, z, S)
        elif kind != NO_ROTATION:
            m = rotate_ball_joint(kind, q, sine, cosine, idx_q, idx_v, m, x, y, z, S)
        if tree.has_post[k] != 0:
            m = multiply_matrix(m, tree.post, k)
        store_frame(R, k, m)
        p[k, 0], p[k, 1], p[k, 2] = x, y, z


@jit
def forward_kinematics_batch(tree, q, origin, sine, cosine, R, p, S):
    """Fill R (B, n+1, 3, 3) and p (B, n+1, 3) for the rows of q, as above; S of the last."""
    for b in range(q.shape[0]):
        forward_kinematics(tree, q[b], origin, sine, cosine, R[b], p[b], S)


@jit_forceinline
def root_position(tree, q, k, out):
    """Write the joint centre of the root above frame k, (3,) [m, world]."""
    root = np.int64(k)
    while tree.parent[root] != 0:
        root = np.int64(tree.parent[root])
    idx_q = np.int64(tree.joint_q[root])
    for i in range(3):
        out[i] = tree.offset[root, i]
    if tree.rotation[root] == CUSTOM:
        x, y, z = custom_shift(tree, root, q, idx_q)
        for i in range(3):
            row = tree.pre[root, i]
            out[i] += row[0] * x + row[1] * y + row[2] * z
    for a in range(np.int64(tree.shift_count[root])):
        for i in range(3):
            for c in range(3):
                out[i] += q[idx_q + a] * tree.pre[root, i, c] * tree.shift_axes[root, a, c]


@jit_forceinline
def write_shift_twists(tree, k, shifts, q, idx_q, idx_v, m, S):
    """Write the twists of the translational dofs and return the displacement P d(q)."""
    x, y, z = 0.0, 0.0, 0.0
    for a in range(shifts):
        dx, dy, dz = multiply_vector(
            m, tree.shift_axes[k, a, 0], tree.shift_axes[k, a, 1], tree.shift_axes[k, a, 2]
        )
        S[idx_v + a, 0], S[idx_v + a, 1], S[idx_v + a, 2] = 0.0, 0.0, 0.0
        S[idx_v + a, 3], S[idx_v + a, 4], S[idx_v + a, 5] = dx, dy, dz
        x, y, z = x + q[idx_q + a] * dx, y + q[idx_q + a] * dy, z + q[idx_q + a] * dz
    return x, y, z


@jit
def rotate_ball_joint(kind, q, sine, cosine, idx_q, idx_v, m, x, y, z, S):
    """Return M turned by a ball joint of any kind at p = (x, y, z); write its twists."""
    u, v = q[idx_q], q[idx_q + 1]
    if kind == QUATERNION:
        result = multiply_map(m, v, q[idx_q + 2], q[idx_q + 3], 2.0 * u, 2.0)
        for a in range(3):
            wx, wy, wz = frame_axis(result, a)
            write_turn_twist(S, idx_v + a, wx, wy, wz, x, y, z)
        return result
    w = q[idx_q + 2] if kind == EXP_MAP else 0.0
    a, b, c, _, _ = exp_coefficients(u * u + v * v + w * w)
    axes = multiply_map(m, u, v, w, b, c)  # P J_l(w)
    result = multiply_map(m, u, v, w, a, b)  # P exp[w]
    write_turn_twist(S, idx_v, axes[0], axes[1], axes[2], x, y, z)
    write_turn_twist(S, idx_v + 1, axes[3], axes[4], axes[5], x, y, z)
    if kind == EXP_MAP:
        write_turn_twist(S, idx_v + 2, axes[6], axes[7], axes[8], x, y, z)
        return result
    write_turn_twist(S, idx_v + 2, result[6], result[7], result[8], x, y, z)
    return rotate_about_axis(result, 2, sine[idx_q + 2], cosine[idx_q + 2])
