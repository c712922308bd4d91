"""Calls of the compiled loop over frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np

from exactik.kernels.descent.results import FRAME_RESULT_SIZE, RESULT_COST
from exactik.kernels.recording import sequence as kernel
from exactik.kernels.tree.equivalent_coordinates import to_nearest_equivalent
from exactik.tracking._recording import TrackingProblem
from exactik.typing import Array, IntArray

__all__ = [
    "FrameSolutions",
    "follow_branch",
    "follow_frames",
    "nearest_equivalents",
    "run_in_threads",
    "solve_frames",
]

T = TypeVar("T")


class FrameSolutions(NamedTuple):
    """Poses of frames, and how they were found.

    Attributes:
        q: (n, nq).
        outcomes: (n, FRAME_RESULT_SIZE), see `kernels.descent.results`.
    """

    q: Array
    outcomes: Array

    @property
    def cost(self) -> Array:
        """What each frame costs, its loss and posture included, (n,)."""
        return self.outcomes[:, RESULT_COST]

    def copy(self) -> FrameSolutions:
        """Return one of its own arrays."""
        return FrameSolutions(self.q.copy(), self.outcomes.copy())


def follow_frames(
    recording: TrackingProblem, options: Array, which: IntArray, start: Array
) -> FrameSolutions:
    """Solve frames one after the other, each from the answer before it.

    Args:
        recording: what they ask.
        options: of the descent, see `kernels.descent.options`.
        which: frames in the order to be solved.
        start: pose that the first one starts from, (nq,).
    """
    q = np.empty((len(which), len(start)))
    q[:1] = start
    return _run(recording, options, which, True, q)


def solve_frames(
    recording: TrackingProblem, options: Array, which: IntArray, q: Array
) -> FrameSolutions:
    """Solve frames `which` (n,), each by itself from its row of q, (n, nq)."""
    return _run(recording, options, which, False, np.array(q, dtype=float, order="C"))


def follow_branch(
    recording: TrackingProblem,
    options: Array,
    which: IntArray,
    start: Array,
    residual: Array,
    cost: Array,
    near: float,
    slack: float,
) -> FrameSolutions:
    """Follow another solution as long as it is worth it.

    Args:
        recording: what the frames ask.
        options: of the descent.
        which: frames in the order to be solved, at most.
        start: pose at the first, (nq,).
        residual: of the path that it follows beside, in the same frames and order, (n, M, 3).
        cost: of the same path, (n,).
        near: ends where no marker is further from the path's [m].
        slack: ends where so much cost has been lost against the path.

    Returns:
        As many frames as were followed.
    """
    q = np.empty((len(which), len(start)))
    q[:1] = start
    return _run(recording, options, which, True, q, (residual, cost, near, slack))


def _run(
    recording: TrackingProblem,
    options: Array,
    which: IntArray,
    warm: bool,
    q: Array,
    beside: tuple[Array, Array, float, float] | None = None,
) -> FrameSolutions:
    scratch, found = recording.buffers, np.zeros((len(which), FRAME_RESULT_SIZE))
    residual, cost, near, slack = beside or (np.empty((0, 0, 3)), np.empty(0), 0.0, np.inf)
    count = kernel.solve_sequence(
        *(recording.skeleton.tree, scratch.goals, recording.frame_problem.box, options),
        *(recording.targets, np.ascontiguousarray(which), warm, np.ascontiguousarray(residual)),
        *(np.ascontiguousarray(cost), near, slack),
        *(q, found, scratch.descent_state, scratch.workspace),
    )
    return FrameSolutions(q[:count], found[:count])


def nearest_equivalents(recording: TrackingProblem, q: Array, near: Array) -> Array:
    """Return the coordinates of the same poses, (n, nq), that are nearest to others' (n, nq)."""
    q, problem = np.array(q, dtype=float, order="C"), recording.frame_problem
    box = problem.box
    to_nearest_equivalent(
        recording.skeleton.tree, box.lower, box.upper, np.ascontiguousarray(near), q
    )
    return q


def run_in_threads(threads: int, work: Callable[[T], object], parts: Iterable[T]) -> None:
    """Do the parts of a work, on several threads if there are."""
    if threads == 1:
        for part in parts:
            work(part)
        return
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(work, parts):
            pass
