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

import numpy as np

from exactik.compile import jit
from exactik.kernels.tree.frames import (
    load_frame,
    multiply_map,
    multiply_matrix,
    multiply_vector,
)
from exactik.kernels.tree.functions import evaluate_function
from exactik.spatial import cross, sincos_of

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
    axes = tree.custom_axes
    x, y, z = axes[joint, a, 0], axes[joint, a, 1], axes[joint, a, 2]
    sine, cosine = sincos_of(angle)
    return multiply_map(m, x, y, z, sine, 1.0 - cosine)


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
    first = np.int64(tree.joint_v[k])
    base = load_frame(R, np.int64(tree.parent[k]))
    if tree.has_pre[k] != 0:
        base = multiply_matrix(base, tree.pre, k)
    force = (sums[k, 3], sums[k, 4], sums[k, 5])
    mx, my, mz = cross(p[k, 0], p[k, 1], p[k, 2], force[0], force[1], force[2])
    moment = (sums[k, 0] - mx, sums[k, 1] - my, sums[k, 2] - mz)  # about the joint
    if np.int64(tree.joint_v[k + 1]) - first == 1:
        value = curvature_of_one(tree, k, q, base, force, moment)
        H[first, np.int64(tree.joint_depth[k])] += free[first] * value
    else:
        add_curvatures(tree, k, q, base, force, moment, free, H)


@jit
def curvature_of_one(tree, k, q, base, force, moment):
    """Return what `subtract_custom_curvature` adds for a joint with one coordinate.

    The axes outside of a are then summed up as they come: Σ R_b S_b.
    """
    joint, kinds = np.int64(tree.turn_axes[k, 0]), tree.custom_functions
    first_q, m, total = np.int64(tree.joint_q[k]), base, 0.0
    shift, turn = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    last, angle = -1, 0.0
    for a in range(2 * SHIFTS):
        if kinds[joint, a, 0] == NO_AXIS:
            continue
        if last >= 0:
            m = turn_about(tree, joint, last, m, angle)
        d, by_i, by_j, _, _, ii, ij, jj = axis_motion(tree, joint, a, q, first_q)
        rate, bend = by_i + by_j, ii + 2.0 * ij + jj
        u = axis_in_world(tree, joint, a, m)
        if a < SHIFTS:
            total -= bend * dot_three(u, force)
            shift = add_scaled_three(shift, rate, u)
        else:
            by_shifts = dot_three(force, cross(shift[0], shift[1], shift[2], u[0], u[1], u[2]))
            by_turns = dot_three(moment, cross(turn[0], turn[1], turn[2], u[0], u[1], u[2]))
            total -= bend * dot_three(u, moment) + rate * (by_shifts + by_turns)
            turn = add_scaled_three(turn, rate, u)
            last, angle = a, d
    return total


@jit
def add_curvatures(tree, k, q, base, force, moment, free, H):
    """Do what `subtract_custom_curvature` does, for a joint with any number of coordinates."""
    joint, kinds = np.int64(tree.turn_axes[k, 0]), tree.custom_functions
    first_q, first = np.int64(tree.joint_q[k]), np.int64(tree.joint_v[k])
    level, m = np.int64(tree.joint_depth[k]), base
    last, last_angle = -1, 0.0
    for a in range(2 * SHIFTS):
        if kinds[joint, a, 0] == NO_AXIS:
            continue
        if last >= 0:
            m = turn_about(tree, joint, last, m, last_angle)
        d, by_i, by_j, i, j, ii, ij, jj = axis_motion(tree, joint, a, q, first_q)
        ux, uy, uz = axis_in_world(tree, joint, a, m)
        if ii != 0.0 or ij != 0.0 or jj != 0.0:
            pull = -dot_three((ux, uy, uz), force if a < SHIFTS else moment)
            both = pull * (2.0 * ij if i == j else ij)
            add_entry(H, first, level, i, i, free, pull * ii)
            add_entry(H, first, level, j, j, free, pull * jj)
            add_entry(H, first, level, max(i, j), min(i, j), free, both)
        if a < SHIFTS:
            continue
        outer, turned = base, SHIFTS  # the axis up to which `outer` is turned
        for b in range(a):
            if not is_swapped(kinds, joint, b, a):
                continue
            if b >= SHIFTS:
                outer = turn_between(tree, joint, turned, b, q, first_q, outer)
                turned = b
            _, by_s, by_t, s, t, _, _, _ = axis_motion(tree, joint, b, q, first_q)
            # w·[S_b, S_a] is F·(v_b × ω_a) for a shift b, and moment·(ω_b × ω_a) for a turn.
            vx, vy, vz = axis_in_world(tree, joint, b, outer)
            bracket = dot_three(force if b < SHIFTS else moment, cross(vx, vy, vz, ux, uy, uz))
            add_ordered(H, first, level, s, i, free, -bracket * by_s * by_i)
            add_ordered(H, first, level, s, j, free, -bracket * by_s * by_j)
            add_ordered(H, first, level, t, i, free, -bracket * by_t * by_i)
            add_ordered(H, first, level, t, j, free, -bracket * by_t * by_j)
        last, last_angle = a, d


@jit
def is_swapped(kinds, joint, b, a):
    """Whether axis b has a coordinate that does not come before all of those of axis a."""
    if kinds[joint, b, 0] < OF_ONE or kinds[joint, a, 0] < OF_ONE:
        return False
    of_a, of_b = np.int64(kinds[joint, a, 2]), np.int64(kinds[joint, b, 2])
    if kinds[joint, a, 0] == OF_TWO:
        of_a = min(of_a, np.int64(kinds[joint, a, 4]))
    if kinds[joint, b, 0] == OF_TWO:
        of_b = max(of_b, np.int64(kinds[joint, b, 4]))
    return of_a <= of_b


@jit
def turn_between(tree, joint, first, end, q, first_q, m):
    """Return M turned about the axes from `first` up to, but without, `end`."""
    for b in range(first, end):
        if tree.custom_functions[joint, b, 0] != NO_AXIS:
            m = turn_about(tree, joint, b, m, axis_motion(tree, joint, b, q, first_q)[0])
    return m


@jit
def dot_three(a, b):
    """Return a·b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@jit
def add_scaled_three(a, scale, b):
    """Return a + scale b."""
    return a[0] + scale * b[0], a[1] + scale * b[1], a[2] + scale * b[2]


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
