"""A skeleton as a body: what each bone is, its parts, its limbs, its two sides."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from exactik.model import Skeleton

SIDES = ("left", "right")
ARM_PARTS = ("upper_arm", "forearm", "hand")
LEG_PARTS = ("thigh", "shin", "foot")
LIMBS = ("left_arm", "right_arm", "left_leg", "right_leg")
LIMB_PARTS = {limb: ARM_PARTS if limb.endswith("arm") else LEG_PARTS for limb in LIMBS}
_PART_NAMES = {"pelvis", "spine", "chest", "neck", "head", "clavicle", "toes"}
_PART_NAMES |= {*ARM_PARTS} | {*LEG_PARTS}

CERTAIN, LIKELY, GUESSED = 1.0, 0.7, 0.4
"""Confidence of what a bone is: name and tree agree, one of the two tells, its parent does."""


class BodyPart(NamedTuple):
    """One part of a body.

    Attributes:
        bone: that has its orientation and carries the next part.
        start: whose origin is the centre of its joint.
    """

    bone: str
    start: str

    @classmethod
    def of_bone(cls, bone: str) -> BodyPart:
        """Return a part that is one bone, which begins at its own origin."""
        return cls(bone, bone)


class BoneRole(NamedTuple):
    """What a bone is.

    Attributes:
        side: "left", "right" or "".
        part: "pelvis", "spine", "chest", "neck", "head", "clavicle", "upper_arm", "forearm",
            "hand", "fingers", "thigh", "shin", "foot", "toes", …; "" if nothing tells.
        limb: one of `LIMBS`, "trunk", "head" or "".
        confidence: from 0 to 1, of side and part.
    """

    side: str
    part: str
    limb: str
    confidence: float


NO_ROLE = BoneRole("", "", "", 0.0)


@dataclass(frozen=True, eq=False)
class Anatomy:
    """A skeleton as a body, as far as it is one.

    Attributes:
        skeleton: the figure.
        parts: name of the part ("pelvis", "left_thigh", "spine_1") → its bones; those that it has.
        others: bones that are no part but have a name of their own ("left_index_1") → the bone.
        limbs: limb → its bones that are named after it, from the trunk outwards.
        roles: what each bone is, (n_bones,).
    """

    skeleton: Skeleton
    parts: Mapping[str, BodyPart]
    others: Mapping[str, str]
    limbs: Mapping[str, tuple[str, ...]]
    roles: tuple[BoneRole, ...]

    def bone_of(self, name: str) -> str:
        """Return the bone that has the orientation of a part, or of another bone by its name."""
        part = self.parts.get(name)
        return self.others[name] if part is None else part.bone

    def start_of(self, name: str) -> int:
        """Return the index of the bone whose origin is the joint centre of a part."""
        return self.skeleton.bone_index(self.parts[name].start)

    def role_of(self, bone: str) -> BoneRole:
        """Return what a bone is."""
        return self.roles[self.skeleton.bone_index(bone)]

    def chain(self, stem: str) -> list[str]:
        """Return the parts "stem_1", "stem_2", … from below."""
        count = sum(name.startswith(f"{stem}_") for name in self.parts)
        return [f"{stem}_{k}" for k in range(1, count + 1)]

    @property
    def is_whole(self) -> bool:
        """Whether it has all parts of two arms and two legs."""
        return "pelvis" in self.parts and all(self.has_whole_limb(limb) for limb in LIMBS)

    def has_whole_limb(self, limb: str) -> bool:
        """Whether it has all parts of a limb, in a row."""
        parts = [self.parts.get(f"{limb.split('_')[0]}_{part}") for part in LIMB_PARTS[limb]]
        bones = self.limbs.get(limb, ())
        return all(part is not None and part.start in bones for part in parts)


def find_stem(name: str) -> str:
    """Return the name of a part without side and number: "hand" of "left_hand"."""
    return re.sub(r"_\d+$", "", name.removeprefix("left_").removeprefix("right_"))


def is_part_name(name: str) -> bool:
    """Whether a name is that of a part of the body, such as "left_hand" or "spine_2"."""
    return find_stem(name) in _PART_NAMES
