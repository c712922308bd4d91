"""LᵀDL of a matrix with the sparsity of a tree, in place and without fill-in (Featherstone 2005).

Eliminating the dofs from the leaves to the root touches only ancestors of the eliminated dof. In
ancestor rows (H[i, l]: dof i against level l of its path) the elimination of dof i is, for every
dof a above it at level l (docs/maths.md §10),

    H[a, 0 … l] −= H[i, l]/d_i · H[i, 0 … l]

because the path of a is a prefix of the path of i. On return H[i, level_i] holds d_i and
H[i, l < level_i] the factor L with unit diagonal; a pivot d_i ≤ 0 tells that H is not positive
definite.

Row operations run on to the next multiple of `LANES`, past the end of the row into its padding:
whole vectors need no slow last steps, and what stands in the padding is never read as a result.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.compile import jit, jit_forceinline
from exactik.typing import IndexArray

LANES = 4


class AncestorPattern(NamedTuple):
    """Which dofs are the ancestors of which: how ancestor rows are to be read.

    A `Tree` has fields of the same names and can be passed in its place.
    """

    dof_order: IndexArray  #  (nv,) the dofs, every one after those above it
    dof_parent: IndexArray  # (nv,) the dof above; itself for the first
    dof_level: IndexArray  #  (nv,) number of dofs above


@jit_forceinline
def pad_to_lanes(length):
    """Return the next multiple of `LANES`."""
    return (length + LANES - 1) // LANES * LANES


@jit
def factor(pattern, H):
    """Factor H (nv, width) in place, width a multiple of `LANES`; return the smallest pivot."""
    smallest = np.inf
    remaining = pattern.dof_order.shape[0]
    while remaining > 0:
        i = np.int64(pattern.dof_order[remaining - 1])
        # Four dofs in a row without a branch between can go together: the next one down the list
        # is then the one above.
        count = 1
        while (
            count < 4
            and remaining > count
            and pattern.dof_order[remaining - 1 - count] == pattern.dof_parent[i]
        ):
            i = np.int64(pattern.dof_parent[i])
            count += 1
        i = np.int64(pattern.dof_order[remaining - 1])
        if count == 4:
            smallest = min(smallest, eliminate_four(pattern, H, i))
        else:
            smallest = min(smallest, eliminate(pattern, H, i))
            count = 1
        remaining -= count
    return smallest


@jit_forceinline
def subtract_row(H, a, i, ratio, length):
    """Row a −= ratio · row i over the first entries."""
    for j in range(pad_to_lanes(length)):
        H[a, j] -= ratio * H[i, j]


@jit_forceinline
def divide_row(H, i, level):
    """Divide row i by its pivot, which stays."""
    pivot = H[i, level]
    inverse = 1.0 / pivot
    for j in range(pad_to_lanes(level)):
        H[i, j] *= inverse
    H[i, level] = pivot


@jit_forceinline
def eliminate(pattern, H, i):
    """Eliminate dof i from the rows above it; return its pivot."""
    level = np.int64(pattern.dof_level[i])
    inverse = 1.0 / H[i, level]
    above = i
    for a in range(level - 1, -1, -1):
        above = np.int64(pattern.dof_parent[above])
        subtract_row(H, above, i, H[i, a] * inverse, a + 1)
    divide_row(H, i, level)
    return H[i, level]


@jit_forceinline
def eliminate_four(pattern, H, i):
    """Eliminate dof i and the three above it: from each other, then at once from the rows above."""
    n = np.int64(pattern.dof_level[i])
    j = np.int64(pattern.dof_parent[i])
    k = np.int64(pattern.dof_parent[j])
    top = np.int64(pattern.dof_parent[k])
    a = 1.0 / H[i, n]
    subtract_row(H, j, i, H[i, n - 1] * a, n)
    subtract_row(H, k, i, H[i, n - 2] * a, n - 1)
    subtract_row(H, top, i, H[i, n - 3] * a, n - 2)
    b = 1.0 / H[j, n - 1]
    subtract_row(H, k, j, H[j, n - 2] * b, n - 1)
    subtract_row(H, top, j, H[j, n - 3] * b, n - 2)
    c = 1.0 / H[k, n - 2]
    subtract_row(H, top, k, H[k, n - 3] * c, n - 2)
    d = 1.0 / H[top, n - 3]
    above = top
    for m in range(n - 4, -1, -1):
        above = np.int64(pattern.dof_parent[above])
        x, y, z, w = H[i, m] * a, H[j, m] * b, H[k, m] * c, H[top, m] * d
        for t in range(pad_to_lanes(m + 1)):
            H[above, t] -= (x * H[i, t] + y * H[j, t]) + (z * H[k, t] + w * H[top, t])
    divide_row(H, i, n)
    divide_row(H, j, n - 1)
    divide_row(H, k, n - 2)
    divide_row(H, top, n - 3)
    return min(min(H[i, n], H[j, n - 1]), min(H[k, n - 2], H[top, n - 3]))


@jit
def solve(pattern, H, x, path):
    """Overwrite x (nv,) by H⁻¹ x, H factored; `path` (≥ width,) is scratch, a number per level."""
    for j in range(H.shape[1]):
        path[j] = 0.0
    # Lᵀ y = x, leaves first: path[l] gathers what the dofs below owe to the dof at level l.
    for back in range(1, pattern.dof_order.shape[0] + 1):
        i = np.int64(pattern.dof_order[pattern.dof_order.shape[0] - back])
        level = np.int64(pattern.dof_level[i])
        x[i] -= path[level]
        path[level] = 0.0
        for j in range(level):
            path[j] += H[i, j] * x[i]
        x[i] /= H[i, level]
    # L z = D⁻¹y, root first: path[l] is the solution at level l of the current path.
    for n in range(pattern.dof_order.shape[0]):
        i = np.int64(pattern.dof_order[n])
        level = np.int64(pattern.dof_level[i])
        even, odd = x[i], 0.0  # two running sums: one would wait for itself
        for j in range(0, level - 1, 2):
            even -= H[i, j] * path[j]
            odd -= H[i, j + 1] * path[j + 1]
        if level % 2 == 1:
            even -= H[i, level - 1] * path[level - 1]
        x[i] = even + odd
        path[level] = x[i]
