"""Calls of the compiled loop over frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np

from exactik.kernels.descent.results import FRAME_RESULT_SIZE, RESULT_COST
from exactik.kernels.recording import sequence as kernel
from exactik.kernels.tree.equivalent_coordinates import to_nearest_equivalent
from exactik.tracking._recording import Recording
from exactik.typing import Array, IntArray

__all__ = ["Path", "follow", "follow_beside", "in_threads", "near_to", "try_starts"]

T = TypeVar("T")


class Path(NamedTuple):
    """Poses of frames, and how they were found.

    Attributes:
        q: (n, nq).
        found: (n, FOUND_COUNT), see `kernels.frames`.
    """

    q: Array
    found: Array

    @property
    def cost(self) -> Array:
        """What each frame costs, its loss and posture included, (n,)."""
        return self.found[:, RESULT_COST]

    def copy(self) -> Path:
        """Return one of its own arrays."""
        return Path(self.q.copy(), self.found.copy())


def follow(recording: Recording, options: Array, which: IntArray, start: Array) -> Path:
    """Solve frames one after the other, each from the answer before it.

    Args:
        recording: what they ask.
        options: of the descent, see `kernels.search`.
        which: frames in the order to be solved.
        start: pose that the first one starts from, (nq,).
    """
    q = np.empty((len(which), len(start)))
    q[:1] = start
    return _run(recording, options, which, True, q)


def try_starts(recording: Recording, options: Array, which: IntArray, q: Array) -> Path:
    """Solve frames `which` (n,), each by itself from its row of q, (n, nq)."""
    return _run(recording, options, which, False, np.array(q, dtype=float, order="C"))


def follow_beside(
    recording: Recording,
    options: Array,
    which: IntArray,
    start: Array,
    residual: Array,
    cost: Array,
    near: float,
    slack: float,
) -> Path:
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
    recording: Recording,
    options: Array,
    which: IntArray,
    warm: bool,
    q: Array,
    beside: tuple[Array, Array, float, float] | None = None,
) -> Path:
    scratch, found = recording.scratch, np.zeros((len(which), FRAME_RESULT_SIZE))
    residual, cost, near, slack = beside or (np.empty((0, 0, 3)), np.empty(0), 0.0, np.inf)
    count = kernel.solve_sequence(
        *(recording.skeleton.tree, scratch.goals, recording.problem.box, options),
        *(recording.frames, np.ascontiguousarray(which), warm, np.ascontiguousarray(residual)),
        *(np.ascontiguousarray(cost), near, slack),
        *(q, found, scratch.descent_state, scratch.workspace),
    )
    return Path(q[:count], found[:count])


def near_to(recording: Recording, q: Array, near: Array) -> Array:
    """Return the coordinates of the same poses, (n, nq), that are nearest to others' (n, nq)."""
    q, problem = np.array(q, dtype=float, order="C"), recording.problem
    box = problem.box
    to_nearest_equivalent(
        recording.skeleton.tree, box.lower, box.upper, np.ascontiguousarray(near), q
    )
    return q


def in_threads(threads: int, work: Callable[[T], object], parts: Iterable[T]) -> None:
    """Do the parts of a work, on several threads if there are."""
    if threads == 1:
        for part in parts:
            work(part)
        return
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(work, parts):
            pass
