"""Let another figure take over a motion: copy how parts are turned, then put feet and hands right.

1. Parts of both bodies are told by names and shape (`_anatomy`), and made comparable whatever their
   rest poses and axes (`_figure`).
2. The source's stances are found (`_contacts`); its path is scaled by the length of the legs, from
   the ground up.
3. All parts are turned as the source's, within limits (`_copy_orientations`).
4. Where limits make limbs jump, they change over within a moment instead (`_jumps`).
5. Feet are planned so that they stand still while they stand (`_foot_plan`), and reached exactly;
   hips and joints give way as little as that needs (`_reach`).
6. Wrists are put where the source's are, seen from the chest and scaled by the length of the arms;
   only the arms move (`_hands`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from exactik.errors import ModelError, UsageError
from exactik.model import Bone, Joint, Skeleton
from exactik.motion import Motion, choose_even_frames, cyclic_axes, turn_skeleton
from exactik.retargeting._anatomy import SIDES, Anatomy, find_anatomy
from exactik.retargeting._bends import bend_at_least
from exactik.retargeting._bone_names import read_bone_name
from exactik.retargeting._contacts import ContactOptions
from exactik.retargeting._copy_orientations import compute_part_rotations, copy_orientations
from exactik.retargeting._correspondence import (
    BoneMapping,
    Correspondence,
    make_correspondence,
    split_mapping,
)
from exactik.retargeting._feet import find_stances, place_feet
from exactik.retargeting._figure import (
    BodyFigure,
    SourceBody,
    find_up_direction,
    make_body_figure,
    measure_standing,
)
from exactik.retargeting._hands import place_hands
from exactik.retargeting._jumps import spread_limb_jumps
from exactik.retargeting._result import Retargeting
from exactik.solvers import require_count
from exactik.typing import Array

__all__ = ["find_body_up", "retarget"]

Progress = Callable[[int, int], object]
MIN_UP_COSINE = 0.9
"""Of the direction from feet to head with an axis, from which that axis is up: 26°. Walking people
have 0.99, at rest all that stand 0.999; a dog, from paws to head, 0.8."""
LOOKED_AT_FRAMES = 50
"""Of a motion, to see which axis is up, and how it stands if its zero pose does not: people seldom
lie in most."""


def retarget(
    motion: Motion,
    target: Skeleton,
    *,
    mapping: BoneMapping | None = None,
    feet: bool = True,
    hands: bool = True,
    up: str | None = None,
    target_up: str | None = None,
    contacts: ContactOptions | None = None,
    threads: int | None = 1,
    progress: Progress | None = None,
) -> Retargeting:
    """Let another figure or robot take over a motion.

    Both need two arms and two legs; proportions, rest poses, axes, units, kinds of joints and the
    number of bones may differ. Limits of the target are never left. A target whose root is fixed,
    as a robot's, gets a free one.

    Args:
        motion: what is taken over; no frame may be missing.
        target: who takes it over.
        mapping: part of the body → (bone of the source, bone of the target), in place of what is
            proposed; None for one of them keeps the proposal, see `Correspondence`.
        feet: hold feet at one place while the source's stand.
        hands: put wrists where the source's are, seen from the chest and scaled by the arms.
        up: "x", "y" or "z", which axis is up in the motion; by the motion, else by the shape of the
            body in it, if None.
        target_up: likewise for the target at rest.
        contacts: what counts as standing.
        threads: number of threads; one per processor if None. The result does not depend on it.
        progress: is called with the number of frames done and to do.

    Returns:
        The motion of the target, with what corresponds, contacts and errors.

    Raises:
        ModelError: arms and legs of a skeleton cannot be told; give a mapping.
    """
    begin = time.perf_counter()
    if len(motion) == 0 or not np.isfinite(motion.q).all():
        raise UsageError("retarget needs a motion whose frames all have a pose; fill gaps first")
    workers = (os.cpu_count() or 1) if threads is None else require_count("threads", threads)
    options = ContactOptions() if contacts is None else contacts
    given_source, given_target = split_mapping(mapping)
    source, source_up = _prepare_source(motion, given_source, up)
    free_target, target_up = _prepare_target(target, given_target, target_up)
    figure = _make_target_figure(free_target, given_target, target_up)
    correspondence = make_correspondence(
        source.figure.anatomy,
        figure.anatomy,
        source.figure.skeleton.forward(source.figure.q_rest).positions,
        figure.skeleton.forward(figure.q_rest).positions,
    )
    stances, source = find_stances(source, options)
    scale = figure.leg_length / source.figure.leg_length
    q = _copy_source(source, figure, correspondence, scale, progress)
    q = spread_limb_jumps(source, figure, q)
    if feet:
        q = place_feet(source, figure, stances, scale, q, workers)
    if hands:
        q = place_hands(source, figure, q, workers)
    if progress is not None:
        progress(len(q), len(q))
    retargeted = Motion(
        free_target,
        q,
        motion.rate,
        first_frame=motion.first_frame,
        up_axis=target_up,
        source=motion.source,
    )
    return Retargeting(
        motion=retargeted,
        source=replace(motion, up_axis=source_up),
        correspondence=correspondence,
        contacts=tuple(stances),
        scale=scale,
        seconds=time.perf_counter() - begin,
        source_body=source,
        target_figure=figure,
        root_was_freed=free_target is not target,
    )


# --- the two bodies


def _prepare_source(
    motion: Motion, given: Mapping[str, str], up: str | None
) -> tuple[SourceBody, str]:
    """Return the body that moves, z up, with its poses; and which axis was up in the motion."""
    q_rest = find_rest_pose(motion)
    anatomy = find_anatomy(motion.skeleton, q_rest, given)
    few = choose_even_frames(len(motion), LOOKED_AT_FRAMES)
    positions = motion.skeleton.forward(motion.q[few]).positions
    known: str = (
        up
        or motion.up_axis
        or _find_up_axis(anatomy, q_rest, positions)
        or _name_axis(find_up_direction(anatomy, positions))
    )
    if measure_standing(anatomy, motion.skeleton.forward(q_rest).positions[None])[0] < 0.0:
        # Bones laid out along one axis: the file's zero pose is no figure, but its motion is.
        q_rest = motion.q[few][np.argmax(measure_standing(anatomy, positions))]
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
    return body, known


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


def _prepare_target(
    target: Skeleton, given: Mapping[str, str], up: str | None
) -> tuple[Skeleton, str]:
    """Return the target with a free root, and which axis is up in it."""
    if up is None:
        anatomy = find_anatomy(target, target.neutral(), given)
        positions = target.forward(target.neutral()).positions[None]
        up = _name_axis(find_up_direction(anatomy, positions))
    root = target.bones[0]
    if any(bone.parent is None for bone in target.bones[1:]):
        raise ModelError(f"{target.name!r} has several roots; retarget needs one")
    if root.joint.moves_freely:
        return target, up
    if root.joint.nv > 0:
        raise ModelError(
            f"the root {root.name!r} of {target.name!r} moves, but not freely; retarget needs a "
            "root that is free or fixed"
        )
    freed = Bone(root.name, offset=root.offset, pre=root.pre, joint=Joint.free(), post=root.post)
    return target.with_bones([freed, *target.bones[1:]]), up


def _make_target_figure(target: Skeleton, given: Mapping[str, str], up: str) -> BodyFigure:
    upright = target if up == "z" else turn_skeleton(target, cyclic_axes(up, "z"))
    q_rest = upright.neutral()
    anatomy = find_anatomy(upright, q_rest, given)
    if measure_standing(anatomy, upright.forward(q_rest).positions[None])[0] < 0.0:
        raise ModelError(
            f"at rest {target.name!r} does not stand: its legs point where its head is; "
            "give a figure whose rest pose stands"
        )
    return make_body_figure(anatomy, q_rest)


def _name_axis(direction: Array) -> str:
    return "xyz"[int(np.argmax(np.abs(direction)))]


# --- the copy


def _copy_source(
    source: SourceBody,
    target: BodyFigure,
    correspondence: Correspondence,
    scale: float,
    progress: Progress | None,
) -> Array:
    """Return poses of the target turned as the source, its hips on the scaled path."""
    hips = source.hip_centres()
    places = scale * hips
    places[:, 2] = target.ankle_height + scale * (hips[:, 2] - source.ground)
    rotations = [
        compute_part_rotations(source.figure, target, pair, source.rotations)
        for pair in correspondence.pairs
    ]
    done = 0

    def report_frames(frames: int) -> None:
        nonlocal done
        done += frames
        if progress is not None:
            progress(done, len(places))

    bends = _find_bends(target, correspondence, rotations)
    return copy_orientations(target, correspondence.pairs, rotations, bends, places, report_frames)


def _find_bends(
    target: BodyFigure, correspondence: Correspondence, rotations: list[Array]
) -> dict[str, Array]:
    """Return where forearms and shins should point in the world: part → (T, 3).

    Never quite in line with the part above.
    """
    turned = {
        pair.part: rotation @ target.part_frames[pair.part]
        for pair, rotation in zip(correspondence.pairs, rotations, strict=True)
    }
    bends = {}
    for side in SIDES:
        for upper, lower, flexion in (("upper_arm", "forearm", 1.0), ("thigh", "shin", -1.0)):
            axes, along = turned[f"{side}_{upper}"], turned[f"{side}_{lower}"][:, :, 0]
            bends[f"{side}_{lower}"] = bend_at_least(axes, along, flexion)
    return bends
