"""Limbs of a figure; which dofs move while others are held, and how fast they turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from exactik.anatomy import LIMB_PARTS
from exactik.model import Skeleton
from exactik.retargeting.body._figure import BodyFigure
from exactik.typing import Array, BoolArray, IntArray

MAX_HINGE_SPEED = 30.0
"""[rad/s] of a robot's hinge whose file states none: five turns a second. Motors of legs and arms
of humanoids do 12 to 37."""


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


class HingeSpeed(NamedTuple):
    """How fast a joint of one dof turns."""

    name: str  # of the dof; "" if there is none
    speed: float  # [rad/s]
    frame: int  # from which to the next it does
    # [rad/s] that its motor does, or is taken to; infinite for what has no motor
    limit: float = np.inf

    @property
    def share(self) -> float:
        """Of its limit: beyond 1 no motor follows."""
        return self.speed / self.limit


def is_robot(skeleton: Skeleton) -> bool:
    """Return whether all joints but the root's have one dof at most, as those with a motor."""
    return all(bone.joint.nv <= 1 for bone in skeleton.bones if bone.parent is not None)


def find_speed_limits(skeleton: Skeleton) -> Array:
    """Return how fast dofs may turn [rad/s], (nv,): as its file says, else as robots do.

    Infinite where nothing limits them.
    """
    limited = is_robot(skeleton) & skeleton.turns & ~find_root_dofs(skeleton)
    usual = np.where(limited, MAX_HINGE_SPEED, np.inf)
    return np.where(np.isfinite(skeleton.max_speed), skeleton.max_speed, usual)


def _find_hinges(skeleton: Skeleton) -> IntArray:
    """Return the dofs, (n,), that are the only one of their joint, and turn."""
    counts = np.bincount(skeleton.dof_bones, minlength=len(skeleton.bones))
    is_hinge = skeleton.turns & (skeleton.plain_q >= 0) & (counts[skeleton.dof_bones] == 1)
    return np.flatnonzero(is_hinge)


def measure_hinges(skeleton: Skeleton, q: Array, rate: float) -> tuple[HingeSpeed, ...]:
    """Return how fast each hinge turns at most, in the order of the dofs.

    Args:
        q: poses, (T, nq).
    """
    dofs, limits = _find_hinges(skeleton), find_speed_limits(skeleton)
    if len(q) < 2:
        return ()
    speeds = np.abs(np.diff(q[:, skeleton.plain_q[dofs]], axis=0)) * rate
    return tuple(
        HingeSpeed(
            name=skeleton.dof_names[dof],
            speed=float(path.max()),
            frame=int(np.argmax(path)),
            limit=float(limits[dof]),
        )
        for dof, path in zip(dofs, speeds.T, strict=True)
    )
