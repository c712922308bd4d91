"""Coordinates of a frame in which its dofs hardly couple.

With the curvature H_t of the markers of frame t and that of accelerations inside it, A_tt, which is
6 times their weights (1 + 4 + 1, the squares of second differences), the coordinates are

    y = L x ,      H_t + A_tt/6 = LᵀDL

In these a dof moves while those below it make up for it: the markers see no coupling of dofs, and
accelerations hardly any. What each of them has of accelerations and of markers is

    κ = diag(L⁻ᵀ A_tt L⁻¹)/6 ,      h = D − κ

A coordinate turns a bone by its column of S L⁻¹, S the axes of the dofs on the path to the bone.
Dofs held at a limit are left out: their row and column are 0, and D is 1.
"""

from __future__ import annotations

import numpy as np

from exactik.compile import jit
from exactik.kernels.linear.ltdl import factor, pad_to_lanes
from exactik.kernels.smoothing.accelerations import (
    find_source,
    has_scaled_axes,
    inverse_square,
    project,
)
from exactik.kernels.tree.couplings import LEVEL, PARENT

MIN_CURVATURE_SHARE = 1e-3
"""Of D, that h has at least: where the markers have less part in it, the difference is rounding."""


@jit
def factor_frame(tree, pattern, prior, damping, t, sequence):
    """Factor H_t + A_tt/6 of frame t, and write D, h and κ of its coordinates.

    sequence.L[t] holds H_t before and L after. L⁻¹ is left in sequence.inverse and the turns of the
    bones in sequence.bone_turn, both until the next frame. `damping` (nv,) is added to H_t.
    """
    L, axes = sequence.L[t], sequence.axes[t]
    active_set, subtree = sequence.active_set[t], sequence.subtree
    bones = tree.parent.shape[0]
    sum_prior_weights(tree, prior, axes, subtree)
    if tree.driven.shape[0] != 0:
        add_driven_prior(tree, prior, damping, axes, subtree, active_set, L)
        bones = 0
    for b in range(1, bones):
        end = np.int64(tree.first_v[b + 1])
        for i in range(np.int64(tree.first_v[b]), end):
            level, above = np.int64(tree.dof_level[i]), i
            turns = i >= np.int64(prior.first_turn[b])
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
    invert_factor(pattern, L, sequence.inverse)
    compute_stiffness(
        tree, prior, axes, sequence.inverse, sequence.bone_turn, sequence.stiffness[t]
    )
    for i in range(active_set.shape[0]):
        d = L[i, np.int64(tree.dof_level[i])]
        sequence.pivot[t, i] = d
        sequence.curvature[t, i] = max(d - sequence.stiffness[t, i], MIN_CURVATURE_SHARE * d)


@jit
def add_driven_prior(tree, prior, damping, axes, subtree, active_set, L):
    """Add what `factor_frame` adds to H_t where dofs follow others: pairs of dofs of the joints.

    Each pair on a path belongs to the entry of the two dofs that move them, as in `reduce_hessian`.
    """
    for i in range(active_set.shape[0]):
        level, above = np.int64(tree.dof_level[i]), i
        for a in range(level, -1, -1):
            if active_set[i] != 0.0 or active_set[above] != 0.0:
                L[i, a] = 0.0
            above = np.int64(tree.dof_parent[above])
        L[i, level] += damping[i] + prior.shift[i] if active_set[i] == 0.0 else 1.0
    for b in range(1, tree.parent.shape[0]):
        for i in range(np.int64(tree.joint_v[b]), np.int64(tree.joint_v[b + 1])):
            dof = find_source(tree, i)
            if dof < 0 or active_set[dof] != 0.0:
                continue
            x, y, z = axes[i, 0], axes[i, 1], axes[i, 2]
            wx = subtree[b, 0, 0] * x + subtree[b, 0, 1] * y + subtree[b, 0, 2] * z
            wy = subtree[b, 1, 0] * x + subtree[b, 1, 1] * y + subtree[b, 1, 2] * z
            wz = subtree[b, 2, 0] * x + subtree[b, 2, 1] * y + subtree[b, 2, 2] * z
            level, above = np.int64(tree.dof_level[dof]), i
            for _ in range(np.int64(tree.joint_dofs[LEVEL, i]) + 1):
                other = find_source(tree, above)
                if other >= 0 and active_set[other] == 0.0:
                    along = wx * axes[above, 0] + wy * axes[above, 1] + wz * axes[above, 2]
                    along *= 2.0 if other == dof and above != i else 1.0
                    other_level = np.int64(tree.dof_level[other])
                    if other_level <= level:
                        L[dof, other_level] += along
                    else:
                        L[other, level] += along
                above = np.int64(tree.joint_dofs[PARENT, above])


@jit
def sum_prior_weights(tree, prior, axes, subtree):
    """Write the weights w P of the accelerations of each bone and all below it, (n + 1, 3, 3)."""
    bones = tree.parent.shape[0]
    for b in range(bones):
        for c in range(3):
            for e in range(3):
                subtree[b, c, e] = 0.0
    for b in range(bones - 1, 0, -1):
        count, end = np.int64(prior.turn_count[b]), np.int64(tree.joint_v[b + 1])
        is_scaled = has_scaled_axes(tree, b)
        for c in range(3):
            if count == 3:
                subtree[b, c, c] += prior.turn[b]
            else:
                for i in range(np.int64(prior.first_turn[b]), end):
                    weight = prior.turn[b]
                    if is_scaled:
                        weight *= inverse_square(axes, i)
                    for e in range(3):
                        subtree[b, c, e] += weight * axes[i, c] * axes[i, e]
            for e in range(3):
                subtree[np.int64(tree.parent[b]), c, e] += subtree[b, c, e]


@jit
def invert_factor(pattern, L, inverse):
    """Write L⁻¹ by ancestor rows, (nv, width); the diagonal of L counts as 1 and is not read."""
    for n in range(pattern.dof_order.shape[0]):
        i = np.int64(pattern.dof_order[n])
        level, above = np.int64(pattern.dof_level[i]), i
        for j in range(inverse.shape[1]):
            inverse[i, j] = 0.0
        inverse[i, level] = 1.0
        # Four rows at once, on into the padding of whole vectors, which is 0 in all rows.
        a = level - 1
        while a >= 3:
            b = np.int64(pattern.dof_parent[above])
            c = np.int64(pattern.dof_parent[b])
            d = np.int64(pattern.dof_parent[c])
            above = np.int64(pattern.dof_parent[d])
            lb, lc, ld, le = L[i, a], L[i, a - 1], L[i, a - 2], L[i, a - 3]
            for j in range(pad_to_lanes(a + 1)):
                inverse[i, j] -= (lb * inverse[b, j] + lc * inverse[c, j]) + (
                    ld * inverse[d, j] + le * inverse[above, j]
                )
            a -= 4
        while a >= 0:
            above = np.int64(pattern.dof_parent[above])
            for j in range(pad_to_lanes(a + 1)):
                inverse[i, j] -= L[i, a] * inverse[above, j]
            a -= 1


@jit
def compute_stiffness(tree, prior, axes, inverse, bone_turn, stiffness):
    """Write κ (nv,) of the coordinates, and how they turn the bones, (n + 1, 3, width)."""
    for i in range(stiffness.shape[0]):
        stiffness[i] = 0.0
    for b in range(1, tree.parent.shape[0]):
        parent, end = np.int64(tree.parent[b]), np.int64(tree.joint_v[b + 1])
        above, last = np.int64(tree.depth[b]), np.int64(prior.last_dof[b])
        length = np.int64(tree.dof_level[last]) + 1 if last >= 0 else 0
        turn, count = bone_turn[b], np.int64(prior.turn_count[b])
        for c in range(3):
            for a in range(length):
                turn[c, a] = bone_turn[parent, c, a] if parent > 0 and a < above else 0.0
        for i in range(np.int64(prior.first_turn[b]), end):
            dof = find_source(tree, i)
            for c in range(3):
                for a in range(np.int64(tree.dof_level[dof]) + 1 if dof >= 0 else 0):
                    turn[c, a] += axes[i, c] * inverse[dof, a]
        if count > 0:
            dof = last
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
