"""Angular accelerations of the bones from frame to frame: what they cost, and its derivatives.

Bones are compared as rotations in the world, so that gimbal lock does not show. With the rotation
vector v from one frame to the next, the acceleration of bone k in frame t is

    v_{t+½} = log(R_{t+1} R_tᵀ) ,    a_t = v_{t+½} − v_{t−½}      [rad per frame²]

and costs  ½ w_k |P a_t|². P projects onto the axes of the bone's own joint, if it has fewer than
three: the rest of its turn is its parent's. Shifts of joints cost ½ w (q_{t−1} − 2 q_t + q_{t+1})².

Turned by ω_t in the world, v changes by  J_l⁻¹(v) ω_{t+1} − J_r⁻¹(v) ω_t,  and a bone turns with
all dofs above it: ω = Σ S_i x_i down the tree, and torques are summed up it. The change of P is
left out of the gradient, and J out of the curvature: both are of the order of an acceleration.

`axes` are those of the dofs of the joints, times φ' where these follow others (`tree.couplings`),
and of any length in custom joints: P is that of their directions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.compile import jit, jit_forceinline
from exactik.kernels.tree.couplings import SOURCE
from exactik.kernels.tree.packed import CUSTOM, NONE
from exactik.spatial import cross, log_vector
from exactik.typing import Array, IndexArray, IntArray


class AccelerationPrior(NamedTuple):
    """What accelerations cost: weights [m² per (rad or m)², a frame⁴]; frames as in `Tree`."""

    turn: Array  #              (n + 1,) of the bones
    shift: Array  #             (nv,) of the dofs that shift, 0 for others
    turn_count: IndexArray  #   (n + 1,) number of dofs of a joint that turn; 3 for more
    first_turn: IndexArray  #   (n + 1,) the first of them, and of what else follows in the joint
    last_dof: IntArray  #       (n + 1,) the last dof on the path to a bone, −1 for none
    shift_coordinate: IntArray  # (nv,) coordinate of a dof that shifts, −1 for others


@jit_forceinline
def project(tree, prior, b, axes, weight, x, y, z):
    """Return weight · P (x, y, z) for bone b; `axes` (…, 3) are those of all dofs of the joints."""
    count = np.int64(prior.turn_count[b])
    if count == 3:
        return weight * x, weight * y, weight * z
    px, py, pz = 0.0, 0.0, 0.0
    is_scaled = has_scaled_axes(tree, b)
    for i in range(np.int64(prior.first_turn[b]), np.int64(tree.joint_v[b + 1])):
        along = weight * (axes[i, 0] * x + axes[i, 1] * y + axes[i, 2] * z)
        if is_scaled:
            along *= inverse_square(axes, i)
        px += along * axes[i, 0]
        py += along * axes[i, 1]
        pz += along * axes[i, 2]
    return px, py, pz


@jit_forceinline
def has_scaled_axes(tree, b):
    """Whether axes of joint b are of any length."""
    return tree.rotation[b] == CUSTOM or tree.driven.shape[0] != 0


@jit_forceinline
def inverse_square(axes, i):
    """Return 1/|axis i|², 0 for no axis."""
    square = axes[i, 0] * axes[i, 0] + axes[i, 1] * axes[i, 1] + axes[i, 2] * axes[i, 2]
    return 1.0 / square if square > 0.0 else 0.0


@jit_forceinline
def find_source(tree, i):
    """Return the dof that moves dof i of the joints, −1 if none does."""
    if tree.driven.shape[0] == 0:
        return i
    source = tree.joint_dofs[SOURCE, i]
    return np.int64(source) if source != NONE else -1


@jit
def rotation_between(A, B):
    """Return the rotation vector of B Aᵀ."""
    return log_vector(
        B[0, 0] * A[0, 0] + B[0, 1] * A[0, 1] + B[0, 2] * A[0, 2],
        B[0, 0] * A[1, 0] + B[0, 1] * A[1, 1] + B[0, 2] * A[1, 2],
        B[0, 0] * A[2, 0] + B[0, 1] * A[2, 1] + B[0, 2] * A[2, 2],
        B[1, 0] * A[0, 0] + B[1, 1] * A[0, 1] + B[1, 2] * A[0, 2],
        B[1, 0] * A[1, 0] + B[1, 1] * A[1, 1] + B[1, 2] * A[1, 2],
        B[1, 0] * A[2, 0] + B[1, 1] * A[2, 1] + B[1, 2] * A[2, 2],
        B[2, 0] * A[0, 0] + B[2, 1] * A[0, 1] + B[2, 2] * A[0, 2],
        B[2, 0] * A[1, 0] + B[2, 1] * A[1, 1] + B[2, 2] * A[1, 2],
        B[2, 0] * A[2, 0] + B[2, 1] * A[2, 1] + B[2, 2] * A[2, 2],
    )


@jit_forceinline
def clear_ends(array):
    """Set the first and the last row to 0: their accelerations are not known."""
    last = array.shape[0] - 1
    for b in range(array.shape[1]):
        for c in range(3):
            array[0, b, c] = 0.0
            array[last, b, c] = 0.0


@jit
def add_accelerations(tree, prior, with_gradient, q, axes, R, velocity, torque, total_torque, g):
    """Return what the accelerations of q (T, nq) cost [m²], and add the gradient to g (T, nv).

    Args: `axes` (T, …, 3) of the dofs of the joints and rotations R (T, n + 1, 3, 3) of the bones,
    in the world.
    `velocity`, `torque` (T, n + 1, 3) and `total_torque` (n + 1, 3) are scratch.
    """
    frames, bones = q.shape[0], tree.parent.shape[0]
    cost = 0.0
    for t in range(frames - 1):
        for b in range(1, bones):
            if prior.turn_count[b] > 0:
                x, y, z = rotation_between(R[t, b], R[t + 1, b])
                velocity[t, b, 0], velocity[t, b, 1], velocity[t, b, 2] = x, y, z
    clear_ends(torque)
    for t in range(1, frames - 1):
        v0, v1 = velocity[t - 1], velocity[t]
        for b in range(1, bones):
            x, y, z = v1[b, 0] - v0[b, 0], v1[b, 1] - v0[b, 1], v1[b, 2] - v0[b, 2]
            fx, fy, fz = project(tree, prior, b, axes[t], prior.turn[b], x, y, z)
            torque[t, b, 0], torque[t, b, 1], torque[t, b, 2] = fx, fy, fz
            cost += 0.5 * (fx * x + fy * y + fz * z)
        for i in range(g.shape[1]):
            j = np.int64(prior.shift_coordinate[i])
            if j >= 0:
                acceleration = q[t + 1, j] - 2.0 * q[t, j] + q[t - 1, j]
                force = prior.shift[i] * acceleration
                cost += 0.5 * force * acceleration
                if with_gradient:
                    g[t - 1, i] += force
                    g[t, i] -= 2.0 * force
                    g[t + 1, i] += force
    if with_gradient:
        for t in range(frames):
            for b in range(bones):
                for c in range(3):
                    total_torque[b, c] = 0.0
            if t < frames - 1:
                add_velocity_torque(
                    prior, velocity[t], torque[t], torque[t + 1], -1.0, total_torque
                )
            if t > 0:
                add_velocity_torque(
                    prior, velocity[t - 1], torque[t - 1], torque[t], 1.0, total_torque
                )
            add_to_dofs(tree, prior, axes[t], total_torque, g[t])
    return cost


@jit
def add_velocity_torque(prior, velocity, torque, next_torque, sign, total):
    """Add what pulls on the frame after a velocity (sign 1), or before it (sign −1)."""
    for b in range(1, total.shape[0]):
        if prior.turn_count[b] > 0:
            fx = torque[b, 0] - next_torque[b, 0]
            fy = torque[b, 1] - next_torque[b, 1]
            fz = torque[b, 2] - next_torque[b, 2]
            vx, vy, vz = velocity[b, 0], velocity[b, 1], velocity[b, 2]
            cx, cy, cz = cross(vx, vy, vz, fx, fy, fz)
            dx, dy, dz = cross(vx, vy, vz, cx, cy, cz)
            # J_l⁻ᵀ f and J_r⁻ᵀ f, up to the fourth power of the turn from frame to frame.
            total[b, 0] += sign * (fx + dx / 12.0) + 0.5 * cx
            total[b, 1] += sign * (fy + dy / 12.0) + 0.5 * cy
            total[b, 2] += sign * (fz + dz / 12.0) + 0.5 * cz


@jit
def add_to_dofs(tree, prior, axes, torque, out):
    """Add to `out` (nv,) what torques on the bones, (n + 1, 3), do along the dofs above them.

    The torques become those of whole subtrees.
    """
    for b in range(tree.parent.shape[0] - 1, 0, -1):
        for i in range(np.int64(prior.first_turn[b]), np.int64(tree.joint_v[b + 1])):
            dof = find_source(tree, i)
            if dof >= 0:
                out[dof] += (
                    axes[i, 0] * torque[b, 0]
                    + axes[i, 1] * torque[b, 1]
                    + axes[i, 2] * torque[b, 2]
                )
        parent = np.int64(tree.parent[b])
        for c in range(3):
            torque[parent, c] += torque[b, c]


@jit
def turn_bones(tree, prior, axes, x, turn):
    """Write the turns of the bones in the world, (n + 1, 3), by a step x (nv,)."""
    for c in range(3):
        turn[0, c] = 0.0
    for b in range(1, tree.parent.shape[0]):
        parent, end = np.int64(tree.parent[b]), np.int64(tree.joint_v[b + 1])
        tx, ty, tz = turn[parent, 0], turn[parent, 1], turn[parent, 2]
        for i in range(np.int64(prior.first_turn[b]), end):
            dof = find_source(tree, i)
            if dof >= 0:
                tx += axes[i, 0] * x[dof]
                ty += axes[i, 1] * x[dof]
                tz += axes[i, 2] * x[dof]
        turn[b, 0], turn[b, 1], turn[b, 2] = tx, ty, tz


@jit
def multiply_accelerations(tree, prior, axes, x, turn, torque, total_torque, y):
    """Write (A − A_tt/6) x to y (T, nv): curvature of the accelerations' cost, times x (T, nv).

    A_tt/6 is the part inside each frame that `coordinates.factor_frame` has in its factors.
    """
    frames, bones, count = x.shape[0], tree.parent.shape[0], x.shape[1]
    for t in range(frames):
        turn_bones(tree, prior, axes[t], x[t], turn[t])
    clear_ends(torque)
    for t in range(1, frames - 1):
        u0, u1, u2, out = turn[t - 1], turn[t], turn[t + 1], torque[t]
        for b in range(bones):
            for c in range(3):
                out[b, c] = prior.turn[b] * (u0[b, c] - 2.0 * u1[b, c] + u2[b, c])
        project_all(tree, prior, axes[t], out)
    for t in range(frames):
        before, after = torque[max(t - 1, 0)], torque[min(t + 1, frames - 1)]
        own, u, out = torque[t], turn[t], total_torque
        for b in range(bones):
            for c in range(3):
                out[b, c] = -prior.turn[b] * u[b, c]
        project_all(tree, prior, axes[t], out)
        for b in range(bones):
            for c in range(3):
                out[b, c] += before[b, c] - 2.0 * own[b, c] + after[b, c]
        for i in range(count):
            y[t, i] = -prior.shift[i] * x[t, i]
        add_to_dofs(tree, prior, axes[t], out, y[t])
    for t in range(1, frames - 1):
        for i in range(count):
            if prior.shift[i] > 0.0:
                force = prior.shift[i] * (x[t - 1, i] - 2.0 * x[t, i] + x[t + 1, i])
                y[t - 1, i] += force
                y[t, i] -= 2.0 * force
                y[t + 1, i] += force


@jit
def project_all(tree, prior, axes, vectors):
    """Replace vectors of the bones, (n + 1, 3), by P times them."""
    for b in range(1, vectors.shape[0]):
        if prior.turn_count[b] < 3:
            x, y, z = vectors[b, 0], vectors[b, 1], vectors[b, 2]
            vectors[b, 0], vectors[b, 1], vectors[b, 2] = project(
                tree, prior, b, axes, 1.0, x, y, z
            )


@jit
def sum_accelerations(tree, prior, first, end, lag, q, axes, R, turn_sum, shift_sum):
    """Add the squares of accelerations over `lag` frames, of the frames from `first` to `end`.

    To `turn_sum` (n + 1,), |P a|² of the bones, and `shift_sum` (nv,), of the dofs that shift; each
    per frame⁴. Frames too near to an end of the sequence have none.
    """
    scale = 1.0 / float(lag) ** 4
    for t in range(max(first, lag), min(end, q.shape[0] - lag)):
        for b in range(1, tree.parent.shape[0]):
            if prior.turn_count[b] > 0:
                x0, y0, z0 = rotation_between(R[t - lag, b], R[t, b])
                x1, y1, z1 = rotation_between(R[t, b], R[t + lag, b])
                x, y, z = x1 - x0, y1 - y0, z1 - z0
                px, py, pz = project(tree, prior, b, axes[t], scale, x, y, z)
                turn_sum[b] += px * x + py * y + pz * z
        for i in range(shift_sum.shape[0]):
            j = np.int64(prior.shift_coordinate[i])
            if j >= 0:
                shift_sum[i] += scale * (q[t + lag, j] - 2.0 * q[t, j] + q[t - lag, j]) ** 2
