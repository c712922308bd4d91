"""How fast joint angles change with dofs, and what people call them: "left knee flexion".

A bone hangs on the joint at its near end: that of the shin is the knee. What a dof does is read off
the joint angles: it is the angle that changes most with it, from the rest pose.

The distal segment turns against the proximal one with the angular velocity

    R_world_proximalᵀ (ω_distal − ω_proximal) = α̇ e_a + β̇ R_a e_b + γ̇ R_a R_b e_c

for R_proximal_distal = R_a(α) R_b(β) R_c(γ); ω of a bone is the sum of the axes of the dofs that
carry it. Solved for α̇, β̇, γ̇, dof by dof, this is the derivative of the angles.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import numpy as np

from exactik.anatomy import SIDES, describe_body
from exactik.errors import UsageError
from exactik.kernels.tree import fk
from exactik.model import Skeleton, compute_dof_rates
from exactik.recordings.angles._body_segments import BodySegments, find_body_segments
from exactik.recordings.angles._definitions import ANGLE_NAMES
from exactik.recordings.angles._joint_angles import (
    compute_euler_angles,
    find_joints,
    list_angles,
    name_angle,
    name_segment,
)
from exactik.spatial import axis_rotation
from exactik.typing import Array, BoolArray

JOINT_WORDS = {
    "thigh": "hip",
    "shin": "knee",
    "foot": "ankle",
    "upper_arm": "shoulder",
    "forearm": "elbow",
    "hand": "wrist",
    "clavicle": "collarbone",
}
"""The joint at the near end of a part of a limb; the others are called as the part is."""
MIN_ANGLE_RATE = 0.7  # [rad per rad] from which a dof is named after an angle
PLURALS = {"foot": "feet", "fingers": "fingers", "toes": "toes"}


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


class JointWords:
    """Names of the bones, joints and dofs of a figure, for people.

    Attributes:
        bones: name of each bone → the part of the body, "left shin".
        joints: name of each bone → the joint at its near end, "left knee".
        limbs: name of each bone → the limb that it belongs to, "left leg".
        dofs: name of each dof → what it moves, "left knee flexion".
    """

    def __init__(self, skeleton: Skeleton):
        body = describe_body(skeleton)
        self.bones = {bone: _to_words(bone) for bone in skeleton.bone_names}
        self.joints = dict(self.bones)
        self.limbs = {
            bone: role.limb.replace("_", " ") or self.bones[bone]
            for bone, role in zip(skeleton.bone_names, body.roles, strict=True)
        }
        for name, part in body.parts.items():
            side, _, bare = name.partition("_")
            if side in SIDES:
                words = bare.replace("_", " ")
                self.bones[part.bone] = self.joints[part.bone] = f"{side} {words}"
                self.joints[part.start] = f"{side} {JOINT_WORDS.get(bare, words)}"
        angles = _find_angles(skeleton)
        collarbones = [part.bone for name, part in body.parts.items() if "clavicle" in name]
        self.dofs = {}
        for dof in skeleton.dof_names:
            bone, _, axis = dof.rpartition(".")
            named = dof in angles and bone not in collarbones
            joint = self.joints.get(bone, bone)
            self.dofs[dof] = name_angle_for_people(angles[dof]) if named else f"{joint} {axis}"

    def name_parts(self, bones: Collection[str]) -> dict[str, str]:
        """Return bones → the limb that each belongs to if all of it is among them, else the bone.

        A head, both arms, the left shin.
        """
        broken = {limb for bone, limb in self.limbs.items() if bone not in bones}
        return {
            bone: self.bones[bone] if self.limbs[bone] in broken else self.limbs[bone]
            for bone in bones
        }


def name_angle_for_people(angle: str) -> str:
    """Return "left knee flexion" of "knee_flexion_l"."""
    side = {"_r": "right ", "_l": "left "}.get(angle[-2:], "")
    return side + (angle[:-2] if side else angle).replace("_", " ")


def join_sides(words: Sequence[str]) -> list[str]:
    """Return names with "left hand" and "right hand" as one: "both hands"."""
    joined: list[str] = []
    for word in words:
        side, _, rest = word.partition(" ")
        other = {"left": f"right {rest}", "right": f"left {rest}"}.get(side)
        if other is None or other not in words:
            joined.append(word)
        elif (both := f"both {PLURALS.get(rest, f'{rest}s')}") not in joined:
            joined.append(both)
    return list(dict.fromkeys(joined))


def _to_words(bone: str) -> str:
    """Return the name of a bone without what stands before a colon: "l_wrist" as "left wrist"."""
    words = bone.rpartition(":")[2].replace("_", " ").strip()
    found = re.fullmatch(r"([lr]) (.+)|(.+) ([lr])", words)
    if found is None:
        return words
    side = found[1] or found[4]
    return f"{'left' if side == 'l' else 'right'} {found[2] or found[3]}"


def _find_angles(skeleton: Skeleton) -> dict[str, str]:
    """Return of each dof that mostly changes one joint angle which one, from the rest pose."""
    try:
        segments = find_body_segments(skeleton)
    except UsageError:
        return {}
    # Of the trunk against the pelvis, and not of the thorax in the room, which is both.
    names = tuple(sorted(name for name in ANGLE_NAMES if not name.startswith("thorax")))
    rates = np.nan_to_num(compute_angle_rates(segments, names, skeleton.neutral()[None])[0])
    best = np.abs(rates).argmax(axis=0)
    return {
        dof: names[best[v]]
        for v, dof in enumerate(skeleton.dof_names)
        if abs(rates[best[v], v]) >= MIN_ANGLE_RATE and skeleton.turns[v]
    }
