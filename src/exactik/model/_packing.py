"""From bones to the plain arrays of `kernels.tree`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exactik._arrays import freeze
from exactik.kernels.tree.packed import Tree
from exactik.model._bone import Bone
from exactik.model._joint_kinds import JOINT_KINDS
from exactik.typing import IntArray

__all__ = ["ancestor_pairs", "pack_tree"]


def pack_tree(bones: Sequence[Bone], parents: Sequence[int]) -> Tree:
    """Return the packed tree of `bones`, whose `parents` (−1 for a root) come before them."""
    n = len(bones)
    parent, depth = np.zeros(n + 1, np.uint32), np.zeros(n + 1, np.uint32)
    shift_count, rotation = np.zeros(n + 1, np.uint32), np.zeros(n + 1, np.uint32)
    has_pre, has_post = np.zeros(n + 1, np.uint32), np.zeros(n + 1, np.uint32)
    first_q, first_v = np.zeros(n + 2, np.uint32), np.zeros(n + 2, np.uint32)
    turn_axes = np.zeros((n + 1, 3), np.uint32)
    offset, shift_axes = np.zeros((n + 1, 3)), np.zeros((n + 1, 3, 3))
    pre, post = np.tile(np.eye(3), (n + 1, 1, 1)), np.tile(np.eye(3), (n + 1, 1, 1))
    for k, (bone, above) in enumerate(zip(bones, parents, strict=True), start=1):
        joint, turning = bone.joint, bone.joint.rotation_part
        kind = JOINT_KINDS[turning.kind]
        A, letters = kind.coordinate_axes(turning)
        parent[k] = above + 1
        rotation[k] = kind.rotation_code
        turn_axes[k, : len(letters)] = ["XYZ".index(letter) for letter in letters]
        offset[k] = bone.offset
        shift_count[k] = len(joint.shift_axes)
        if shift_count[k] > 0:
            shift_axes[k, : shift_count[k]] = np.array(joint.shift_axes) @ A  # in turned axes
        pre[k] = (np.eye(3) if bone.pre is None else np.array(bone.pre)) @ A
        post[k] = A.T @ (np.eye(3) if bone.post is None else np.array(bone.post))
        has_pre[k] = not np.array_equal(pre[k], np.eye(3))
        has_post[k] = not np.array_equal(post[k], np.eye(3))
        first_q[k + 1] = first_q[k] + joint.nq
        first_v[k + 1] = first_v[k] + joint.nv
        depth[k] = depth[above + 1] + (bones[above].joint.nv if above >= 0 else 0)
    dof_parent, dof_level = _find_dof_paths(bones, parents, first_v)
    frame_order = _order_depth_first(parents)
    last_child = np.zeros_like(parent)
    last_child[parent[1:]] = np.arange(1, len(parent))
    dof_order = [i for k in frame_order for i in range(int(first_v[k]), int(first_v[k + 1]))]
    return Tree(
        parent=_pack(parent),
        first_q=_pack(first_q),
        first_v=_pack(first_v),
        shift_count=_pack(shift_count),
        rotation=_pack(rotation),
        turn_axes=_pack(turn_axes),
        depth=_pack(depth),
        last_child=_pack(last_child),
        frame_order=_pack(frame_order),
        dof_order=_pack(np.array(dof_order, np.uint32)),
        dof_parent=_pack(dof_parent),
        dof_level=_pack(dof_level),
        offset=_pack(offset),
        pre=_pack(pre),
        post=_pack(post),
        has_pre=_pack(has_pre),
        has_post=_pack(has_post),
        shift_axes=_pack(shift_axes),
    )


def _pack(array: NDArray) -> NDArray:
    return freeze(np.ascontiguousarray(array))


def _order_depth_first(parents: Sequence[int]) -> NDArray[np.uint32]:
    children: list[list[int]] = [[] for _ in range(len(parents) + 1)]
    for k, parent in enumerate(parents, start=1):
        children[parent + 1].append(k)
    order, stack = [], children[0][::-1]
    while len(stack) > 0:
        k = stack.pop()
        order.append(k)
        stack.extend(children[k][::-1])
    return np.array(order, np.uint32)


def _find_dof_paths(
    bones: Sequence[Bone], parents: Sequence[int], first_v: NDArray[np.uint32]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return, per dof, the dof above it and the number of dofs above it."""
    nv = int(first_v[-1])
    upward, level = np.arange(nv, dtype=np.uint32), np.zeros(nv, np.uint32)
    last = np.full(len(bones) + 1, -1)  # last dof at or above each frame
    for k, parent in enumerate(parents, start=1):
        above = last[parent + 1]
        for i in range(int(first_v[k]), int(first_v[k + 1])):
            if above >= 0:
                upward[i], level[i] = above, level[above] + 1
            above = i
        last[k] = above
    return upward, level


def ancestor_pairs(tree: Tree) -> tuple[IntArray, IntArray, IntArray]:
    """Return dof, level and the dof at that level of its path, for every entry of ancestor rows."""
    level = tree.dof_level.astype(np.int64)
    paths = np.zeros((len(level), int(level.max(initial=0)) + 1), np.int64)
    for i in np.argsort(level, kind="stable"):
        paths[i, : level[i]] = paths[tree.dof_parent[i], : level[i]]
        paths[i, level[i]] = i
    dof, column = np.nonzero(np.arange(paths.shape[1]) <= level[:, None])
    return dof, column, paths[dof, column]
