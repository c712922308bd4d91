"""From bones to the plain arrays of `kernels.tree`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactik._arrays import freeze
from exactik.kernels.tree import couplings as coupling_rows
from exactik.kernels.tree.packed import NONE, Tree
from exactik.model._bone import Bone
from exactik.model._coupling import Coupling
from exactik.model._packing_functions import FunctionTable, describe_rotation, pack_custom_joints
from exactik.typing import IndexArray, IntArray


def pack_tree(
    bones: Sequence[Bone], parents: Sequence[int], couplings: Sequence[Coupling] = ()
) -> Tree:
    """Return the packed tree of `bones`, whose `parents` (−1 for a root) come before them.

    Couplings come in an order in which they can be computed.
    """
    n = len(bones)
    parent = np.zeros(n + 1, np.uint32)
    shift_count, rotation = np.zeros(n + 1, np.uint32), np.zeros(n + 1, np.uint32)
    has_pre, has_post = np.zeros(n + 1, np.uint32), np.zeros(n + 1, np.uint32)
    turn_axes = np.zeros((n + 1, 3), np.uint32)
    offset, shift_axes = np.zeros((n + 1, 3)), np.zeros((n + 1, 3, 3))
    pre, post = np.tile(np.eye(3), (n + 1, 1, 1)), np.tile(np.eye(3), (n + 1, 1, 1))
    for k, (bone, above) in enumerate(zip(bones, parents, strict=True), start=1):
        joint = bone.joint
        rotation[k], A, letters = describe_rotation(joint)
        parent[k] = above + 1
        turn_axes[k, : len(letters)] = ["XYZ".index(letter) for letter in letters]
        offset[k] = bone.offset
        shift_count[k] = len(joint.shift_axes)
        if shift_count[k] > 0:
            shift_axes[k, : shift_count[k]] = np.array(joint.shift_axes) @ A  # in turned axes
        pre[k] = (np.eye(3) if bone.pre is None else np.array(bone.pre)) @ A
        post[k] = A.T @ (np.eye(3) if bone.post is None else np.array(bone.post))
        has_pre[k] = not np.array_equal(pre[k], np.eye(3))
        has_post[k] = not np.array_equal(post[k], np.eye(3))
    functions = FunctionTable()
    custom_axes, custom_functions = pack_custom_joints(bones, functions, rotation, turn_axes)
    frame_order = _order_depth_first(parents)
    last_child = np.zeros_like(parent)
    last_child[parent[1:]] = np.arange(1, len(parent))
    joints = _number_dofs(bones, parents, frame_order, (), {})
    free = _number_free_dofs(bones, parents, couplings)
    joint_dofs, driven_rows = _relate_dofs(bones, joints, free, couplings, functions)
    table, data = functions.arrays()
    return Tree(
        parent=_pack(parent),
        first_q=_pack(free.first_q),
        first_v=_pack(free.first_v),
        shift_count=_pack(shift_count),
        rotation=_pack(rotation),
        turn_axes=_pack(turn_axes),
        depth=_pack(free.depth),
        last_child=_pack(last_child),
        frame_order=_pack(frame_order),
        dof_order=_pack(free.dof_order),
        dof_parent=_pack(free.dof_parent),
        dof_level=_pack(free.dof_level),
        offset=_pack(offset),
        pre=_pack(pre),
        post=_pack(post),
        has_pre=_pack(has_pre),
        has_post=_pack(has_post),
        shift_axes=_pack(shift_axes),
        joint_q=_pack(joints.first_q),
        joint_v=_pack(joints.first_v),
        joint_depth=_pack(joints.depth),
        joint_dofs=_pack(joint_dofs),
        driven=_pack(driven_rows),
        custom_axes=_pack(custom_axes),
        custom_functions=_pack(custom_functions),
        function_table=_pack(table),
        function_data=_pack(data),
    )


def _pack(array: NDArray) -> NDArray:
    return freeze(np.ascontiguousarray(array))


def _order_depth_first(parents: Sequence[int]) -> IndexArray:
    children: list[list[int]] = [[] for _ in range(len(parents) + 1)]
    for k, parent in enumerate(parents, start=1):
        children[parent + 1].append(k)
    order, stack = [], children[0][::-1]
    while len(stack) > 0:
        k = stack.pop()
        order.append(k)
        stack.extend(children[k][::-1])
    return np.array(order, np.uint32)


class _Numbering(NamedTuple):
    """Coordinates and dofs of all joints or of those that are free, as in `Tree`."""

    first_q: IndexArray
    first_v: IndexArray
    depth: IndexArray
    dof_order: IndexArray
    dof_parent: IndexArray
    dof_level: IndexArray
    dofs: dict[str, int]  # name → number
    last: IntArray  # (n + 1,) last dof on the path to each frame, −1 for none


def _number_dofs(
    bones: Sequence[Bone],
    parents: Sequence[int],
    frame_order: IndexArray,
    without: Sequence[str],
    places: dict[str, int],
) -> _Numbering:
    """Number the dofs of the joints, but those named in `without`.

    Args:
        bones: of the tree.
        parents: of the bones, −1 for a root.
        frame_order: the frames, depth first.
        without: names of dofs that are left out.
        places: name of a dof → the frame at which it stands on the paths of other dofs, behind the
            dofs of that frame's joint; others stand at the frame of their joint.
    """
    n = len(bones)
    first_q, first_v = np.zeros(n + 2, np.uint32), np.zeros(n + 2, np.uint32)
    dofs: dict[str, int] = {}
    at_frame: list[list[int]] = [[] for _ in range(n + 1)]  # its own, then those placed there
    placed: list[list[int]] = [[] for _ in range(n + 1)]
    for k, bone in enumerate(bones, start=1):
        left_out = 0
        for dof in bone.joint.dof_names:
            name = f"{bone.name}.{dof}"
            if name in without:
                left_out += 1
                continue
            (at_frame[k] if name not in places else placed[places[name]]).append(len(dofs))
            dofs[name] = len(dofs)
        first_q[k + 1] = first_q[k] + bone.joint.nq - left_out
        first_v[k + 1] = len(dofs)
    upward, level = np.arange(len(dofs), dtype=np.uint32), np.zeros(len(dofs), np.uint32)
    depth, last = np.zeros(n + 1, np.uint32), np.full(n + 1, -1)  # last dof at or above each frame
    order: list[int] = []
    for k in (0, *frame_order.tolist()):
        above = last[parents[k - 1] + 1] if k > 0 else -1
        depth[k] = level[above] + 1 if above >= 0 else 0
        for i in (*at_frame[k], *placed[k]):
            if above >= 0:
                upward[i], level[i] = above, level[above] + 1
            above = i
            order.append(i)
        last[k] = above
    return _Numbering(
        first_q=first_q,
        first_v=first_v,
        depth=depth,
        dof_order=np.array(order, np.uint32),
        dof_parent=upward,
        dof_level=level,
        dofs=dofs,
        last=last,
    )


def _number_free_dofs(
    bones: Sequence[Bone], parents: Sequence[int], couplings: Sequence[Coupling]
) -> _Numbering:
    """Number the dofs that follow no other."""
    driven = [coupling.driven for coupling in couplings]
    places = _place_drivers(bones, parents, couplings)
    return _number_dofs(bones, parents, _order_depth_first(parents), driven, places)


def find_last_dofs(
    bones: Sequence[Bone], parents: Sequence[int], couplings: Sequence[Coupling]
) -> IntArray:
    """Return the last dof on the path to each frame of the tree, (n + 1,), −1 for none."""
    return _number_free_dofs(bones, parents, couplings).last


def _find_sources(couplings: Sequence[Coupling]) -> dict[str, str | None]:
    """Return, for every driven dof, the free dof that moves it in the end; None if it is held."""
    sources: dict[str, str | None] = {}
    for coupling in couplings:
        driver = coupling.driver
        sources[coupling.driven] = None if driver is None else sources.get(driver, driver)
    return sources


def _place_drivers(
    bones: Sequence[Bone], parents: Sequence[int], couplings: Sequence[Coupling]
) -> dict[str, int]:
    """Return the frames of dofs that drive others: the lowest one above all that they move.

    All rows of H that such a dof has entries in are then those of dofs above or below it. A dof at
    whose joint that is stays there.
    """
    index = {bone.name: k for k, bone in enumerate(bones, start=1)}

    def find_path(dof: str) -> list[int]:
        k, path = index[dof.rpartition(".")[0]], []
        while k > 0:
            path.append(k)
            k = parents[k - 1] + 1
        return [*path, 0][::-1]

    paths: dict[str, list[int]] = {}
    for driven, source in _find_sources(couplings).items():
        if source is not None:
            common = paths.setdefault(source, find_path(source))
            pairs = zip(common, find_path(driven), strict=False)
            paths[source] = common[: sum(a == b for a, b in pairs)]
    own = {dof: find_path(dof)[-1] for dof in paths}
    return {dof: path[-1] for dof, path in paths.items() if path[-1] != own[dof]}


def _relate_dofs(
    bones: Sequence[Bone],
    joints: _Numbering,
    free: _Numbering,
    couplings: Sequence[Coupling],
    functions: FunctionTable,
) -> tuple[IndexArray, IndexArray]:
    """Return `Tree.joint_dofs` and `Tree.driven`; see `kernels.tree.couplings`."""
    nq = int(joints.first_q[-1])
    joint_dofs = np.full((4, nq), NONE, np.uint32)
    sources = _find_sources(couplings)
    joint_dofs[coupling_rows.PARENT, : len(joints.dofs)] = joints.dof_parent
    joint_dofs[coupling_rows.LEVEL, : len(joints.dofs)] = joints.dof_level
    for name, i in joints.dofs.items():
        source = sources.get(name, name)
        if source is not None:
            joint_dofs[coupling_rows.SOURCE, i] = free.dofs[source]
    q = 0
    for k, bone in enumerate(bones, start=1):
        names = [f"{bone.name}.{dof}" for dof in bone.joint.dof_names]
        extra = [""] * (bone.joint.nq - len(names))  # of a quaternion, which is never driven
        for a, name in enumerate((*names, *extra)):
            if name not in sources:
                joint_dofs[coupling_rows.FROM, int(joints.first_q[k]) + a] = q
                q += 1
    rows = [
        (
            joints.dofs[coupling.driven],
            NONE if coupling.driver is None else joints.dofs[coupling.driver],
            functions.add(coupling.function.pack()[0]),
        )
        for coupling in couplings
    ]
    return joint_dofs, np.array(rows, np.uint32).reshape(-1, 3)
