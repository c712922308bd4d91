"""What a change of a figure's parameters does: to its markers, and to the forces on its joints.

Parameters p are the logarithms of scales of bones, and the shifts of markers in their bones
(docs/maths.md §15). With K = ∂y/∂p, a marker y of weight w adds a wrench to its bone for each
parameter; summed over subtrees, these make columns of B = JᵀwK as forces make a gradient:

    (y × wK, wK)  at the marker's bone ,      B_i = S_i · Σ wrenches beyond dof i

No J is formed. A marker's own shift is a wrench on one bone: its column is zero for all dofs that
are not on the path from there to the root.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.compile import jit, jit_forceinline
from exactik.kernels.calculus.workspace import SLOPE
from exactik.kernels.recording.frames import compute_marker_residual
from exactik.kernels.tree.couplings import find_source
from exactik.kernels.tree.frames import load_frame, multiply_vector
from exactik.spatial import cross
from exactik.typing import Array, IndexArray, IntArray


class FigureColumns(NamedTuple):
    """Which parameters a figure has, and in which columns they are.

    First the scales, then the right-hand side, then three for each marker that may move, in the
    order of their bones depth first: those that a joint moves are side by side.
    """

    scale: IntArray  #           (n + 1,) column of the bone's scale, −1 for none
    grows_shifts: IndexArray  #  (n + 1,) 1 where the joint shifts by lengths of the parent
    marker: IntArray  #          (M,) first of the three columns of a marker, −1 if it stays
    of_joint: IndexArray  #      (n + 1, 2) first and end of the columns of markers that it moves
    of_dof: IndexArray  #        (nv, 2) the same of a dof
    lever: Array  #              (M, 3) s l, the part of a marker's place that grows [m]


class FitScratch(NamedTuple):
    """Scratch of a thread, for c columns with s scales and the right-hand side."""

    motion: Array  # (n + 1, 3, s) how scales move the joints
    lever: Array  #  (3, s) and a marker
    scales: Array  # (n + 1, 6, s) wrenches of the scales, on bones and then on subtrees
    shifts: Array  # (6, c) wrenches of the markers' shifts, each on its bone
    Y: Array  #      (nv, c) columns of B and −g, then L⁻ᵀ times these


@jit
def move_joints(tree, columns, scratch, work):
    """Write how scales move the joints, and clear their wrenches."""
    motion, scales = scratch.motion, scratch.scales
    for c in range(3):
        for s in range(motion.shape[2]):
            motion[0, c, s] = 0.0
    for k in range(1, tree.parent.shape[0]):
        parent = np.int64(tree.parent[k])
        for c in range(3):
            for s in range(motion.shape[2]):
                motion[k, c, s] = motion[parent, c, s]
                scales[k, c, s] = scales[k, c + 3, s] = 0.0
        s = columns.scale[parent]
        if s < 0:
            continue
        if columns.grows_shifts[k] != 0:
            x = work.p[k, 0] - work.p[parent, 0]
            y = work.p[k, 1] - work.p[parent, 1]
            z = work.p[k, 2] - work.p[parent, 2]
        else:
            offset = tree.offset[k]
            x, y, z = multiply_vector(load_frame(work.R, parent), offset[0], offset[1], offset[2])
        motion[k, 0, s] += x
        motion[k, 1, s] += y
        motion[k, 2, s] += z


@jit
def add_markers(tree, goals, columns, matrix, scratch, work):
    """Write the wrenches of all parameters; add Σ KᵀwK and Σ Kᵀwr to the upper half of `matrix`.

    Args: `matrix` (c, c); `work` is that of `evaluate` at the pose.
    """
    move_joints(tree, columns, scratch, work)
    rhs = scratch.motion.shape[2]
    for m in range(columns.marker.shape[0]):
        k, weight = np.int64(goals.terms.frame[m]), goals.terms.weight[m, 0, 0]
        compute_marker_residual(goals, m, work)
        force = (weight * work.r[0], weight * work.r[1], weight * work.r[2])
        point, R = goals.terms.point[m], load_frame(work.R, k)
        x, y, z = multiply_vector(R, point[0], point[1], point[2])
        place = (work.p[k, 0] + x, work.p[k, 1] + y, work.p[k, 2] + z)
        for c in range(3):
            for s in range(rhs):
                scratch.lever[c, s] = scratch.motion[k, c, s]
        s = columns.scale[k]
        if s >= 0:
            lever = columns.lever[m]
            x, y, z = multiply_vector(R, lever[0], lever[1], lever[2])
            scratch.lever[0, s] += x
            scratch.lever[1, s] += y
            scratch.lever[2, s] += z
        add_scales(k, weight, place, force, matrix, scratch)
        if columns.marker[m] >= 0:
            add_shift(columns.marker[m], weight, R, place, force, matrix, scratch)
    for back in range(1, tree.parent.shape[0]):
        k = tree.parent.shape[0] - back
        parent = np.int64(tree.parent[k])
        if parent != 0:
            for c in range(6):
                for s in range(rhs):
                    scratch.scales[parent, c, s] += scratch.scales[k, c, s]


@jit
def add_scales(k, weight, place, force, matrix, scratch):
    """Add what a marker on frame k does to the scales."""
    K, wrench = scratch.lever, scratch.scales[k]
    count = K.shape[1]
    for s in range(count):
        x, y, z = weight * K[0, s], weight * K[1, s], weight * K[2, s]
        wrench[0, s] += place[1] * z - place[2] * y
        wrench[1, s] += place[2] * x - place[0] * z
        wrench[2, s] += place[0] * y - place[1] * x
        wrench[3, s] += x
        wrench[4, s] += y
        wrench[5, s] += z
        for t in range(s, count):
            matrix[s, t] += x * K[0, t] + y * K[1, t] + z * K[2, t]
        matrix[s, count] += K[0, s] * force[0] + K[1, s] * force[1] + K[2, s] * force[2]


@jit
def add_shift(column, weight, R, place, force, matrix, scratch):
    """Add what a marker does to its own shift along the axes of its bone, the columns of R."""
    K, wrench = scratch.lever, scratch.shifts
    count = K.shape[1]
    for a in range(3):
        c = column + a
        x, y, z = weight * R[3 * a], weight * R[3 * a + 1], weight * R[3 * a + 2]
        wrench[0, c], wrench[1, c], wrench[2, c] = cross(place[0], place[1], place[2], x, y, z)
        wrench[3, c], wrench[4, c], wrench[5, c] = x, y, z
        for s in range(count):
            matrix[s, c] += x * K[0, s] + y * K[1, s] + z * K[2, s]
        matrix[count, c] += R[3 * a] * force[0] + R[3 * a + 1] * force[1] + R[3 * a + 2] * force[2]
        matrix[c, c] += weight


@jit
def write_columns(tree, columns, active_set, scratch, work):
    """Write B and −g to scratch.Y from the wrenches; rows of the active set are 0."""
    Y, rhs = scratch.Y, scratch.motion.shape[2]
    for i in range(Y.shape[0]):
        clear_row(columns, i, rhs + 1, Y[i])
        Y[i, rhs] = -work.g[i]
    for k in range(1, tree.parent.shape[0]):
        first, end = np.int64(columns.of_joint[k, 0]), np.int64(columns.of_joint[k, 1])
        for i in range(np.int64(tree.joint_v[k]), np.int64(tree.joint_v[k + 1])):
            dof = find_source(tree, i)
            if dof >= 0:
                slope = work.joint_dofs[SLOPE, i] if tree.driven.shape[0] != 0 else 1.0
                add_projection(work.S, i, slope, scratch.scales[k], 0, rhs, Y[dof])
                add_projection(work.S, i, slope, scratch.shifts, first, end, Y[dof])
    for i in range(Y.shape[0]):
        if active_set[i] != 0.0:
            clear_row(columns, i, rhs + 1, Y[i])


@jit_forceinline
def clear_row(columns, i, head, row):
    """Set the columns of dof i to 0: its head and its markers."""
    for c in range(head):
        row[c] = 0.0
    for c in range(np.int64(columns.of_dof[i, 0]), np.int64(columns.of_dof[i, 1])):
        row[c] = 0.0


@jit
def add_projection(S, i, slope, wrench, first, end, row):
    """Add slope · S_i · wrench to the columns from `first` to `end` of a row."""
    a, b, c = slope * S[i, 0], slope * S[i, 1], slope * S[i, 2]
    d, e, f = slope * S[i, 3], slope * S[i, 4], slope * S[i, 5]
    for j in range(first, end):
        turned = a * wrench[0, j] + b * wrench[1, j] + c * wrench[2, j]
        row[j] += turned + (d * wrench[3, j] + e * wrench[4, j] + f * wrench[5, j])
