"""The parts of a body that a skeleton has, and what they are called."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from exactik.model import Skeleton

__all__ = ["ARM_PARTS", "LEG_PARTS", "SIDES", "Anatomy", "BodyPart", "find_stem", "is_part_name"]

SIDES = ("left", "right")
ARM_PARTS = ("upper_arm", "forearm", "hand")
LEG_PARTS = ("thigh", "shin", "foot")
_PART_NAMES = {"pelvis", "spine", "chest", "neck", "head", "clavicle", "toes"}
_PART_NAMES |= {*ARM_PARTS} | {*LEG_PARTS}


@dataclass(frozen=True)
class BodyPart:
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


@dataclass(frozen=True)
class Anatomy:
    """The parts of a body that a skeleton has.

    Attributes:
        skeleton: the figure.
        parts: name of the part ("pelvis", "left_thigh", "spine_1") → its bones.
        others: bones that are no part but have a name of their own ("left_index_1") → the bone.
    """

    skeleton: Skeleton
    parts: Mapping[str, BodyPart]
    others: Mapping[str, str]

    def bone_of(self, name: str) -> str:
        """Return the bone that has the orientation of a part, or of another bone by its name."""
        part = self.parts.get(name)
        return self.others[name] if part is None else part.bone

    def start_of(self, name: str) -> int:
        """Return the index of the bone whose origin is the joint centre of a part."""
        return self.skeleton.bone_index(self.parts[name].start)

    def chain(self, stem: str) -> list[str]:
        """Return the parts "stem_1", "stem_2", … from below."""
        count = sum(name.startswith(f"{stem}_") for name in self.parts)
        return [f"{stem}_{k}" for k in range(1, count + 1)]


def find_stem(name: str) -> str:
    """Return the name of a part without side and number: "hand" of "left_hand"."""
    return re.sub(r"_\d+$", "", name.removeprefix("left_").removeprefix("right_"))


def is_part_name(name: str) -> bool:
    """Whether a name is that of a part of the body, such as "left_hand" or "spine_2"."""
    return find_stem(name) in _PART_NAMES
