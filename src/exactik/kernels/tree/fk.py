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

A frame under construction travels as a tuple `m` of nine numbers, its x, y and z axis in the world:
in registers, four times faster than turning it in memory. The world is shifted by −`origin`:
moments are then taken about a point near the skeleton, which ten kilometres away keeps its digits.
"""

from __future__ import annotations

import numpy as np

from exactik.kernels.tree.packed import AXES, EXP_MAP, NO_ROTATION, QUATERNION
from exactik.spatial import exp_coefficients, jit, jit_forceinline, sincos

__all__ = ["forward_kinematics", "forward_kinematics_batch", "root_position"]


@jit_forceinline
def forward_kinematics(tree, q, origin, sine, cosine, R, p, S):
    """Fill R (n+1, 3, 3), p (n+1, 3) [m, relative to origin] and S (nv, 6); row 0 is the world."""
    sincos(q, sine, cosine)
    store_frame(R, 0, (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0))
    for i in range(3):
        p[0, i] = -origin[i]
    for k in range(1, tree.parent.shape[0]):
        parent = np.int64(tree.parent[k])
        idx_q, idx_v = np.int64(tree.first_q[k]), np.int64(tree.first_v[k])
        end = np.int64(tree.first_v[k + 1])
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
        elif kind != NO_ROTATION:
            m = rotate_ball_joint(kind, q, sine, cosine, idx_q, idx_v, m, x, y, z, S)
        if tree.has_post[k] != 0:
            m = multiply_matrix(m, tree.post, k)
        store_frame(R, k, m)
        p[k, 0], p[k, 1], p[k, 2] = x, y, z


@jit
def forward_kinematics_batch(tree, q, origin, sine, cosine, R, p, S):
    """Fill R (B, n+1, 3, 3) and p (B, n+1, 3) for the rows of q (B, nq); S (nv, 6) of the last."""
    for b in range(q.shape[0]):
        forward_kinematics(tree, q[b], origin, sine, cosine, R[b], p[b], S)


@jit_forceinline
def root_position(tree, q, k, out):
    """Write the joint centre of the root above frame k, (3,) [m, world]."""
    root = np.int64(k)
    while tree.parent[root] != 0:
        root = np.int64(tree.parent[root])
    idx_q = np.int64(tree.first_q[root])
    for i in range(3):
        out[i] = tree.offset[root, i]
    for a in range(np.int64(tree.shift_count[root])):
        for i in range(3):
            for c in range(3):
                out[i] += q[idx_q + a] * tree.pre[root, i, c] * tree.shift_axes[root, a, c]


@jit_forceinline
def load_frame(R, k):
    """Return the axes of frame k as nine numbers."""
    x0, x1, x2 = R[k, 0, 0], R[k, 1, 0], R[k, 2, 0]
    y0, y1, y2 = R[k, 0, 1], R[k, 1, 1], R[k, 2, 1]
    z0, z1, z2 = R[k, 0, 2], R[k, 1, 2], R[k, 2, 2]
    return x0, x1, x2, y0, y1, y2, z0, z1, z2


@jit_forceinline
def store_frame(R, k, m):
    """Store nine numbers as frame k."""
    R[k, 0, 0], R[k, 1, 0], R[k, 2, 0] = m[0], m[1], m[2]
    R[k, 0, 1], R[k, 1, 1], R[k, 2, 1] = m[3], m[4], m[5]
    R[k, 0, 2], R[k, 1, 2], R[k, 2, 2] = m[6], m[7], m[8]


@jit_forceinline
def write_turn_twist(S, i, wx, wy, wz, x, y, z):
    """Write the twist S_i = (ω, p × ω) of a turn about ω through p = (x, y, z)."""
    S[i, 0], S[i, 1], S[i, 2] = wx, wy, wz
    S[i, 3] = y * wz - z * wy
    S[i, 4] = z * wx - x * wz
    S[i, 5] = x * wy - y * wx


@jit_forceinline
def frame_axis(m, axis):
    """Return one axis of a frame."""
    if axis == 0:
        return m[0], m[1], m[2]
    if axis == 1:
        return m[3], m[4], m[5]
    return m[6], m[7], m[8]


@jit_forceinline
def multiply_vector(m, x, y, z):
    """Return M (x, y, z)."""
    return (
        m[0] * x + m[3] * y + m[6] * z,
        m[1] * x + m[4] * y + m[7] * z,
        m[2] * x + m[5] * y + m[8] * z,
    )


@jit_forceinline
def multiply_matrix(m, A, k):
    """Return M A_k."""
    xx, xy, xz = multiply_vector(m, A[k, 0, 0], A[k, 1, 0], A[k, 2, 0])
    yx, yy, yz = multiply_vector(m, A[k, 0, 1], A[k, 1, 1], A[k, 2, 1])
    zx, zy, zz = multiply_vector(m, A[k, 0, 2], A[k, 1, 2], A[k, 2, 2])
    return xx, xy, xz, yx, yy, yz, zx, zy, zz


@jit_forceinline
def rotate_about_axis(m, axis, s, c):
    """Return M Rot(axis, θ) for a coordinate axis, s = sin θ and c = cos θ."""
    x0, x1, x2, y0, y1, y2, z0, z1, z2 = m
    if axis == 0:
        y0, y1, y2, z0, z1, z2 = rotate_pair(y0, y1, y2, z0, z1, z2, s, c)
    elif axis == 1:
        z0, z1, z2, x0, x1, x2 = rotate_pair(z0, z1, z2, x0, x1, x2, s, c)
    else:
        x0, x1, x2, y0, y1, y2 = rotate_pair(x0, x1, x2, y0, y1, y2, s, c)
    return x0, x1, x2, y0, y1, y2, z0, z1, z2


@jit_forceinline
def rotate_pair(a0, a1, a2, b0, b1, b2, s, c):
    """Return (c a + s b, c b − s a), the two axes that a turn about the third mixes."""
    x0, x1, x2 = c * a0 + s * b0, c * a1 + s * b1, c * a2 + s * b2
    y0, y1, y2 = c * b0 - s * a0, c * b1 - s * a1, c * b2 - s * a2
    return x0, x1, x2, y0, y1, y2


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


@jit_forceinline
def multiply_map(m, x, y, z, b, c):
    """Return M (I + b[w] + c[w]²), w = (x, y, z)."""
    xx, yy, zz = x * x, y * y, z * z
    xy, xz, yz = c * x * y, c * x * z, c * y * z
    bx, by, bz = b * x, b * y, b * z
    c0, c1, c2 = multiply_vector(m, 1.0 - c * (yy + zz), xy + bz, xz - by)
    c3, c4, c5 = multiply_vector(m, xy - bz, 1.0 - c * (xx + zz), yz + bx)
    c6, c7, c8 = multiply_vector(m, xz + by, yz - bx, 1.0 - c * (xx + yy))
    return c0, c1, c2, c3, c4, c5, c6, c7, c8
