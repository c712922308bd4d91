"""What people call the joints of a figure and how each dof moves them: "left knee flexion".

A bone hangs on the joint at its near end: that of the shin is the knee. What a dof does is read off
the joint angles: it is the angle that changes most with it, from the rest pose.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import numpy as np

from exactik.anatomy import SIDES, describe_body
from exactik.errors import UsageError
from exactik.model import Skeleton
from exactik.recordings.angles._angle_rates import compute_angle_rates
from exactik.recordings.angles._body_segments import find_body_segments
from exactik.recordings.angles._definitions import ANGLE_NAMES

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
