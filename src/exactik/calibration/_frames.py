"""Which frames of a recording to calibrate on, and poses for them to start from."""

from __future__ import annotations

import numpy as np

from exactik.errors import UsageError
from exactik.motion import Markers
from exactik.spatial import fit_rigid_transforms
from exactik.tracking import (
    FrameSolutions,
    TrackingProblem,
    align_to_markers,
    solve_cold_start,
    solve_frames,
)
from exactik.typing import Array, IntArray

__all__ = [
    "align_shapes",
    "choose_diverse_frames",
    "find_similar_frames",
    "find_start_poses",
    "improve_poses",
    "try_poses_of_similar_frames",
]


MAX_CANDIDATES = 2400  # frames among which to choose: every pair of shapes is compared
MIN_SEEN_SHARE = 0.7  # of the most markers that any frame has, which a frame must have
COLD_FRAMES = 12  # frames that are solved from many starts
COLD_STARTS = 6  # starts of each of them
MAX_SPREAD_ROUNDS = 4  # in which poses spread from frame to frame
BAD_POSE_COST_RATIO = 4.0  # of the median cost, above which a frame may be in a wrong pose
BETTER_COST_RATIO = 0.99  # below which another pose replaces the one that a frame has


def align_shapes(positions: Array) -> Array:
    """Return the markers of each frame, aligned rigidly with one of the frames.

    Args:
        positions: [m], (F, M, 3), not a number where missing.

    Returns:
        The same [m], (F, M, 3), with the mean of the other frames where a marker is missing.
    """
    seen = ~np.isnan(positions[:, :, 0])
    filled = np.where(seen[..., None], positions, 0.0)
    first = int(np.argmax(seen.sum(axis=1)))
    reference, weight, shapes = filled[first], seen & seen[first], filled
    for _ in range(2):  # to that frame, then to the mean shape
        target = np.broadcast_to(reference, filled.shape)
        rigid = fit_rigid_transforms(filled, target, weight.astype(float))
        centred = filled - rigid.source_center[:, None]
        shapes = np.einsum("fij,fmj->fmi", rigid.rotation, centred) + rigid.target_center[:, None]
        counts = np.maximum(seen.sum(axis=0), 1)[:, None]
        reference, weight = np.where(seen[..., None], shapes, 0.0).sum(axis=0) / counts, seen
    return np.where(seen[..., None], shapes, reference)


def choose_diverse_frames(markers: Markers, count: int) -> IntArray:
    """Return the numbers of frames whose poses differ most, (n,) in the order of time.

    From the frame with the most ordinary shape on, the one farthest from all that are chosen is
    added, so that rare poses come in and the many that are alike do not.
    """
    seen = (~markers.missing).sum(axis=1)
    enough = np.flatnonzero(seen >= max(MIN_SEEN_SHARE * seen.max(initial=0), 3))
    if len(enough) == 0:
        raise UsageError("no frame of the recording has three markers; calibration needs them")
    stride = -(-len(enough) // MAX_CANDIDATES)
    candidates = enough[::stride]
    if len(candidates) <= count:
        return candidates
    shapes = align_shapes(markers.positions[candidates]).reshape(len(candidates), -1)
    median_shape = np.median(shapes, axis=0)
    chosen = [int(np.argmin(((shapes - median_shape) ** 2).sum(axis=1)))]
    distances = np.full(len(candidates), np.inf)
    while len(chosen) < count:
        distances = np.minimum(distances, _mean_distance(shapes, shapes[chosen[-1]]))
        chosen.append(int(np.argmax(distances)))
    return candidates[np.sort(chosen)]


def _mean_distance(shapes: Array, reference: Array) -> Array:
    """Return the mean distance of the markers of shapes, (F, 3 M), from a reference [m], (F,)."""
    difference = (shapes - reference).reshape(len(shapes), -1, 3)
    return np.sqrt((difference**2).sum(axis=2)).mean(axis=1)


def find_similar_frames(shapes: Array, count: int) -> IntArray:
    """Return the frames whose shapes, (F, M, 3), are nearest to each, (F, count)."""
    flat = shapes.reshape(len(shapes), -1)
    distances = np.array([_mean_distance(flat, shape) for shape in flat])
    np.fill_diagonal(distances, np.inf)
    return np.argsort(distances, axis=1, kind="stable")[:, : min(count, len(shapes) - 1)]


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
        if try_poses_of_similar_frames(problem, options, solutions, similar) == 0:
            break
    return solutions


def try_poses_of_similar_frames(
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
    """As `try_poses_of_similar_frames`, then solve the worst frames from many starts."""
    improved = try_poses_of_similar_frames(problem, options, solutions, similar)
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
