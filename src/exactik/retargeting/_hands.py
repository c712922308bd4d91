"""Wrists put where the source's are: seen from the chest, scaled by the length of the arms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from exactik.anatomy import SIDES
from exactik.retargeting._elbow_path import find_elbow_path
from exactik.retargeting._jumps import find_limb_jumps, spread_jumps
from exactik.retargeting._reach import (
    LIMB_TURN_WEIGHT,
    PointPath,
    measure_hand_places,
    reach_places,
)
from exactik.retargeting.body import (
    BodyFigure,
    SourceBody,
    find_limb,
    find_moving_coordinates,
    find_other_bones,
)
from exactik.spatial import nearest_rotation
from exactik.typing import Array, BoolArray, IntArray

SHOULDER_ROUNDS = 2
"""How often wrists are placed: a shoulder of several hinges shifts its centre by millimetres when
the arm moves, which the second round takes into account."""
SPREAD_ROUNDS = 10
"""How often, at most, arms that jump while wrists are placed are spread and placed again."""
MISSED_SHARE = 0.01
"""Of the arm's length that a wrist may be off for a solution that is kept to: one that sits at its
limits for long is no better than one that jumps."""
MEND_SECONDS, MEND_WIDENINGS = 0.25, (1, 3)
"""[s] before and after frames that jump or whose wrist is off in which another way for the elbow is
looked for, and by how much longer where that is not enough."""
RELAX_ROUNDS, RELAX_CHECK = 40, 5
"""How often, at most, the arm of a window is drawn tight, and after how many rounds that is looked
at. Turns spread by √rounds frames."""
MIN_MEAN_DETERMINANT = 0.05
"""Of the mean of three rotation matrices, for it to be near a rotation: 1 for equal ones, 0.11 if
one is turned by half against two equal ones."""


def place_hands(source: SourceBody, target: BodyFigure, q: Array, threads: int) -> Array:
    """Return poses whose wrists are at the scaled places of the source's; only arms move.

    Where an arm jumps on the way or a wrist is off, another way for the elbow is looked for. What
    still jumps is spread over a moment with the wrist going along, or goes back to the copied arm
    there, whichever leaves the wrist nearer to its places.
    """
    arms = Arms(source, target, threads)
    copied, q = q, arms.reach(q, {side: np.zeros(len(q)) for side in SIDES})
    for side in SIDES:
        mended = arms.mend(q, copied, side)
        if arms.rate_faults(mended, side).jumps > 0:
            ways = [arms.spread(way, side) for way in (mended, q)]
            ways.append(arms.fall_back(q, copied, side))
            mended = min(ways, key=lambda way: arms.rate_way(way, side))
        q = mended
    return q


class ArmFaults(NamedTuple):
    """What is wrong with an arm, the worst first: the smaller, the better."""

    jumps: int  # frames after which it jumps
    missed: int  # frames in which its wrist is off
    worst: float  # how far, in lengths of the arm; 0 if never


class Arms:
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
            )
        return q

    def mend(self, q: Array, copied: Array, side: str) -> Array:
        """Return poses whose arm neither jumps nor has its wrist elsewhere, if there is a way."""
        margin = max(round(MEND_SECONDS * self.source.rate), 2)
        for widening in MEND_WIDENINGS:
            faults = self.find_faults(q, side)
            reach = margin * widening
            for frames in np.split(faults, np.flatnonzero(np.diff(faults) > 2 * reach) + 1):
                if len(frames) == 0 or len(q) < 3:
                    continue
                window = slice(max(frames[0] - reach, 0), min(frames[-1] + reach + 1, len(q)))
                q = self._mend_window(q, copied, window, side)
        return q

    def find_faults(self, q: Array, side: str) -> IntArray:
        """Return frames whose wrist is off, and those after which the arm jumps."""
        missed = np.flatnonzero(self.measure_misses(q, side) > MISSED_SHARE)
        return np.union1d(missed, self.find_jumps(q)[side])

    def _mend_window(self, q: Array, copied: Array, window: slice, side: str) -> Array:
        """Return poses with another way for the elbow within a window, if that is better."""
        skeleton = self.target.skeleton
        part = replace(
            self.source,
            positions=self.source.positions[window],
            rotations=self.source.rotations[window],
        )
        arms = Arms(part, self.target, self.threads)
        band = q[window].copy()
        before = arms.rate_faults(band, side)
        place = measure_hand_places(part, self.target, skeleton.forward(band))[side].target
        band = find_elbow_path(
            self.target,
            side,
            band,
            place,
            MISSED_SHARE * self.target.arm_lengths[side],
            copied[window],
            fix_first=window.start > 0,
            fix_last=window.stop < len(q),
            threads=self.threads,
        )
        best, fewest = q, before
        for round_number in range(RELAX_ROUNDS + 1):
            if round_number % RELAX_CHECK == 0:
                now = arms.rate_faults(band, side)
                if now < fewest:
                    fewest, best = now, q.copy()
                    best[window] = band
                if now == (0, 0, 0.0):
                    break
            band = arms.draw_tight(band, side)
        return best

    def draw_tight(self, band: Array, side: str) -> Array:
        """Return poses with the wrist in place and the arm turned as the mean of its neighbours.

        The first and the last pose stay.
        """
        skeleton, limb = self.target.skeleton, self.limbs[side]
        lock = find_other_bones(skeleton, set(limb.moving))
        moves = find_moving_coordinates(skeleton, lock)
        weights = {bone: self.weights[bone] for bone in limb.bones}
        wrist = self.target.anatomy.parts[f"{side}_hand"].start
        pose, inner = skeleton.forward(band), slice(1, -1)
        turns = pose.rotations.copy()
        total = turns[:-2] + turns[inner] + turns[2:]
        # Turns that are opposite have no mean.
        has_mean = np.linalg.det(total / 3.0) > MIN_MEAN_DETERMINANT
        turns[inner][has_mean] = nearest_rotation(total[has_mean])
        place = measure_hand_places(self.source, self.target, pose)[side].target
        path = PointPath(wrist, np.zeros(3), place)
        reached = reach_places(
            skeleton, band, [path], weights, lock=lock, threads=self.threads, turns=turns
        )
        tight = band.copy()
        tight[inner] = np.where(moves, reached, band)[inner]
        return tight

    def spread(self, q: Array, side: str) -> Array:
        """Return poses whose arm changes over within a moment where it jumps, the wrist with it."""
        limb, moves = self.limbs[side], self.find_coordinates(side)
        nearness = {name: np.zeros(len(q)) for name in SIDES}
        for _ in range(SPREAD_ROUNDS):
            jumps = self.find_jumps(q)[side]
            if len(jumps) == 0:
                break
            q, near = spread_jumps(self.target.skeleton, q, limb, jumps, self.source.rate)
            nearness[side] = np.maximum(nearness[side], near)
            # The other arm stays: what was spread there is not to be placed again.
            q = np.where(moves, self.reach(q, nearness), q)
        return q

    def fall_back(self, q: Array, copied: Array, side: str) -> Array:
        """Return poses whose arm is nearer to the copied one, the nearer they are to a jump."""
        skeleton, limb, moves = self.target.skeleton, self.limbs[side], self.find_coordinates(side)
        base = np.where(moves, copied, q)
        nearness = {name: np.zeros(len(q)) for name in SIDES}
        for _ in range(SPREAD_ROUNDS):
            q = np.where(moves, self.reach(base, nearness), q)
            jumps = self.find_jumps(q)[side]
            if len(jumps) == 0:
                break
            _, near = spread_jumps(skeleton, q, limb, jumps, self.source.rate)
            nearness[side] = np.maximum(nearness[side], near)
        return q

    def find_coordinates(self, side: str) -> BoolArray:
        """Return which coordinates an arm has, (nq,)."""
        skeleton, moving = self.target.skeleton, set(self.limbs[side].moving)
        return find_moving_coordinates(skeleton, find_other_bones(skeleton, moving))

    def rate_way(self, q: Array, side: str) -> tuple[int, float]:
        """Return how often an arm jumps, and how far its wrist is off in all frames together."""
        misses = self.measure_misses(q, side)
        return len(self.find_jumps(q)[side]), float(misses[misses > MISSED_SHARE].sum())

    def rate_faults(self, q: Array, side: str) -> ArmFaults:
        """Return what is wrong with an arm."""
        misses = self.measure_misses(q, side)
        off = misses[misses > MISSED_SHARE]
        jumps = len(self.find_jumps(q)[side])
        return ArmFaults(jumps, len(off), float(off.max(initial=0.0)))

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
