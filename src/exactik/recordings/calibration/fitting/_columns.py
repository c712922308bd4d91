"""Where the parameters of a figure are in the matrices of `kernels.fitting`.

Scales come first, then the right-hand side, then the markers that may move, by their bones depth
first: those beyond a joint are side by side, and so are those that any dof moves, driven ones too.
"""

from __future__ import annotations

import numpy as np

from exactik.kernels.fitting.columns import FigureColumns
from exactik.kernels.tree.couplings import SOURCE
from exactik.kernels.tree.packed import NONE, Tree
from exactik.typing import BoolArray, IntArray


def _depth_first_places(tree: Tree) -> IntArray:
    """Return the place of each frame in depth-first order, (n + 1,)."""
    places = np.zeros(len(tree.parent), dtype=np.int64)
    places[np.asarray(tree.frame_order, dtype=np.int64)] = np.arange(len(tree.frame_order))
    return places


def find_columns(
    tree: Tree,
    bone_groups: IntArray,
    grows_shifts: BoolArray,
    markers: IntArray,
    movable: BoolArray,
) -> FigureColumns:
    """Return the columns of the parameters; levers are those of no scale, 0.

    Args:
        tree: the skeleton.
        bone_groups: scale of each bone, −1 where there is none, (n_bones,).
        grows_shifts: whether a bone's joint shifts by lengths of its parent, (n_bones,).
        markers: bone of each marker, (M,).
        movable: which of them may move on it, (M,).
    """
    scales = int(bone_groups.max(initial=-1)) + 1
    order = np.argsort(_depth_first_places(tree)[markers + 1], kind="stable")
    order = order[movable[order]]
    marker = np.full(len(markers), -1)
    marker[order] = scales + 1 + 3 * np.arange(len(order))
    end = scales + 1 + 3 * len(order)
    of_joint = np.tile([end, 0], (len(tree.parent), 1))
    for m in order:
        k = int(markers[m]) + 1
        while k > 0:
            of_joint[k] = min(of_joint[k, 0], marker[m]), max(of_joint[k, 1], marker[m] + 3)
            k = int(tree.parent[k])
    of_dof = np.tile([end, 0], (int(tree.first_v[-1]), 1))
    for k in range(1, len(tree.parent)):
        for i in range(int(tree.joint_v[k]), int(tree.joint_v[k + 1])):
            source = i if len(tree.driven) == 0 else int(tree.joint_dofs[SOURCE, i])
            if source != NONE:
                _widen(of_dof, source, of_joint[k])
    for i in np.asarray(tree.dof_order, dtype=np.int64)[::-1]:
        _widen(of_dof, int(tree.dof_parent[i]), of_dof[i])
    for ranges in (of_joint, of_dof):
        ranges[ranges[:, 1] == 0] = 0
    return FigureColumns(
        scale=np.concatenate([[-1], bone_groups]),
        grows_shifts=np.append(0, grows_shifts).astype(np.uint32),
        marker=marker,
        of_joint=of_joint.astype(np.uint32),
        of_dof=of_dof.astype(np.uint32),
        lever=np.zeros((len(markers), 3)),
    )


def _widen(ranges: IntArray, i: int, other: IntArray) -> None:
    ranges[i] = min(ranges[i, 0], other[0]), max(ranges[i, 1], other[1])


def order_as_parameters(columns: FigureColumns, scales: int) -> IntArray:
    """Return the column of each parameter, the scales first, (n,)."""
    first = columns.marker[columns.marker >= 0]
    return np.concatenate([np.arange(scales), (first[:, None] + np.arange(3)).ravel()])
