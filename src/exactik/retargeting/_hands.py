"""Wrists put where the source's are: seen from the chest, scaled by the length of the arms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np

from exactik.model import Pose
from exactik.retargeting._anatomy import SIDES
from exactik.retargeting._bends import limit_extension
from exactik.retargeting._figure import BodyFigure, SourceBody
from exactik.retargeting._jumps import find_limb, find_limb_jumps, spread_jumps
from exactik.retargeting._reach import (
    LIMB_TURN_WEIGHT,
    PointPath,
    find_moving_coordinates,
    find_other_bones,
    reach_places,
)
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

    def find_jumps(self, q: Array) -> dict[str, IntArray]:
        """Return the frames after which each arm jumps."""
        pose = self.target.skeleton.forward(q)
        return {
            side: find_limb_jumps(self.source, self.target, pose, f"{side}_arm") for side in SIDES
        }

    def count_missed(self, q: Array) -> dict[str, int]:
        """Return in how many frames each wrist misses its place."""
        places = measure_hand_places(self.source, self.target, self.target.skeleton.forward(q))
        missed = {}
        for side in SIDES:
            off = np.linalg.norm(places[side].reached - places[side].target, axis=1)
            missed[side] = int((off > MISSED_SHARE * self.target.arm_lengths[side]).sum())
        return missed

    def take(self, q: Array, other: Array, side: str) -> Array:
        """Return poses with one arm of other poses."""
        skeleton = self.target.skeleton
        lock = find_other_bones(skeleton, set(self.limbs[side].moving))
        moves = find_moving_coordinates(skeleton, lock)
        return np.where(moves, other, q)
