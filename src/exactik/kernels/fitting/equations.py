"""One step of a figure's parameters and all poses together, the poses eliminated frame by frame.

A frame with the curvature A of its pose and B = JᵀwK leaves to the parameters

    C − BᵀA⁻¹B ,   c − BᵀA⁻¹h        h = −g ,  C = KᵀwK ,  c = Kᵀwr

With A = LᵀDL by ancestor rows and Y = L⁻ᵀ[B | h], both are [C | c] − YᵀD⁻¹Y: no Jacobian, no A⁻¹,
and nothing is kept of a frame. The columns of the markers beyond a dof lie side by side, and those
of others are zero in its row, so that each row operation is a short loop.

Curvature is Gauss–Newton's, which is never negative. With the exact Hessian, which was tried, steps
were as many: most of the way poses change the limits that hold them, and dofs that the markers
hardly tell have exact pivots near zero, whose inverse is not to be trusted.
"""

from __future__ import annotations

import numpy as np

from exactik.compile import jit, jit_forceinline, jit_nogil
from exactik.kernels.calculus.evaluate import evaluate
from exactik.kernels.fitting.columns import add_markers, write_columns
from exactik.kernels.goals.sums import GAUSS_NEWTON
from exactik.kernels.linear.active_set import copy_free_block, update_active_set
from exactik.kernels.linear.ltdl import AncestorPattern, factor
from exactik.kernels.recording.frames import set_frame

RELATIVE_RIDGE = 1e-13
"""Of the trace of A, so that dofs of which nothing is known can be eliminated."""
MIN_RIDGE = 1e-12
"""[m²] beside it: a frame whose markers a robust loss ignores altogether leaves its root free. Any
positive number will do, as such a frame pulls at nothing."""


@jit_nogil
def add_fit_equations(
    tree, goals, box, frames, columns, frame_numbers, q, matrix, scratch, descent, work
):
    """Add what frames say of the parameters to the upper half of `matrix` (c, c).

    Args: `columns`: `FigureColumns`; the right-hand side is in its column of `matrix`, −h·A⁻¹h in
    the corner of that. Poses q (n, nq) are those of the frames `frame_numbers` (n,).
    """
    pattern = AncestorPattern(tree.dof_order, tree.dof_parent, tree.dof_level)
    for k in range(q.shape[0]):
        set_frame(tree, goals, frames, frame_numbers[k], q[k])
        evaluate(tree, goals, q[k], np.int64(GAUSS_NEWTON), work)
        update_active_set(
            box.coordinate, box.lower, box.upper, box.free, q[k], work.g, descent.active_set
        )
        trace = 0.0
        for i in range(descent.scale.shape[0]):
            trace += work.H[i, np.int64(tree.dof_level[i])]
            descent.scale[i] = 1.0
        ridge = RELATIVE_RIDGE * trace + MIN_RIDGE
        copy_free_block(pattern, work.H, ridge, descent.scale, descent.active_set, descent.L)
        factor(pattern, descent.L)
        add_markers(tree, goals, columns, matrix, scratch, work)
        write_columns(tree, columns, descent.active_set, scratch, work)
        subtract_eliminated(tree, columns, descent.L, scratch, matrix)


@jit
def subtract_eliminated(tree, columns, L, scratch, matrix):
    """Solve Y = L⁻ᵀ Y from the tips, and subtract YᵀD⁻¹Y from the upper half of `matrix`."""
    Y, head = scratch.Y, scratch.motion.shape[2] + 1
    nv = Y.shape[0]
    for back in range(1, nv + 1):
        i = np.int64(tree.dof_order[nv - back])
        first, end = np.int64(columns.of_dof[i, 0]), np.int64(columns.of_dof[i, 1])
        above = i
        for a in range(np.int64(tree.dof_level[i]) - 1, -1, -1):
            above = np.int64(tree.dof_parent[above])
            subtract_multiple(L[i, a], Y[i], 0, head, Y[above])
            subtract_multiple(L[i, a], Y[i], first, end, Y[above])
    n = 0
    while n < nv:
        i = np.int64(tree.dof_order[n])
        j, k = i, i
        if n + 2 < nv:
            j, k = np.int64(tree.dof_order[n + 1]), np.int64(tree.dof_order[n + 2])
        has_three = n + 2 < nv and has_columns_of(columns, i, j) and has_columns_of(columns, i, k)
        first, end = np.int64(columns.of_dof[i, 0]), np.int64(columns.of_dof[i, 1])
        a = 1.0 / L[i, np.int64(tree.dof_level[i])]
        if has_three:
            b = 1.0 / L[j, np.int64(tree.dof_level[j])]
            c = 1.0 / L[k, np.int64(tree.dof_level[k])]
            subtract_three(a, Y[i], b, Y[j], c, Y[k], head, first, end, matrix)
            n += 3
        else:
            subtract_one(a, Y[i], head, first, end, matrix)
            n += 1


@jit_forceinline
def has_columns_of(columns, i, j):
    """Whether two dofs move the same markers."""
    same_first = columns.of_dof[i, 0] == columns.of_dof[j, 0]
    return same_first and columns.of_dof[i, 1] == columns.of_dof[j, 1]


@jit
def subtract_one(a, x, head, first, end, matrix):
    """Subtract a xxᵀ, x zero but in its head and from `first` to `end`."""
    for c in range(head):
        subtract_multiple(a * x[c], x, c, head, matrix[c])
        subtract_multiple(a * x[c], x, first, end, matrix[c])
    for c in range(first, end):
        subtract_multiple(a * x[c], x, c, end, matrix[c])


@jit
def subtract_three(a, x, b, y, c, z, head, first, end, matrix):
    """As `subtract_one` for three rows at once: `matrix` is loaded a third as often."""
    for k in range(head):
        s, t, u = a * x[k], b * y[k], c * z[k]
        subtract_multiples(s, x, t, y, u, z, k, head, matrix[k])
        subtract_multiples(s, x, t, y, u, z, first, end, matrix[k])
    for k in range(first, end):
        s, t, u = a * x[k], b * y[k], c * z[k]
        subtract_multiples(s, x, t, y, u, z, k, end, matrix[k])


@jit_forceinline
def subtract_multiple(ratio, row, first, end, out):
    """Subtract ratio · row from `out` in the columns from `first` to `end`."""
    for c in range(first, end):
        out[c] -= ratio * row[c]


@jit_forceinline
def subtract_multiples(s, x, t, y, u, z, first, end, out):
    """Subtract s x + t y + u z from `out` in the columns from `first` to `end`."""
    for c in range(first, end):
        out[c] -= s * x[c] + (t * y[c] + u * z[c])
