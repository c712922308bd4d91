"""The parts of a body that a skeleton has, and what they are called."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from exactik.model import Skeleton

__all__ = ["ARM_PARTS", "LEG_PARTS", "SIDES", "Anatomy", "BodyPart", "is_part_name"]

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

    def chain(self, stem: str) -> list[str]:
        """Return the parts "stem_1", "stem_2", … from below."""
        count = sum(name.startswith(f"{stem}_") for name in self.parts)
        return [f"{stem}_{k}" for k in range(1, count + 1)]


def is_part_name(name: str) -> bool:
    """Whether a name is that of a part of the body, such as "left_hand" or "spine_2"."""
    stem = re.sub(r"_\d+$", "", name.removeprefix("left_").removeprefix("right_"))
    return stem in _PART_NAMES
