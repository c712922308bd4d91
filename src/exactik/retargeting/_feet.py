"""Feet of the target, which stand still while the source's stand.

A foot is planned as a rigid body: place of the ankle a(t) and turn R(t), with the ball at
b = a + R v. While the ankle or the ball stands, it is held at one place; while both do, the line
between them is held too. Three things are therefore constant over a stance: the place of the ankle,
that of the ball, and, where both stand, their direction. What this changes fades out smoothly
beside the stance, half in swing, so that nothing jumps at its borders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

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
from exactik.retargeting._reach import LIMB_TURN_WEIGHT, PointPath, reach_places
from exactik.retargeting.body import (
    BodyFigure,
    SourceBody,
    find_limb,
    find_other_bones,
    lower_hips,
    rotation_between,
)
from exactik.spatial import exp_rotation, log_rotation, nearest_rotation
from exactik.typing import Array, BoolArray

FADE_SECONDS = 0.2
"""[s] over which a correction fades out beside a stance, or less if the next one is nearer: half of
the swing of a step, so that the foot is where the source's is in the middle of it."""
HIP_WEIGHT = 1.0  # [1/m²] of the place of the hips, by which the other weights are measured
PELVIS_TURN_WEIGHT = 1.0
"""Of the pelvis' turn, in squared leg lengths: 10 cm of an adult's hips cost as much as 6°."""


class _FootPlan(NamedTuple):
    """A foot over time."""

    ankle: Array  # places [m, world], (T, 3)
    ball: Array  # places [m, world], (T, 3)


def plan_foot(
    ankle: Array,
    standing: Array,
    rotations: Array,
    ball_point: Array,
    ankle_stances: Sequence[Segment],
    ball_stances: Sequence[Segment],
    rate: float,
) -> _FootPlan:
    """Return where ankle and ball go.

    Args:
        ankle: where the ankle would go without stances [m, world], (T, 3).
        standing: where it would be if it stood [m, world], (T, 3): at its height above the ground.
        rotations: how the foot would be turned, R_world_foot, (T, 3, 3).
        ball_point: of the ball in the foot's frame [m], (3,).
        ankle_stances: frames in which the ankle stands.
        ball_stances: frames in which the ball stands.
    """
    along = rotations @ ball_point
    turned = _hold_direction(along, ankle_stances, ball_stances, rate)
    stands_on_ankle = mark_segments(len(ankle), ankle_stances)
    stands_on_ball = mark_segments(len(ankle), ball_stances)
    shift = np.zeros_like(ankle)
    held_ankle, held_ball = np.full_like(ankle, np.nan), np.full_like(ankle, np.nan)
    stances = sorted([(s, True) for s in ankle_stances] + [(s, False) for s in ball_stances])
    for (first, last), on_ankle in stances:
        frames = slice(first, last + 1)
        other = held_ball[first] if on_ankle else held_ankle[first]
        sign = 1.0 if on_ankle else -1.0
        if np.isnan(other[0]):  # nothing stands yet: where it would be on average
            free = standing[frames] if on_ankle else standing[frames] + turned[frames]
            place = free.mean(axis=0)
        else:
            place = other - sign * turned[first]
        (held_ankle if on_ankle else held_ball)[frames] = place
    on_ball = stands_on_ball & ~stands_on_ankle
    shift[stands_on_ankle] = held_ankle[stands_on_ankle] - ankle[stands_on_ankle]
    shift[on_ball] = held_ball[on_ball] - turned[on_ball] - ankle[on_ball]
    placed = ankle + _fade(shift, stands_on_ankle | stands_on_ball, rate)
    return _FootPlan(ankle=placed, ball=placed + turned)


def _hold_direction(
    along: Array, ankle_stances: Sequence[Segment], ball_stances: Sequence[Segment], rate: float
) -> Array:
    """Return ankle to ball, (T, 3), constant wherever both stand."""
    both = mark_segments(len(along), ankle_stances) & mark_segments(len(along), ball_stances)
    turn = np.zeros_like(along)
    unit = along / np.linalg.norm(along, axis=1, keepdims=True)
    for first, last in _join_overlaps(ankle_stances, ball_stances):
        held = unit[first : last + 1].mean(axis=0)
        between = rotation_between(unit[first : last + 1], held / np.linalg.norm(held))
        turn[first : last + 1] = log_rotation(between)
    rotation = exp_rotation(_fade(turn, both, rate))
    return np.einsum("tij,tj->ti", rotation, along)


def _join_overlaps(a: Sequence[Segment], b: Sequence[Segment]) -> list[Segment]:
    """Return the frames in which a stance of each kind goes on, one segment a pair."""
    pairs = [Segment(max(s.first, o.first), min(s.last, o.last)) for s in a for o in b]
    return [pair for pair in pairs if pair.first <= pair.last]


def _fade(values: Array, known: BoolArray, rate: float) -> Array:
    """Return values, (T, 3), that are kept where known and fade to zero beside that."""
    faded = np.where(known[:, None], values, 0.0)
    frames, reach = np.flatnonzero(known), max(FADE_SECONDS * rate, 1.0)
    if len(frames) == 0:
        return faded
    unknown = np.flatnonzero(~known)
    after = np.searchsorted(frames, unknown)
    has_before, has_after = after > 0, after < len(frames)
    before_frame = frames[np.maximum(after - 1, 0)]
    after_frame = frames[np.minimum(after, len(frames) - 1)]
    between = has_before & has_after
    width = np.where(between, np.minimum(np.maximum(after_frame - before_frame, 1), reach), reach)
    for neighbour, exists in ((before_frame, has_before), (after_frame, has_after)):
        weight = exists * fade_out(np.abs(unknown - neighbour) / width)
        faded[unknown] += weight[:, None] * values[neighbour]
    return faded


def fade_out(share: Array) -> Array:
    """Return 1 at 0 to 0 at 1, a quintic: no jump of place, speed or acceleration at the ends."""
    share = np.clip(share, 0.0, 1.0)
    return 1.0 - share**3 * (10.0 - 15.0 * share + 6.0 * share**2)


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
