"""Limbs of a figure; which bones, dofs and coordinates move while others are held."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from exactik.anatomy import LIMB_PARTS
from exactik.model import Skeleton
from exactik.retargeting.body._figure import BodyFigure
from exactik.typing import BoolArray


class Limb(NamedTuple):
    """What jumps together, and against what."""

    bones: tuple[str, ...]  # whose turns are looked at, their names
    body: str  # the bone that carries the limb
    moving: tuple[str, ...]  # names of all bones of the limb, whose dofs change over


def find_limb(figure: BodyFigure, name: str) -> Limb:
    """Return "left_arm", "right_leg", …: its parts, what carries it, and all of its bones."""
    side, kind = name.split("_")
    skeleton, parts = figure.skeleton, figure.anatomy.parts
    names = [f"{side}_{part}" for part in LIMB_PARTS[name]]
    body = figure.bone_of(figure.chest if kind == "arm" else "pelvis")
    if kind == "arm" and f"{side}_clavicle" in parts:
        body = parts[f"{side}_clavicle"].bone
    moving, k = [], figure.index_of(names[-1])
    while k >= 0 and skeleton.bone_names[k] != body:
        moving.append(skeleton.bone_names[k])
        k = int(skeleton.parents[k])
    return Limb(tuple(figure.bone_of(part) for part in names), body, tuple(moving))


def find_limb_dofs(skeleton: Skeleton, limb: Limb) -> BoolArray:
    """Return which dofs move a limb, (nv,)."""
    return np.isin(np.array(skeleton.bone_names)[skeleton.dof_bones], limb.moving)


def find_root_dofs(skeleton: Skeleton) -> BoolArray:
    """Return which dofs place the whole figure, (nv,)."""
    return np.asarray(skeleton.parents[skeleton.dof_bones] < 0)


def find_stretching_dofs(skeleton: Skeleton) -> list[str]:
    """Return the names of dofs that shift bones against their parents: they stay as at rest."""
    stretching = ~skeleton.turns & ~find_root_dofs(skeleton)
    return [skeleton.dof_names[i] for i in np.flatnonzero(stretching)]


def find_moving_coordinates(skeleton: Skeleton, lock: Sequence[str]) -> BoolArray:
    """Return which coordinates belong to bones that are not locked, (nq,)."""
    moves, first = np.zeros(skeleton.nq, dtype=bool), skeleton.tree.first_q
    for k, bone in enumerate(skeleton.bones, start=1):
        if bone.name not in lock:
            moves[int(first[k]) : int(first[k + 1])] = True
    return moves


def find_other_bones(skeleton: Skeleton, moving: set[str]) -> list[str]:
    """Return the bones with joints that are not among those that move."""
    return [bone.name for bone in skeleton.bones if bone.joint.nv > 0 and bone.name not in moving]


def find_bones_below(skeleton: Skeleton, bones: Sequence[str]) -> set[str]:
    """Return bones and all that hang on them."""
    found = set(bones)
    for bone in skeleton.bones:
        if bone.parent in found:
            found.add(bone.name)
    return found
