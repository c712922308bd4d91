"""Wrists put where the source's are: seen from the chest, scaled by the length of the arms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from exactik.model import Pose
from exactik.retargeting._anatomy import SIDES
from exactik.retargeting._bends import limit_extension
from exactik.retargeting._figure import BodyFigure, SourceBody
from exactik.retargeting._jumps import (
    compute_allowed_steps,
    find_limb,
    find_limb_jumps,
    measure_limb_steps,
    spread_jumps,
)
from exactik.retargeting._reach import (
    LIMB_TURN_WEIGHT,
    PointPath,
    find_moving_coordinates,
    find_other_bones,
    reach_places,
)
from exactik.spatial import angle_between, nearest_rotation
from exactik.typing import Array, IntArray

__all__ = ["HandPlaces", "measure_hand_places", "place_hands"]

SHOULDER_ROUNDS = 2
"""How often wrists are placed: a shoulder of several hinges shifts its centre by millimetres when
the arm moves, which the second round takes into account."""
SPREAD_ROUNDS = 10
"""How often, at most, arms that jump while wrists are placed are spread and placed again."""
MISSED_SHARE = 0.01
"""Of the arm's length that a wrist may be off for a solution that is kept to: one that sits at its
limits for long is no better than one that jumps."""
EXACT_ROUNDS = 3
"""After how many of these the wrists of arms that still jump go with the arms for that moment."""
RELAX_SECONDS = 0.5
"""[s] before and after wrists that are off in which arms may change over with wrists in place: half
a turn then takes as long as it takes people."""
RELAX_ROUNDS, RELAX_CHECK, RELAX_GIVE_UP = 100, 20, 60
"""How often, at most, the arm of a window is drawn tight, after how many rounds that is looked at,
and after how many a wrist that still is off will remain so: it is limits that hold it. Turns spread
by √rounds frames, and over 0.1 s in 100 rounds at 120 Hz."""


class HandPlaces(NamedTuple):
    """Where a wrist is, and where it should be.

    Attributes:
        scaled: the source's place, seen from the chest, scaled by the arms [m, world], (T, 3).
        target: the same, but for arms that would be straight: these stay bent a little.
        reached: the target's [m, world], (T, 3).
    """

    scaled: Array
    target: Array
    reached: Array


def measure_hand_places(
    source: SourceBody, target: BodyFigure, pose: Pose
) -> Mapping[str, HandPlaces]:
    """Return the places of both wrists in poses of the target: side → places.

    The scaled place lies from the target's shoulder as the source's wrist from its shoulder, in the
    axes of the chest, times the ratio of the lengths of the arms: it can always be reached, unless
    a limit forbids it.
    """
    chest = source.rotations[:, source.figure.index_of(source.figure.chest)]
    R_source = chest @ source.figure.part_frames[source.figure.chest]
    own = pose.rotations[:, target.index_of(target.chest)]
    R_target = own @ target.part_frames[target.chest]
    places = {}
    for side in SIDES:
        shoulder, wrist = (
            source.positions[:, source.figure.start_of(f"{side}_{part}")]
            for part in ("upper_arm", "hand")
        )
        own_shoulder, own_wrist = (
            pose.positions[:, target.start_of(f"{side}_{part}")] for part in ("upper_arm", "hand")
        )
        scale = target.arm_lengths[side] / source.figure.arm_lengths[side]
        seen = np.einsum("tji,tj->ti", R_source, wrist - shoulder)
        away = scale * np.einsum("tij,tj->ti", R_target, seen)
        places[side] = HandPlaces(
            scaled=own_shoulder + away,
            target=own_shoulder + limit_extension(away, target.arm_lengths[side]),
            reached=own_wrist,
        )
    return places


def place_hands(source: SourceBody, target: BodyFigure, q: Array, threads: int) -> Array:
    """Return poses whose wrists are at the scaled places of the source's; only arms move.

    Where an arm jumps on the way, it is tried to keep to one of its solutions, forwards and
    backwards; what still jumps is spread and placed again, in the end with the wrist going along.
    Wrists that were let go are then placed in poses between those of their neighbours, which finds
    the way that an arm has around its wrist, if there is one.
    """
    arms = _Arms(source, target, threads)
    nearness = {side: np.zeros(len(q)) for side in SIDES}
    copied, q = q, arms.reach(q, nearness)
    jumps = arms.find_jumps(q)
    if any(len(frames) > 0 for frames in jumps.values()):
        missed = arms.count_missed(q)
        for follow in ("forwards", "backwards"):
            other = arms.reach(copied, nearness, follow)
            other_jumps, other_missed = arms.find_jumps(other), arms.count_missed(other)
            for side in SIDES:
                fewer = len(other_jumps[side]) < len(jumps[side])
                if fewer and other_missed[side] <= missed[side]:
                    q, jumps[side] = arms.take(q, other, side), other_jumps[side]
    for round_number in range(SPREAD_ROUNDS):
        if all(len(frames) == 0 for frames in jumps.values()):
            break
        for side, frames in jumps.items():
            q, near = spread_jumps(target.skeleton, q, arms.limbs[side], frames, source.rate)
            if round_number >= EXACT_ROUNDS:
                nearness[side] = np.maximum(nearness[side], near)
        q = arms.reach(q, nearness)
        jumps = arms.find_jumps(q)
    for side in SIDES:
        q = arms.relax(q, side)
    return q


class _Arms:
    """Both arms of the target, on their way to the places of their wrists."""

    def __init__(self, source: SourceBody, target: BodyFigure, threads: int):
        self.source, self.target, self.threads = source, target, threads
        self.limbs = {side: find_limb(target, f"{side}_arm") for side in SIDES}
        moving = {bone for limb in self.limbs.values() for bone in limb.moving}
        self.lock = find_other_bones(target.skeleton, moving)
        weight = LIMB_TURN_WEIGHT * target.leg_length**2
        self.weights = {bone: weight for limb in self.limbs.values() for bone in limb.bones}

    def reach(
        self,
        copied: Array,
        nearness: Mapping[str, Array],
        follow: Literal["", "forwards", "backwards"] = "",
    ) -> Array:
        """Return poses near the copied ones; the nearer to a jump, the less wrists are placed."""
        skeleton, parts = self.target.skeleton, self.target.anatomy.parts
        own, q = skeleton.forward(copied), copied
        for _ in range(SHOULDER_ROUNDS):
            places = measure_hand_places(self.source, self.target, skeleton.forward(q))
            paths = []
            for side in SIDES:
                wrist, share = parts[f"{side}_hand"].start, nearness[side][:, None]
                path = (1.0 - share) * places[side].target + share * own.point(wrist)
                paths.append(PointPath(wrist, np.zeros(3), path))
            q = reach_places(
                skeleton,
                copied,
                paths,
                self.weights,
                lock=self.lock,
                threads=self.threads,
                follow=follow,
            )
        return q

    def relax(self, q: Array, side: str) -> Array:
        """Return poses whose arm has its wrist in place where it was off, if it needs no jump.

        Round by round each pose becomes that with the wrist in place whose bones are turned as the
        mean of itself and its two neighbours, as a band is drawn tight over what is in its way.
        """
        missed = np.flatnonzero(self.measure_misses(q, side) > MISSED_SHARE)
        margin = max(round(RELAX_SECONDS * self.source.rate), 2)
        for frames in np.split(missed, np.flatnonzero(np.diff(missed) > 2 * margin) + 1):
            if len(frames) == 0 or len(q) < 3:
                continue
            window = slice(max(frames[0] - margin, 0), min(frames[-1] + margin, len(q) - 1) + 1)
            trial = self._relax_window(q, window, side)
            if trial is not None:
                q = trial
        return q

    def _relax_window(self, q: Array, window: slice, side: str) -> Array | None:
        """Return poses relaxed within a window, but for its ends; None if they jump or miss."""
        skeleton, limb = self.target.skeleton, self.limbs[side]
        part = replace(
            self.source,
            positions=self.source.positions[window],
            rotations=self.source.rotations[window],
        )
        lock = find_other_bones(skeleton, set(limb.moving))
        moves = find_moving_coordinates(skeleton, lock)
        weights = {bone: self.weights[bone] for bone in limb.bones}
        wrist = self.target.anatomy.parts[f"{side}_hand"].start
        inner, band = slice(1, -1), q[window].copy()
        name = f"{side}_arm"
        jumps = len(find_limb_jumps(part, self.target, skeleton.forward(band), name))
        band = self._choose_crossing(part, band, side)
        for round_number in range(1, RELAX_ROUNDS + 1):
            pose = skeleton.forward(band)
            turns = pose.rotations.copy()
            turns[inner] = nearest_rotation(turns[:-2] + turns[inner] + turns[2:])
            place = measure_hand_places(part, self.target, pose)[side].target
            path = PointPath(wrist, np.zeros(3), place)
            reached = reach_places(
                skeleton, band, [path], weights, lock=lock, threads=self.threads, turns=turns
            )
            band[inner] = np.where(moves, reached, band)[inner]
            if round_number % RELAX_CHECK != 0:
                continue
            pose = skeleton.forward(band)
            places = measure_hand_places(part, self.target, pose)[side]
            off = np.linalg.norm(places.reached - places.target, axis=1)
            fits = off.max() <= MISSED_SHARE * self.target.arm_lengths[side]
            if fits and len(find_limb_jumps(part, self.target, pose, name)) <= jumps:
                relaxed = q.copy()
                relaxed[window] = band
                return relaxed
            if not fits and round_number >= RELAX_GIVE_UP:
                break
        return None

    def _choose_crossing(self, part: SourceBody, band: Array, side: str) -> Array:
        """Return poses of a window that change over from one solution of the arm to another.

        The solution at its beginning is followed forwards, that at its end backwards; from the one
        to the other they change where that is the smallest step, for what a limb may turn there.
        """
        skeleton, limb = self.target.skeleton, self.limbs[side]
        lock = find_other_bones(skeleton, set(limb.moving))
        weights = {bone: self.weights[bone] for bone in limb.bones}
        place = measure_hand_places(part, self.target, skeleton.forward(band))[side].target
        path = PointPath(self.target.anatomy.parts[f"{side}_hand"].start, np.zeros(3), place)
        first, last = (
            reach_places(skeleton, band, [path], weights, lock=lock, follow=follow)
            for follow in ("forwards", "backwards")
        )
        poses = [skeleton.forward(q) for q in (first, last)]
        limit = MISSED_SHARE * self.target.arm_lengths[side]
        near = [np.linalg.norm(pose.point(path.bone) - place, axis=1) <= limit for pose in poses]
        body, bones = (
            skeleton.bone_index(limb.body),
            [skeleton.bone_index(bone) for bone in limb.bones],
        )
        R_first, R_last = (
            np.einsum("tji,tbjk->tbik", pose.rotations[:, body], pose.rotations[:, bones])
            for pose in poses
        )
        steps = angle_between(R_first[:-1], R_last[1:]).max(axis=1)
        source_steps, _ = measure_limb_steps(part, self.target, poses[0], f"{side}_arm")
        share = steps / compute_allowed_steps(source_steps, part.rate)
        # Before the crossing the first solution must be in place, after it the last.
        before = np.logical_and.accumulate(near[0])[:-1]
        after = np.logical_and.accumulate(near[1][::-1])[::-1][1:]
        possible = before & after
        if not possible.any():
            return band
        crossing = int(np.argmin(np.where(possible, share, np.inf)))
        return np.concatenate(
            [band[:1], first[1 : crossing + 1], last[crossing + 1 : -1], band[-1:]]
        )

    def measure_misses(self, q: Array, side: str) -> Array:
        """Return how far a wrist is from its place, in lengths of the arm, (T,)."""
        pose = self.target.skeleton.forward(q)
        places = measure_hand_places(self.source, self.target, pose)[side]
        off = np.linalg.norm(places.reached - places.target, axis=1)
        return off / self.target.arm_lengths[side]

    def find_jumps(self, q: Array) -> dict[str, IntArray]:
        """Return the frames after which each arm jumps."""
        pose = self.target.skeleton.forward(q)
        return {
            side: find_limb_jumps(self.source, self.target, pose, f"{side}_arm") for side in SIDES
        }

    def count_missed(self, q: Array) -> dict[str, int]:
        """Return in how many frames each wrist misses its place."""
        return {side: int((self.measure_misses(q, side) > MISSED_SHARE).sum()) for side in SIDES}

    def take(self, q: Array, other: Array, side: str) -> Array:
        """Return poses with one arm of other poses."""
        skeleton = self.target.skeleton
        lock = find_other_bones(skeleton, set(self.limbs[side].moving))
        moves = find_moving_coordinates(skeleton, lock)
        return np.where(moves, other, q)
