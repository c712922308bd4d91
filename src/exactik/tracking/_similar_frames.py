"""Poses of frames far apart in time, which borrow poses from frames that look alike.

Where frames do not follow each other, none starts from the one before. Each is solved from the
neutral pose, a few from many starts, and what they find spreads to frames with similar markers.
"""

from __future__ import annotations

import numpy as np

from exactik.tracking._first_pass import align_to_markers, solve_cold_start
from exactik.tracking._frame_solver import FrameSolutions, solve_frames
from exactik.tracking._problem import TrackingProblem
from exactik.typing import Array, IntArray

__all__ = ["find_start_poses", "improve_poses"]

COLD_FRAMES = 12  # frames that are solved from many starts
COLD_STARTS = 6  # starts of each of them
MAX_SPREAD_ROUNDS = 4  # in which poses spread from frame to frame
BAD_POSE_COST_RATIO = 4.0  # of the median cost, above which a frame may be in a wrong pose
BETTER_COST_RATIO = 0.99  # below which another pose replaces the one that a frame has


def find_start_poses(problem: TrackingProblem, options: Array, similar: IntArray) -> FrameSolutions:
    """Return poses of all frames by cold starts: from the neutral pose, then from each other's."""
    every = np.arange(len(problem))
    neutral = np.tile(problem.skeleton.neutral(), (len(every), 1))
    solutions = solve_frames(problem, options, every, align_to_markers(problem, neutral, every))
    # A few frames are solved from many starts; what they find spreads from frame to frame.
    cold_frames = every[:: max(len(every) // COLD_FRAMES, 1)]
    cold = solve_cold_start(problem, options, cold_frames, COLD_STARTS)
    better = np.flatnonzero(cold.cost < solutions.cost[cold_frames])
    _replace_poses(solutions, cold_frames[better], cold, better)
    for _ in range(MAX_SPREAD_ROUNDS):
        if _try_poses_of_similar_frames(problem, options, solutions, similar) == 0:
            break
    return solutions


def _try_poses_of_similar_frames(
    problem: TrackingProblem, options: Array, solutions: FrameSolutions, similar: IntArray
) -> int:
    """Try for every frame the poses of frames that look alike; return how many frames improved.

    Args:
        problem: targets of the frames.
        options: of the descents.
        solutions: poses of all frames; changed in place where others fit better.
        similar: for each frame those to try, (F, n).
    """
    count, width = similar.shape
    if width == 0:
        return 0
    frames = np.repeat(np.arange(count), width)
    starts = align_to_markers(problem, solutions.q[similar.ravel()], frames)
    tried = solve_frames(problem, options, frames, starts)
    costs = tried.cost.reshape(count, width)
    best = np.argmin(costs, axis=1)
    least_cost = costs[np.arange(count), best]
    better = np.flatnonzero(least_cost < BETTER_COST_RATIO * solutions.cost)
    _replace_poses(solutions, better, tried, better * width + best[better])
    return len(better)


def improve_poses(
    problem: TrackingProblem, options: Array, solutions: FrameSolutions, similar: IntArray
) -> int:
    """As `_try_poses_of_similar_frames`, then solve the worst frames from many starts."""
    improved = _try_poses_of_similar_frames(problem, options, solutions, similar)
    worst = np.flatnonzero(solutions.cost > BAD_POSE_COST_RATIO * np.median(solutions.cost))
    worst = worst[np.argsort(-solutions.cost[worst], kind="stable")][:COLD_FRAMES]
    if len(worst) > 0:
        cold = solve_cold_start(problem, options, worst, COLD_STARTS)
        better = np.flatnonzero(cold.cost < BETTER_COST_RATIO * solutions.cost[worst])
        _replace_poses(solutions, worst[better], cold, better)
        improved += len(better)
    return improved


def _replace_poses(
    solutions: FrameSolutions, frames: IntArray, source: FrameSolutions, rows: IntArray
) -> None:
    """Replace the solutions of some frames by rows of `source`."""
    solutions.q[frames], solutions.outcomes[frames] = source.q[rows], source.outcomes[rows]
