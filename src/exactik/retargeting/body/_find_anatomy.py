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
from exactik.retargeting.body._bone_tree import BoneTree
from exactik.retargeting.body._joint_centres import JointCentres
from exactik.retargeting.body._limb_parts import HINT, LimbParts
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
    fixed = {
        name: BodyPart.of_bone(skeleton.bones[skeleton.bone_index(bone)].name)
        for name, bone in ({} if given is None else given).items()
    }
    tree = BoneTree(skeleton, q_rest)
    finder = LimbParts(tree, JointCentres(skeleton, q_rest), fixed)
    limbs = {}
    for side in SIDES:
        limbs[side, "leg"] = finder.find_limb(side, _LEG_NAMES, LEG_PARTS)
        limbs[side, "arm"] = finder.find_limb(side, _ARM_NAMES, ARM_PARTS)
    missing = [f"{side} {limb}" for (side, limb), bones in limbs.items() if len(bones) == 0]
    if len(missing) > 0:
        raise ModelError(
            f"no {join_names(missing)} found in {skeleton.name!r} by the names of its bones; {HINT}"
        )
    pelvis = tree.find_common_bone(limbs["left", "leg"], limbs["right", "leg"], fixed, "pelvis")
    chest = tree.find_common_bone(limbs["left", "arm"], limbs["right", "arm"], fixed, "chest")
    parts = _find_trunk(tree, pelvis, chest)
    parts |= _find_head(tree, chest)
    for side in SIDES:
        parts |= finder.find_leg_parts(side, pelvis, limbs[side, "leg"])
        parts |= finder.find_arm_parts(side, chest, limbs[side, "arm"])
    extra = {name: part.bone for name, part in fixed.items() if not is_part_name(name)}
    changed = {name: part for name, part in fixed.items() if is_part_name(name)}
    parts |= {
        n: part for n, part in changed.items() if n not in parts or parts[n].bone != part.bone
    }
    inside = [k for limb in limbs.values() for k in tree.find_path(pelvis, limb[-1])]
    return Anatomy(skeleton, parts, _find_others(tree, parts, inside) | extra)


def _find_trunk(tree: BoneTree, pelvis: int, chest: int) -> dict[str, BodyPart]:
    """Return pelvis, spine and chest, which may be one."""
    names = tree.skeleton.bone_names
    spine = tree.drop_hinges(tree.find_path(pelvis, chest))[1:-1]
    parts = {"pelvis": BodyPart.of_bone(names[pelvis])}
    parts |= {f"spine_{n}": BodyPart.of_bone(names[k]) for n, k in enumerate(spine, 1)}
    if chest != pelvis:
        parts["chest"] = BodyPart.of_bone(names[chest])
    return parts


def _find_head(tree: BoneTree, chest: int) -> dict[str, BodyPart]:
    """Return neck and head: by their names, from the chest upwards."""
    names = tree.skeleton.bone_names
    middle = [
        k
        for k, name in enumerate(tree.names)
        if name.side == "" and name.part in ("neck", "head") and tree.is_bone(k)
    ]
    middle = [k for k in middle if chest in tree.find_ancestors(k)]
    if len(middle) == 0:
        return {}
    heads = [k for k in middle if tree.names[k].part == "head"] or middle
    head = max(heads, key=lambda k: len(tree.find_ancestors(k)))
    path = [k for k in tree.find_path(chest, head) if tree.is_bone(k)]
    necks = tree.drop_hinges(path)[1:-1]
    found = {f"neck_{n}": BodyPart.of_bone(names[k]) for n, k in enumerate(necks, 1)}
    found["head"] = BodyPart.of_bone(names[head])
    return found


def _find_others(
    tree: BoneTree, parts: Mapping[str, BodyPart], inside: list[int]
) -> dict[str, str]:
    """Return bones that are no part and not inside the body, by side, stem and number.

    Only names that occur once.
    """
    used = {part.bone for part in parts.values()} | {part.start for part in parts.values()}
    used |= {tree.skeleton.bone_names[k] for k in inside}
    found: dict[str, list[str]] = {}
    for bone, name in zip(tree.skeleton.bones, tree.names, strict=True):
        if bone.name in used or name.is_helper or bone.joint.nv == 0:
            continue
        stem = name.stem.removeprefix("inhand").removeprefix("hand") or name.stem
        words = [name.side, stem, "" if name.number < 0 else str(name.number)]
        found.setdefault("_".join(word for word in words if word != ""), []).append(bone.name)
    return {key: bones[0] for key, bones in found.items() if len(bones) == 1 and key not in parts}
