"""Where a wrist should be, and whether the arm alone can bring it there, from many starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from exactik.anatomy import SIDES
from exactik.goals import PositionGoal
from exactik.model import Pose
from exactik.problem import Problem
from exactik.retargeting.body import (
    BodyFigure,
    SourceBody,
    find_limb,
    find_limb_dofs,
    find_other_bones,
    find_stretching_dofs,
    limit_extension,
)
from exactik.solvers.batch import solve_batch
from exactik.typing import Array, IntArray

REACH_STARTS = 16
"""Of an arm in each frame, all over its limits."""
AT_LIMIT = 1e-4  # [rad] within which a dof is at its limit


class HandPlaces(NamedTuple):
    """Where a wrist is, and where it should be."""

    scaled: Array  # the source's place, seen from the chest, scaled by the arms [m, world], (T, 3)
    target: Array  # the same, but for arms that would be straight: these stay bent a little
    reached: Array  # the target's [m, world], (T, 3)


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


class HandReach(NamedTuple):
    """How near the arm alone can bring its wrist to its place."""

    distances: Array  # at best, in lengths of the arm, (n,), for each frame that was asked for
    # Names of the dofs that hold it where it is farthest, with their limits [rad]
    limits: tuple[tuple[str, float], ...]


def find_hand_reach(
    source: SourceBody, target: BodyFigure, q: Array, side: str, frames: IntArray
) -> HandReach:
    """Return how near a wrist can come to its scaled place, whatever the frames beside do.

    Args:
        source: the body that moved.
        target: the body that took over.
        q: its poses, (T, nq); all but the arm stays.
        side: "left" or "right".
        frames: that are asked for, (n,).
    """
    skeleton, limb = target.skeleton, find_limb(target, f"{side}_arm")
    places = measure_hand_places(source, target, skeleton.forward(q))[side].scaled[frames]
    wrist = target.anatomy.parts[f"{side}_hand"].start
    lock = [*find_other_bones(skeleton, set(limb.moving)), *find_stretching_dofs(skeleton)]
    problem = Problem(skeleton, [PositionGoal(wrist, places[0], name="wrist")], lock=lock)
    solved = solve_batch(problem, {"wrist": places}, q0=q[frames], starts=REACH_STARTS, threads=1).q
    off = np.linalg.norm(skeleton.forward(solved).point(wrist) - places, axis=1)
    distances = off / target.arm_lengths[side]
    moves = find_limb_dofs(skeleton, limb)
    worst, limits = solved[int(np.argmax(distances))], []
    for dof in np.flatnonzero(moves & (skeleton.plain_q >= 0)):
        value = worst[skeleton.plain_q[dof]]
        for limit in (float(skeleton.lower[dof]), float(skeleton.upper[dof])):
            if abs(value - limit) < AT_LIMIT:
                limits.append((skeleton.dof_names[dof], limit))
    return HandReach(distances, tuple(limits))
