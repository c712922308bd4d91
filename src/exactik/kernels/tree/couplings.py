"""Dofs that follow others: from the coordinates q to those of all joints, and derivatives back.

With c = φ(q), the coordinates of the joints, Φ = ∂φ/∂q, and g_c and H_c, the derivatives of a cost
by c (docs/maths.md §3),

    g = Φᵀ g_c           H = Φᵀ H_c Φ + Σ_i g_c,i φ_i''

Each c_i follows one dof of the user at most, perhaps over others that follow it: Φ has one entry a
row, φ_i', here its `slope`, and φ_i'' is its `bend`. Rows of `Tree.joint_dofs`:

    PARENT   per dof of the joints: the one above it on its path; itself for the first
    LEVEL    number of dofs of the joints above it
    SOURCE   the dof of the user that moves it; NONE if it is held
    FROM     per coordinate of the joints: the one of q that it is; NONE for driven ones

and of `Tree.driven`, in an order in which they can be computed: a driven dof of the joints, the dof
of the joints that drives it (NONE: held), and the function. Only joints whose coordinates and dofs
correspond one to one can be driven or drive.
"""

from __future__ import annotations

import numpy as np

from exactik.compile import jit
from exactik.kernels.tree.functions import evaluate_function
from exactik.kernels.tree.packed import NONE

PARENT, LEVEL, SOURCE, FROM = 0, 1, 2, 3


@jit
def expand_coordinates(tree, q, joint_q, slope, bend):
    """Write the coordinates of all joints at q, and φ' and φ'' of their dofs."""
    for i in range(joint_q.shape[0]):
        source = tree.joint_dofs[FROM, i]
        if source != NONE:
            joint_q[i] = q[np.int64(source)]
    for i in range(slope.shape[0]):
        slope[i], bend[i] = 1.0, 0.0
    for n in range(tree.driven.shape[0]):
        i, f = np.int64(tree.driven[n, 0]), np.int64(tree.driven[n, 2])
        x, rate, curve = 0.0, 0.0, 0.0
        if tree.driven[n, 1] != NONE:
            driver = np.int64(tree.driven[n, 1])
            x, rate, curve = joint_q[find_coordinate(tree, driver)], slope[driver], bend[driver]
        y, first, second = evaluate_function(tree.function_table, tree.function_data, f, x)
        joint_q[find_coordinate(tree, i)] = y
        slope[i], bend[i] = first * rate, second * rate * rate + first * curve


@jit
def find_coordinate(tree, dof):
    """Return the coordinate of a dof of the joints that is driven or drives."""
    low, high = 1, tree.parent.shape[0]  # the joint k with joint_v[k] ≤ dof < joint_v[k + 1]
    while high - low > 1:
        middle = (low + high) // 2
        if np.int64(tree.joint_v[middle]) <= dof:
            low = middle
        else:
            high = middle
    return np.int64(tree.joint_q[low]) + dof - np.int64(tree.joint_v[low])


@jit
def is_coupled(tree, k):
    """Whether a dof of joint k drives another one or follows one."""
    first, end = np.int64(tree.joint_v[k]), np.int64(tree.joint_v[k + 1])
    for n in range(tree.driven.shape[0]):
        driven, driver = np.int64(tree.driven[n, 0]), np.int64(tree.driven[n, 1])
        if first <= driven < end or first <= driver < end:
            return True
    return False


@jit
def expand_coordinates_batch(tree, q, joint_q, slope, bend):
    """Write the coordinates of all joints at the rows of q; derivatives are those of the last."""
    for b in range(q.shape[0]):
        expand_coordinates(tree, q[b], joint_q[b], slope, bend)


@jit
def reduce_gradient(tree, joint_g, slope, free, g):
    """Write Φᵀ g_c; `free` is 0 for locked dofs."""
    for i in range(g.shape[0]):
        g[i] = 0.0
    for i in range(joint_g.shape[0]):
        source = tree.joint_dofs[SOURCE, i]
        if source != NONE:
            g[np.int64(source)] += slope[i] * joint_g[i]
    for i in range(g.shape[0]):
        g[i] *= free[i]


@jit
def reduce_hessian(tree, joint_g, joint_H, slope, bend, exact, free, H):
    """Write Φᵀ H_c Φ to H by ancestor rows, with Σ g_c φ'' if `exact`; `free` as above."""
    for i in range(free.shape[0]):
        for a in range(np.int64(tree.dof_level[i]) + 1):
            H[i, a] = 0.0
    parent, levels, sources = (
        tree.joint_dofs[PARENT],
        tree.joint_dofs[LEVEL],
        tree.joint_dofs[SOURCE],
    )
    for i in range(joint_g.shape[0]):
        if sources[i] == NONE:
            continue
        source = np.int64(sources[i])
        level, scale, above = np.int64(tree.dof_level[source]), free[source] * slope[i], i
        if exact:
            H[source, level] += free[source] * joint_g[i] * bend[i]
        for a in range(np.int64(levels[i]), -1, -1):
            if sources[above] != NONE:
                other = np.int64(sources[above])
                value = scale * joint_H[i, a] * slope[above] * free[other]
                other_level = np.int64(tree.dof_level[other])
                if other == source and above != i:  # both sides of the diagonal
                    value += value
                if other_level <= level:
                    H[source, other_level] += value
                else:
                    H[other, level] += value
            above = np.int64(parent[above])
