"""Let another figure take over a motion: copy how parts are turned, then put feet and hands right.

1. Parts of both bodies are told by names and shape (`_anatomy`), and made comparable whatever their
   rest poses and axes (`_figure`).
2. The source's stances are found (`_contacts`); its path is scaled by the length of the legs, from
   the ground up.
3. All parts are turned as the source's, within limits (`_copy_orientations`).
4. Feet are planned so that they stand still while they stand (`_foot_plan`), and reached exactly;
   hips and joints give way as little as that needs (`_reach`).
5. Wrists are put where the source's are, seen from the chest and scaled by the length of the arms;
   only the arms move.
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
from exactik.retargeting._anatomy import SIDES, find_anatomy
from exactik.retargeting._bends import bend_at_least, lower_hips
from exactik.retargeting._contacts import Contact, ContactOptions, find_contacts, find_ground_level
from exactik.retargeting._copy_orientations import compute_part_rotations, copy_orientations
from exactik.retargeting._correspondence import (
    BoneMapping,
    Correspondence,
    make_correspondence,
    split_mapping,
)
from exactik.retargeting._figure import BodyFigure, find_up_direction, make_body_figure
from exactik.retargeting._foot_plan import plan_foot
from exactik.retargeting._reach import PointPath, reach_places
from exactik.retargeting._result import Retargeting, SourceBody, measure_hand_places
from exactik.solvers import require_count
from exactik.spatial import nearest_rotation
from exactik.typing import Array

__all__ = ["retarget"]

Progress = Callable[[int, int], object]
UP_FRAMES = 50  # of a motion that are looked at to see which axis is up; people seldom lie in most
HAND_ROUNDS = 2
"""How often wrists are placed: a shoulder of several hinges shifts its centre by millimetres when
the arm moves, which the second round takes into account."""


def retarget(
    motion: Motion,
    target: Skeleton,
    *,
    mapping: BoneMapping | None = None,
    lock_feet: bool = True,
    place_hands: bool = True,
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
        lock_feet: hold feet at one place while the source's stand.
        place_hands: put wrists where the source's are, seen from the chest and scaled by the arms.
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
    source = _prepare_source(motion, given_source, up)
    free_target, target_up = _prepare_target(target, given_target, target_up)
    figure = _make_target_figure(free_target, given_target, target_up)
    correspondence = make_correspondence(
        source.figure.anatomy,
        figure.anatomy,
        source.figure.skeleton.forward(source.figure.q_rest).positions,
        figure.skeleton.forward(figure.q_rest).positions,
    )
    stances, source = _find_stances(source, options)
    scale = figure.leg_length / source.figure.leg_length
    q = _copy_source(source, figure, correspondence, scale, progress)
    if lock_feet:
        q = _place_feet(source, figure, stances, scale, q, workers)
    if place_hands:
        q = _place_hands(source, figure, q, workers)
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
        source=motion,
        correspondence=correspondence,
        contacts=tuple(stances),
        scale=scale,
        seconds=time.perf_counter() - begin,
        source_body=source,
        target_figure=figure,
        root_was_freed=free_target is not target,
    )


# --- the two bodies


def _prepare_source(motion: Motion, given: Mapping[str, str], up: str | None) -> SourceBody:
    """Return the body that moves, z up, with its poses."""
    q_rest = _find_rest_pose(motion)
    anatomy = find_anatomy(motion.skeleton, q_rest, given)
    known = up or motion.up_axis
    if known is None:
        few = choose_even_frames(len(motion), UP_FRAMES)
        known = _name_axis(find_up_direction(anatomy, motion.skeleton.forward(motion.q[few]).positions))
    upright = replace(motion, up_axis=known)
    upright = upright if known == "z" else upright.turned(cyclic_axes(known, "z"))
    anatomy = replace(anatomy, skeleton=upright.skeleton)
    pose = upright.forward()
    return SourceBody(
        figure=make_body_figure(anatomy, q_rest),
        positions=pose.positions,
        rotations=pose.rotations,
        rate=motion.rate,
        ground=0.0,
    )


def _find_rest_pose(motion: Motion) -> Array:
    """Return the rest pose of a motion's skeleton, (nq,): inner joints that shift as they mostly do.

    Files whose joints all have position channels have their bones' lengths in these alone.
    """
    skeleton = motion.skeleton
    q = skeleton.neutral()
    inner = ~skeleton.turns & (skeleton.parents[skeleton.dof_bones] >= 0) & (skeleton.plain_q >= 0)
    index = skeleton.plain_q[inner]
    q[index] = np.median(motion.q[:, index], axis=0)
    return q


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
    freed = Bone(
        root.name, offset=root.offset, pre=root.pre, joint=Joint.free(), post=root.post
    )
    return target.with_bones([freed, *target.bones[1:]]), up


def _make_target_figure(target: Skeleton, given: Mapping[str, str], up: str) -> BodyFigure:
    upright = target if up == "z" else turn_skeleton(target, cyclic_axes(up, "z"))
    q_rest = upright.neutral()
    return make_body_figure(find_anatomy(upright, q_rest, given), q_rest)


def _name_axis(direction: Array) -> str:
    return "xyz"[int(np.argmax(np.abs(direction)))]


# --- stances and the copy


def _find_stances(
    source: SourceBody, options: ContactOptions
) -> tuple[list[Contact], SourceBody]:
    """Return the stances of both feet, and the source with its ground and its flat feet known."""
    figure, rate = source.figure, source.rate
    leg, stances, levels = figure.leg_length, [], []
    frames = dict(figure.part_frames)
    for side in SIDES:
        ankle, ball = source.ankle(side), source.ball(side)
        found = {
            point: find_contacts(places, rate, leg, options)
            for point, places in (("ankle", ankle), ("ball", ball))
        }
        levels.append(find_ground_level(ankle, rate, leg, options))
        stances += [Contact(side, point, s) for point, all_of in found.items() for s in all_of]
        frames |= _find_flat_frames(source, side, stances)
    ground = float(np.mean(levels))
    return stances, replace(source, figure=replace(figure, part_frames=frames), ground=ground)


def _find_flat_frames(source: SourceBody, side: str, stances: list[Contact]) -> dict[str, Array]:
    """Return the frame of a foot from how it is when ankle and ball both stand, if they ever do.

    Rest poses of files may have feet in any way; a foot that stands is flat.
    """
    flat = np.ones(len(source.positions), dtype=bool)
    for point in ("ankle", "ball"):
        stands = np.zeros(len(flat), dtype=bool)
        for contact in stances:
            if contact.side == side and contact.point == point:
                stands[contact.frames.first : contact.frames.last + 1] = True
        flat &= stands
    if not flat.any():
        return {}
    along = (source.ball(side) - source.ankle(side))[flat]
    along[:, 2] = 0.0
    forward = along / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-12)
    up = np.broadcast_to((0.0, 0.0, 1.0), forward.shape)
    axes = np.stack([forward, np.cross(up, forward), up], axis=2)
    foot = source.rotations[flat, source.figure.index_of(f"{side}_foot")]
    mean = (np.swapaxes(foot, 1, 2) @ axes).mean(axis=0)
    return {f"{side}_foot": nearest_rotation(mean)}


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

    bends = _find_bends(source, target, correspondence, rotations)
    return copy_orientations(
        target, correspondence.pairs, rotations, bends, places, report_frames
    )


def _find_bends(
    source: SourceBody,
    target: BodyFigure,
    correspondence: Correspondence,
    rotations: list[Array],
) -> dict[str, Array]:
    """Return where forearms and shins should point in the world, never quite in line: part → (T, 3)."""
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


# --- feet and hands


def _place_feet(
    source: SourceBody,
    target: BodyFigure,
    stances: list[Contact],
    scale: float,
    q: Array,
    threads: int,
) -> Array:
    """Return poses whose feet stand still while they stand."""
    pose, paths, hips = target.skeleton.forward(q), [], []
    for side in SIDES:
        hip = pose.positions[:, target.start_of(f"{side}_thigh")]
        leg = source.ankle(side) - source.positions[:, source.figure.start_of(f"{side}_thigh")]
        ankle = hip + scale * leg
        ankle[:, 2] = target.ankle_height + scale * (source.ankle(side)[:, 2] - source.ground)
        foot = target.index_of(f"{side}_foot")
        plan = plan_foot(
            ankle,
            pose.rotations[:, foot],
            target.toe_points[side],
            [s.frames for s in stances if (s.side, s.point) == (side, "ankle")],
            [s.frames for s in stances if (s.side, s.point) == (side, "ball")],
            source.rate,
        )
        bone = target.bone_of(f"{side}_foot")
        paths.append(PointPath(bone, np.zeros(3), plan.ankle))
        paths.append(PointPath(bone, target.toe_points[side], plan.ball))
        hips.append(hip)
    ankles = np.stack([path.places for path in paths[::2]], axis=1)
    lowered = lower_hips(np.stack(hips, axis=1), ankles, target.leg_length, source.rate)
    q = _shift_root(target.skeleton, q, -lowered)
    return reach_places(
        target.skeleton, q, paths, size=target.leg_length, rate=source.rate, threads=threads
    )


def _shift_root(skeleton: Skeleton, q: Array, height: Array) -> Array:
    """Return poses moved up by heights [m], (T,); those of a root with functions stay."""
    root = skeleton.bones[0]
    if root.joint.kind != "free":
        return q
    up = np.array((0.0, 0.0, 1.0)) if root.pre is None else np.array(root.pre)[2]
    shifted = q.copy()
    shifted[:, :3] += height[:, None] * up
    return shifted


def _place_hands(source: SourceBody, target: BodyFigure, q: Array, threads: int) -> Array:
    """Return poses whose wrists are at the scaled places of the source's; only arms move."""
    skeleton = target.skeleton
    arms = [bone for side in SIDES for bone in _find_arm(target, side)]
    lock = [bone.name for bone in skeleton.bones if bone.name not in arms and bone.joint.nv > 0]
    copied = q
    for _ in range(HAND_ROUNDS):
        places = measure_hand_places(source, target, skeleton.forward(q))
        paths = [
            PointPath(target.anatomy.parts[f"{side}_hand"].start, np.zeros(3), places[side].target)
            for side in SIDES
        ]
        q = reach_places(
            skeleton, copied, paths, size=target.leg_length, rate=source.rate, lock=lock, threads=threads
        )
    return q


def _find_arm(target: BodyFigure, side: str) -> list[str]:
    """Return the bones between chest or collar bone and the hand, the hand included."""
    skeleton, parts = target.skeleton, target.anatomy.parts
    ends = {target.bone_of(target.chest)}
    ends |= {parts[f"{side}_clavicle"].bone} if f"{side}_clavicle" in parts else set()
    bones, k = [], target.index_of(f"{side}_hand")
    while k >= 0 and skeleton.bone_names[k] not in ends:
        bones.append(skeleton.bone_names[k])
        k = int(skeleton.parents[k])
    return bones
