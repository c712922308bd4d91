"""All frames of a sequence together: markers, and accelerations that cost (docs/maths.md §15).

    min  Σ_t cost_t(q_t) + accelerations(q)          within the limits

One step of Gauss–Newton's method solves  (H + A) x = −g,  H with one block a frame and A that
couples neighbours in time, by conjugate gradients in the coordinates  y = L x  of the factors

    H_t + A_tt/6 = LᵀDL ,      L⁻ᵀ (H + A) L⁻¹ = D + L⁻ᵀ (A − A_tt/6) L⁻¹

of every frame. In these a dof moves while those below it make up for it: the markers see no
coupling of dofs, and accelerations hardly any. So each coordinate is nearly a sequence by itself,

    h_i y_i + κ_i (second differences, squared) y_i ,    κ = diag(L⁻ᵀ A_tt L⁻¹)/6 ,    h = D − κ

five diagonals, factored in one go: the preconditioner, with which few iterations are enough.

In the same coordinates posterior variances are sums of squares: one with κ/h = ρ that never changes
has (σ²/h) g(ρ), and its second differences have (σ²/κ) (1 − g(ρ)), with

    g(ρ) = ∫ dω/2π  1 / (1 + ρ (2 − 2 cos ω)²) = Re 1/√(1 + 4i√ρ)
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from exactik.kernels.calculus.evaluate import evaluate
from exactik.kernels.calculus.sums import VALUE
from exactik.kernels.linear.active_set import update_active_set
from exactik.kernels.linear.ltdl import AncestorPattern, factor
from exactik.kernels.recording.accelerations import (
    add_accelerations,
    multiply_accelerations,
    project,
)
from exactik.kernels.recording.frames import set_frame
from exactik.kernels.tree.packed import Tree
from exactik.spatial import jit, jit_forceinline, jit_nogil
from exactik.typing import Array

__all__ = [
    "SequenceWorkspace",
    "compute_sequence_step",
    "estimate_variances",
    "evaluate_sequence",
    "new_sequence_workspace",
]

MIN_CURVATURE_SHARE = 1e-3
"""Of D, that h has at least: where the markers have less part in it, the difference is rounding."""


class SequenceWorkspace(NamedTuple):
    """Scratch arrays and results of n frames that are solved together; one per thread."""

    cost: Array  #            (n,) of the markers
    g: Array  #               (n, nv) gradient
    L: Array  #               (n, nv, width) curvature by ancestor rows, then factors
    axes: Array  #            (n, nv, 3) of the dofs in the world
    R: Array  #               (n, n + 1, 3, 3) bones in the world
    active_set: Array  #      (n, nv) 1 for dofs held at a limit
    pivot: Array  #           (n, nv) D
    curvature: Array  #       (n, nv) h
    stiffness: Array  #       (n, nv) κ
    d: Array  #               (n, nv) five diagonals, factored: LᵀDL again, in time
    below: Array  #           (n, nv)
    second_below: Array  #    (n, nv)
    step: Array  #            (n, nv) of the dofs
    y: Array  #               (n, nv) the same in coordinates, and what conjugate gradients need:
    residual: Array  #        (n, nv)
    preconditioned: Array  #  (n, nv)
    direction: Array  #       (n, nv)
    product: Array  #         (n, nv)
    velocity: Array  #        (n, n + 1, 3)
    torque: Array  #          (n, n + 1, 3)
    turn: Array  #            (n, n + 1, 3)
    total_torque: Array  #    (n + 1, 3)
    inverse: Array  #         (nv, width) L⁻¹ of one frame
    bone_turn: Array  #       (n + 1, 3, width) turn of a bone by the coordinates on its path
    subtree: Array  #         (n + 1, 3, 3) weights of accelerations, summed up the tree
    path: Array  #            (width,)
    variance: Array  #        (2, nv) of the coordinates, and of their second differences


def new_sequence_workspace(tree: Tree, frames: int, width: int) -> SequenceWorkspace:
    """Return the workspace for up to so many frames; `width` is that of ancestor rows."""
    nv, bones = int(tree.first_v[-1]), len(tree.parent)
    by_dof, by_bone = (frames, nv), (frames, bones, 3)
    return SequenceWorkspace(
        cost=np.zeros(frames),
        g=np.zeros(by_dof),
        L=np.zeros((frames, nv, width)),
        axes=np.zeros((frames, nv, 3)),
        R=np.zeros((frames, bones, 3, 3)),
        active_set=np.zeros(by_dof),
        pivot=np.zeros(by_dof),
        curvature=np.zeros(by_dof),
        stiffness=np.zeros(by_dof),
        d=np.zeros(by_dof),
        below=np.zeros(by_dof),
        second_below=np.zeros(by_dof),
        step=np.zeros(by_dof),
        y=np.zeros(by_dof),
        residual=np.zeros(by_dof),
        preconditioned=np.zeros(by_dof),
        direction=np.zeros(by_dof),
        product=np.zeros(by_dof),
        velocity=np.zeros(by_bone),
        torque=np.zeros(by_bone),
        turn=np.zeros(by_bone),
        total_torque=np.zeros((bones, 3)),
        inverse=np.zeros((nv, width)),
        bone_turn=np.zeros((bones, 3, width)),
        subtree=np.zeros((bones, 3, 3)),
        path=np.zeros(width),
        variance=np.zeros((2, nv)),
    )


@jit_nogil
def evaluate_sequence(tree, goals, targets, prior, order, frame_numbers, q, work, sequence):
    """Return the sum to minimise at q (n, nq); derivatives up to `order` are in `sequence`."""
    total = 0.0
    for k in range(q.shape[0]):
        set_frame(tree, goals, targets, frame_numbers[k], q[k])
        sequence.cost[k] = evaluate(tree, goals, q[k], np.int64(order), work)
        total += sequence.cost[k]
        for b in range(work.R.shape[0]):
            for i in range(3):
                for j in range(3):
                    sequence.R[k, b, i, j] = work.R[b, i, j]
        for i in range(sequence.g.shape[1]):
            for c in range(3):
                sequence.axes[k, i, c] = work.S[i, c]
            if order > VALUE:
                sequence.g[k, i] = work.g[i]
                for j in range(work.H.shape[1]):
                    sequence.L[k, i, j] = work.H[i, j]
    return total + add_accelerations(
        tree,
        prior,
        order > VALUE,
        q,
        sequence.axes,
        sequence.R,
        sequence.velocity,
        sequence.torque[: q.shape[0]],
        sequence.total_torque,
        sequence.g,
    )


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
    """Write the step from q (n, nq), which was evaluated, to sequence.step (n, nv).

    Args: `damping` (nv,) is added to the curvature. Conjugate gradients end after `max_iterations`,
    or where one lowers the model by less than `tolerance` of what they have lowered it by. The
    spread of the frames from `first` to `end` is added, see `add_spread`.

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
            add_spread(tree, prior, t, sequence, turn_sum, shift_sum, step[t])
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
    """Return the sum of the products of the first rows."""
    total = 0.0
    for t in range(frames):
        row = 0.0
        for i in range(a.shape[1]):
            row += a[t, i] * b[t, i]
        total += row
    return total


@jit
def multiply_in_coordinates(tree, pattern, prior, frames, sequence):
    """Write (D + L⁻ᵀ (A − A_tt/6) L⁻¹) times the direction to the product."""
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
def solve_transposed(pattern, L, x, path):
    """Overwrite x (nv,) by L⁻ᵀ x, leaves first; path[l] gathers what is owed to level l."""
    for a in range(path.shape[0]):
        path[a] = 0.0
    for back in range(1, x.shape[0] + 1):
        i = np.int64(pattern.dof_order[x.shape[0] - back])
        level = np.int64(pattern.dof_level[i])
        x[i] -= path[level]
        path[level] = 0.0
        for a in range(level):
            path[a] += L[i, a] * x[i]


@jit
def solve_unit(pattern, L, x, path):
    """Overwrite x (nv,) by L⁻¹ x, root first; path[l] is the solution at level l."""
    for n in range(x.shape[0]):
        i = np.int64(pattern.dof_order[n])
        level = np.int64(pattern.dof_level[i])
        s0, s1, s2, s3 = x[i], 0.0, 0.0, 0.0  # four running sums: one would wait for itself
        whole = level - level % 4
        for a in range(0, whole, 4):
            s0 -= L[i, a] * path[a]
            s1 -= L[i, a + 1] * path[a + 1]
            s2 -= L[i, a + 2] * path[a + 2]
            s3 -= L[i, a + 3] * path[a + 3]
        for a in range(whole, level):
            s0 -= L[i, a] * path[a]
        x[i] = (s0 + s1) + (s2 + s3)
        path[level] = x[i]


@jit
def factor_frame(tree, pattern, prior, damping, t, sequence):
    """Factor the curvature of frame t, and write its pivots and the stiffness κ of its coordinates.

    L⁻¹ is left in sequence.inverse, the turns of the bones in sequence.bone_turn.
    """
    L, axes = sequence.L[t], sequence.axes[t]
    active_set, subtree = sequence.active_set[t], sequence.subtree
    bones = tree.parent.shape[0]
    sum_weights(tree, prior, axes, subtree)
    for b in range(1, bones):
        end = np.int64(tree.first_v[b + 1])
        for i in range(np.int64(tree.first_v[b]), end):
            level, above = np.int64(tree.dof_level[i]), i
            turns = i >= end - np.int64(prior.turn_count[b])
            x, y, z = (axes[i, 0], axes[i, 1], axes[i, 2]) if turns else (0.0, 0.0, 0.0)
            wx = subtree[b, 0, 0] * x + subtree[b, 0, 1] * y + subtree[b, 0, 2] * z
            wy = subtree[b, 1, 0] * x + subtree[b, 1, 1] * y + subtree[b, 1, 2] * z
            wz = subtree[b, 2, 0] * x + subtree[b, 2, 1] * y + subtree[b, 2, 2] * z
            for a in range(level, -1, -1):
                free = active_set[i] == 0.0 and active_set[above] == 0.0
                along = wx * axes[above, 0] + wy * axes[above, 1] + wz * axes[above, 2]
                L[i, a] = L[i, a] + along if free else 0.0
                above = np.int64(tree.dof_parent[above])
            L[i, level] += damping[i] + prior.shift[i] if active_set[i] == 0.0 else 1.0
    factor(pattern, L)
    invert(pattern, L, sequence.inverse)
    write_stiffness(tree, prior, axes, sequence.inverse, sequence.bone_turn, sequence.stiffness[t])
    for i in range(active_set.shape[0]):
        d = L[i, np.int64(tree.dof_level[i])]
        sequence.pivot[t, i] = d
        sequence.curvature[t, i] = max(d - sequence.stiffness[t, i], MIN_CURVATURE_SHARE * d)


@jit
def sum_weights(tree, prior, axes, subtree):
    """Write the weights of the accelerations below each bone, Σ w P, (n + 1, 3, 3)."""
    bones = tree.parent.shape[0]
    for b in range(bones):
        for c in range(3):
            for e in range(3):
                subtree[b, c, e] = 0.0
    for b in range(bones - 1, 0, -1):
        count, end = np.int64(prior.turn_count[b]), np.int64(tree.first_v[b + 1])
        for c in range(3):
            if count == 3:
                subtree[b, c, c] += prior.turn[b]
            else:
                for i in range(end - count, end):
                    for e in range(3):
                        subtree[b, c, e] += prior.turn[b] * axes[i, c] * axes[i, e]
            for e in range(3):
                subtree[np.int64(tree.parent[b]), c, e] += subtree[b, c, e]


@jit
def invert(pattern, L, inverse):
    """Write L⁻¹ of a factor with unit diagonal by ancestor rows; what L has there is not read."""
    for n in range(pattern.dof_order.shape[0]):
        i = np.int64(pattern.dof_order[n])
        level, above = np.int64(pattern.dof_level[i]), i
        for j in range(level):
            inverse[i, j] = 0.0
        inverse[i, level] = 1.0
        for a in range(level - 1, -1, -1):
            above = np.int64(pattern.dof_parent[above])
            for j in range(a + 1):
                inverse[i, j] -= L[i, a] * inverse[above, j]


@jit
def write_stiffness(tree, prior, axes, inverse, bone_turn, stiffness):
    """Write κ (nv,) of the coordinates, and how they turn the bones, (n + 1, 3, width)."""
    for i in range(stiffness.shape[0]):
        stiffness[i] = 0.0
    for b in range(1, tree.parent.shape[0]):
        parent, end = np.int64(tree.parent[b]), np.int64(tree.first_v[b + 1])
        above = np.int64(tree.depth[b])
        length = above + end - np.int64(tree.first_v[b])
        turn, count = bone_turn[b], np.int64(prior.turn_count[b])
        for c in range(3):
            for a in range(length):
                turn[c, a] = bone_turn[parent, c, a] if parent > 0 and a < above else 0.0
        for i in range(end - count, end):
            for c in range(3):
                for a in range(np.int64(tree.dof_level[i]) + 1):
                    turn[c, a] += axes[i, c] * inverse[i, a]
        if count > 0:
            dof = end - 1
            for a in range(length - 1, -1, -1):
                x, y, z = turn[0, a], turn[1, a], turn[2, a]
                wx, wy, wz = project(tree, prior, b, axes, prior.turn[b], x, y, z)
                stiffness[dof] += wx * x + wy * y + wz * z
                dof = np.int64(tree.dof_parent[dof])
    for i in range(stiffness.shape[0]):
        if prior.shift[i] > 0.0:
            dof = i
            for a in range(np.int64(tree.dof_level[i]), -1, -1):
                stiffness[dof] += prior.shift[i] * inverse[i, a] ** 2
                dof = np.int64(tree.dof_parent[dof])


@jit
def factor_in_time(frames, sequence):
    """Factor the five diagonals of every coordinate: 1 −4 6 −4 1 times κ, less at the ends."""
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
    """Write the preconditioned residual: each coordinate by itself."""
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


@jit
def add_spread(tree, prior, t, sequence, turn_sum, shift_sum, variance):
    """Add the posterior variances of accelerations of frame t, which was factored, for σ = 1.

    To `turn_sum` (n + 1,), of |P a|² of the bones, and `shift_sum` (nv,); and write those of the
    dofs to `variance` (nv,).
    """
    of_place, of_change = sequence.variance[0], sequence.variance[1]
    for i in range(variance.shape[0]):
        curvature, stiffness = sequence.curvature[t, i], sequence.stiffness[t, i]
        norm = math.sqrt(1.0 + 16.0 * stiffness / curvature)
        gain = math.sqrt(0.5 * (norm + 1.0)) / norm
        free = sequence.active_set[t, i] == 0.0
        of_place[i] = gain / curvature if free else 0.0
        of_change[i] = (1.0 - gain) / stiffness if free and stiffness > 0.0 else 0.0
    for b in range(1, tree.parent.shape[0]):
        if prior.turn_count[b] > 0:
            turn, dof = sequence.bone_turn[b], np.int64(tree.first_v[b + 1]) - 1
            for a in range(np.int64(tree.dof_level[dof]), -1, -1):
                x, y, z = turn[0, a], turn[1, a], turn[2, a]
                px, py, pz = project(tree, prior, b, sequence.axes[t], 1.0, x, y, z)
                turn_sum[b] += (px * x + py * y + pz * z) * of_change[dof]
                dof = np.int64(tree.dof_parent[dof])
    for i in range(variance.shape[0]):
        dof, place, change = i, 0.0, 0.0
        for a in range(np.int64(tree.dof_level[i]), -1, -1):
            square = sequence.inverse[i, a] ** 2
            place += square * of_place[dof]
            change += square * of_change[dof]
            dof = np.int64(tree.dof_parent[dof])
        variance[i] = place
        if prior.shift_coordinate[i] >= 0:
            shift_sum[i] += change


@jit_nogil
def estimate_variances(tree, box, prior, damping, q, sequence, turn_sum, shift_sum, variance):
    """Write the posterior variance of every dof, (n, nv), for σ = 1, at q (n, nq), evaluated."""
    pattern = AncestorPattern(tree.dof_order, tree.dof_parent, tree.dof_level)
    for t in range(q.shape[0]):
        active_set, g = sequence.active_set[t], sequence.g[t]
        update_active_set(box.coordinate, box.lower, box.upper, box.free, q[t], g, active_set)
        factor_frame(tree, pattern, prior, damping, t, sequence)
        add_spread(tree, prior, t, sequence, turn_sum, shift_sum, variance[t])
