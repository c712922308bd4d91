"""Frames that are parallel to the world at rest, in which BVH and Acclaim files describe bones.

These formats know no rotation before or after a joint. With W the rotation of a bone in the world
at q = 0, λ its parent, and Q the rotation of its joint, the file's frame is R Wᵀ, and what a file
needs of a bone is

    G = W_λ pre                      axes of the joint
    W_λ offset + G shift(q)          position
    L = G Q(q) Gᵀ = W_λ R_λᵀ R Wᵀ    rotation

all three in the parent's frame of the file.

A bone's frame gives what its joint does (docs/maths.md §2),

    rotation(q) = preᵀ R_parentᵀ R_bone postᵀ
    shift(q)    = preᵀ (R_parentᵀ (p_bone − p_parent) − offset)

and `Joint.coordinates_for` has a formula from there to q for each kind of joint. A joint that
cannot do what the frames ask for takes the part of it that it can do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from exactik.model import Skeleton
from exactik.spatial import euler_angles, other_euler_angles, wrap_angles
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


def compute_coordinates(skeleton: Skeleton, positions: Array, rotations: Array) -> Array:
    """Return the coordinates in which the bones are at given places.

    Args:
        positions: origins of its bones in the world [m], (T, n_bones, 3).
        rotations: R_world_bone, (T, n_bones, 3, 3).

    Returns:
        Coordinates, (T, nq); angles within a turn, see `make_continuous`.
    """
    parts = []
    for k, bone in enumerate(skeleton.bones):
        parent = int(skeleton.parents[k])
        R_parent_bone, p_parent_bone = rotations[:, k], positions[:, k]
        if parent >= 0:
            R_parent_world = np.swapaxes(rotations[:, parent], -1, -2)
            p_from_parent = p_parent_bone - positions[:, parent]
            p_parent_bone = (R_parent_world @ p_from_parent[..., None])[..., 0]
            R_parent_bone = R_parent_world @ R_parent_bone
        pre, post = bone.constant_rotations
        shift = (p_parent_bone - bone.offset) @ pre
        parts.append(bone.joint.coordinates_for(shift, pre.T @ R_parent_bone @ post.T))
    return np.concatenate(parts, axis=1)[:, skeleton.free_coordinates]


def make_continuous(skeleton: Skeleton, q: Array) -> Array:
    """Return the same poses, (T, nq), without needless jumps from frame to frame.

    Quaternions keep their sign, Euler angles stay with one of their two solutions, and angles are
    unwrapped where their limits let them. Rotation vectors stay as they are.
    """
    q = q.copy()
    for _, start in skeleton.quaternions:
        wxyz = slice(start, start + 4)
        q[:, wxyz] = keep_signs(q[:, wxyz])
    tree = skeleton.tree
    for b, bone in enumerate(skeleton.bones, start=1):
        rotation = bone.joint.rotation_part
        shift_dofs = bone.joint.nv - rotation.nv  # they come before those that turn
        start, turns_from = int(tree.first_q[b]) + shift_dofs, int(tree.first_v[b]) + shift_dofs
        turning = [turns_from + k for k in rotation.periodic_dofs]
        whole = int(tree.first_v[b + 1]) - int(tree.first_v[b]) == bone.joint.nv
        if not whole or not skeleton.is_periodic[turning].all():
            continue  # dofs that follow others: a turn of their drivers is another pose
        if rotation.kind == "euler" and len(rotation.order) == 3:
            q[:, start : start + 3] = _stay_on_branch(rotation.order, q[:, start : start + 3])
        for k in rotation.periodic_dofs:
            low, high = bone.joint.limits[shift_dofs + k]
            angles = _unwrap(q[:, start + k])
            for turns in (0.0, 2.0 * np.pi, -2.0 * np.pi):
                if ((angles + turns >= low) & (angles + turns <= high)).all():
                    q[:, start + k] = angles + turns
                    break
    return q


def compute_continuous_angles(order: str, rotation: Array, last: Array | None = None) -> Array:
    """Return Euler angles [rad], (T, n, 3), that go on from frame to frame without needless jumps.

    Args:
        order: three axes, outermost first.
        rotation: (T, n, 3, 3).
        last: the angles of the frame before, (n, 3).
    """
    angles = euler_angles(order, rotation)
    return _unwrap(_stay_on_branch(order, angles, last), last)


def keep_signs(wxyz: Array) -> Array:
    """Return quaternions over time, (T, …, 4), with signs that do not change between frames."""
    steps = np.sum(wxyz[1:] * wxyz[:-1], axis=-1, keepdims=True)
    signs = np.cumprod(np.where(steps < 0.0, -1.0, 1.0), axis=0)
    return np.concatenate([wxyz[:1], wxyz[1:] * signs])


def _stay_on_branch(order: str, angles: Array, last: Array | None = None) -> Array:
    """Return Euler angles, (T, …, 3), of which each is the solution nearer to the frame before."""
    if last is not None:
        return _stay_on_branch(order, np.concatenate([last[None], angles]))[1:]
    other = other_euler_angles(order, angles)
    stay = np.abs(wrap_angles(np.diff(angles, axis=0))).sum(axis=-1)
    change = np.abs(wrap_angles(angles[1:] - other[:-1])).sum(axis=-1)
    # To go from one solution to the other and back is to have stayed: what counts is how often.
    changed = np.zeros(angles.shape[:-1], dtype=bool)
    changed[1:] = np.cumsum(change < stay - 1e-9, axis=0) % 2 == 1
    return np.where(changed[..., None], other, angles)


def _unwrap(angles: Array, last: Array | None = None) -> Array:
    """Return angles, (T, …), within half a turn of those of the frame before.

    Whole turns are counted, not added up, so that parts of a motion give the same numbers.
    """
    before = angles[:1] if last is None else last[None]
    steps = np.diff(np.concatenate([before, angles]), axis=0)
    return angles - 2.0 * np.pi * np.cumsum(np.round(steps / (2.0 * np.pi)), axis=0)
