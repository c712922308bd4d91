"""Whether the place of a wrist can be reached at all: asked of the arm alone, from many starts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.batch import solve_batch
from exactik.goals import PositionGoal
from exactik.problem import Problem
from exactik.retargeting._hands import measure_hand_places
from exactik.retargeting.body import (
    BodyFigure,
    SourceBody,
    find_limb,
    find_limb_dofs,
    find_other_bones,
    find_stretching_dofs,
)
from exactik.typing import Array, IntArray

__all__ = ["HandReach", "find_hand_reach"]

REACH_STARTS = 16
"""Of an arm in each frame, all over its limits."""
AT_LIMIT = 1e-4  # [rad] within which a dof is at its limit


class HandReach(NamedTuple):
    """How near the arm alone can bring its wrist to its place.

    Attributes:
        distances: at best, in lengths of the arm, (n,), for each frame that was asked for.
        limits: names of the dofs that hold it where it is farthest, with their limits [rad].
    """

    distances: Array
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
