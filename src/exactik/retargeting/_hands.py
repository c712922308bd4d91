"""Wrists put where the source's are: seen from the chest, scaled by the length of the arms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from exactik.model import Pose
from exactik.retargeting._anatomy import SIDES
from exactik.retargeting._bends import limit_extension
from exactik.retargeting._figure import BodyFigure, SourceBody
from exactik.retargeting._jumps import find_limb, find_limb_jumps, spread_jumps
from exactik.retargeting._reach import LIMB_TURN_WEIGHT, PointPath, find_other_bones, reach_places
from exactik.typing import Array

__all__ = ["HandPlaces", "measure_hand_places", "place_hands"]

SHOULDER_ROUNDS = 2
"""How often wrists are placed: a shoulder of several hinges shifts its centre by millimetres when
the arm moves, which the second round takes into account."""
HAND_ROUNDS = 5
"""How often, at most, arms that jump while wrists are placed are spread and placed again."""
EXACT_ROUNDS = 2
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
    """Return poses whose wrists are at the scaled places of the source's; only arms move."""
    skeleton, parts = target.skeleton, target.anatomy.parts
    limbs = {side: find_limb(target, f"{side}_arm") for side in SIDES}
    lock = find_other_bones(skeleton, {bone for limb in limbs.values() for bone in limb.moving})
    weight = LIMB_TURN_WEIGHT * target.leg_length**2
    weights = {bone: weight for limb in limbs.values() for bone in limb.bones}
    nearness = {side: np.zeros(len(q)) for side in SIDES}
    for round_number in range(HAND_ROUNDS):
        copied, own = q, skeleton.forward(q)
        for _ in range(SHOULDER_ROUNDS):
            places = measure_hand_places(source, target, skeleton.forward(q))
            paths = []
            for side in SIDES:
                wrist, share = parts[f"{side}_hand"].start, nearness[side][:, None]
                path = (1.0 - share) * places[side].target + share * own.point(wrist)
                paths.append(PointPath(wrist, np.zeros(3), path))
            q = reach_places(skeleton, copied, paths, weights, lock=lock, threads=threads)
        pose = skeleton.forward(q)
        jumps = {side: find_limb_jumps(source, target, pose, f"{side}_arm") for side in SIDES}
        if all(len(frames) == 0 for frames in jumps.values()):
            break
        # Again from arms that do not jump; if they still do in the end, wrists go with them.
        for side, frames in jumps.items():
            q, near = spread_jumps(skeleton, q, limbs[side], frames, source.rate)
            nearness[side] = np.maximum(
                nearness[side], near if round_number >= EXACT_ROUNDS else 0.0
            )
    return q
