"""The elimination tree of a tree whose branches are coupled in places: rows with little fill-in.

Dofs are eliminated from the tips to the root. Row x of H couples dof x with those before it in that
order; eliminating x couples all of these with each other, so that they join the row of the last of
them, its parent (Liu 1990):

    parent(x) = last of row(x) ,     row(parent(x)) ∪= row(x) without it

The ancestors of x in this tree hold its whole row, fill-in included: what `ltdl` needs.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from exactik.kernels.linear.ltdl import AncestorPattern
from exactik.kernels.tree.packed import Tree
from exactik.typing import IndexArray, IntArray


def tree_pattern(tree: Tree) -> AncestorPattern:
    """Return the pattern of a tree without couplings."""
    return AncestorPattern(tree.dof_order, tree.dof_parent, tree.dof_level)


def make_elimination_pattern(
    tree: Tree, couplings: Iterable[tuple[IntArray, IntArray]]
) -> AncestorPattern:
    """Return the pattern of a tree, every dof of whose path is coupled with those above it.

    Args:
        tree: of nv dofs.
        couplings: pairs of sets of dofs; each of one is coupled with each of the other.
    """
    order = tree.dof_order.astype(np.int64)
    nv = len(order)
    place = np.empty(nv, np.int64)
    place[order] = np.arange(nv)
    rows = [0] * nv  # of the dof at each place: a bit for each place before it
    for n in range(nv):
        above = int(place[tree.dof_parent[order[n]]])
        rows[n] = 0 if above == n else rows[above] | 1 << above
    for first, second in couplings:
        here, there = place[first].tolist(), place[second].tolist()
        for some, others in ((here, there), (there, here)):
            bits = sum(1 << other for other in others)
            for n in some:
                rows[n] |= bits & ((1 << n) - 1)
    parent = list(range(nv))
    for n in range(nv - 1, -1, -1):
        if rows[n] != 0:
            parent[n] = rows[n].bit_length() - 1
            rows[parent[n]] |= rows[n] ^ 1 << parent[n]
    return _number_depth_first(order, parent)


def _number_depth_first(order: IntArray, parent: list[int]) -> AncestorPattern:
    """Return the pattern of a tree given by the places of parents: `ltdl` walks it by paths."""
    nv = len(order)
    children: list[list[int]] = [[] for _ in range(nv)]
    level = [0] * nv
    for n in range(nv):
        if parent[n] != n:
            children[parent[n]].append(n)
            level[n] = level[parent[n]] + 1
    stack, visited = [n for n in range(nv - 1, -1, -1) if parent[n] == n], []
    while len(stack) > 0:
        n = stack.pop()
        visited.append(n)
        stack.extend(reversed(children[n]))
    dof_parent, dof_level = np.empty(nv, np.uint32), np.empty(nv, np.uint32)
    dof_parent[order] = order[parent]
    dof_level[order] = level
    pattern = AncestorPattern(order[visited].astype(np.uint32), dof_parent, dof_level)
    for array in pattern:  # as those of a tree: compiled code may take either
        array.flags.writeable = False
    return pattern


def ancestor_pairs(tree: AncestorPattern | Tree) -> tuple[IntArray, IntArray, IntArray]:
    """Return dof, level and the dof at that level of its path, for every entry of ancestor rows."""
    level = tree.dof_level.astype(np.int64)
    paths = np.zeros((len(level), int(level.max(initial=0)) + 1), np.int64)
    for i in np.argsort(level, kind="stable"):
        paths[i, : level[i]] = paths[tree.dof_parent[i], : level[i]]
        paths[i, level[i]] = i
    dof, column = np.nonzero(np.arange(paths.shape[1]) <= level[:, None])
    return dof, column, paths[dof, column]


def find_columns(tree: Tree, pattern: AncestorPattern) -> IndexArray:
    """Return the level in a pattern of each entry of the tree's ancestor rows, (nv, longest)."""
    dof, level, above = ancestor_pairs(tree)
    columns = np.zeros((len(tree.dof_level), int(tree.dof_level.max(initial=0)) + 1), np.uint32)
    columns[dof, level] = pattern.dof_level[above]
    return columns
