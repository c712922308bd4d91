"""Figures to be taken over by: other names, proportions, rest poses, axes and kinds of joints."""

from __future__ import annotations

import numpy as np

import exactik as ik
from exactik.model import Bone, Joint, Skeleton
from exactik.model.motion import turn_skeleton
from exactik.spatial import axis_rotation

_MIXAMO = {
    "pelvis": "Hips",
    "lower_back": "Spine",
    "upper_back": "Spine1",
    "thorax": "Spine2",
    "lower_neck": "Neck",
    "upper_neck": "Neck1",
    "head": "Head",
    "thigh": "UpLeg",
    "shin": "Leg",
    "foot": "Foot",
    "toes": "ToeBase",
    "clavicle": "Shoulder",
    "upper_arm": "Arm",
    "forearm": "ForeArm",
    "wrist": "ForeArmTwist",
    "hand": "Hand",
    "fingers": "HandIndex1",
}
_LEGS, _ARMS = ("shin", "foot"), ("forearm", "wrist", "hand")


def rename(bone: str) -> str:
    """Return the name that Mixamo would give to a bone of the human."""
    side = {"l_": "Left", "r_": "Right"}.get(bone[:2], "")
    return f"mixamorig:{side}{_MIXAMO[bone[2:] if side else bone]}"


def make_character(legs: float = 0.8, arms: float = 0.9) -> Skeleton:
    """Return a character of other proportions: arms held out, y up, ball joints, Mixamo's names."""
    bones = []
    for bone in ik.human().bones:
        stem = bone.name.removeprefix("l_").removeprefix("r_")
        scale = legs if stem in _LEGS else arms if stem in _ARMS else 1.0
        offset = scale * np.array(bone.offset)
        pre = np.eye(3) if bone.pre is None else np.array(bone.pre)
        if stem == "upper_arm":  # arms to the side, and axes of the bones that are no one's
            pre = axis_rotation("z", 0.3)
        if bone.parent is not None and bone.parent.endswith("upper_arm"):
            offset = axis_rotation("z", 0.3).T @ offset
            pre = axis_rotation("z", 0.3).T @ pre
        if bone.parent is None:
            offset[2] -= (1.0 - legs) * (0.245 + 0.246) * 1.75
        joint = Joint.free() if bone.parent is None else Joint.quaternion()
        parent = None if bone.parent is None else rename(bone.parent)
        bones.append(Bone(rename(bone.name), parent=parent, offset=offset, pre=pre, joint=joint))
    return turn_skeleton(Skeleton.build("character", bones), "YZX")


def make_robot(wrist_gap: float = 0.0, toes: bool = True) -> Skeleton:
    """Return a robot: the human with a fixed root, a hinge for every turn, smaller by a fifth.

    Args:
        wrist_gap: between the two hinges of a hand [m].
        toes: whether it has any.
    """
    bones, carriers = [], {}
    for bone in ik.human().bones:
        parent = None if bone.parent is None else carriers[bone.parent]
        side = {"l_": "left_", "r_": "right_"}.get(bone.name[:2], "")
        stem = bone.name[2:] if side else bone.name
        offset = 0.8 * np.array(bone.offset)
        if bone.parent is None:
            bones.append(Bone("pelvis", offset=offset))
            carriers[bone.name] = "pelvis"
            continue
        if stem == "toes" and not toes:
            continue
        axes = {"X": "roll", "Y": "pitch", "Z": "yaw"}
        letters, pre = bone.joint.order or bone.joint.axis_letter.upper(), bone.pre
        for letter, limits in zip(letters, bone.joint.limits, strict=True):
            name = f"{side}{stem}_{axes[letter]}_link"
            joint = Joint.revolute(letter.lower(), limits)
            bones.append(Bone(name, parent=parent, offset=offset, pre=pre, joint=joint))
            outwards = 1.0 if side == "left_" else -1.0
            gap = (0.0, outwards * wrist_gap, 0.0) if stem == "hand" else (0.0, 0.0, 0.0)
            parent, offset, pre = name, np.array(gap), None
        carriers[bone.name] = bones[-1].name
    return Skeleton.build("robot", bones)
