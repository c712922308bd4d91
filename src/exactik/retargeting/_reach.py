"""Points brought to their places exactly, while bones stay turned as they were copied.

Hands are reached from many copied poses at once, as far as the arm alone can. One problem a frame,
from the copied pose: ½ Σ W |place − point|² plus ½ Σ w |log(R_copied Rᵀ)|², with W so much larger
than w that points are missed only where limits or lengths leave no other way. Frames do not depend
on each other; places and copied poses that are continuous make motions that are. It is turns of
bones that are kept, not coordinates: these may run away in a gimbal lock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from exactik.anatomy import SIDES
from exactik.goals import Goal, OrientationGoal, PositionGoal, PostureGoal
from exactik.model import Pose, Skeleton
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
from exactik.solvers import Auto
from exactik.solvers.batch import solve_batch
from exactik.typing import Array, IntArray

PLACE_WEIGHT = 1e5
"""Of a point [1/m²] against that of a bone's place, 1: a decimetre that the pose would rather be
elsewhere moves the point by a micrometre."""
LIMB_TURN_WEIGHT = 0.1
"""Of the turn of a part of a limb, in squared leg lengths: hips give way before knees bend by much,
yet not alone."""
REST_WEIGHT = 1e-6
"""Of the rest pose: settles what is left open, and nothing else."""
REACH_METHOD = Auto(metric="dof", tolerance=1e-9, initial_damping=1e-3, detour=False, escape=False)
REACH_STARTS = 16
"""Of an arm in each frame, all over its limits."""
AT_LIMIT = 1e-4  # [rad] within which a dof is at its limit


class PointPath(NamedTuple):
    """Where a point of a bone should go."""

    bone: str  # its name
    point: Array  # in the bone's frame [m], (3,)
    places: Array  # [m, world], (T, 3)
    weight: float = PLACE_WEIGHT  # [1/m²]


def reach_places(
    skeleton: Skeleton,
    q: Array,
    paths: Sequence[PointPath],
    turn_weights: Mapping[str, float],
    *,
    lock: Sequence[str],
    threads: int,
    turns: Array | None = None,
) -> Array:
    """Return poses, (T, nq), near the poses q, whose points are at their places.

    Args:
        q: poses to stay near and to start from, (T, nq).
        paths: points and places.
        turn_weights: bone → how firmly it stays turned as in q [m²/rad²].
        lock: bones that stay as they are in q.
        threads: number of threads.
        turns: R_world_bone that bones stay near to, (T, n_bones, 3, 3); those of q if None.
    """
    rotations = skeleton.forward(q).rotations if turns is None else turns
    goals: list[Goal] = []
    targets: dict[str, Array] = {}
    for n, path in enumerate(paths):
        name = f"point {n}"
        targets[name] = path.places
        goals.append(
            PositionGoal(path.bone, path.places[0], path.point, name=name, weight=path.weight)
        )
    for bone, weight in turn_weights.items():
        targets[bone] = rotations[:, skeleton.bone_index(bone)]
        goals.append(OrientationGoal(bone, targets[bone][0], name=bone, weight=weight))
    goals.append(PostureGoal(skeleton.neutral(), weight=np.where(skeleton.turns, REST_WEIGHT, 0.0)))
    locked = [*lock, *find_stretching_dofs(skeleton)]
    problem = Problem(skeleton, goals, lock=locked)
    return solve_batch(problem, targets, q0=q, solver=REACH_METHOD, threads=threads).q


class _HandPlaces(NamedTuple):
    """Where a wrist is, and where it should be."""

    scaled: Array  # the source's place, seen from the chest, scaled by the arms [m, world], (T, 3)
    target: Array  # the same, but for arms that would be straight: these stay bent a little
    reached: Array  # the target's [m, world], (T, 3)


def measure_hand_places(
    source: SourceBody, target: BodyFigure, pose: Pose
) -> Mapping[str, _HandPlaces]:
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
        places[side] = _HandPlaces(
            scaled=own_shoulder + away,
            target=own_shoulder + limit_extension(away, target.arm_lengths[side]),
            reached=own_wrist,
        )
    return places


class _HandReach(NamedTuple):
    """How near the arm alone can bring its wrist to its place."""

    distances: Array  # at best, in lengths of the arm, (n,), for each frame that was asked for
    # Names of the dofs that hold it where it is farthest, with their limits [rad]
    limits: tuple[tuple[str, float], ...]


def find_hand_reach(
    source: SourceBody, target: BodyFigure, q: Array, side: str, frames: IntArray
) -> _HandReach:
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
    return _HandReach(distances, tuple(limits))
