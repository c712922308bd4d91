"""The two bodies of a retargeting made ready: which axis is up, what pose is rest, a free root."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from exactik.anatomy import (
    SIDES,
    Anatomy,
    describe_body,
    describe_whole_body,
    find_rest_pose,
    find_up_axis,
    find_up_direction,
    measure_standing,
)
from exactik.errors import ModelError
from exactik.model import Bone, Joint, Skeleton
from exactik.model.motion import (
    Motion,
    check_up_axis,
    choose_even_frames,
    cyclic_axes,
    turn_skeleton,
)
from exactik.model.shapes import Capsule
from exactik.retargeting.body import BodyFigure, SourceBody, make_body_figure
from exactik.typing import Array

MIN_STANDING = 0.6
"""Cosine of trunk and legs, from which a body stands on two legs: people have 0.93 and more, a
robot with bent knees 0.84, dogs and foxes 0.3 to 0.55 at best."""
LOOKED_AT_FRAMES = 50  # of a motion, to see which axis is up and how it stands
MIN_FOREARM = 0.3  # of the upper arm: a last link that is shorter is none
MAX_HINGES = 4  # of an arm without a wrist: three of the shoulder, one of the elbow


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


def add_hands(
    target: Skeleton, given: Mapping[str, str]
) -> tuple[Skeleton, Mapping[str, str], tuple[str, ...]]:
    """Return a robot with a hand on arms that end at the elbow, its mapping, and remarks.

    Such an arm is taken as long below the elbow as above, or as its last link reaches, whichever is
    less. The hand is a bone without a joint: poses are those of the robot.
    """
    anatomy = describe_body(target, given=given)
    bones, mapping, remarks = list(target.bones), dict(given), []
    forks = {
        bone.parent for n, bone in enumerate(bones) if bone.parent in {b.parent for b in bones[:n]}
    }
    for side in SIDES:
        limb = anatomy.limbs.get(f"{side}_arm", ())
        chain = [target.bone_index(limb[-1])] if len(limb) > 0 else []
        if len(chain) == 0 or anatomy.has_whole_limb(f"{side}_arm") or chain[0] in target.parents:
            continue
        while (parent := int(target.parents[chain[-1]])) >= 0 and bones[parent].name not in forks:
            chain.append(parent)
        tip = _find_tip(target, chain[0], chain[-1])
        if not 1 < len(chain) <= MAX_HINGES or tip is None:
            continue
        elbow, hand = bones[chain[0]].name, f"{side}_hand_of_{bones[chain[0]].name}"
        bones.append(Bone(hand, parent=elbow, offset=tip))
        names = zip(
            ("upper_arm", "forearm", "hand"), (bones[chain[-1]].name, elbow, hand), strict=True
        )
        mapping |= {f"{side}_{part}": bone for part, bone in names}
        remarks.append(f"the {side} arm ends at {elbow}, whose end stands for the hand")
    return (target.with_bones(bones) if len(remarks) > 0 else target), mapping, tuple(remarks)


def _find_tip(target: Skeleton, elbow: int, shoulder: int) -> Array | None:
    """Return the end of a link by its shapes, in its frame [m], (3,); None if it has none."""
    name = target.bone_names[elbow]
    ends = [s.ends for s in target.shapes.shapes if s.bone == name and isinstance(s, Capsule)]
    if len(ends) == 0:
        return None
    points = np.concatenate(ends)
    tip = points[np.argmax(np.linalg.norm(points, axis=1))]
    places = target.forward(target.neutral()).positions
    reach, upper = np.linalg.norm(tip), np.linalg.norm(places[elbow] - places[shoulder])
    return tip * min(1.0, upper / reach) if reach > MIN_FOREARM * upper else None


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
