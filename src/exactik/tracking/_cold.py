"""The pose of a frame from nothing but its markers.

Poses to start from are the neutral one and others spread over the limits. Each is brought to the
markers as a rigid whole (Kabsch), all are solved, and the least cost is taken.
"""

from __future__ import annotations

import numpy as np

from exactik.solvers import make_start_table
from exactik.tracking._passes import FrameSolutions, solve_frames
from exactik.tracking._recording import TrackingProblem
from exactik.tracking._rigid import align_to_markers
from exactik.typing import Array, IntArray

__all__ = ["solve_cold_start"]


POSTURE_SPREAD = 0.3  # of the limits, or of a turn: people seldom are at the ends of their range


def solve_cold_start(
    recording: TrackingProblem, options: Array, which: IntArray, starts: int, small: float = 0.0
) -> FrameSolutions:
    """Return the best pose of each of the frames `which`, none depending on another.

    Args:
        recording: what they ask.
        options: of the descent.
        which: the frames, (n,).
        starts: how many poses to start from.
        small: cost at which a frame needs no further start.
    """
    postures, recording = _postures(recording, starts), recording.with_wide_loss
    best = [_best_of(recording, options, int(t), postures, small) for t in which]
    return FrameSolutions(
        np.concatenate([b.q for b in best]), np.concatenate([b.outcomes for b in best])
    )


def _best_of(
    recording: TrackingProblem, options: Array, t: int, postures: Array, small: float
) -> FrameSolutions:
    """Return the best pose of a frame; with a bar, the first that is below it."""
    which = np.full(len(postures), t)
    starts = align_to_markers(recording, postures, which)
    if small == 0.0:
        tried = solve_frames(recording, options, which, starts)
        i = int(np.argmin(tried.cost))
        return FrameSolutions(tried.q[i : i + 1], tried.outcomes[i : i + 1])
    misses = recording.residuals(starts, which)
    order = np.argsort(np.nansum(misses**2, axis=(1, 2)), kind="stable")
    best: FrameSolutions | None = None
    for i in order:
        tried = solve_frames(recording, options, np.array([t]), starts[i : i + 1])
        if best is None or tried.cost[0] < best.cost[0]:
            best = tried
        if best.cost[0] <= small:
            break
    assert best is not None
    return best


def _postures(recording: TrackingProblem, count: int) -> Array:
    """Return poses to start from, the neutral one first, (count, nq)."""
    neutral = recording.skeleton.neutral()
    table = make_start_table(recording.frame_problem, max(count - 1, 0), 0).q
    spread = np.where(np.isnan(table), neutral, table)
    steps = recording.skeleton.difference(spread, neutral)
    others = recording.skeleton.integrate(neutral, POSTURE_SPREAD * steps)
    return np.concatenate([neutral[None], others])
