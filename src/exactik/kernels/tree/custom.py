"""Joints whose axes are driven by functions of their coordinates (docs/maths.md §3).

A custom joint shifts by d_a along up to three axes of its base frame and then turns by d_a about up
to three axes, each turned by those before it; d_a = φ_a(θ), a function of one or two coordinates of
the joint. Its raw dofs d_a are those of sliders and hinges in a row, so that with their world
twists S_a and R = ∂φ/∂θ

    S_θ = Σ_a R_aθ S_a                           the twist of a coordinate
    H_θη = Σ_ab R_aθ R_bη B_ab + Σ_a g_a ∂²φ_a/∂θ∂η ,     B_ab = S_a·M S_b  for a outside of b

(`sweeps` has M). S_θ·M S_η, which the sweeps write for any two dofs, takes all of θ for outside of
η. Where a of θ is inside of b of η, B_ab differs from it by −w·[S_b, S_a], which
`subtract_custom_curvature` puts right.
"""

from __future__ import annotations

import math

import numpy as np

from exactik.kernels.tree.frames import (
    load_frame,
    multiply_map,
    multiply_matrix,
    multiply_vector,
)
from exactik.kernels.tree.functions import evaluate_function
from exactik.spatial import cross, jit

__all__ = [
    "CONSTANT",
    "NO_AXIS",
    "OF_ONE",
    "OF_TWO",
    "SHIFTS",
    "axis_in_world",
    "axis_motion",
    "custom_shift",
    "move_custom_joint",
    "subtract_custom_curvature",
    "turn_about",
]

NO_AXIS, CONSTANT, OF_ONE, OF_TWO = 0, 1, 2, 3
"""Column 0 of `Tree.custom_functions`: whether there is an axis, and of how many coordinates."""

SHIFTS = 3
"""Rows of a joint's axes that are shifts; those behind them are turns."""


@jit
def axis_motion(tree, joint, a, q, first):
    """Return the motion of axis a of a custom joint, with coordinates from q[first] on.

    d, its derivatives by the first and the second of the axis's coordinates, the numbers of these,
    and the second derivatives: first twice, both, second twice.
    """
    functions, table, data = tree.custom_functions, tree.function_table, tree.function_data
    kind = functions[joint, a, 0]
    i, j = np.int64(functions[joint, a, 2]), np.int64(functions[joint, a, 4])
    x = q[first + i] if kind != CONSTANT else 0.0
    y, slope, bend = evaluate_function(table, data, np.int64(functions[joint, a, 1]), x)
    if kind != OF_TWO:
        return y, slope, 0.0, i, j, bend, 0.0, 0.0
    f = np.int64(functions[joint, a, 3])
    z, other, curve = evaluate_function(table, data, f, q[first + j])
    return y * z, slope * z, y * other, i, j, bend * z, slope * other, y * curve


@jit
def axis_in_world(tree, joint, a, m):
    """Return axis a of a custom joint in the world, its frame being turned to m."""
    axes = tree.custom_axes
    return multiply_vector(m, axes[joint, a, 0], axes[joint, a, 1], axes[joint, a, 2])


@jit
def turn_about(tree, joint, a, m, angle):
    """Return M Rot(axis a, angle)."""
    axes, half = tree.custom_axes, math.sin(0.5 * angle)
    x, y, z = axes[joint, a, 0], axes[joint, a, 1], axes[joint, a, 2]
    return multiply_map(m, x, y, z, math.sin(angle), 2.0 * half * half)


@jit
def move_custom_joint(tree, k, q, first_q, first_v, end, m, x, y, z, S):
    """Write the twists of joint k's coordinates; return the moved frame and its origin.

    m: the joint's base frame, x, y, z: its origin [m].
    """
    joint, kinds = np.int64(tree.turn_axes[k, 0]), tree.custom_functions
    for i in range(first_v, end):
        for c in range(6):
            S[i, c] = 0.0
    ox, oy, oz = x, y, z
    for a in range(SHIFTS):
        if kinds[joint, a, 0] != NO_AXIS:
            d, by_i, by_j, i, j, _, _, _ = axis_motion(tree, joint, a, q, first_q)
            vx, vy, vz = axis_in_world(tree, joint, a, m)
            ox, oy, oz = ox + d * vx, oy + d * vy, oz + d * vz
            add_twist(S, first_v + i, by_i, 0.0, 0.0, 0.0, vx, vy, vz)
            add_twist(S, first_v + j, by_j, 0.0, 0.0, 0.0, vx, vy, vz)
    for a in range(SHIFTS, 2 * SHIFTS):
        if kinds[joint, a, 0] != NO_AXIS:
            d, by_i, by_j, i, j, _, _, _ = axis_motion(tree, joint, a, q, first_q)
            wx, wy, wz = axis_in_world(tree, joint, a, m)
            vx, vy, vz = cross(ox, oy, oz, wx, wy, wz)
            add_twist(S, first_v + i, by_i, wx, wy, wz, vx, vy, vz)
            add_twist(S, first_v + j, by_j, wx, wy, wz, vx, vy, vz)
            m = turn_about(tree, joint, a, m, d)
    return m, ox, oy, oz


@jit
def add_twist(S, i, scale, wx, wy, wz, vx, vy, vz):
    """Add a multiple of a twist to that of dof i, if it is not 0."""
    if scale != 0.0:
        S[i, 0] += scale * wx
        S[i, 1] += scale * wy
        S[i, 2] += scale * wz
        S[i, 3] += scale * vx
        S[i, 4] += scale * vy
        S[i, 5] += scale * vz


@jit
def custom_shift(tree, k, q, first_q):
    """Return the shift of custom joint k in its base frame [m]."""
    joint, kinds, axes = np.int64(tree.turn_axes[k, 0]), tree.custom_functions, tree.custom_axes
    x, y, z = 0.0, 0.0, 0.0
    for a in range(SHIFTS):
        if kinds[joint, a, 0] != NO_AXIS:
            d = axis_motion(tree, joint, a, q, first_q)[0]
            x, y, z = (
                x + d * axes[joint, a, 0],
                y + d * axes[joint, a, 1],
                z + d * axes[joint, a, 2],
            )
    return x, y, z


@jit
def subtract_custom_curvature(tree, k, q, R, p, sums, free, H):
    """Put right what the sweeps wrote to the block of custom joint k in the exact H.

    H_θη −= Σ w·[S_b, S_a] R_aη R_bθ over the axes a inside of b, for η ≤ θ; H_θη += Σ g_a ∂²φ_a.
    """
    joint, kinds = np.int64(tree.turn_axes[k, 0]), tree.custom_functions
    first_q, first = np.int64(tree.joint_q[k]), np.int64(tree.joint_v[k])
    level = np.int64(tree.joint_depth[k])
    m = load_frame(R, np.int64(tree.parent[k]))
    if tree.has_pre[k] != 0:
        m = multiply_matrix(m, tree.pre, k)
    base = m
    fx, fy, fz = sums[k, 3], sums[k, 4], sums[k, 5]
    mx, my, mz = cross(p[k, 0], p[k, 1], p[k, 2], fx, fy, fz)
    mx, my, mz = sums[k, 0] - mx, sums[k, 1] - my, sums[k, 2] - mz  # moment about the joint
    for a in range(2 * SHIFTS):
        if kinds[joint, a, 0] == NO_AXIS:
            continue
        d, by_i, by_j, i, j, ii, ij, jj = axis_motion(tree, joint, a, q, first_q)
        turns = a >= SHIFTS
        ux, uy, uz = axis_in_world(tree, joint, a, m if turns else base)
        if turns:
            pull = -(ux * mx + uy * my + uz * mz)
        else:
            pull = -(ux * fx + uy * fy + uz * fz)
        add_entry(H, first, level, i, i, free, pull * ii)
        add_entry(H, first, level, j, j, free, pull * jj)
        add_entry(H, first, level, max(i, j), min(i, j), free, pull * (2.0 * ij if i == j else ij))
        if turns:
            outer = base
            for b in range(a):
                if kinds[joint, b, 0] == NO_AXIS:
                    continue
                angle, by_s, by_t, s, t, _, _, _ = axis_motion(tree, joint, b, q, first_q)
                # w·[S_b, S_a] is F·(v_b × ω_a) for a shift b, and moment·(ω_b × ω_a) for a turn.
                vx, vy, vz = axis_in_world(tree, joint, b, outer)
                cx, cy, cz = cross(vx, vy, vz, ux, uy, uz)
                if b < SHIFTS:
                    bracket = fx * cx + fy * cy + fz * cz
                else:
                    bracket = mx * cx + my * cy + mz * cz
                    outer = turn_about(tree, joint, b, outer, angle)
                add_ordered(H, first, level, s, i, free, -bracket * by_s * by_i)
                add_ordered(H, first, level, s, j, free, -bracket * by_s * by_j)
                add_ordered(H, first, level, t, i, free, -bracket * by_t * by_i)
                add_ordered(H, first, level, t, j, free, -bracket * by_t * by_j)
            m = turn_about(tree, joint, a, m, d)


@jit
def add_entry(H, first, level, i, j, free, value):
    """Add to the entry of coordinates i and j ≤ i of a joint."""
    if value != 0.0:
        H[first + i, level + j] += free[first + i] * free[first + j] * value


@jit
def add_ordered(H, first, level, i, j, free, value):
    """Add to the entry of coordinates i and j of a joint if j ≤ i, else to none."""
    if j <= i:
        add_entry(H, first, level, i, j, free, value)
