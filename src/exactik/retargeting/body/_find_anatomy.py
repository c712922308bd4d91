"""Which bones of a skeleton are the parts of a body, by their names and by the shape of the tree.

Names say which side a bone is on and roughly what it is; the tree says the rest. The pelvis is
where the legs meet, the chest where the arms do, whatever they are called.
"""

from __future__ import annotations

from collections.abc import Mapping

from exactik._text import join_names
from exactik.errors import ModelError
from exactik.model import Skeleton
from exactik.retargeting.body._anatomy import (
    ARM_PARTS,
    LEG_PARTS,
    SIDES,
    Anatomy,
    BodyPart,
    is_part_name,
)
from exactik.retargeting.body._part_finder import HINT, PartFinder, one_bone
from exactik.typing import Array

__all__ = ["find_anatomy"]

_ARM_NAMES = ("clavicle", "shoulder", "upper_arm", "arm", "forearm", "hand")
_LEG_NAMES = ("thigh", "leg", "shin", "foot", "toes")


def find_anatomy(
    skeleton: Skeleton, q_rest: Array, given: Mapping[str, str] | None = None
) -> Anatomy:
    """Return the parts of a body in a skeleton.

    Args:
        skeleton: the figure.
        q_rest: its rest pose, (nq,).
        given: part, or any other name → bone, in place of what would be found.

    Raises:
        ModelError: it has no two legs and two arms that could be told.
    """
    finder, given = PartFinder(skeleton, q_rest), dict(given or {})
    fixed = {
        name: one_bone(skeleton.bones[skeleton.bone_index(b)].name) for name, b in given.items()
    }
    parts: dict[str, BodyPart] = {}
    limbs = {}
    for side in SIDES:
        limbs[side, "leg"] = finder.find_limb(side, _LEG_NAMES, LEG_PARTS, fixed)
        limbs[side, "arm"] = finder.find_limb(side, _ARM_NAMES, ARM_PARTS, fixed)
    missing = [f"{side} {limb}" for (side, limb), bones in limbs.items() if len(bones) == 0]
    if len(missing) > 0:
        raise ModelError(
            f"no {join_names(missing)} found in {skeleton.name!r} by the names of its bones; {HINT}"
        )
    pelvis = finder.find_common_bone(limbs["left", "leg"], limbs["right", "leg"], fixed, "pelvis")
    chest = finder.find_common_bone(limbs["left", "arm"], limbs["right", "arm"], fixed, "chest")
    names = skeleton.bone_names
    parts["pelvis"] = one_bone(names[pelvis])
    spine = finder.drop_hinges(finder.path_between(pelvis, chest))[1:-1]
    parts |= {f"spine_{n}": one_bone(names[k]) for n, k in enumerate(spine, 1)}
    if chest != pelvis:
        parts["chest"] = one_bone(names[chest])
    parts |= finder.find_head(chest)
    for side in SIDES:
        parts |= finder.find_leg_parts(side, pelvis, limbs[side, "leg"], fixed)
        parts |= finder.find_arm_parts(side, chest, limbs[side, "arm"], fixed)
    extra = {name: part.bone for name, part in fixed.items() if not is_part_name(name)}
    changed = {name: part for name, part in fixed.items() if is_part_name(name)}
    parts |= {
        n: part for n, part in changed.items() if n not in parts or parts[n].bone != part.bone
    }
    inside = [k for limb in limbs.values() for k in finder.path_between(pelvis, limb[-1])]
    return Anatomy(skeleton, parts, finder.find_others(parts, inside) | extra)
