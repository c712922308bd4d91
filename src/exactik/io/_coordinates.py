"""Coordinates of a skeleton from where its bones are: forward kinematics read backwards.

A bone's frame gives what its joint does (docs/maths.md §2),

    rotation(q) = preᵀ R_parentᵀ R_bone postᵀ
    shift(q)    = preᵀ (R_parentᵀ (p_bone − p_parent) − offset)

and `Joint.coordinates_for` has a formula from there to q for each kind of joint. A joint that
cannot do what the frames ask for takes the part of it that it can do.
"""

from __future__ import annotations

import numpy as np

from exactik.model import Skeleton
from exactik.spatial import euler_angles, other_euler_angles, wrap_angles
from exactik.typing import Array


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
        dots = (q[1:, wxyz] * q[:-1, wxyz]).sum(axis=1)
        q[1:, wxyz] *= np.cumprod(np.where(dots < 0.0, -1.0, 1.0))[:, None]
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
