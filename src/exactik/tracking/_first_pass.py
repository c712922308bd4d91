"""A first path through all frames: cold starts some way apart, followed until they meet.

Recordings are cut into stretches of a fixed length, whatever the number of threads, so that the
answer does not depend on it. Each stretch is followed from the frame of it that shows most markers,
forwards and backwards; where two neighbours do not agree on the pose at their seam, one solution is
followed into the other's stretch until they do, whichever costs less.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from exactik.kernels.descent.results import FRAME_RESULT_SIZE
from exactik.kernels.tree.equivalent_coordinates import unwrap_coordinates
from exactik.tracking._branches import Stretch, splice
from exactik.tracking._cold import solve_cold_start
from exactik.tracking._passes import (
    FrameSolutions,
    follow_frames,
    nearest_equivalents,
    run_in_threads,
)
from exactik.tracking._recording import TrackingProblem
from exactik.typing import Array

__all__ = ["STRETCH", "first_pass", "stretches"]


STRETCH = 2000  # frames
AGREE = 2e-3  # [m] of every marker, and
AGREE_TURN = 0.05  # [rad or m] of every dof, between two frames at a seam


def stretches(count: int, shift: int = 0) -> list[tuple[int, int]]:
    """Return first and last frame of the stretches of a recording; the first is shorter by `shift`.

    A last one of less than half the length goes to the one before it.
    """
    cuts = [0, *range(STRETCH - shift, count - STRETCH // 2, STRETCH), count]
    return [(a, b - 1) for a, b in pairwise(cuts)]


def first_pass(
    recording: TrackingProblem,
    options: Array,
    cold: Array,
    starts: int,
    threads: int,
    done: Callable[[int], None],
) -> FrameSolutions:
    """Return a path through all frames.

    Args:
        recording: what they ask.
        options: of descents from the frame before.
        cold: of descents from nothing.
        starts: how many poses to try where there is no frame before.
        threads: how many.
        done: is told the number of frames that were solved since it was told last.
    """
    count = len(recording)
    path = FrameSolutions(
        np.empty((count, recording.skeleton.nq)), np.zeros((count, FRAME_RESULT_SIZE))
    )
    parts = stretches(count)
    shown = recording.seen.sum(axis=1)

    def solve(part: tuple[int, int]) -> None:
        first, last = part
        t = first + int(np.argmax(shown[first : last + 1]))
        found = solve_cold_start(recording, cold, np.array([t]), starts)
        start = nearest_equivalents(recording, found.q, recording.skeleton.neutral()[None])[0]
        for which in (np.arange(t, last + 1), np.arange(t, first - 1, -1)):
            way = follow_frames(recording, options, which, start)
            path.q[which], path.outcomes[which] = way
            start = way.q[0]
        done(last + 1 - first)

    run_in_threads(threads, solve, parts)
    for (first, _), (seam, last) in pairwise(parts):
        _join(recording, options, path, first, seam, last)
    return path


def _join(
    recording: TrackingProblem,
    options: Array,
    path: FrameSolutions,
    first: int,
    seam: int,
    last: int,
) -> None:
    """Make both sides of a seam one solution, where they are not; `seam` is the second's first."""
    both = np.array([seam - 1, seam])
    jump = np.diff(recording.residuals(path.q[both], both), axis=0)
    box = recording.frame_problem.box
    unwrap_coordinates(recording.skeleton.tree, box.lower, box.upper, path.q[seam - 1 : last + 1])
    turn = recording.skeleton.difference(path.q[seam], path.q[seam - 1])
    moved = float(np.nanmax(np.abs(jump), initial=0.0))
    if moved < AGREE and float(np.abs(turn).max(initial=0.0)) < AGREE_TURN:
        return
    frames = np.arange(first, last + 1)
    residual = recording.residuals(path.q[frames], frames)
    least = np.full(len(path.q), np.inf)  # of no use here
    stretch = Stretch(recording, options, path, residual, first, last, least)
    if not splice(stretch, seam, path.q[seam - 1].copy()):
        splice(stretch, seam - 1, path.q[seam].copy())
