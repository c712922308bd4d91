"""The two bodies of a retargeting made ready: which axis is up, what pose is rest, a free root."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from exactik.errors import ModelError
from exactik.model import Bone, Joint, Skeleton
from exactik.motion import (
    Motion,
    check_up_axis,
    choose_even_frames,
    cyclic_axes,
    turn_skeleton,
)
from exactik.retargeting.body import (
    Anatomy,
    BodyFigure,
    SourceBody,
    find_anatomy,
    find_up_direction,
    make_body_figure,
    measure_standing,
    read_bone_name,
)
from exactik.typing import Array

__all__ = [
    "find_body_up",
    "find_rest_pose",
    "make_target_figure",
    "prepare_source",
    "prepare_target",
]

MIN_UP_COSINE = 0.9
"""Of the direction from feet to head with an axis, from which that axis is up: 26°. Walking people
have 0.99, at rest all that stand 0.999; a dog, from paws to head, 0.8."""
MIN_STANDING = 0.6
"""Cosine of trunk and legs, from which a body stands on two legs: people have 0.93 and more, a
robot with bent knees 0.84, dogs and foxes 0.3 to 0.55 at best."""
LOOKED_AT_FRAMES = 50
"""Of a motion, to see which axis is up, and how it stands if its zero pose does not: people seldom
lie in most."""


def prepare_source(
    motion: Motion, given: Mapping[str, str], up: str | None
) -> tuple[SourceBody, str, tuple[str, ...]]:
    """Return the body that moves, z up, with its poses; which axis was up; remarks on that."""
    q_rest = find_rest_pose(motion)
    anatomy = find_anatomy(motion.skeleton, q_rest, given)
    few = choose_even_frames(len(motion), LOOKED_AT_FRAMES)
    positions = motion.skeleton.forward(motion.q[few]).positions
    seen = _find_up_axis(anatomy, q_rest, positions)
    told = motion.up_axis if up is None else check_up_axis(up)
    known: str = told or seen or _name_axis(find_up_direction(anatomy, positions))
    remarks = ()
    if None not in (told, seen) and told != seen:
        remarks = (f"{told} is said to be up, but the body stands along {seen}",)
    at_rest = measure_standing(anatomy, motion.skeleton.forward(q_rest).positions[None])[0]
    standing = measure_standing(anatomy, positions)
    if max(at_rest, standing.max()) < MIN_STANDING:
        raise ModelError(
            f"{motion.skeleton.name!r} stands on two legs neither at rest nor in its motion: its "
            "trunk is never in line with them (an animal on all fours, or legs without length); "
            "retarget takes over motions of bodies on two legs"
        )
    if at_rest < 0.0:
        # Bones laid out along one axis: the file's zero pose is no figure, but its motion is.
        q_rest = motion.q[few][np.argmax(standing)]
    upright = replace(motion, up_axis=known)
    upright = upright if known == "z" else upright.turned(cyclic_axes(known, "z"))
    anatomy = replace(anatomy, skeleton=upright.skeleton)
    pose = upright.forward()
    body = SourceBody(
        figure=make_body_figure(anatomy, q_rest),
        positions=pose.positions,
        rotations=pose.rotations,
        rate=motion.rate,
        ground=0.0,
    )
    return body, known, remarks


def find_rest_pose(motion: Motion) -> Array:
    """Return the rest pose of a motion's skeleton, (nq,), with inner shifts as they mostly are.

    Files whose joints all have position channels have their bones' lengths in these alone.
    """
    skeleton = motion.skeleton
    q = skeleton.neutral()
    inner = ~skeleton.turns & (skeleton.parents[skeleton.dof_bones] >= 0) & (skeleton.plain_q >= 0)
    index = skeleton.plain_q[inner]
    q[index] = np.median(motion.q[:, index], axis=0)
    return q


def find_body_up(motion: Motion) -> str | None:
    """Return which axis is up, "y" or "z", as a body tells whose bones have names; None for others.

    At rest if it stands there, for somebody may lie all the time; else as it mostly is. Legs alone
    tell it at rest.

    Args:
        motion: of any skeleton; frames without a pose are left out.
    """
    skeleton = motion.skeleton
    present = motion.q[np.isfinite(motion.q).all(axis=1)]
    if len(present) == 0:
        return None
    few = present[choose_even_frames(len(present), LOOKED_AT_FRAMES)]
    q_rest = find_rest_pose(replace(motion, q=few))
    try:
        anatomy = find_anatomy(skeleton, q_rest)
        return _find_up_axis(anatomy, q_rest, skeleton.forward(few).positions)
    except ModelError:
        return _find_up_of_legs(skeleton, skeleton.forward(q_rest).positions)


def _find_up_axis(anatomy: Anatomy, q_rest: Array, positions: Array) -> str | None:
    """Return the axis along which a body stands, at rest or else in poses (n, n_bones, 3)."""
    at_rest = anatomy.skeleton.forward(q_rest).positions[None]
    if measure_standing(anatomy, at_rest)[0] > 0.0:
        up = _name_up_axis(find_up_direction(anatomy, at_rest))
        if up is not None:
            return up
    return _name_up_axis(find_up_direction(anatomy, positions))


def _find_up_of_legs(skeleton: Skeleton, positions: Array) -> str | None:
    """Return the axis along which trunk and thighs are above shins and feet, (n_bones, 3)."""
    parts = [read_bone_name(name).part for name in skeleton.bone_names]
    above = [k for k, part in enumerate(parts) if part in ("pelvis", "spine", "thigh")]
    below = [k for k, part in enumerate(parts) if part in ("shin", "foot", "toes")]
    if len(above) == 0 or len(below) == 0:
        return None
    direction = positions[above].mean(axis=0) - positions[below].mean(axis=0)
    length = float(np.linalg.norm(direction))
    return _name_up_axis(direction / length) if length > 0.0 else None


def _name_up_axis(direction: Array) -> str | None:
    """Return the axis that a direction is along; none along x, which no program has up.

    Some files lay all bones out along x at rest.
    """
    axis = int(np.argmax(np.abs(direction)))
    return "xyz"[axis] if axis > 0 and abs(direction[axis]) > MIN_UP_COSINE else None


def prepare_target(
    target: Skeleton, given: Mapping[str, str], up: str | None
) -> tuple[Skeleton, str]:
    """Return the target with a free root, and which axis is up in it."""
    if up is None:
        anatomy = find_anatomy(target, target.neutral(), given)
        positions = target.forward(target.neutral()).positions[None]
        known = _name_axis(find_up_direction(anatomy, positions))
    else:
        known = check_up_axis(up)
    root = target.bones[0]
    if any(bone.parent is None for bone in target.bones[1:]):
        raise ModelError(f"{target.name!r} has several roots; retarget needs one")
    if root.joint.moves_freely:
        return target, known
    if root.joint.nv > 0:
        raise ModelError(
            f"the root {root.name!r} of {target.name!r} moves, but not freely; retarget needs a "
            "root that is free or fixed"
        )
    freed = Bone(root.name, offset=root.offset, pre=root.pre, joint=Joint.free(), post=root.post)
    return target.with_bones([freed, *target.bones[1:]]), known


def make_target_figure(target: Skeleton, given: Mapping[str, str], up: str) -> BodyFigure:
    upright = target if up == "z" else turn_skeleton(target, cyclic_axes(up, "z"))
    q_rest = upright.neutral()
    anatomy = find_anatomy(upright, q_rest, given)
    if measure_standing(anatomy, upright.forward(q_rest).positions[None])[0] < MIN_STANDING:
        raise ModelError(
            f"at rest {target.name!r} does not stand on two legs: its trunk is not in line with "
            "them; give a figure whose rest pose stands"
        )
    return make_body_figure(anatomy, q_rest)


def _name_axis(direction: Array) -> str:
    return "xyz"[int(np.argmax(np.abs(direction)))]
