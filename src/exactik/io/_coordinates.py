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

__all__ = ["continuous", "continuous_angles", "coordinates_of"]


def coordinates_of(skeleton: Skeleton, positions: Array, rotations: Array) -> Array:
    """Return the coordinates in which the bones are at given places.

    Args:
        skeleton: the figure.
        positions: origins of its bones in the world [m], (T, n_bones, 3).
        rotations: R_world_bone, (T, n_bones, 3, 3).

    Returns:
        Coordinates, (T, nq); angles within a turn, see `continuous`.
    """
    parts = []
    for k, bone in enumerate(skeleton.bones):
        parent = int(skeleton.parents[k])
        turn, shift = rotations[:, k], positions[:, k]
        if parent >= 0:
            inverse = np.swapaxes(rotations[:, parent], -1, -2)
            shift = (inverse @ (shift - positions[:, parent])[..., None])[..., 0]
            turn = inverse @ turn
        pre = np.eye(3) if bone.pre is None else np.array(bone.pre)
        post = np.eye(3) if bone.post is None else np.array(bone.post)
        parts.append(bone.joint.coordinates_for((shift - bone.offset) @ pre, pre.T @ turn @ post.T))
    return np.concatenate(parts, axis=1)


def continuous(skeleton: Skeleton, q: Array) -> Array:
    """Return the same poses, (T, nq), without needless jumps from frame to frame.

    Quaternions keep their sign, Euler angles stay with one of their two solutions, and angles are
    unwrapped where their limits let them. Rotation vectors stay as they are.
    """
    q = q.copy()
    for _, at in skeleton.quaternions:
        dots = (q[1:, at : at + 4] * q[:-1, at : at + 4]).sum(axis=1)
        q[1:, at : at + 4] *= np.cumprod(np.where(dots < 0.0, -1.0, 1.0))[:, None]
    at = 0
    for bone in skeleton.bones:
        turning = bone.joint.rotation_part
        shift = bone.joint.nv - turning.nv  # dofs before those that turn
        first = at + shift
        at += bone.joint.nq
        if turning.kind == "euler" and len(turning.order) == 3:
            q[:, first : first + 3] = _one_branch(turning.order, q[:, first : first + 3])
        for k in turning.periodic_dofs:
            low, high = bone.joint.limits[shift + k]
            whole = _unwrapped(q[:, first + k])
            for turns in (0.0, 2.0 * np.pi, -2.0 * np.pi):
                if ((whole + turns >= low) & (whole + turns <= high)).all():
                    q[:, first + k] = whole + turns
                    break
    return q


def continuous_angles(order: str, rotation: Array, last: Array | None = None) -> Array:
    """Return Euler angles [rad], (T, n, 3), that go on from frame to frame without needless jumps.

    Args:
        order: three axes, outermost first.
        rotation: (T, n, 3, 3).
        last: the angles of the frame before, (n, 3).
    """
    angles = euler_angles(order, rotation)
    return _unwrapped(_one_branch(order, angles, last), last)


def _one_branch(order: str, angles: Array, last: Array | None = None) -> Array:
    """Return Euler angles, (T, …, 3), of which each is the solution nearer to the frame before."""
    if last is not None:
        return _one_branch(order, np.concatenate([last[None], angles]))[1:]
    other = other_euler_angles(order, angles)
    stay = np.abs(wrap_angles(np.diff(angles, axis=0))).sum(axis=-1)
    change = np.abs(wrap_angles(angles[1:] - other[:-1])).sum(axis=-1)
    # To go from one solution to the other and back is to have stayed: what counts is how often.
    changed = np.zeros(angles.shape[:-1], dtype=bool)
    changed[1:] = np.cumsum(change < stay - 1e-9, axis=0) % 2 == 1
    return np.where(changed[..., None], other, angles)


def _unwrapped(angles: Array, last: Array | None = None) -> Array:
    """Return angles, (T, …), within half a turn of those of the frame before.

    Whole turns are counted, not added up, so that parts of a motion give the same numbers.
    """
    before = angles[:1] if last is None else last[None]
    steps = np.diff(np.concatenate([before, angles]), axis=0)
    return angles - 2.0 * np.pi * np.cumsum(np.round(steps / (2.0 * np.pi)), axis=0)
