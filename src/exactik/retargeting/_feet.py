"""Feet of the target, which stand still while the source's stand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from exactik.anatomy import SIDES
from exactik.model import Skeleton
from exactik.model.motion import Segment, mark_segments
from exactik.retargeting._contacts import (
    Contact,
    ContactOptions,
    find_contacts,
    find_ground_level,
    trim_pivots,
)
from exactik.retargeting._foot_plan import plan_foot
from exactik.retargeting._reach import LIMB_TURN_WEIGHT, PointPath, reach_places
from exactik.retargeting.body import BodyFigure, SourceBody, find_limb, find_other_bones, lower_hips
from exactik.spatial import nearest_rotation
from exactik.typing import Array

HIP_WEIGHT = 1.0  # [1/m²] of the place of the hips, by which the other weights are measured
PELVIS_TURN_WEIGHT = 1.0
"""Of the pelvis' turn, in squared leg lengths: 10 cm of an adult's hips cost as much as 6°."""


def find_stances(source: SourceBody, options: ContactOptions) -> tuple[list[Contact], SourceBody]:
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
        found["ankle"] = trim_pivots(found["ankle"], found["ball"], ball - ankle, options.max_pivot)
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
        flat &= mark_segments(len(flat), _select_frames(stances, side, point))
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


def _select_frames(stances: list[Contact], side: str, point: str) -> list[Segment]:
    return [s.frames for s in stances if (s.side, s.point) == (side, point)]


def place_feet(
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
        standing = hip + scale * leg
        standing[:, 2] = target.ankle_height + scale * (source.ankle(side)[:, 2] - source.ground)
        foot = target.index_of(f"{side}_foot")
        plan = plan_foot(
            pose.positions[:, foot],
            standing,
            pose.rotations[:, foot],
            target.toe_points[side],
            _select_frames(stances, side, "ankle"),
            _select_frames(stances, side, "ball"),
            source.rate,
        )
        bone = target.bone_of(f"{side}_foot")
        paths.append(PointPath(bone, np.zeros(3), plan.ankle))
        paths.append(PointPath(bone, target.toe_points[side], plan.ball))
        hips.append(hip)
    ankles = np.stack([path.places for path in paths[::2]], axis=1)
    lowered = lower_hips(np.stack(hips, axis=1), ankles, target.leg_length, source.rate)
    q = shift_root(target.skeleton, q, -lowered)
    pose = target.skeleton.forward(q)
    pelvis = target.bone_of("pelvis")
    centre = pose.point(pelvis, target.hip_centre)
    paths.append(PointPath(pelvis, target.hip_centre, centre, HIP_WEIGHT))
    square = target.leg_length**2
    weights = {pelvis: PELVIS_TURN_WEIGHT * square}
    moving = {target.skeleton.bone_names[0]}
    for side in SIDES:
        limb = find_limb(target, f"{side}_leg")
        moving |= set(limb.moving)
        weights |= dict.fromkeys(limb.bones, LIMB_TURN_WEIGHT * square)
    lock = find_other_bones(target.skeleton, moving)
    return reach_places(target.skeleton, q, paths, weights, lock=lock, threads=threads)


def shift_root(skeleton: Skeleton, q: Array, height: Array) -> Array:
    """Return poses moved up by heights [m], (T,); those of a root with functions stay."""
    root = skeleton.bones[0]
    if root.joint.kind != "free":
        return q
    up = np.array((0.0, 0.0, 1.0)) if root.pre is None else np.array(root.pre)[2]
    shifted = q.copy()
    shifted[:, :3] += height[:, None] * up
    return shifted
