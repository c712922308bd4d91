"""What terms between two bodies need to know of the tree: where paths meet, which dofs couple."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from exactik.kernels.goals.centroids import Centroids
from exactik.kernels.goals.terms import Terms
from exactik.kernels.linear.elimination import (
    find_columns,
    make_elimination_pattern,
    tree_pattern,
)
from exactik.kernels.linear.ltdl import AncestorPattern
from exactik.kernels.tree.couplings import SOURCE
from exactik.kernels.tree.packed import NONE, Tree
from exactik.typing import IndexArray, IntArray


def pack_pairs(
    tree: Tree, terms: Terms, centroids: Centroids
) -> tuple[IndexArray, IndexArray, AncestorPattern, IndexArray]:
    """Return `pair_terms`, `meeting`, `pattern` and `columns` of `Goals`."""
    on_sums = terms.frame == NONE
    pairs = np.flatnonzero((terms.other != NONE) | on_sums).astype(np.uint32)
    if len(pairs) == 0:
        return pairs, np.zeros((0, 2), np.uint32), tree_pattern(tree), np.zeros((0, 0), np.uint32)
    meeting = np.zeros((len(terms.kind), 2), np.uint32)
    places = {int(k): n for n, k in enumerate(tree.frame_order)}
    branches: dict[Hashable, tuple[IntArray, IntArray]] = {}
    for m in np.flatnonzero(on_sums):
        members = centroids.frame[int(centroids.first[m]) : int(centroids.first[m + 1])]
        dofs = [find_moving_dofs(tree, int(k), 0) for k in members]
        dofs = np.unique(np.concatenate([np.zeros(0, np.int64), *dofs]))
        branches[dofs.tobytes()] = dofs, dofs
    meets: dict[tuple[int, int], int] = {}
    moving: dict[tuple[int, int], IntArray] = {}  # dofs of a frame against one above it
    for m in np.flatnonzero(terms.other != NONE):
        A, B = int(terms.frame[m]), int(terms.other[m])
        if (A, B) not in meets:
            above = meets[A, B] = find_meeting_frame(tree, A, B)
            for frame in (A, B):
                if (frame, above) not in moving:
                    moving[frame, above] = find_moving_dofs(tree, frame, above)
            branches[A, B] = moving[A, above], moving[B, above]
        meeting[m] = meets[A, B], B != 0 and places[A] < places[B]
    pattern = make_elimination_pattern(tree, branches.values())
    return pairs, meeting, pattern, find_columns(tree, pattern)


def find_meeting_frame(tree: Tree, first: int, second: int) -> int:
    """Return the nearest frame that two frames hang on, perhaps one of them; 0 is the world."""
    while first != second:  # parents have lower numbers
        if first > second:
            first = int(tree.parent[first])
        else:
            second = int(tree.parent[second])
    return first


def find_moving_dofs(tree: Tree, frame: int, above: int) -> IntArray:
    """Return the dofs of the user that move a frame against one that it hangs on."""
    dofs: list[int] = []
    while frame != above:
        first, end = int(tree.joint_v[frame]), int(tree.joint_v[frame + 1])
        sources = tree.joint_dofs[SOURCE, first:end]
        dofs += sources[sources != NONE].tolist()
        frame = int(tree.parent[frame])
    return np.unique(np.array(dofs, np.int64))
