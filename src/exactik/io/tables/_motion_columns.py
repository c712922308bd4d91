"""Columns of numbers for a motion: joint angles as they are published, coordinates, rotations."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from exactik.biomechanics import compute_joint_angles
from exactik.errors import UsageError
from exactik.model import Skeleton
from exactik.motion import Motion
from exactik.spatial import exp_rotation, log_rotation, wxyz_from_matrix
from exactik.typing import Array

__all__ = ["AngleColumns", "Column", "RotationColumns", "list_clinical_columns", "list_rotations"]

AngleColumns = Literal["clinical", "joints", "both"]
"""Joint angles of docs/angles.md, coordinates of the joints such as "shin.ry", or both."""

RotationColumns = Literal["coordinates", "wxyz", "swing-twist"]
"""How the joints' rotations are written: as coordinates, as quaternions, as swing and twist."""


class Column(NamedTuple):
    """One number of every frame.

    Attributes:
        name: without unit.
        unit: "deg", "rad", "m", or empty for a part of a quaternion.
        values: (T,).
    """

    name: str
    unit: str
    values: Array


def list_clinical_columns(motion: Motion, angles: AngleColumns) -> list[Column]:
    """Return the joint angles in degrees; none if they are not asked for.

    Where both kinds are asked for, a figure that is no body has none.
    """
    if angles not in ("clinical", "joints", "both"):
        raise UsageError(f"angles is {angles!r}; expected 'clinical', 'joints' or 'both'")
    if angles == "joints":
        return []
    try:
        found = compute_joint_angles(motion)
    except UsageError:
        if angles == "clinical":
            raise
        return []
    return [Column(name, "deg", found.degrees[:, k]) for k, name in enumerate(found.names)]


def list_rotations(motion: Motion, rotations: RotationColumns) -> list[Column]:
    """Return what each joint turns its bone by, against its place at rest in the parent.

    Args:
        motion: whose joints they are.
        rotations: "wxyz": unit quaternions, "bone.w" to "bone.z", continuous in sign;
            "swing-twist": "bone.twist" about the bone's long axis (towards its first child) and
            before it "bone.swing_x" to "bone.swing_z", a rotation vector across that axis [rad].
    """
    if rotations not in ("wxyz", "swing-twist"):
        raise UsageError(
            f"rotations is {rotations!r}; expected 'coordinates', 'wxyz' or 'swing-twist'"
        )
    skeleton, pose = motion.skeleton, motion.forward()
    columns: list[Column] = []
    for k, bone in enumerate(skeleton.bones):
        if not bone.joint.rotates:
            continue
        parent = int(skeleton.parents[k])
        R_parent_bone = pose.rotations[:, k]
        if parent >= 0:
            R_parent_bone = np.swapaxes(pose.rotations[:, parent], 1, 2) @ R_parent_bone
        pre = np.eye(3) if bone.pre is None else np.array(bone.pre)
        post = np.eye(3) if bone.post is None else np.array(bone.post)
        R_joint = pre.T @ R_parent_bone @ post.T
        if rotations == "wxyz":
            wxyz = _make_continuous(wxyz_from_matrix(R_joint))
            columns += [Column(f"{bone.name}.{c}", "", wxyz[:, i]) for i, c in enumerate("wxyz")]
        else:
            columns += _split_swing_twist(bone.name, R_joint, post @ _find_long_axis(skeleton, k))
    return columns


def _make_continuous(wxyz: Array) -> Array:
    """Return quaternions (T, 4) with signs that do not change from frame to frame."""
    present = np.flatnonzero(np.isfinite(wxyz).all(axis=1))
    steps = np.sum(wxyz[present[1:]] * wxyz[present[:-1]], axis=1)
    wxyz = wxyz.copy()
    wxyz[present[1:]] *= np.cumprod(np.where(steps < 0.0, -1.0, 1.0))[:, None]
    return wxyz


def _find_long_axis(skeleton: Skeleton, k: int) -> Array:
    """Return the direction from a bone's joint to its first child's, else along its own offset."""
    children = [bone.offset for bone in skeleton.bones if bone.parent == skeleton.bone_names[k]]
    for offset in (*children, skeleton.bones[k].offset):
        length = float(np.linalg.norm(offset))
        if length > 0.0:
            return np.array(offset) / length
    return np.array([0.0, 0.0, 1.0])


def _split_swing_twist(bone: str, R_joint: Array, axis: Array) -> list[Column]:
    """Return swing and twist of rotations (T, 3, 3) = swing · twist about an axis (3,) [rad]."""
    wxyz = wxyz_from_matrix(R_joint)
    twist = 2.0 * np.arctan2(wxyz[:, 1:] @ axis, wxyz[:, 0])
    swing = log_rotation(R_joint @ exp_rotation(-twist[:, None] * axis))
    present = np.isfinite(twist)
    twist[present] = np.unwrap(twist[present])
    columns = [Column(f"{bone}.swing_{c}", "rad", swing[:, i]) for i, c in enumerate("xyz")]
    return [*columns, Column(f"{bone}.twist", "rad", twist)]
