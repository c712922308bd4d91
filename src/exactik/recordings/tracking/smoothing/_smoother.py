"""Frames of a recording that are moved together, chunk by chunk.

Recordings are solved in chunks that overlap; what a chunk does not see has died away.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from exactik._threads import run_in_threads
from exactik.kernels.recording.frames import QUADRATIC
from exactik.kernels.smoothing.accelerations import AccelerationPrior, sum_accelerations
from exactik.kernels.smoothing.evaluation import (
    SequenceWorkspace,
    evaluate_sequence,
    new_sequence_workspace,
)
from exactik.kernels.smoothing.step import compute_sequence_step
from exactik.kernels.tree.integrate import integrate_batch
from exactik.problem import GAUSS_NEWTON, VALUE
from exactik.recordings.tracking._problem import UNKNOWN_SD, TrackingProblem
from exactik.recordings.tracking.smoothing._prior import AccelerationSquares, spread_prior
from exactik.typing import Array, BoolArray, IntArray

MAX_STEP_ITERATIONS = 6
"""Of conjugate gradients in a step."""
STEP_TOLERANCE = 0.02
"""Of these: share of what they have gained below which one more is not worth it."""
STEP_SD = 0.1
"""[rad or m] size of a step: keeps it short along what neither markers nor accelerations
determine."""
MAX_HALVINGS = 6
"""Of a step that does not lower the sum."""
STRETCH_SECONDS = 0.5
"""[s] for which the weights of accelerations stay the same."""

AfterStep = Callable[[int, Array, IntArray], None]
"""Is called with the number of a step, and the poses, (n, nq), that it led some frames to, (n,)."""
OVERLAP_FRAMES = 30
"""Frames to each side of a chunk that are solved with it and not used: what lies beyond has no
influence any more. test_seams_between_chunks_do_not_show."""


def make_smoothing_problem(problem: TrackingProblem, noise: float) -> TrackingProblem:
    """Return a problem whose robust weights stay as they were found; noise is σ [m].

    Weights are over their mean, so that a marker of the mean weight has the standard deviation σ:
    only ratios between markers count beside the accelerations. The neutral pose counts no more than
    a prior of an angle of which nothing is known: where markers are missing, accelerations decide.
    """
    targets, mean = problem.targets, compute_mean_weight(problem)
    rest_weight = np.minimum(targets.rest_weight / mean, (noise / UNKNOWN_SD) ** 2)
    return problem.with_targets(
        weight=targets.weight / mean,
        loss=np.array([QUADRATIC, 1.0, 1.0]),
        rest_weight=rest_weight,
    )


def compute_mean_weight(problem: TrackingProblem) -> float:
    """Return the mean weight of the markers that have one."""
    return float(problem.targets.weight[problem.counts].mean())


class SmoothedFrames(NamedTuple):
    """Where steps have led."""

    q: Array  # poses, (T, nq)
    cost: Array  # what the markers of each frame cost there [m²], (T,)


class Smoother:
    """Frames of a recording that are moved together, chunk by chunk.

    Attributes:
        problem: with a quadratic loss, see `make_smoothing_problem`.
        chunk_frames: that are solved together, rounded up to whole stretches.
        threads: how many.
        box: limits, with the dofs that markers tell nothing of locked.
        stretch_frames: for which weights of accelerations stay the same.
    """

    def __init__(
        self,
        problem: TrackingProblem,
        chunk_frames: int,
        threads: int,
        is_seen: BoolArray | None = None,
    ):
        self.problem, self.threads = problem, threads
        self.stretch_frames = max(round(STRETCH_SECONDS * problem.rate), 1)
        self.chunk_frames = -(-chunk_frames // self.stretch_frames) * self.stretch_frames
        box = problem.frame_problem.box
        self.box = box if is_seen is None else box._replace(free=box.free * is_seen)
        self._local = threading.local()

    @property
    def workspace(self) -> SequenceWorkspace:
        """That of the calling thread."""
        if not hasattr(self._local, "workspace"):
            frames = min(self.chunk_frames + 2 * OVERLAP_FRAMES, len(self.problem))
            width = self.problem.buffers.workspace.H.shape[1]
            tree = self.problem.skeleton.tree
            self._local.workspace = new_sequence_workspace(tree, frames, width)
        return self._local.workspace

    def evaluate(self, q: Array, first: int, prior: AccelerationPrior, order: int) -> float:
        """Return the sum to minimise [m²] at poses q, (n, nq), of the frames from `first` on.

        Derivatives up to `order` are in the workspace. The prior is that of these frames.
        """
        buffers = self.problem.buffers
        return evaluate_sequence(
            self.problem.skeleton.tree,
            buffers.goals,
            self.problem.targets,
            prior,
            order,
            np.arange(first, first + len(q)),
            q,
            buffers.workspace,
            self.workspace,
        )

    def advance(
        self,
        q: Array,
        priors: Sequence[AccelerationPrior],
        noise: float,
        chunks: Sequence[Chunk],
        *,
        after_step: AfterStep | None = None,
        report_frames: Callable[[int], None] | None = None,
    ) -> SmoothedFrames:
        """Take one step after another from poses q, (T, nq), each chunk by itself.

        Args:
            q: poses.
            priors: weights of accelerations in each of the steps, stretch by stretch.
            noise: σ [m].
            chunks: that cover all frames.
            after_step: is called after each of them, see `AfterStep`.
            report_frames: is called with the number of frames moved since its last call, once for
                every step.
        """
        damping = np.full(self.problem.skeleton.nv, (noise / STEP_SD) ** 2)
        result, cost = np.empty(q.shape), np.empty(len(q))

        def solve_chunk(chunk: Chunk) -> None:
            frames = np.arange(chunk.first, chunk.end)
            poses = np.ascontiguousarray(q[chunk.low : chunk.high])
            for n, prior in enumerate(priors):
                own = spread_prior(prior, self.stretch_frames, chunk.low, chunk.high)
                poses = self._step_from(poses, chunk.low, own, damping)
                if after_step is not None:
                    after_step(n, poses[chunk.kept], frames)
            result[chunk.first : chunk.end] = poses[chunk.kept]
            cost[chunk.first : chunk.end] = self.workspace.cost[chunk.kept]
            if report_frames is not None:
                report_frames(len(priors) * len(frames))

        run_in_threads(self.threads, solve_chunk, chunks)
        return SmoothedFrames(q=result, cost=cost)

    def _step_from(self, start: Array, low: int, prior: AccelerationPrior, damping: Array) -> Array:
        """Return the poses after a step from `start`, (n, nq), of the frames from `low` on.

        They were evaluated last.
        """
        tree, work = self.problem.skeleton.tree, self.workspace
        total = self.evaluate(start, low, prior, GAUSS_NEWTON)
        compute_sequence_step(
            tree, self.box, prior, damping, MAX_STEP_ITERATIONS, STEP_TOLERANCE, start, work
        )
        step, trial = work.step[: len(start)].copy(), start.copy()
        for halvings in range(MAX_HALVINGS):
            integrate_batch(tree, start, 0.5**halvings * step, trial)
            self._clip(trial)
            if self.evaluate(trial, low, prior, VALUE) < total:
                return trial
        self.evaluate(start, low, prior, VALUE)
        return start

    def measure_accelerations(
        self, q: Array, prior: AccelerationPrior, chunks: Sequence[Chunk], lag: int
    ) -> tuple[AccelerationSquares, IntArray]:
        """Return Σ|a|² over a lag [frames] of poses q, (T, nq), in each stretch, and of how many.

        Chunks cover the frames.
        """
        skeleton, length = self.problem.skeleton, self.stretch_frames
        count = -(-len(q) // length)
        turn = np.zeros((count, len(skeleton.tree.parent)))
        shift, counts = np.zeros((count, skeleton.nv)), np.zeros(count, dtype=np.int64)

        def sum_chunk(chunk: Chunk) -> None:
            poses, work = q[chunk.low : chunk.high], self.workspace
            own = spread_prior(prior, length, chunk.low, chunk.high)
            self.evaluate(poses, chunk.low, own, VALUE)
            for s in range(chunk.first // length, -(-chunk.end // length)):
                first = max(s * length - chunk.low, lag)
                end = min(min((s + 1) * length, chunk.end) - chunk.low, len(poses) - lag)
                sum_accelerations(
                    skeleton.tree,
                    prior,
                    first,
                    end,
                    lag,
                    poses,
                    work.axes,
                    work.R,
                    turn[s],
                    shift[s],
                )
                counts[s] = max(end - first, 0)

        run_in_threads(self.threads, sum_chunk, chunks)
        return AccelerationSquares(turn, shift), counts

    def count_lag(self, seconds: float) -> int:
        """Return a lag in frames, at least one and short enough for the recording."""
        return max(min(round(seconds * self.problem.rate), (len(self.problem) - 1) // 2), 1)

    def _clip(self, q: Array) -> None:
        """Move poses into the limits, in place."""
        box = self.problem.frame_problem.box
        limited = box.coordinate >= 0
        columns = box.coordinate[limited]
        q[:, columns] = np.clip(q[:, columns], box.lower[limited], box.upper[limited])


class Chunk(NamedTuple):
    """Frames that are solved together."""

    low: int  # first of them
    high: int  # one after the last
    first: int  # from which on they are kept, and estimates go by them
    end: int  # of these, excluded

    @property
    def kept(self) -> slice:
        """Those that are kept, among those that are solved."""
        return slice(self.first - self.low, self.end - self.low)


def cover_recording(frame_count: int, size: int) -> list[Chunk]:
    """Return chunks of a size [frames] that overlap and cover all frames."""
    return [
        Chunk(
            low=max(first - OVERLAP_FRAMES, 0),
            high=min(first + size + OVERLAP_FRAMES, frame_count),
            first=first,
            end=min(first + size, frame_count),
        )
        for first in range(0, frame_count, size)
    ]
