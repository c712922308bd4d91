"""What the name of a bone says: which side it is on, and which part of a body it is.

Names of Mixamo, CMU and Acclaim, Unreal, Biped, DAZ, VRM, MakeHuman, glTF samples, and of robots
whose ball joints are three hinges after each other ("left_hip_pitch_link").
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["BoneName", "read_bone_name"]

_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_LEFT, _RIGHT = {"left", "l", "lft", "lt"}, {"right", "r", "rgt", "rt"}
# Words that say nothing about the part: rigs, kinds of nodes, axes of hinges.
_NOISE = set(
    """
    joint jnt link bone skeleton armature bip rig mixamorig def fk ik j b x y z rx ry rz pitch roll
    yaw ctrl
    """.split()
)
# Bones without a place of their own: ends of chains, dummies of Acclaim files.
_HELPERS = {"end", "nub", "dum", "site", "tip", "pole", "target"}

# Part → what it is called, side and noise taken away. "leg", "arm" and "shoulder" alone mean
# different bones in different rigs; the limb they are found in decides.
_PARTS = {
    "pelvis": "pelvis hips root base",
    "spine": "spine abdomen back lowerback upperback torso waist thorax chest belly lumbar",
    "neck": "neck lowerneck upperneck cervical",
    "head": "head skull",
    "clavicle": "clavicle clav collar collarbone scapula",
    "shoulder": "shoulder",
    "upper_arm": "upperarm uparm humerus shldr armupper",
    "arm": "arm",
    "forearm": "forearm lowerarm loarm lowarm radius elbow farm armlower ulna",
    "hand": "hand wrist palm rubberhand",
    "thigh": "thigh upleg upperleg femur hip legupper",
    "leg": "leg",
    "shin": "shin calf lowerleg loleg lowleg tibia knee leglower",
    "foot": "foot ankle",
    "toes": "toe toes toebase ball",
}
_PART_OF = {name: part for part, names in _PARTS.items() for name in names.split()}


class BoneName(NamedTuple):
    """What a name says.

    Attributes:
        side: "left", "right" or "".
        part: of the body, such as "thigh"; "" if none is known by that name.
        stem: the name without side, noise and numbers, in lower case.
        number: the last number in it, −1 for none.
        is_helper: whether it is an end or a dummy rather than a bone.
    """

    side: str
    part: str
    stem: str
    number: int
    is_helper: bool


def read_bone_name(name: str) -> BoneName:
    """Return what the name of a bone says."""
    words = [word.lower() for word in _WORDS.findall(name.rpartition(":")[2])]
    numbers = [int(word) for word in words if word.isdigit()]
    words = [word for word in words if not word.isdigit()]
    helper = any(word in _HELPERS for word in words)
    side = _find_side(words)
    words = [word for word in words if word not in _LEFT | _RIGHT]
    words = [word for word in words if word not in _NOISE | _HELPERS] or words[-1:]
    stem = "".join(words)
    if stem not in _PART_OF and side == "":
        side, stem = _split_glued_side(stem)
    elif stem not in _PART_OF:
        stem = _without_hinge_axis(stem)
    part = _PART_OF.get(stem, "")
    if part == "thigh" and side == "":
        part = "pelvis"  # "hip" in the middle of the body
    return BoneName(side, part, stem, numbers[-1] if len(numbers) > 0 else -1, helper)


def _find_side(words: list[str]) -> str:
    if any(word in _LEFT for word in words):
        return "left"
    return "right" if any(word in _RIGHT for word in words) else ""


def _split_glued_side(stem: str) -> tuple[str, str]:
    """Return side and rest of "leftupleg", Acclaim's "lfemur" and MuJoCo's "lfemurrz"."""
    for start, side in (("left", "left"), ("right", "right"), ("l", "left"), ("r", "right")):
        rest = _without_hinge_axis(stem.removeprefix(start))
        known = rest in _PART_OF or rest in ("hipjoint", "fingers", "thumb")
        if stem.startswith(start) and known:
            return side, rest
    return "", _without_hinge_axis(stem)


def _without_hinge_axis(stem: str) -> str:
    shorter = re.sub(r"r[xyz]$", "", stem)
    return shorter if shorter in _PART_OF else stem
