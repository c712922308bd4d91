"""Rows of the Hessian where goals couple the branches of two bodies (`goals.pairs`).

With M = 𝓗 + ½Λ of a pair, the momentum p_i = M S_i of dof i on the branch of A, below the bone
that both hang on, makes all entries of its row: S_j·p_i against dofs of its own branch, which the
sums of subtrees have already, and

    H_ij = −S_j · p_i       for every dof j on the path of B

since K = 𝓗_AB = −Mᵀ. For dofs above both this cancels what the subtrees gave; so it does for the
branch of B, with −w for w, hence Mᵀ for M, against the dofs above both.

A term on a sum of points c adds J_cᵀ(∇²h)J_c, J_c from one sum over subtrees (`goals.centroids`).

Rows then no longer follow the tree but the elimination tree of tree and pairs, `Goals.pattern`: the
same kind of rows, with other parents and levels. `Goals.columns` says where each entry goes.
"""

from __future__ import annotations

import numpy as np

from exactik.compile import jit, jit_forceinline
from exactik.kernels.calculus.sweeps import momentum_columns, six_entries
from exactik.kernels.calculus.workspace import SLOPE
from exactik.kernels.goals.centroids import is_centroid, locate_member
from exactik.kernels.goals.sums import SUMS_SIZE, WRENCH_SIZE, clear_sums, sum_subtrees
from exactik.kernels.linear.articulated import multiply_rows, store_absorbed
from exactik.kernels.linear.loops import MAX_LOOPS
from exactik.kernels.linear.ltdl import pad_to_lanes
from exactik.kernels.linear.six_vectors import dot, load
from exactik.kernels.linear.vec8 import load_vec8, scale_vec8, store_vec8
from exactik.kernels.tree.couplings import SOURCE
from exactik.kernels.tree.packed import NONE
from exactik.spatial import cross


@jit
def write_pair_rows(tree, goals, order, work):
    """Write work.pair_H (nv, width), rows of `goals.pattern`, from work.H and the pairs' sums."""
    H, level = work.pair_H, goals.pattern.dof_level
    for i in range(level.shape[0]):
        own = np.int64(tree.dof_level[i])
        if np.int64(goals.columns[i, own]) == own:  # the same row as in the tree
            for a in range(pad_to_lanes(own + 1)):
                H[i, a] = work.H[i, a]
            continue
        for a in range(pad_to_lanes(np.int64(level[i]) + 1)):
            H[i, a] = 0.0
        for a in range(own + 1):
            H[i, np.int64(goals.columns[i, a])] = work.H[i, a]
    for n in range(goals.pair_terms.shape[0]):
        m = np.int64(goals.pair_terms[n])
        if is_centroid(goals.terms, m):
            add_centroid_rows(tree, goals, m, work)
            continue
        A, B = np.int64(goals.terms.frame[m]), np.int64(goals.terms.other[m])
        if B == 0 or not has_sums(work.pair_sums, m):  # the world, or a bound that is kept
            continue
        meeting = np.int64(goals.meeting[m, 0])
        subtract_branch(tree, goals, m, A, meeting, B, order, work)
        for c in range(WRENCH_SIZE):
            work.pair_sums[m, c] = -work.pair_sums[m, c]
        subtract_branch(tree, goals, m, B, meeting, meeting, order, work)


@jit
def add_centroid_rows(tree, goals, m, work):
    """Add J_cᵀ(∇²h)J_c of term m; the sums of the frames and work.P are written over."""
    sums, S, J, B = work.sums, work.S, work.P, work.pair_weight
    centroids, slope, sources = goals.centroids, work.joint_dofs[SLOPE], tree.joint_dofs[SOURCE]
    clear_sums(sums, 4)
    for k in range(np.int64(centroids.first[m]), np.int64(centroids.first[m + 1])):
        frame, share = np.int64(centroids.frame[k]), centroids.share[k]
        x, y, z = locate_member(centroids, k, work)
        sums[frame, 0] += share * x
        sums[frame, 1] += share * y
        sums[frame, 2] += share * z
        sums[frame, 3] += share
    sum_subtrees(tree, sums, 4)
    for i in range(J.shape[0]):
        for c in range(3):
            J[i, c] = 0.0
    for k in range(1, tree.parent.shape[0]):
        for i in range(np.int64(tree.joint_v[k]), np.int64(tree.joint_v[k + 1])):
            if sources[i] == NONE:
                continue
            dof = np.int64(sources[i])
            scale = goals.free[dof] * (slope[i] if tree.driven.shape[0] > 0 else 1.0)
            x, y, z = cross(S[i, 0], S[i, 1], S[i, 2], sums[k, 0], sums[k, 1], sums[k, 2])
            J[dof, 0] += scale * (x + sums[k, 3] * S[i, 3])
            J[dof, 1] += scale * (y + sums[k, 3] * S[i, 4])
            J[dof, 2] += scale * (z + sums[k, 3] * S[i, 5])
    levels, H = goals.pattern.dof_level, work.pair_H
    for i in range(J.shape[0]):
        x, y, z = J[i, 0], J[i, 1], J[i, 2]
        if x == 0.0 and y == 0.0 and z == 0.0:
            continue
        a = B[m, 0, 0] * x + B[m, 0, 1] * y + B[m, 0, 2] * z
        b = B[m, 1, 0] * x + B[m, 1, 1] * y + B[m, 1, 2] * z
        c = B[m, 2, 0] * x + B[m, 2, 1] * y + B[m, 2, 2] * z
        for j in range(i):
            value = J[j, 0] * a + J[j, 1] * b + J[j, 2] * c
            if value != 0.0:
                add_entry(levels, i, j, value, H)
        H[i, np.int64(levels[i])] += x * a + y * b + z * c


@jit_forceinline
def has_sums(sums, m):
    """Whether term m adds a force or curvature: its wrench and the diagonal of its 6×6 tell."""
    for c in range(WRENCH_SIZE):
        if sums[m, c] != 0.0:
            return True
    for c in (6, 12, 17, 21, 24, 26):
        if sums[m, c] != 0.0:
            return True
    return False


@jit
def find_loops(tree, goals, order, work):
    """Write the loops of what was evaluated; return False where it takes whole rows instead.

    These are for loops with frames in common, and for sums of points that have curvature.
    """
    on_loop, bodies, sums = work.on_loop, work.loop_bodies, work.pair_sums
    count, terms_end = 0, sums.shape[0] - MAX_LOOPS  # behind the terms: sums of the loops
    for k in range(on_loop.shape[0]):
        on_loop[k] = 0
    for n in range(goals.pair_terms.shape[0]):
        m = np.int64(goals.pair_terms[n])
        if is_centroid(goals.terms, m):
            for i in range(3):
                for j in range(3):
                    if work.pair_weight[m, i, j] != 0.0:
                        return False
            continue
        A, B = np.int64(goals.terms.frame[m]), np.int64(goals.terms.other[m])
        if B == 0 or not has_sums(sums, m):  # the world does not move
            continue
        sign = 1.0
        if goals.meeting[m, 1] != 0:  # K of (B, A) is Kᵀ: that of −w
            A, B, sign = B, A, -1.0
        own = 0
        while own < count and (bodies[own, 0] != A or bodies[own, 1] != B):
            own += 1
        if own == count:
            if count == MAX_LOOPS or not open_loop(
                tree, own, A, B, np.int64(goals.meeting[m, 0]), work
            ):
                return False
            for c in range(SUMS_SIZE):
                sums[terms_end + own, c] = 0.0
            count += 1
        for c in range(SUMS_SIZE):
            sums[terms_end + own, c] += (sign if c < WRENCH_SIZE else 1.0) * sums[m, c]
    for own in range(count):
        columns = momentum_columns(sums, terms_end + own, order)
        store_absorbed(work.coupling, own, columns)
        for i in range(6 * own, 6 * own + 6):
            store_vec8(work.coupling, i, scale_vec8(-1.0, load_vec8(work.coupling, i)))
    on_loop[0] = count
    return True


@jit_forceinline
def open_loop(tree, own, A, B, meeting, work):
    """Mark the frames of a loop; return False if one of them is on another one."""
    work.loop_bodies[own, 0], work.loop_bodies[own, 1], work.loop_bodies[own, 2] = A, B, meeting
    for side in range(2):
        frame = A if side == 0 else B
        while frame != meeting:
            if work.on_loop[frame] != 0:
                return False
            work.on_loop[frame] = 2 * own + 1 + side
            frame = np.int64(tree.parent[frame])
    return True


@jit_forceinline
def subtract_branch(tree, goals, m, frame, meeting, other, order, work):
    """Subtract S_j·p_i for the dofs i from `frame` up to `meeting`, j from `other` to the root."""
    columns, S = momentum_columns(work.pair_sums, m, order), work.S
    free, slope, sources = goals.free, work.joint_dofs[SLOPE], tree.joint_dofs[SOURCE]
    coupled = tree.driven.shape[0] > 0
    while frame != meeting:
        for i in range(np.int64(tree.joint_v[frame]), np.int64(tree.joint_v[frame + 1])):
            if sources[i] == NONE:
                continue
            source = np.int64(sources[i])
            scale = -free[source] * (slope[i] if coupled else 1.0)
            momentum = six_entries(scale_vec8(scale, multiply_rows(columns, S, i)))
            above = other
            while above > 0:
                for j in range(np.int64(tree.joint_v[above]), np.int64(tree.joint_v[above + 1])):
                    if sources[j] != NONE:
                        dof = np.int64(sources[j])
                        value = free[dof] * dot(load(S, j), momentum)
                        value *= slope[j] if coupled else 1.0
                        add_entry(goals.pattern.dof_level, source, dof, value, work.pair_H)
                above = np.int64(tree.parent[above])
        frame = np.int64(tree.parent[frame])


@jit_forceinline
def add_entry(levels, i, j, value, H):
    """Add to H_ij and H_ji, of which the rows of a pattern hold the one below the other."""
    i_level, j_level = np.int64(levels[i]), np.int64(levels[j])
    if i_level > j_level:
        H[i, j_level] += value
    elif i_level < j_level:
        H[j, i_level] += value
    else:  # one dof drives both
        H[i, i_level] += value + value
