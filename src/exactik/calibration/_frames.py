"""Which frames of a recording to calibrate on, and poses for them to start from."""

from __future__ import annotations

import numpy as np

from exactik.errors import ModelError
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


LOOKED_AT = 2400  # frames among which to choose
SEEN = 0.7  # share of the markers that a frame must have, of the most that any has
COLD, STARTS = 12, 6  # frames that are solved from many starts, and how many those are
ROUNDS = 4  # in which poses spread from frame to frame
WORSE = 4.0  # times the usual cost, above which a frame is taken to be in a wrong pose
BETTER = 0.99  # share of the cost below which a borrowed pose is taken


def align_shapes(places: Array) -> Array:
    """Return where the markers are when the whole is put as near as can be to one frame.

    Args:
        places: [m], (F, M, 3), not a number where missing.

    Returns:
        The same [m], (F, M, 3), with the mean of the other frames where a marker is missing.
    """
    seen = ~np.isnan(places[:, :, 0])
    filled = np.where(seen[..., None], places, 0.0)
    first = int(np.argmax(seen.sum(axis=1)))
    reference, weight, shapes = filled[first], seen & seen[first], filled
    for _ in range(2):
        target = np.broadcast_to(reference, filled.shape)
        turn, middle, aim, _ = fit_rigid_transforms(filled, target, weight.astype(float))
        shapes = np.einsum("fij,fmj->fmi", turn, filled - middle[:, None]) + aim[:, None]
        counts = np.maximum(seen.sum(axis=0), 1)[:, None]
        reference, weight = np.where(seen[..., None], shapes, 0.0).sum(axis=0) / counts, seen
    return np.where(seen[..., None], shapes, reference)


def choose_diverse_frames(markers: Markers, count: int) -> IntArray:
    """Return the numbers of frames whose poses differ most, (n,) in the order of time.

    From the frame with the most ordinary shape on, the one farthest from all that are chosen is
    added, so that rare poses come in and the many that are alike do not.
    """
    seen = (~markers.missing).sum(axis=1)
    enough = np.flatnonzero(seen >= max(SEEN * seen.max(initial=0), 3))
    if len(enough) == 0:
        raise ModelError("no frame of the recording has three markers; calibration needs them")
    step = -(-len(enough) // LOOKED_AT)
    candidates = enough[::step]
    if len(candidates) <= count:
        return candidates
    shapes = align_shapes(markers.positions[candidates]).reshape(len(candidates), -1)
    middle = np.median(shapes, axis=0)
    chosen = [int(np.argmin(((shapes - middle) ** 2).sum(axis=1)))]
    away = np.full(len(candidates), np.inf)
    while len(chosen) < count:
        away = np.minimum(away, _mean_distance(shapes, shapes[chosen[-1]]))
        chosen.append(int(np.argmax(away)))
    return candidates[np.sort(chosen)]


def _mean_distance(shapes: Array, one: Array) -> Array:
    """Return how far shapes, (F, 3 M), are from another, by the mean distance of the markers."""
    return np.sqrt(((shapes - one) ** 2).reshape(len(shapes), -1, 3).sum(axis=2)).mean(axis=1)


def find_similar_frames(shapes: Array, count: int) -> IntArray:
    """Return the frames whose shapes, (F, M, 3), are nearest to each, (F, count)."""
    flat = shapes.reshape(len(shapes), -1)
    apart = np.array([_mean_distance(flat, one) for one in flat])
    np.fill_diagonal(apart, np.inf)
    return np.argsort(apart, axis=1, kind="stable")[:, : min(count, len(shapes) - 1)]


def find_start_poses(recording: TrackingProblem, options: Array, near: IntArray) -> FrameSolutions:
    """Return poses of all frames from nothing: from the neutral one, then from each other's."""
    every = np.arange(len(recording))
    neutral = np.tile(recording.skeleton.neutral(), (len(every), 1))
    path = solve_frames(recording, options, every, align_to_markers(recording, neutral, every))
    # A few frames are looked at from everywhere; what they find spreads from frame to frame.
    some = every[:: max(len(every) // COLD, 1)]
    cold = solve_cold_start(recording, options, some, STARTS)
    better = cold.cost < path.cost[some]
    path.q[some[better]], path.outcomes[some[better]] = cold.q[better], cold.outcomes[better]
    for _ in range(ROUNDS):
        if try_poses_of_similar_frames(recording, options, path, near) == 0:
            break
    return path


def try_poses_of_similar_frames(
    recording: TrackingProblem, options: Array, path: FrameSolutions, near: IntArray
) -> int:
    """Try for every frame the poses of frames that look alike; return how many gained by it.

    Args:
        recording: what the frames ask.
        options: of the descents.
        path: poses of all frames; changed in place where others fit better.
        near: for each frame those to try, (F, n).
    """
    count, width = near.shape
    if width == 0:
        return 0
    which = np.repeat(np.arange(count), width)
    starts = align_to_markers(recording, path.q[near.ravel()], which)
    tried = solve_frames(recording, options, which, starts)
    costs = tried.cost.reshape(count, width)
    best = np.argmin(costs, axis=1)
    better = np.flatnonzero(costs[np.arange(count), best] < BETTER * path.cost)
    rows = better * width + best[better]
    path.q[better], path.outcomes[better] = tried.q[rows], tried.outcomes[rows]
    return len(better)


def improve_poses(
    recording: TrackingProblem, options: Array, path: FrameSolutions, near: IntArray
) -> int:
    """As `borrow`, and look from everywhere at the frames that fit much worse than most."""
    gained = try_poses_of_similar_frames(recording, options, path, near)
    worst = np.flatnonzero(path.cost > WORSE * np.median(path.cost))
    worst = worst[np.argsort(-path.cost[worst], kind="stable")][:COLD]
    if len(worst) > 0:
        cold = solve_cold_start(recording, options, worst, STARTS)
        better = cold.cost < BETTER * path.cost[worst]
        path.q[worst[better]], path.outcomes[worst[better]] = cold.q[better], cold.outcomes[better]
        gained += int(better.sum())
    return gained
