"""Jacobian of a point e on a bone b, by three routes.

Column i of J is the velocity that one unit of dof i gives to the bone at its point e. It is zero
unless the joint k of the dof lies on the path from b, its own joint included, to the root:

    turn about the world axis ω:      ( ω × (e − p_k) , ω )       p_k: the joint's centre
    shift along the world axis a:     ( a , 0 )

with the linear rows first. Frames:

    world     as above: world axes, at e
    body      the same times R_bᵀ: the bone's axes, at e
    spatial   world axes, at that point of the bone which passes the world's origin (e = 0, whatever
              the point): the twist about the origin. The full adjoint of the bone's frame leads
              here, and not to the velocity of e, which differs from it by ω × e.

Route "cross" is the table above, read from the world axes that forward kinematics leaves in S.

Route "poe" (product of exponentials) walks from e to the root over local transforms alone. Let
E = (A, t) be the frame that has been reached, seen from e in the bone's axes. A twist (v, ω) of
that frame moves e with

    Ad(E) (v, ω) = ( A v + t × A ω , A ω )

From E = (I, −point), the factors of T_k = T_λ · offset · pre · d · Q · post are undone from the
right, and each one trims the six columns of Ad(E) to those that its dofs need:

    post                 A ← A postᵀ
    turn about axis a    column Ad(E)(0, a);  A ← A Rot(a, −θ)      one by one, innermost first
    exponential map      columns Ad(E)(0, J_l(−w) e_a);  A ← A Qᵀ   as Qᵀ J_l(w) = J_l(−w)
    swing-twist          the twist as a turn about z, then the swing as a map with w_z = 0
    quaternion           columns Ad(E)(0, e_a);  A ← A Qᵀ           its update is on the right
    shift along a        column Ad(E)(a, 0);  t ← t − A d           along the base's axes, so
                                                                    after Q is undone
    custom joint         its turns and shifts as above, each column times φ', added up in those of
                         its coordinates
    pre, offset          A ← A preᵀ;  t ← t − A offset

At the top E = T_e⁻¹, so that R_b = Aᵀ turns the columns to world axes, and t is the world's origin
on the bone, where a second walk starts for the spatial Jacobian. Where the root is in the world
enters nothing but this last t.

Route "adjusted" differs for joints of several Euler axes, which become one block: with U the axes
in the base frame (each turned by the outer ones), R* = QᵀU and the columns are Ad(E)(0, R* e_a). R*
is the identity only where the inner angles vanish; it is no rotation, and singular at gimbal lock.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from exactik.compile import jit
from exactik.kernels.tree.custom import NO_AXIS, SHIFTS, axis_motion
from exactik.kernels.tree.packed import AXES, CUSTOM, NO_ROTATION, QUATERNION, SWING_TWIST
from exactik.spatial import cross, exp_coefficients
from exactik.typing import Array

WORLD, BODY, SPATIAL = 0, 1, 2
LINEAR, ANGULAR, BOTH, NO_ROWS = 0, 1, 2, 3


class AdjointWorkspace(NamedTuple):
    """Workspace of the adjoint routes: the frame E that has been reached."""

    A: Array  # (3, 3) axes of the frame that has been reached, seen from e
    t: Array  # (3,) its origin, seen from e
    Q: Array  # (3, 3) rotation of an Euler joint
    U: Array  # (3, 3) its axes in the base frame


# --- one column, or all of them


@jit
def clear_jacobian(J):
    """J ← 0."""
    for r in range(J.shape[0]):
        for i in range(J.shape[1]):
            J[r, i] = 0.0


@jit
def write_column(J, i, rows, v, w):
    """Write the rows of the column (v, ω) that are asked for."""
    if rows == LINEAR or rows == BOTH:
        J[0, i] = v[0]
        J[1, i] = v[1]
        J[2, i] = v[2]
    if rows == ANGULAR or rows == BOTH:
        first = 0 if rows == ANGULAR else 3
        J[first, i] = w[0]
        J[first + 1, i] = w[1]
        J[first + 2, i] = w[2]


@jit
def rotate_rows(tree, b, M, J):
    """Multiply each block of three rows by Mᵀ in the columns on the path of b."""
    k = b
    while k != 0:
        for i in range(np.int64(tree.joint_v[k]), np.int64(tree.joint_v[k + 1])):
            for r in range(0, J.shape[0], 3):
                x, y, z = J[r, i], J[r + 1, i], J[r + 2, i]
                for c in range(3):
                    J[r + c, i] = M[0, c] * x + M[1, c] * y + M[2, c] * z
        k = np.int64(tree.parent[k])


@jit
def point_position(b, point, frame, origin, R, p):
    """Return e relative to `origin`: the point of bone b or, if spatial, the world's origin."""
    if frame == SPATIAL:
        return -origin[0], -origin[1], -origin[2]
    x, y, z = point[0], point[1], point[2]
    return (
        p[b, 0] + R[b, 0, 0] * x + R[b, 0, 1] * y + R[b, 0, 2] * z,
        p[b, 1] + R[b, 1, 0] * x + R[b, 1, 1] * y + R[b, 1, 2] * z,
        p[b, 2] + R[b, 2, 0] * x + R[b, 2, 1] * y + R[b, 2, 2] * z,
    )


# --- route "cross"


@jit
def cross_jacobian(tree, b, point, frame, rows, origin, R, p, S, J):
    """Fill J (3 or 6, nv) from the result R, p, S of forward kinematics about the same `origin`."""
    clear_jacobian(J)
    ex, ey, ez = point_position(b, point, frame, origin, R, p)
    k = b
    while k != 0:
        first = np.int64(tree.joint_v[k])
        turns = first + np.int64(tree.shift_count[k])
        for i in range(first, turns):
            write_column(J, i, rows, (S[i, 3], S[i, 4], S[i, 5]), (0.0, 0.0, 0.0))
        x, y, z = ex - p[k, 0], ey - p[k, 1], ez - p[k, 2]
        for i in range(turns, np.int64(tree.joint_v[k + 1])):
            w = (S[i, 0], S[i, 1], S[i, 2])
            vx, vy, vz = cross(w[0], w[1], w[2], x, y, z)
            if tree.rotation[k] == CUSTOM:  # it moves the joint's centre, too
                cx, cy, cz = origin_velocity(S, i, p, k)
                vx, vy, vz = vx + cx, vy + cy, vz + cz
            write_column(J, i, rows, (vx, vy, vz), w)
        k = np.int64(tree.parent[k])
    if frame == BODY:
        rotate_rows(tree, b, R[b], J)


@jit
def origin_velocity(S, i, p, k):
    """Return the velocity that one unit of dof i gives to the origin of frame k."""
    x, y, z = cross(S[i, 0], S[i, 1], S[i, 2], p[k, 0], p[k, 1], p[k, 2])
    return S[i, 3] + x, S[i, 4] + y, S[i, 5] + z


# --- routes "poe" and "adjusted"


@jit
def adjoint_jacobian(tree, q, sine, cosine, b, point, frame, rows, adjusted, adjoint, J):
    """Fill J (3 or 6, nv) from q, its sines and cosines; `adjusted`: Euler joints as blocks."""
    clear_jacobian(J)
    x, y, z = point[0], point[1], point[2]
    if frame == SPATIAL:
        walk_to_root(tree, q, sine, cosine, b, (0.0, 0.0, 0.0), NO_ROWS, adjusted, adjoint, J)
        x, y, z = adjoint.t[0], adjoint.t[1], adjoint.t[2]
    walk_to_root(tree, q, sine, cosine, b, (x, y, z), rows, adjusted, adjoint, J)
    if frame != BODY:
        rotate_rows(tree, b, adjoint.A, J)


@jit
def walk_to_root(tree, q, sine, cosine, b, point, rows, adjusted, adjoint, J):
    """Write the body columns of all joints from b to the root; leave T_e⁻¹ in the workspace."""
    A, t = adjoint.A, adjoint.t
    for r in range(3):
        t[r] = -point[r]
        for c in range(3):
            A[r, c] = 1.0 if r == c else 0.0
    k = b
    while k != 0:
        shifts = np.int64(tree.shift_count[k])
        first_q, first_v = np.int64(tree.joint_q[k]), np.int64(tree.joint_v[k])
        idx_q, idx_v = first_q + shifts, first_v + shifts
        if tree.has_post[k] != 0:
            undo_rotation(A, tree.post[k])
        kind = tree.rotation[k]
        if kind == AXES:
            count = np.int64(tree.joint_v[k + 1]) - idx_v
            if adjusted and count > 1:
                write_euler_columns(tree, k, count, sine, cosine, idx_q, idx_v, rows, adjoint, J)
            else:
                for n in range(count):
                    a = count - 1 - n
                    axis = np.int64(tree.turn_axes[k, a])
                    write_axis_column(J, idx_v + a, rows, A, t, axis)
                    rotate_about_axis(A, axis, -sine[idx_q + a], cosine[idx_q + a])
        elif kind == CUSTOM:
            undo_custom_joint(tree, k, q, first_q, first_v, rows, A, t, J)
        elif kind != NO_ROTATION:
            write_ball_columns(kind, q, sine, cosine, idx_q, idx_v, rows, A, t, J)
        if shifts != 0:
            undo_shifts(tree, k, shifts, q, first_q, first_v, rows, A, t, J)
        if tree.has_pre[k] != 0:
            undo_rotation(A, tree.pre[k])
        translate(A, t, -tree.offset[k, 0], -tree.offset[k, 1], -tree.offset[k, 2])
        k = np.int64(tree.parent[k])


@jit
def translate(A, t, x, y, z):
    """Move the origin: t ← t + A (x, y, z)."""
    for r in range(3):
        t[r] += A[r, 0] * x + A[r, 1] * y + A[r, 2] * z


@jit
def undo_rotation(A, M):
    """A ← A Mᵀ."""
    for r in range(3):
        x, y, z = A[r, 0], A[r, 1], A[r, 2]
        for c in range(3):
            A[r, c] = x * M[c, 0] + y * M[c, 1] + z * M[c, 2]


@jit
def rotate_about_axis(A, axis, sine, cosine):
    """A ← A Rot(axis, θ)."""
    b = axis + 1 if axis < 2 else axis - 2
    c = axis + 2 if axis < 1 else axis - 1
    for r in range(3):
        x, y = A[r, b], A[r, c]
        A[r, b] = cosine * x + sine * y
        A[r, c] = cosine * y - sine * x


@jit
def write_axis_column(J, i, rows, A, t, axis):
    """Write Ad(E)(0, e_axis)."""
    w = (A[0, axis], A[1, axis], A[2, axis])
    write_column(J, i, rows, cross(t[0], t[1], t[2], w[0], w[1], w[2]), w)


@jit
def write_vector_column(J, i, rows, A, t, x, y, z):
    """Write Ad(E)(0, (x, y, z))."""
    w = (
        A[0, 0] * x + A[0, 1] * y + A[0, 2] * z,
        A[1, 0] * x + A[1, 1] * y + A[1, 2] * z,
        A[2, 0] * x + A[2, 1] * y + A[2, 2] * z,
    )
    write_column(J, i, rows, cross(t[0], t[1], t[2], w[0], w[1], w[2]), w)


@jit
def write_euler_columns(tree, k, count, sine, cosine, idx_q, idx_v, rows, adjoint, J):
    """Write the columns Ad(E)(0, R* e_a) of an Euler joint, R* = QᵀU, and undo Q."""
    Q, U = adjoint.Q, adjoint.U
    for r in range(3):
        for c in range(3):
            Q[r, c] = 1.0 if r == c else 0.0
    for a in range(count):
        axis = np.int64(tree.turn_axes[k, a])
        for r in range(3):
            U[r, a] = Q[r, axis]
        rotate_about_axis(Q, axis, sine[idx_q + a], cosine[idx_q + a])
    for a in range(count):
        x = Q[0, 0] * U[0, a] + Q[1, 0] * U[1, a] + Q[2, 0] * U[2, a]
        y = Q[0, 1] * U[0, a] + Q[1, 1] * U[1, a] + Q[2, 1] * U[2, a]
        z = Q[0, 2] * U[0, a] + Q[1, 2] * U[1, a] + Q[2, 2] * U[2, a]
        write_vector_column(J, idx_v + a, rows, adjoint.A, adjoint.t, x, y, z)
    undo_rotation(adjoint.A, Q)


@jit
def write_ball_columns(kind, q, sine, cosine, idx_q, idx_v, rows, A, t, J):
    """Write the columns of a ball joint along its body axes and undo its rotation."""
    if kind == QUATERNION:
        for a in range(3):
            write_axis_column(J, idx_v + a, rows, A, t, a)
        multiply_map(A, -q[idx_q + 1], -q[idx_q + 2], -q[idx_q + 3], 2.0 * q[idx_q], 2.0)
        return
    count = 3
    x, y, z = -q[idx_q], -q[idx_q + 1], 0.0
    if kind == SWING_TWIST:
        count = 2
        write_axis_column(J, idx_v + 2, rows, A, t, 2)
        rotate_about_axis(A, 2, -sine[idx_q + 2], cosine[idx_q + 2])
    else:
        z = -q[idx_q + 2]
    f, g, h, _, _ = exp_coefficients(x * x + y * y + z * z)
    for a in range(count):  # J_l(−w) e_a = e_a + g (−w × e_a) + h (−w × (−w × e_a))
        ux, uy, uz = 1.0 * (a == 0), 1.0 * (a == 1), 1.0 * (a == 2)
        cx, cy, cz = cross(x, y, z, ux, uy, uz)
        dx, dy, dz = cross(x, y, z, cx, cy, cz)
        ux, uy, uz = ux + g * cx + h * dx, uy + g * cy + h * dy, uz + g * cz + h * dz
        write_vector_column(J, idx_v + a, rows, A, t, ux, uy, uz)
    multiply_map(A, x, y, z, f, g)


@jit
def multiply_map(A, x, y, z, f, g):
    """A ← A (I + f[w] + g[w]²)."""
    for r in range(3):
        ax, ay, az = A[r, 0], A[r, 1], A[r, 2]
        bx, by, bz = cross(ax, ay, az, x, y, z)  # a row times [w] is the row × w
        cx, cy, cz = cross(bx, by, bz, x, y, z)
        A[r, 0] = ax + f * bx + g * cx
        A[r, 1] = ay + f * by + g * cy
        A[r, 2] = az + f * bz + g * cz


@jit
def undo_custom_joint(tree, k, q, first_q, first_v, rows, A, t, J):
    """Add the columns of a custom joint's axes, innermost first, and undo its motion."""
    joint, axes = np.int64(tree.turn_axes[k, 0]), tree.custom_axes
    for back in range(1, 2 * SHIFTS + 1):
        a = 2 * SHIFTS - back
        if tree.custom_functions[joint, a, 0] == NO_AXIS:
            continue
        d, by_i, by_j, i, j, _, _, _ = axis_motion(tree, joint, a, q, first_q)
        x, y, z = axes[joint, a, 0], axes[joint, a, 1], axes[joint, a, 2]
        u = (
            A[0, 0] * x + A[0, 1] * y + A[0, 2] * z,
            A[1, 0] * x + A[1, 1] * y + A[1, 2] * z,
            A[2, 0] * x + A[2, 1] * y + A[2, 2] * z,
        )
        v, w = u, (0.0, 0.0, 0.0)
        if a >= SHIFTS:
            v, w = cross(t[0], t[1], t[2], u[0], u[1], u[2]), u
        add_column(J, first_v + i, rows, by_i, v, w)
        add_column(J, first_v + j, rows, by_j, v, w)
        if a >= SHIFTS:
            half = math.sin(0.5 * d)
            multiply_map(A, x, y, z, -math.sin(d), 2.0 * half * half)
        else:
            for r in range(3):
                t[r] -= d * u[r]


@jit
def add_column(J, i, rows, scale, v, w):
    """Add a multiple of (v, ω) to the rows of a column that are asked for."""
    if scale != 0.0:
        if rows == LINEAR or rows == BOTH:
            for c in range(3):
                J[c, i] += scale * v[c]
        if rows == ANGULAR or rows == BOTH:
            first = 0 if rows == ANGULAR else 3
            for c in range(3):
                J[first + c, i] += scale * w[c]


@jit
def undo_shifts(tree, k, shifts, q, idx_q, idx_v, rows, A, t, J):
    """Write the columns Ad(E)(a, 0) of the translational dofs and take their shift back."""
    for i in range(shifts):
        x, y, z = tree.shift_axes[k, i, 0], tree.shift_axes[k, i, 1], tree.shift_axes[k, i, 2]
        v = (
            A[0, 0] * x + A[0, 1] * y + A[0, 2] * z,
            A[1, 0] * x + A[1, 1] * y + A[1, 2] * z,
            A[2, 0] * x + A[2, 1] * y + A[2, 2] * z,
        )
        write_column(J, idx_v + i, rows, v, (0.0, 0.0, 0.0))
        for r in range(3):
            t[r] -= q[idx_q + i] * v[r]
