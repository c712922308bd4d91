"""From bones to the plain arrays of `kernels.tree`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exactik._arrays import freeze
from exactik.kernels.tree import packed as codes
from exactik.kernels.tree.packed import Tree
from exactik.model._bone import Bone
from exactik.model._joint import Joint, swing_twist_axes
from exactik.spatial import rotation_taking_z_to
from exactik.typing import Array, IntArray

__all__ = ["ancestor_pairs", "pack_tree"]

_KINDS = {
    "revolute": codes.AXES,
    "euler": codes.AXES,
    "exp_map": codes.EXP_MAP,
    "swing_twist": codes.SWING_TWIST,
    "quaternion": codes.QUATERNION,
}
_SHIFTS = {"prismatic": 1, "translation": 3, "free": 3}


def pack_tree(bones: Sequence[Bone], parents: Sequence[int]) -> Tree:
    """Return the packed tree of `bones`, whose `parents` (−1 for a root) come before them."""
    n = len(bones)
    parent, shift_count, rotation = (np.zeros(n + 1, np.uint32) for _ in range(3))
    depth, has_pre, has_post = (np.zeros(n + 1, np.uint32) for _ in range(3))
    turn_axes = np.zeros((n + 1, 3), np.uint32)
    offset, shift_axes = np.zeros((n + 1, 3)), np.zeros((n + 1, 3, 3))
    pre, post = np.tile(np.eye(3), (n + 1, 1, 1)), np.tile(np.eye(3), (n + 1, 1, 1))
    first_q, first_v = np.zeros(n + 2, np.uint32), np.zeros(n + 2, np.uint32)
    for k, (bone, bone_parent) in enumerate(zip(bones, parents, strict=True), start=1):
        joint = bone.joint
        before, letters, after = _turned_to_coordinate_axes(joint.rotation_part)
        parent[k] = bone_parent + 1
        shift_count[k] = _SHIFTS.get(joint.kind, 0)
        rotation[k] = _KINDS.get(joint.rotation_part.kind, codes.NO_ROTATION)
        turn_axes[k, : len(letters)] = ["XYZ".index(c) for c in letters]
        offset[k] = bone.offset
        shifts = np.array([joint.axis]) if joint.kind == "prismatic" else np.eye(3)
        shift_axes[k, : len(shifts)] = shifts @ before  # base axes, seen from the turned frame
        pre[k] = (np.eye(3) if bone.pre is None else np.array(bone.pre)) @ before
        post[k] = after @ (np.eye(3) if bone.post is None else np.array(bone.post))
        has_pre[k] = not np.array_equal(pre[k], np.eye(3))
        has_post[k] = not np.array_equal(post[k], np.eye(3))
        first_q[k + 1] = first_q[k] + joint.nq
        first_v[k + 1] = first_v[k] + joint.nv
        parent_nv = bones[bone_parent].joint.nv if bone_parent >= 0 else 0
        depth[k] = depth[bone_parent + 1] + parent_nv
    dof_parent, dof_level = _dof_paths(bones, parents, first_v)
    frame_order = _depth_first(parents)
    dof_order = [i for k in frame_order for i in range(int(first_v[k]), int(first_v[k + 1]))]
    tree = Tree(
        parent=parent,
        first_q=first_q,
        first_v=first_v,
        shift_count=shift_count,
        rotation=rotation,
        turn_axes=turn_axes,
        depth=depth,
        frame_order=frame_order,
        dof_order=np.array(dof_order, np.uint32),
        dof_parent=dof_parent,
        dof_level=dof_level,
        offset=offset,
        pre=pre,
        post=post,
        has_pre=has_pre,
        has_post=has_post,
        shift_axes=shift_axes,
    )
    for array in tree:
        freeze(array)
    return tree


def _turned_to_coordinate_axes(rotation: Joint) -> tuple[Array, str, Array]:
    """Return A, letters, Aᵀ such that the joint is A · (rotation about coordinate axes) · Aᵀ."""
    turned = np.eye(3)
    letters = rotation.order if rotation.kind == "euler" else ""
    if rotation.kind == "revolute":
        assert rotation.axis is not None
        unit = [a for a in range(3) if rotation.axis[a] == 1.0]
        letters = "XYZ"[unit[0]] if len(unit) == 1 else "Z"
        if len(unit) == 0:
            turned = rotation_taking_z_to(rotation.axis)
    elif rotation.kind == "swing_twist":  # (x, y, z) of the kernel are (ŝ, t̂, n̂)
        turned = np.eye(3)[:, ["xyz".index(c) for c in swing_twist_axes(rotation.order)]]
    return turned, letters, turned.T


def _depth_first(parents: Sequence[int]) -> NDArray[np.uint32]:
    children: list[list[int]] = [[] for _ in range(len(parents) + 1)]
    for k, parent in enumerate(parents, start=1):
        children[parent + 1].append(k)
    order, stack = [], children[0][::-1]
    while len(stack) > 0:
        k = stack.pop()
        order.append(k)
        stack.extend(children[k][::-1])
    return np.array(order, np.uint32)


def _dof_paths(
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
    dof, at = np.nonzero(np.arange(paths.shape[1]) <= level[:, None])
    return dof, at, paths[dof, at]
