"""One step of Gauss–Newton's method for all frames of a sequence together (docs/maths.md §15).

    min  Σ_t cost_t(q_t) + accelerations(q)          within the limits

The step solves  (H + A) x = −g,  H with one block a frame and A that couples neighbours in time, by
conjugate gradients in the coordinates  y = L x  of every frame (`coordinates.py`),

    H_t + A_tt/6 = LᵀDL ,      L⁻ᵀ (H + A) L⁻¹ = D + L⁻ᵀ (A − A_tt/6) L⁻¹

Dofs hardly couple in these, so each coordinate is nearly a sequence by itself,

    h_i y_i + κ_i (second differences, squared) y_i

five diagonals, factored in one go: the preconditioner, with which few iterations are enough.
"""

from __future__ import annotations

import math

from exactik.compile import jit, jit_forceinline, jit_nogil
from exactik.kernels.linear.active_set import update_active_set
from exactik.kernels.linear.ltdl import AncestorPattern
from exactik.kernels.smoothing.accelerations import multiply_accelerations
from exactik.kernels.smoothing.coordinates import factor_frame, solve_transposed, solve_unit
from exactik.kernels.smoothing.variances import add_variances


@jit_nogil
def compute_sequence_step(
    tree,
    box,
    prior,
    damping,
    max_iterations,
    tolerance,
    first,
    end,
    q,
    turn_sum,
    shift_sum,
    sequence,
):
    """Write the step from poses q (T, nq), which were evaluated, to sequence.step (T, nv).

    Args:
        tree: the skeleton.
        box: limits.
        prior: weights of accelerations.
        damping: (nv,) is added to the curvature.
        max_iterations: after which conjugate gradients end.
        tolerance: they also end where one lowers the model by less than this share of what they
            have lowered it by.
        first: of the frames whose posterior variances are added, see `add_variances`.
        end: of these, not included.
        q: poses.
        turn_sum: (n + 1,) to which the variances of accelerations are added.
        shift_sum: (nv,) the same of shifts.
        sequence: as `evaluate_sequence` left it, with GAUSS_NEWTON.

    Returns the number of iterations.
    """
    pattern = AncestorPattern(tree.dof_order, tree.dof_parent, tree.dof_level)
    frames, count = q.shape[0], sequence.g.shape[1]
    step, y, residual, z = sequence.step, sequence.y, sequence.residual, sequence.preconditioned
    direction, product = sequence.direction, sequence.product
    for t in range(frames):
        active_set = sequence.active_set[t]
        update_active_set(
            box.coordinate, box.lower, box.upper, box.free, q[t], sequence.g[t], active_set
        )
        factor_frame(tree, pattern, prior, damping, t, sequence)
        if first <= t < end:
            add_variances(tree, prior, t, sequence, turn_sum, shift_sum, step[t])
        for i in range(count):
            y[t, i] = 0.0
            residual[t, i] = 0.0 if active_set[i] != 0.0 else -sequence.g[t, i]
        solve_transposed(pattern, sequence.L[t], residual[t], sequence.path)
    factor_in_time(frames, sequence)
    solve_in_time(frames, sequence)
    decrease, iterations = 0.0, 0
    product_rz = dot(residual, z, frames)
    for t in range(frames):
        for i in range(count):
            direction[t, i] = z[t, i]
    while iterations < max_iterations:
        multiply_in_coordinates(tree, pattern, prior, frames, sequence)
        curvature = dot(direction, product, frames)
        if not (curvature > 0.0 and product_rz > 0.0):
            break
        length = product_rz / curvature
        for t in range(frames):
            for i in range(count):
                y[t, i] += length * direction[t, i]
                residual[t, i] -= length * product[t, i]
        iterations += 1
        decrease += length * product_rz
        if length * product_rz < tolerance * decrease:
            break
        solve_in_time(frames, sequence)
        share = 1.0 / product_rz
        product_rz = dot(residual, z, frames)
        share *= product_rz
        for t in range(frames):
            for i in range(count):
                direction[t, i] = z[t, i] + share * direction[t, i]
    for t in range(frames):
        for i in range(count):
            step[t, i] = y[t, i]
        solve_unit(pattern, sequence.L[t], step[t], sequence.path)
    return iterations


@jit_forceinline
def dot(a, b, frames):
    """Return Σ a b over the first frames of a and b (T, nv)."""
    total = 0.0
    for t in range(frames):
        row = 0.0
        for i in range(a.shape[1]):
            row += a[t, i] * b[t, i]
        total += row
    return total


@jit
def multiply_in_coordinates(tree, pattern, prior, frames, sequence):
    """Write (D + L⁻ᵀ (A − A_tt/6) L⁻¹) times the direction to sequence.product (T, nv)."""
    direction, product, x = sequence.direction, sequence.product, sequence.step
    for t in range(frames):
        for i in range(x.shape[1]):
            x[t, i] = direction[t, i]
        solve_unit(pattern, sequence.L[t], x[t], sequence.path)
    multiply_accelerations(
        tree,
        prior,
        sequence.axes,
        x[:frames],
        sequence.turn,
        sequence.torque[:frames],
        sequence.total_torque,
        product,
    )
    for t in range(frames):
        for i in range(x.shape[1]):
            if sequence.active_set[t, i] != 0.0:
                product[t, i] = 0.0
        solve_transposed(pattern, sequence.L[t], product[t], sequence.path)
        for i in range(x.shape[1]):
            product[t, i] += sequence.pivot[t, i] * direction[t, i]


@jit
def factor_in_time(frames, sequence):
    """Factor the five diagonals of every coordinate: 1 −4 6 −4 1 times κ, less at the ends.

    κ changes from frame to frame: between two frames its geometric mean stands, which keeps the
    matrix positive definite. Frames in which a dof is held at a limit are cut out.
    """
    d, below, second_below = sequence.d, sequence.below, sequence.second_below
    active_set, stiffness = sequence.active_set, sequence.stiffness
    for t in range(frames):
        inner, after_two, before_two = 0 < t < frames - 1, t >= 2, t < frames - 2
        main = (4.0 if inner else 0.0) + (1.0 if after_two else 0.0) + (1.0 if before_two else 0.0)
        side = -2.0 * ((1.0 if inner else 0.0) + (1.0 if after_two else 0.0))
        for i in range(d.shape[1]):
            if active_set[t, i] != 0.0:
                d[t, i], below[t, i], second_below[t, i] = 1.0, 0.0, 0.0
                continue
            root = math.sqrt(stiffness[t, i])
            value = sequence.curvature[t, i] + main * stiffness[t, i]
            l1, l2 = 0.0, 0.0
            if t >= 2 and active_set[t - 2, i] == 0.0:
                l2 = root * math.sqrt(stiffness[t - 2, i]) / d[t - 2, i]
                value -= l2 * l2 * d[t - 2, i]
            if t >= 1 and active_set[t - 1, i] == 0.0:
                l1 = side * root * math.sqrt(stiffness[t - 1, i])
                if t >= 2 and active_set[t - 2, i] == 0.0:
                    l1 -= l2 * d[t - 2, i] * below[t - 1, i]
                l1 /= d[t - 1, i]
                value -= l1 * l1 * d[t - 1, i]
            d[t, i], below[t, i], second_below[t, i] = value, l1, l2


@jit
def solve_in_time(frames, sequence):
    """Write the preconditioned residual (T, nv): each coordinate by itself, through all frames."""
    z, d, residual = sequence.preconditioned, sequence.d, sequence.residual
    below, second_below, count = sequence.below, sequence.second_below, sequence.d.shape[1]
    for t in range(frames):
        for i in range(count):
            z[t, i] = residual[t, i]
        if t >= 1:
            for i in range(count):
                z[t, i] -= below[t, i] * z[t - 1, i]
        if t >= 2:
            for i in range(count):
                z[t, i] -= second_below[t, i] * z[t - 2, i]
    for t in range(frames - 1, -1, -1):
        for i in range(count):
            z[t, i] /= d[t, i]
        if t < frames - 1:
            for i in range(count):
                z[t, i] -= below[t + 1, i] * z[t + 1, i]
        if t < frames - 2:
            for i in range(count):
                z[t, i] -= second_below[t + 2, i] * z[t + 2, i]
