"""Points brought to their places exactly, while bones stay turned as they were copied.

One problem a frame, from the copied pose: ½ Σ W |place − point|² plus ½ Σ w |log(R_copied Rᵀ)|²,
with W so much larger than w that points are missed only where limits or lengths leave no other way.
Frames do not depend on each other; places and copied poses that are continuous make motions that
are. It is turns of bones that are kept, not coordinates: these may run away in a gimbal lock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from exactik.goals import Goal, OrientationGoal, PositionGoal, PostureGoal
from exactik.model import Skeleton
from exactik.problem import Problem
from exactik.retargeting.body import find_stretching_dofs
from exactik.solvers import Auto
from exactik.solvers.batch import solve_batch
from exactik.typing import Array

PLACE_WEIGHT = 1e5
"""Of a point [1/m²] against that of a bone's place, 1: a decimetre that the pose would rather be
elsewhere moves the point by a micrometre."""
LIMB_TURN_WEIGHT = 0.1
"""Of the turn of a part of a limb, in squared leg lengths: hips give way before knees bend by much,
yet not alone."""
REST_WEIGHT = 1e-6
"""Of the rest pose: settles what is left open, and nothing else."""
REACH_METHOD = Auto(metric="dof", tolerance=1e-9, initial_damping=1e-3, detour=False, escape=False)


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
