"""How fast joint angles change with the dofs of a figure.

The distal segment turns against the proximal one with the angular velocity

    R_world_proximalᵀ (ω_distal − ω_proximal) = α̇ e_a + β̇ R_a e_b + γ̇ R_a R_b e_c

for R_proximal_distal = R_a(α) R_b(β) R_c(γ); ω of a bone is the sum of the axes of the dofs that
carry it. Solved for α̇, β̇, γ̇, dof by dof, this is the derivative of the angles.
"""

from __future__ import annotations

import numpy as np

from exactik.kernels.tree import fk
from exactik.model import Skeleton, compute_dof_rates
from exactik.recordings.angles._body_segments import BodySegments
from exactik.recordings.angles._joint_angles import (
    compute_euler_angles,
    find_joints,
    list_angles,
    name_angle,
    name_segment,
)
from exactik.spatial import axis_rotation
from exactik.typing import Array, BoolArray


def compute_angle_rates(segments: BodySegments, names: tuple[str, ...], q: Array) -> Array:
    """Return the derivative of joint angles by the dofs, (T, n, nv) [rad per rad or per m].

    Args:
        segments: of the skeleton.
        names: of the angles, (n,), as `compute_joint_angles` has them.
        q: coordinates, (T, nq), finite.
    """
    skeleton = segments.skeleton
    rotations, axes = _compute_axes(skeleton, q)
    carries = _find_carriers(skeleton)
    rates = np.zeros((len(q), len(names), axes.shape[1]))
    for joint, side in find_joints(segments):
        wanted = [
            (k, names.index(name_angle(angle, side)), sign)
            for k, (angle, sign) in enumerate(list_angles(joint, side))
            if angle is not None and name_angle(angle, side) in names
        ]
        if len(wanted) == 0:
            continue
        proximal, distal = (
            name_segment(end, side, segments.bones) for end in (joint.proximal, joint.distal)
        )
        moved = carries[skeleton.bone_index(segments.bones[distal])].astype(float)
        if proximal != "lab":
            moved = moved - carries[skeleton.bone_index(segments.bones[proximal])]
        dofs = np.flatnonzero(moved)
        R_world_proximal = segments.compute_rotations(proximal, rotations)
        angles = compute_euler_angles(segments, joint, side, rotations)
        velocities = moved[dofs] * np.swapaxes(axes[:, dofs], 1, 2)  # (T, 3, dofs), world
        inverse = np.linalg.pinv(_make_axes(joint.order, angles))
        joint_rates = inverse @ np.swapaxes(R_world_proximal, 1, 2) @ velocities
        for k, column, sign in wanted:
            rates[:, column, dofs] = sign * joint_rates[:, k]
    if len(skeleton.couplings) > 0:
        rates = np.stack([rates[t] @ compute_dof_rates(skeleton, q[t])[0] for t in range(len(q))])
    return rates


def _make_axes(order: str, angles: Array) -> Array:
    """Return the three axes of Euler angles (T, 3) in the proximal frame as columns, (T, 3, 3)."""
    a, b, c = ("XYZ".index(letter) for letter in order)
    R_a = axis_rotation(order[0], angles[:, 0])
    R_ab = R_a @ axis_rotation(order[1], angles[:, 1])
    first = np.broadcast_to(np.eye(3)[a], (len(angles), 3))
    return np.stack([first, R_a[:, :, b], R_ab[:, :, c]], axis=2)


def _compute_axes(skeleton: Skeleton, q: Array) -> tuple[Array, Array]:
    """Return R_world_bone, (T, n_bones, 3, 3), and the axes in the world, (T, n, 3).

    Of all dofs of the joints, which are those of the skeleton unless it has couplings. The axis of
    a shift is zero.
    """
    n, nv = len(skeleton.bones) + 1, int(skeleton.tree.joint_v[-1])
    rotations, axes = np.empty((len(q), n, 3, 3)), np.empty((len(q), nv, 3))
    R, p, S = np.empty((1, n, 3, 3)), np.empty((1, n, 3)), np.empty((nv, 6))
    origin, rows = np.zeros(3), skeleton.joint_coordinates(q)
    scratch = np.empty((2, rows.shape[1]))
    for t in range(len(q)):
        # The batch of `Skeleton.forward`, which is compiled already, keeps the last frame's twists.
        fk.forward_kinematics_batch(
            skeleton.tree, rows[t : t + 1], origin, scratch[0], scratch[1], R, p, S
        )
        rotations[t], axes[t] = R[0], S[:, :3]
    return rotations[:, 1:], axes


def _find_carriers(skeleton: Skeleton) -> BoolArray:
    """Return which dofs of the joints carry which bones, (n_bones, n): own ones and those above."""
    first_dof = skeleton.tree.joint_v
    carries = np.zeros((len(skeleton.bones), int(first_dof[-1])), dtype=bool)
    for k, parent in enumerate(skeleton.parents.tolist()):
        if parent >= 0:
            carries[k] = carries[parent]
        carries[k, int(first_dof[k + 1]) : int(first_dof[k + 2])] = True
    return carries
