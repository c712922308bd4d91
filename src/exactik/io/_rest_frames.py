"""Frames that are parallel to the world at rest, in which BVH and Acclaim files describe bones.

These formats know no rotation before or after a joint. With W the rotation of a bone in the world
at q = 0, λ its parent, and Q the rotation of its joint, the file's frame is R Wᵀ, and what a file
needs of a bone is

    G = W_λ pre                      axes of the joint
    W_λ offset + G shift(q)          position
    L = G Q(q) Gᵀ = W_λ R_λᵀ R Wᵀ    rotation

all three in the parent's frame of the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from exactik.model import Skeleton
from exactik.typing import Array


class RestFrames(NamedTuple):
    """The frames of a skeleton at q = 0."""

    R_world_bone: Array  # W of all bones, (n, 3, 3)
    R_world_parent: Array  # W_λ, the identity for roots, (n, 3, 3)
    R_world_joint: Array  # G, (n, 3, 3)
    # Bones "<parent>_end" that are the end of their parent and nothing else
    end_sites: frozenset[str]


def compute_rest_frames(skeleton: Skeleton) -> RestFrames:
    """Return the frames of a skeleton at q = 0, quaternions at 1."""
    q = np.zeros(skeleton.nq)
    q[[index for _, index in skeleton.quaternions]] = 1.0
    R_world_bone = skeleton.forward(q).rotations
    R_world_parent = np.concatenate([R_world_bone, np.eye(3)[None]])[skeleton.parents]
    pre = np.array([bone.constant_rotations[0] for bone in skeleton.bones])
    parents = {bone.parent for bone in skeleton.bones}
    end_sites = {
        bone.name
        for bone in skeleton.bones
        if bone.parent is not None
        and bone.name == f"{bone.parent}_end"
        and bone.joint.kind == "fixed"
        and bone.name not in parents
    }
    return RestFrames(
        R_world_bone=R_world_bone,
        R_world_parent=R_world_parent,
        R_world_joint=R_world_parent @ pre,
        end_sites=frozenset(end_sites),
    )


def compute_local_positions(skeleton: Skeleton, rest: RestFrames, k: int, q: Array) -> Array:
    """Return W_λ offset + G shift(q) of bone k [m], (T, 3) or (1, 3), for q (T, nq)."""
    if len(skeleton.bones[k].joint.driven_axes[1]) > 0:
        pose, parent = skeleton.forward(q), int(skeleton.parents[k])
        if parent < 0:
            return pose.positions[:, k]
        p_from_parent = pose.positions[:, k] - pose.positions[:, parent]
        R_rest_world = rest.R_world_parent[k] @ np.swapaxes(pose.rotations[:, parent], -1, -2)
        return (R_rest_world @ p_from_parent[..., None])[..., 0]
    axes, first = skeleton.bones[k].joint.shift_axes, int(skeleton.tree.first_q[k + 1])
    p_parent_bone = (rest.R_world_parent[k] @ np.array(skeleton.bones[k].offset))[None]
    if len(axes) == 0:
        return p_parent_bone
    shifts = q[:, first : first + len(axes)]
    return p_parent_bone + shifts @ (rest.R_world_joint[k] @ np.array(axes).T).T


def compute_local_rotations(
    skeleton: Skeleton, rest: RestFrames, bones: Sequence[int], q: Array
) -> Array:
    """Return L of these bones, (T, len(bones), 3, 3), for q (T, nq)."""
    R_world_bone = skeleton.forward(q).rotations
    L = R_world_bone[:, bones] @ np.swapaxes(rest.R_world_bone[bones], -1, -2)
    for i, k in enumerate(bones):
        if (parent := int(skeleton.parents[k])) >= 0:
            R_parent_world = np.swapaxes(R_world_bone[:, parent], -1, -2)
            L[:, i] = rest.R_world_parent[k] @ R_parent_world @ L[:, i]
    return L
