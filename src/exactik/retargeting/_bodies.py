"""The two bodies of a retargeting made ready: which axis is up, what pose is rest, a free root."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from exactik.anatomy import (
    Anatomy,
    describe_whole_body,
    find_rest_pose,
    find_up_axis,
    find_up_direction,
    measure_standing,
)
from exactik.errors import ModelError
from exactik.model import Joint, Skeleton
from exactik.model.motion import (
    Motion,
    check_up_axis,
    choose_even_frames,
    cyclic_axes,
    turn_skeleton,
)
from exactik.retargeting.body import BodyFigure, SourceBody, make_body_figure
from exactik.typing import Array

MIN_STANDING = 0.6
"""Cosine of trunk and legs, from which a body stands on two legs: people have 0.93 and more, a
robot with bent knees 0.84, dogs and foxes 0.3 to 0.55 at best."""
LOOKED_AT_FRAMES = 50  # of a motion, to see which axis is up and how it stands


def prepare_source(
    motion: Motion, given: Mapping[str, str], up: str | None
) -> tuple[SourceBody, str, tuple[str, ...]]:
    """Return the body that moves, z up, with its poses; which axis was up; remarks on that."""
    q_rest = find_rest_pose(motion)
    anatomy = describe_whole_body(motion.skeleton, q_rest, given)
    few = choose_even_frames(len(motion), LOOKED_AT_FRAMES)
    positions = motion.skeleton.forward(motion.q[few]).positions
    seen = find_up_axis(anatomy, q_rest, positions)
    told = motion.up_axis if up is None else check_up_axis(up)
    known: str = told or seen or _name_axis(find_up_direction(anatomy, positions))
    remarks = ()
    is_odd = told is not None and seen is not None and told != seen
    if is_odd and not _stands_along(known, anatomy, positions):
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


def prepare_target(
    target: Skeleton, given: Mapping[str, str], up: str | None
) -> tuple[Skeleton, str]:
    """Return the target with a free root, and which axis is up in it."""
    if up is None:
        anatomy = describe_whole_body(target, target.neutral(), given)
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
    freed = replace(root, joint=Joint.free())
    return target.with_bones([freed, *target.bones[1:]]), known


def make_target_figure(target: Skeleton, given: Mapping[str, str], up: str) -> BodyFigure:
    upright = target if up == "z" else turn_skeleton(target, cyclic_axes(up, "z"))
    q_rest = upright.neutral()
    anatomy = describe_whole_body(upright, q_rest, given)
    if measure_standing(anatomy, upright.forward(q_rest).positions[None])[0] < MIN_STANDING:
        raise ModelError(
            f"at rest {target.name!r} does not stand on two legs: its trunk is not in line with "
            "them; give a figure whose rest pose stands"
        )
    return make_body_figure(anatomy, q_rest)


def _stands_along(axis: str, anatomy: Anatomy, positions: Array) -> bool:
    """Return whether a body mostly stands along an axis in poses, (n, n_bones, 3)."""
    return bool(find_up_direction(anatomy, positions)["xyz".index(axis)] > MIN_STANDING)


def _name_axis(direction: Array) -> str:
    return "xyz"[int(np.argmax(np.abs(direction)))]
