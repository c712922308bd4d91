"""LᵀDL of a matrix with the sparsity of a tree, in place and without fill-in (Featherstone 2005).

Eliminating the dofs from the leaves to the root touches only ancestors of the eliminated dof. In ancestor rows
(H[i, l]: dof i against level l of its path) the elimination of dof i is, for every dof a above it at level l,

    H[a, 0 … l] −= H[i, l]/d_i · H[i, 0 … l]

because the path of a is a prefix of the path of i. On return H[i, level_i] holds d_i and H[i, l < level_i] the factor L
with unit diagonal; a pivot d_i ≤ 0 tells that H is not positive definite.

Row operations run on to the next multiple of `LANES`, past the end of the row into its padding: whole vectors need no
slow last steps, and what stands in the padding is never read as a result.
"""

from __future__ import annotations

import numpy as np

from exactik.spatial import inlined, jit

__all__ = ["LANES", "factor", "padded", "solve"]

LANES = 4


@inlined
def padded(length):
    """Return the next multiple of `LANES`."""
    return (length + LANES - 1) // LANES * LANES


@jit
def factor(tree, H):
    """Factor H (nv, width) in place, width a multiple of `LANES`; return the smallest pivot."""
    smallest = np.inf
    for back in range(1, tree.visit.shape[0] + 1):
        k = np.int64(tree.visit[tree.visit.shape[0] - back])
        first, end = np.int64(tree.first_v[k]), np.int64(tree.first_v[k + 1])
        for i in range(end - 1, first - 1, -1):
            level = np.int64(tree.level[i])
            pivot = H[i, level]
            smallest = min(smallest, pivot)
            inverse = 1.0 / pivot
            above = i
            for l in range(level - 1, -1, -1):
                above = np.int64(tree.upward[above])
                ratio = H[i, l] * inverse
                for j in range(padded(l + 1)):
                    H[above, j] -= ratio * H[i, j]
            for j in range(padded(level)):
                H[i, j] *= inverse
            H[i, level] = pivot
    return smallest


@jit
def solve(tree, H, x, path):
    """Overwrite x (nv,) by H⁻¹ x, H factored; `path` (≥ width,) is scratch, one number per level."""
    for j in range(H.shape[1]):
        path[j] = 0.0
    # Lᵀ y = x, leaves first: path[l] gathers what the dofs below owe to the dof at level l.
    for back in range(1, tree.visit.shape[0] + 1):
        k = np.int64(tree.visit[tree.visit.shape[0] - back])
        first, end = np.int64(tree.first_v[k]), np.int64(tree.first_v[k + 1])
        for i in range(end - 1, first - 1, -1):
            level = np.int64(tree.level[i])
            x[i] -= path[level]
            path[level] = 0.0
            for j in range(level):
                path[j] += H[i, j] * x[i]
            x[i] /= H[i, level]
    # L z = D⁻¹y, root first: path[l] is the solution at level l of the current path.
    for turn in range(tree.visit.shape[0]):
        k = np.int64(tree.visit[turn])
        for i in range(np.int64(tree.first_v[k]), np.int64(tree.first_v[k + 1])):
            level = np.int64(tree.level[i])
            even, odd = x[i], 0.0  # two running sums: one would wait for itself
            for j in range(0, level - 1, 2):
                even -= H[i, j] * path[j]
                odd -= H[i, j + 1] * path[j + 1]
            if level % 2 == 1:
                even -= H[i, level - 1] * path[level - 1]
            x[i] = even + odd
            path[level] = x[i]
