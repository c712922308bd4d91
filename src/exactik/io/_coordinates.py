"""Coordinates of a skeleton from where its bones are: forward kinematics read backwards.

A bone's frame gives what its joint does (docs/maths.md §2),

    rotation(q) = preᵀ R_parentᵀ R_bone postᵀ
    shift(q)    = preᵀ (R_parentᵀ (p_bone − p_parent) − offset)

and each kind of joint has a formula from there to q. A joint that cannot do what the frames ask for
takes the part of it that it can do.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from exactik.model import Joint, Skeleton
from exactik.spatial import euler_angles, log_rotation, matrix_from_wxyz, wxyz_from_matrix
from exactik.typing import Array

__all__ = ["continuous", "continuous_angles", "coordinates_of", "joint_coordinates"]


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
        parts.append(
            joint_coordinates(bone.joint, (shift - bone.offset) @ pre, pre.T @ turn @ post.T)
        )
    return np.concatenate(parts, axis=1)


def joint_coordinates(joint: Joint, shift: Array, turn: Array) -> Array:
    """Return the coordinates of one joint, (T, nq), for shifts (T, 3) and turns (T, 3, 3)."""
    if joint.kind == "translation":
        return shift
    if joint.kind == "prismatic":
        return shift @ np.array(joint.axis)[:, None]
    if joint.kind == "free":
        inner = replace(joint.rotation_part, limits=joint.limits[3:])
        return np.concatenate([shift, joint_coordinates(inner, shift, turn)], axis=1)
    if joint.kind == "quaternion":
        return wxyz_from_matrix(turn)
    if joint.kind == "exp_map":
        return log_rotation(turn)
    if joint.kind == "revolute":
        return _twist(turn, np.array(joint.axis))
    if joint.kind == "swing_twist":
        n = "XYZ".index(joint.order)
        twist = _twist(turn, np.eye(3)[n])
        wxyz = np.zeros((len(turn), 4))
        wxyz[:, :1], wxyz[:, n + 1 : n + 2] = np.cos(0.5 * twist), -np.sin(0.5 * twist)
        swing = log_rotation(turn @ matrix_from_wxyz(wxyz))
        return np.concatenate([swing[:, [(n + 1) % 3, (n + 2) % 3]], twist], axis=1)
    if joint.kind == "euler" and len(joint.order) == 1:
        return _twist(turn, np.eye(3)["XYZ".index(joint.order)])
    if joint.kind == "euler":
        return _angles(joint, turn)
    return np.empty((len(turn), 0))


def _angles(joint: Joint, turn: Array) -> Array:
    """Return two or three Euler angles; of two solutions, the one within the limits."""
    a, b = ("XYZ".index(c) for c in joint.order[:2])
    if len(joint.order) == 2:
        # R_A(α) takes e_B to the B-th column of R, R_B(−β) takes e_A to its A-th row.
        c, sign = 3 - a - b, 1.0 if (b - a) % 3 == 1 else -1.0
        alpha = np.arctan2(sign * turn[:, c, b], turn[:, b, b])
        return np.stack([alpha, np.arctan2(sign * turn[:, a, c], turn[:, a, a])], axis=1)
    one = euler_angles(joint.order, turn)
    other = _other(joint.order, one)
    low, high = np.array(joint.limits).T
    outside = [np.abs(np.clip(x, low, high) - x).sum(axis=1) for x in (one, other)]
    return np.where((outside[1] + 1e-9 < outside[0])[:, None], other, one)


def _other(order: str, angles: Array) -> Array:
    """Return the other three Euler angles of the same rotations, (T, 3), within a turn."""
    middle = 0.0 if order[0] == order[2] else np.pi
    return _wrapped(angles * (1.0, -1.0, 1.0) + (np.pi, middle, np.pi))


def _wrapped(angles: Array) -> Array:
    return np.remainder(angles + np.pi, 2.0 * np.pi) - np.pi


def _twist(turn: Array, axis: Array) -> Array:
    """Return the angle about an axis [rad], (T, 1), of rotations that may also swing."""
    wxyz = wxyz_from_matrix(turn)
    return 2.0 * np.arctan2(wxyz[:, 1:] @ axis, wxyz[:, 0])[:, None]


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
        shift = 3 if bone.joint.kind == "free" else 0
        first = at + shift
        at += bone.joint.nq
        if turning.kind == "euler" and len(turning.order) == 3:
            q[:, first : first + 3] = _one_branch(turning.order, q[:, first : first + 3])
        angles = {"revolute": (0,), "euler": range(turning.nv), "swing_twist": (2,)}
        for k in angles.get(turning.kind, ()):
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
    other = _other(order, angles)
    stay = np.abs(_wrapped(np.diff(angles, axis=0))).sum(axis=-1)
    change = np.abs(_wrapped(angles[1:] - other[:-1])).sum(axis=-1)
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
