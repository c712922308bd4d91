"""Limbs of a figure: the trunk, head, arms and legs of a body; of others the rows of its tree."""

from __future__ import annotations

from exactik.anatomy._describe import describe_body
from exactik.model import Skeleton


def find_limbs(skeleton: Skeleton) -> list[tuple[str, ...]]:
    """Return the bones of each limb, from the root outwards; every bone is in one.

    Pelvis, trunk, head, arms and legs of a body; what is none of these, and a figure that is no
    body, is taken apart where its tree forks.
    """
    children: dict[str | None, list[str]] = {}
    for bone in skeleton.bones:
        children.setdefault(bone.parent, []).append(bone.name)
    limbs: dict[str, list[str]] = {}
    limb_of: dict[str | None, str] = {}
    for bone, role in zip(skeleton.bones, describe_body(skeleton).roles, strict=True):
        goes_on = bone.parent is not None and len(children[bone.parent]) == 1
        limb = limb_of[bone.parent] if goes_on else bone.name
        if role.limb != "":
            limb = f" {'pelvis' if (role.limb, role.part) == ('trunk', 'pelvis') else role.limb}"
        elif limb.startswith(" "):
            limb = bone.name
        limb_of[bone.name] = limb
        limbs.setdefault(limb, []).append(bone.name)
    return [tuple(bones) for bones in limbs.values()]
