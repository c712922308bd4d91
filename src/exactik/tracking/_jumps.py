"""Jumps that markers do not show: where a path changes its solution from one frame to the next.

A step is a jump where a bone turns, or a marker moves against its target, by more than a limit that
grows with what the same bone or marker does in the steps before and after it. The smaller of these
two counts: a flip in two steps must not excuse itself.
"""

from __future__ import annotations

import numpy as np

from exactik.tracking._recording import TrackingProblem
from exactik.typing import Array, BoolArray, IntArray

__all__ = ["find_jumps", "jumping"]


TURN_RATE = 60.0  # [rad/s] beyond what its neighbours do, a bone's turn is a jump
MARKER_RATE = 3.0  # [m/s] likewise, a marker's move against its target's
FASTER = 1.5  # times as much as in the neighbouring steps, that is no jump either
AT_ONCE = 4096  # frames placed in one go


def find_jumps(recording: TrackingProblem, q: Array, first: int = 0) -> IntArray:
    """Return the frames t, (k,), from which the path q jumps to t + 1.

    Args:
        recording: whose frames they are.
        q: poses of the frames from `first` on, (n, nq).
        first: frame of q[0].
    """
    return jumping(recording, q, np.arange(first, first + len(q)), np.zeros(len(q), np.int64))


def jumping(recording: TrackingProblem, q: Array, which: IntArray, piece: IntArray) -> IntArray:
    """Return the rows k, (n,), from which pieces of paths jump to row k + 1.

    Args:
        recording: whose frames they are.
        q: poses, (n, nq).
        which: their frames, (n,), one after the other within a piece.
        piece: number of the piece that each belongs to, (n,).
    """
    found = []
    for at in range(0, max(len(q) - 1, 0), AT_ONCE):
        # One row more on both sides, for the neighbours of the steps at the ends.
        own = slice(max(at - 1, 0), min(at + AT_ONCE + 2, len(q)))
        rows = _jumping(recording, q[own], which[own], piece[own]) + own.start
        found.append(rows[(rows >= at) & (rows < at + AT_ONCE)])
    return np.concatenate(found) if len(found) > 0 else np.empty(0, np.int64)


def _jumping(recording: TrackingProblem, q: Array, which: IntArray, piece: IntArray) -> IntArray:
    rotations = recording.skeleton.forward(q).rotations
    # |A − B|² = 8 sin²(θ/2) for rotations by θ from each other.
    apart = np.sqrt(((rotations[1:] - rotations[:-1]) ** 2).sum(axis=(2, 3)) / 8.0)
    turn = 2.0 * np.arcsin(np.minimum(apart, 1.0))
    residual = recording.residuals(q, which)
    if (
        len(recording.targets.robust_weight) > 0
    ):  # what was left out as an error may jump as it likes
        residual *= np.sqrt(recording.targets.robust_weight[which])[:, :, None]
    move = np.linalg.norm(np.diff(residual, axis=0), axis=2)  # not a number beside a gap
    dt, seam = 1.0 / recording.rate, piece[1:] != piece[:-1]
    turned = (turn > TURN_RATE * dt + FASTER * _beside(turn, seam)).any(axis=1)
    moved = (move > MARKER_RATE * dt + FASTER * _beside(move, seam)).any(axis=1)
    return np.flatnonzero((turned | moved) & ~seam)


def _beside(steps: Array, seam: BoolArray) -> Array:
    """Return the smaller of the steps before and after each, (n, k); where there is but one, it."""
    around = np.full((len(steps) + 2, steps.shape[1]), np.inf)
    around[1:-1] = np.where(seam[:, None] | np.isnan(steps), np.inf, steps)
    least = np.minimum(around[:-2], around[2:])
    return np.where(np.isinf(least), 0.0, least)
