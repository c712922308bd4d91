"""Velocities of the bones, and the time derivative of a Jacobian, both in one pass.

With the joint velocities v, the bones move, from the root down, with

    ω_k = ω_λ + Σ ω_i v_i                               over the turning dofs i of joint k
    ṗ_k = ṗ_λ + ω_λ × (p_k − p_λ) + Σ a_i v_i           over its shifting dofs

and the columns of J (see `kernels.tree.jacobian`) change along q(t) = q ⊕ t v by

    turn      ( ω̇_i × (e − p_k) + ω_i × (ė − ṗ_k) , ω̇_i )
    shift     ( ω_λ × a_i , 0 )
    ė         ṗ_b + ω_b × (e − p_b); zero for the spatial frame, whose e stays at the world's origin
    body      R_bᵀ ( J̇ − ω_b × J ) in place of J̇

where ω̇_i is ω_λ × ω_i plus what the joint's own motion does to the axis:

    axes one after the other        + (Σ ω_j v_j over the outer dofs j) × ω_i
    exponential map, swing          + P_k Σ_j v_j ∂(J_l(w) e_i)/∂w_j
    twist, quaternion               the axis is fixed in the bone: ω_k × ω_i in all

A custom joint's coordinate θ has the twist S_θ = Σ φ_a' S_a of its axes a (`custom`). These move
with Ṡ_a = [V, S_a], V the velocity of all that is outside of a, so that with (ω̇, v̇) of

    Ṡ_θ = Σ ( φ_a' Ṡ_a + (dφ_a'/dt) S_a )     the column changes by  ( v̇ + ω̇ × e + ω × ė , ω̇ )

For a quaternion this is not the derivative with respect to exponential coordinates about q, whose
within-joint part is half as large: J(q(t)) refers to the tangent space at q(t).
"""

from __future__ import annotations

import numpy as np

from exactik.compile import jit
from exactik.kernels.tree.custom import (
    NO_AXIS,
    SHIFTS,
    axis_in_world,
    axis_motion,
    turn_about,
)
from exactik.kernels.tree.frames import load_frame, multiply_matrix
from exactik.kernels.tree.jacobian import (
    BODY,
    SPATIAL,
    add_column,
    clear_jacobian,
    origin_velocity,
    point_position,
    rotate_rows,
    write_column,
)
from exactik.kernels.tree.packed import AXES, CUSTOM, EXP_MAP, QUATERNION, SWING_TWIST
from exactik.spatial import cross, exp_coefficients, left_jacobian_derivative


@jit
def propagate_velocity(tree, last, v, p, S, V):
    """Fill V[k] = (ω_k, ṗ_k) for the frames up to `last`, from the root down."""
    for c in range(6):
        V[0, c] = 0.0
    for k in range(1, last + 1):
        parent = np.int64(tree.parent[k])
        x, y, z = cross(
            V[parent, 0],
            V[parent, 1],
            V[parent, 2],
            p[k, 0] - p[parent, 0],
            p[k, 1] - p[parent, 1],
            p[k, 2] - p[parent, 2],
        )
        V[k, 3] = V[parent, 3] + x
        V[k, 4] = V[parent, 4] + y
        V[k, 5] = V[parent, 5] + z
        first = np.int64(tree.joint_v[k])
        turns = first + np.int64(tree.shift_count[k])
        for c in range(3):
            V[k, c] = V[parent, c]
            for i in range(first, turns):
                V[k, 3 + c] += S[i, 3 + c] * v[i]
            for i in range(turns, np.int64(tree.joint_v[k + 1])):
                V[k, c] += S[i, c] * v[i]
        if tree.rotation[k] == CUSTOM:
            for i in range(turns, np.int64(tree.joint_v[k + 1])):
                x, y, z = origin_velocity(S, i, p, k)
                V[k, 3] += x * v[i]
                V[k, 4] += y * v[i]
                V[k, 5] += z * v[i]


@jit
def velocity_at(V, b, x, y, z):
    """Return the velocity of the point of bone b at (x, y, z) from its origin, world axes."""
    cx, cy, cz = cross(V[b, 0], V[b, 1], V[b, 2], x, y, z)
    return V[b, 3] + cx, V[b, 4] + cy, V[b, 5] + cz


@jit
def unit_velocity_jacobian(tree, b, point, frame, rows, origin, R, p, S, v, V, J):
    """Fill J by one propagation per dof, of the velocities that one unit of it gives."""
    clear_jacobian(J)
    ex, ey, ez = point_position(b, point, frame, origin, R, p)
    x, y, z = ex - p[b, 0], ey - p[b, 1], ez - p[b, 2]
    for i in range(v.shape[0]):
        v[i] = 0.0
    for i in range(v.shape[0]):
        v[i] = 1.0
        propagate_velocity(tree, b, v, p, S, V)
        write_column(J, i, rows, velocity_at(V, b, x, y, z), (V[b, 0], V[b, 1], V[b, 2]))
        v[i] = 0.0
    if frame == BODY:
        rotate_rows(tree, b, R[b], J)


@jit
def jacobian_dot(tree, q, v, b, point, frame, rows, origin, R, p, S, V, W, J):
    """Fill J (3 or 6, nv) with J̇ at the velocity v; the workspaces are V (n+1, 6) and W (6, 3)."""
    clear_jacobian(J)
    propagate_velocity(tree, b, v, p, S, V)
    ex, ey, ez = point_position(b, point, frame, origin, R, p)
    ux, uy, uz = 0.0, 0.0, 0.0
    if frame != SPATIAL:
        ux, uy, uz = velocity_at(V, b, ex - p[b, 0], ey - p[b, 1], ez - p[b, 2])
    k = b
    while k != 0:
        if tree.rotation[k] == CUSTOM:
            e, velocity = (ex, ey, ez), (ux, uy, uz)
            add_custom_rates(tree, k, q, v, b, e, velocity, frame, rows, R, p, S, V, J)
            k = np.int64(tree.parent[k])
            continue
        axis_rates(tree, k, q, v, R, S, V, W)
        first = np.int64(tree.joint_v[k])
        turns = first + np.int64(tree.shift_count[k])
        x, y, z = ex - p[k, 0], ey - p[k, 1], ez - p[k, 2]
        dx, dy, dz = ux - V[k, 3], uy - V[k, 4], uz - V[k, 5]
        for i in range(first, np.int64(tree.joint_v[k + 1])):
            lx, ly, lz = S[i, 3], S[i, 4], S[i, 5]  # the column of J, then its rate
            wx, wy, wz = 0.0, 0.0, 0.0
            mx, my, mz = W[i - first, 0], W[i - first, 1], W[i - first, 2]
            nx, ny, nz = 0.0, 0.0, 0.0
            if i >= turns:
                wx, wy, wz = S[i, 0], S[i, 1], S[i, 2]
                lx, ly, lz = cross(wx, wy, wz, x, y, z)
                nx, ny, nz = mx, my, mz
                gx, gy, gz = cross(nx, ny, nz, x, y, z)
                mx, my, mz = cross(wx, wy, wz, dx, dy, dz)
                mx, my, mz = mx + gx, my + gy, mz + gz
            if frame == BODY:
                gx, gy, gz = cross(V[b, 0], V[b, 1], V[b, 2], lx, ly, lz)
                mx, my, mz = mx - gx, my - gy, mz - gz
                gx, gy, gz = cross(V[b, 0], V[b, 1], V[b, 2], wx, wy, wz)
                nx, ny, nz = nx - gx, ny - gy, nz - gz
            write_column(J, i, rows, (mx, my, mz), (nx, ny, nz))
        k = np.int64(tree.parent[k])
    if frame == BODY:
        rotate_rows(tree, b, R[b], J)


@jit
def axis_rates(tree, k, q, v, R, S, V, W):
    """Fill W with the rate of the world axis of each dof of joint k, ȧ or ω̇, in their order."""
    parent = np.int64(tree.parent[k])
    first, shifts = np.int64(tree.joint_v[k]), np.int64(tree.shift_count[k])
    count = np.int64(tree.joint_v[k + 1]) - first
    kind = tree.rotation[k]
    x, y, z = V[parent, 0], V[parent, 1], V[parent, 2]
    for a in range(count):
        i = first + a
        if a < shifts:
            W[a, 0], W[a, 1], W[a, 2] = cross(x, y, z, S[i, 3], S[i, 4], S[i, 5])
            continue
        if kind == QUATERNION or (kind == SWING_TWIST and a == count - 1):
            x, y, z = V[k, 0], V[k, 1], V[k, 2]
        W[a, 0], W[a, 1], W[a, 2] = cross(x, y, z, S[i, 0], S[i, 1], S[i, 2])
        if kind == AXES:
            x, y, z = x + S[i, 0] * v[i], y + S[i, 1] * v[i], z + S[i, 2] * v[i]
    if kind == EXP_MAP or kind == SWING_TWIST:
        add_map_rates(tree, k, parent, kind, q, v, first + shifts, shifts, R, W)


@jit
def add_map_rates(tree, k, parent, kind, q, v, idx_v, shifts, R, W):
    """Add P_k Σ_j v_j ∂(J_l(w) e_i)/∂w_j to the rates of an exponential map or a swing."""
    idx_q = np.int64(tree.joint_q[k]) + shifts
    count = 3 if kind == EXP_MAP else 2
    w = (q[idx_q], q[idx_q + 1], q[idx_q + 2] if kind == EXP_MAP else 0.0)
    _, b, c, db, dc = exp_coefficients(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    for i in range(count):
        x, y, z = 0.0, 0.0, 0.0
        for j in range(count):
            dx, dy, dz = left_jacobian_derivative(w, i, j, b, c, db, dc)
            x, y, z = x + dx * v[idx_v + j], y + dy * v[idx_v + j], z + dz * v[idx_v + j]
        M = tree.pre[k]
        x, y, z = (
            M[0, 0] * x + M[0, 1] * y + M[0, 2] * z,
            M[1, 0] * x + M[1, 1] * y + M[1, 2] * z,
            M[2, 0] * x + M[2, 1] * y + M[2, 2] * z,
        )
        for r in range(3):
            W[shifts + i, r] += R[parent, r, 0] * x + R[parent, r, 1] * y + R[parent, r, 2] * z


@jit
def add_custom_rates(tree, k, q, v, b, e, velocity, frame, rows, R, p, S, V, J):
    """Add the rates of a custom joint's columns at a point e with this velocity; J is zeroed."""
    joint, parent = np.int64(tree.turn_axes[k, 0]), np.int64(tree.parent[k])
    first_q, first = np.int64(tree.joint_q[k]), np.int64(tree.joint_v[k])
    m = load_frame(R, parent)
    if tree.has_pre[k] != 0:
        m = multiply_matrix(m, tree.pre, k)
    # Twist of what is outside of the current axis: (ω, velocity at the origin of the world).
    wx, wy, wz = V[parent, 0], V[parent, 1], V[parent, 2]
    x, y, z = cross(wx, wy, wz, p[parent, 0], p[parent, 1], p[parent, 2])
    vx, vy, vz = V[parent, 3] - x, V[parent, 4] - y, V[parent, 5] - z
    for a in range(2 * SHIFTS):
        if tree.custom_functions[joint, a, 0] == NO_AXIS:
            continue
        d, by_i, by_j, i, j, ii, ij, jj = axis_motion(tree, joint, a, q, first_q)
        x, y, z = axis_in_world(tree, joint, a, m)
        ax, ay, az = 0.0, 0.0, 0.0
        if a >= SHIFTS:
            ax, ay, az = x, y, z
            x, y, z = cross(p[k, 0], p[k, 1], p[k, 2], ax, ay, az)
        # Ṡ_a = [V, S_a]
        rx, ry, rz = cross(wx, wy, wz, ax, ay, az)
        sx, sy, sz = cross(wx, wy, wz, x, y, z)
        ox, oy, oz = cross(vx, vy, vz, ax, ay, az)
        sx, sy, sz = sx + ox, sy + oy, sz + oz
        rate_i, rate_j = v[first + i], v[first + j]
        for n in range(2):
            column = first + (i if n == 0 else j)
            slope = by_i if n == 0 else by_j
            bend = ii * rate_i + ij * rate_j if n == 0 else ij * rate_i + jj * rate_j
            if slope != 0.0 or bend != 0.0:
                twist = (slope * ax, slope * ay, slope * az, slope * x, slope * y, slope * z)
                rate = (
                    slope * rx + bend * ax,
                    slope * ry + bend * ay,
                    slope * rz + bend * az,
                    slope * sx + bend * x,
                    slope * sy + bend * y,
                    slope * sz + bend * z,
                )
                add_rate_column(J, column, rows, frame, twist, rate, e, velocity, V, b)
        speed = by_i * rate_i + by_j * rate_j
        wx, wy, wz = wx + speed * ax, wy + speed * ay, wz + speed * az
        vx, vy, vz = vx + speed * x, vy + speed * y, vz + speed * z
        if a >= SHIFTS:
            m = turn_about(tree, joint, a, m, d)


@jit
def add_rate_column(J, i, rows, frame, twist, rate, e, velocity, V, b):
    """Add v̇ + ω̇ × e + ω × ė and ω̇ to a column, for the body frame less ω_b × the column of J."""
    mx, my, mz = cross(rate[0], rate[1], rate[2], e[0], e[1], e[2])
    gx, gy, gz = cross(twist[0], twist[1], twist[2], velocity[0], velocity[1], velocity[2])
    mx, my, mz = mx + gx + rate[3], my + gy + rate[4], mz + gz + rate[5]
    nx, ny, nz = rate[0], rate[1], rate[2]
    if frame == BODY:
        lx, ly, lz = cross(twist[0], twist[1], twist[2], e[0], e[1], e[2])
        lx, ly, lz = lx + twist[3], ly + twist[4], lz + twist[5]
        gx, gy, gz = cross(V[b, 0], V[b, 1], V[b, 2], lx, ly, lz)
        mx, my, mz = mx - gx, my - gy, mz - gz
        gx, gy, gz = cross(V[b, 0], V[b, 1], V[b, 2], twist[0], twist[1], twist[2])
        nx, ny, nz = nx - gx, ny - gy, nz - gz
    add_column(J, i, rows, 1.0, (mx, my, mz), (nx, ny, nz))
