"""Frames of a recording that are moved together, chunk by chunk."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

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
from exactik.recordings.tracking.smoothing._chunks import OVERLAP_FRAMES, Chunk
from exactik.recordings.tracking.smoothing._prior import AccelerationSquares
from exactik.typing import Array, BoolArray

MAX_STEP_ITERATIONS = 6
"""Of conjugate gradients in a step."""
STEP_TOLERANCE = 0.02
"""Of these: share of what they have gained below which one more is not worth it."""
STEP_SD = 0.1
"""[rad or m] size of a step: keeps it short along what neither markers nor accelerations
determine."""
MAX_HALVINGS = 6
"""Of a step that does not lower the sum."""
UPDATE_LAG_SECONDS = 0.03
"""[s] the same for later estimates: what the steps have not smoothed yet has no part in them, and
motion of 8 Hz has its full one."""

OfChunk = TypeVar("OfChunk")


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
    """Where steps have led.

    Attributes:
        q: poses, (T, nq).
        cost: what the markers of each frame cost there [m²], (T,).
        observed: mean |a|² of these poses, and
        undetermined: mean V/s², V the posterior variances of a; both 0 unless asked for.
    """

    q: Array
    cost: Array
    observed: AccelerationSquares
    undetermined: AccelerationSquares


class Smoother:
    """Frames of a recording that are moved together, chunk by chunk.

    Attributes:
        problem: with a quadratic loss, see `make_smoothing_problem`.
        chunk_frames: that are solved together.
        threads: how many.
        box: limits, with the dofs that markers tell nothing of locked.
    """

    def __init__(
        self,
        problem: TrackingProblem,
        chunk_frames: int,
        threads: int,
        is_seen: BoolArray | None = None,
    ):
        self.problem, self.chunk_frames, self.threads = problem, chunk_frames, threads
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

        Derivatives up to `order` are in the workspace.
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
        estimate: bool,
        report_frames: Callable[[int], None] | None = None,
    ) -> SmoothedFrames:
        """Take one step after another from poses q, (T, nq), each chunk by itself.

        Args:
            q: poses.
            priors: weights of accelerations in each of the steps.
            noise: σ [m].
            chunks: that cover all frames.
            estimate: whether to estimate accelerations in the last step too.
            report_frames: is called with the number of frames moved since its last call, once for
                every step.
        """
        damping = np.full(self.problem.skeleton.nv, (noise / STEP_SD) ** 2)
        lag = self.count_lag(UPDATE_LAG_SECONDS)
        result, cost, last = np.empty(q.shape), np.empty(len(q)), len(priors) - 1

        def solve_chunk(chunk: Chunk) -> tuple[AccelerationSquares, AccelerationSquares]:
            observed, variance = self.new_squares(), self.new_squares()
            poses = np.ascontiguousarray(q[chunk.low : chunk.high])
            for n, prior in enumerate(priors):
                counted = chunk.kept if estimate and n == last else slice(0, 0)
                poses = self._step_from(poses, chunk.low, prior, damping, counted, variance)
            result[chunk.first : chunk.end] = poses[chunk.kept]
            cost[chunk.first : chunk.end] = self.workspace.cost[chunk.kept]
            if estimate:
                self._add_squares(poses, chunk.kept, lag, priors[last], observed)
            if report_frames is not None:
                report_frames(len(priors) * (chunk.end - chunk.first))
            return observed, variance

        parts = self._run_chunks(solve_chunk, chunks)
        variance = self._average((part for _, part in parts), len(q))
        # The kernel has V for σ = 1, so that V/s² is that times the weights σ²/s².
        turn, shift = priors[last].turn, priors[last].shift
        undetermined = AccelerationSquares(variance.turn * turn, variance.shift * shift)
        lag_count = sum(chunk.count_accelerations(lag) for chunk in chunks)
        observed = self._average((part for part, _ in parts), lag_count)
        return SmoothedFrames(q=result, cost=cost, observed=observed, undetermined=undetermined)

    def _step_from(
        self,
        start: Array,
        low: int,
        prior: AccelerationPrior,
        damping: Array,
        counted: slice,
        variance: AccelerationSquares,
    ) -> Array:
        """Return the poses after a step from `start`, (n, nq), of the frames from `low` on.

        They were evaluated last. The posterior variances, for σ = 1, of the accelerations of the
        `counted` frames are added to `variance`.
        """
        tree, work = self.problem.skeleton.tree, self.workspace
        total = self.evaluate(start, low, prior, GAUSS_NEWTON)
        compute_sequence_step(
            tree,
            self.box,
            prior,
            damping,
            MAX_STEP_ITERATIONS,
            STEP_TOLERANCE,
            counted.start,
            counted.stop,
            start,
            variance.turn,
            variance.shift,
            work,
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
    ) -> AccelerationSquares:
        """Return the mean |a|² over a lag [frames] of poses q, (T, nq), that chunks cover."""

        def sum_chunk(chunk: Chunk) -> AccelerationSquares:
            poses, sums = q[chunk.low : chunk.high], self.new_squares()
            self.evaluate(poses, chunk.low, prior, VALUE)
            self._add_squares(poses, chunk.kept, lag, prior, sums)
            return sums

        count = sum(chunk.count_accelerations(lag) for chunk in chunks)
        return self._average(self._run_chunks(sum_chunk, chunks), count)

    def count_lag(self, seconds: float) -> int:
        """Return a lag in frames, at least one and short enough for the recording."""
        return max(min(round(seconds * self.problem.rate), (len(self.problem) - 1) // 2), 1)

    def new_squares(self) -> AccelerationSquares:
        """Return sums of nothing yet."""
        skeleton = self.problem.skeleton
        return AccelerationSquares(np.zeros(len(skeleton.tree.parent)), np.zeros(skeleton.nv))

    def _add_squares(
        self, q: Array, frames: slice, lag: int, prior: AccelerationPrior, sums: AccelerationSquares
    ) -> None:
        """Add those of some of the poses q, which were evaluated last, to the sums."""
        work = self.workspace
        sum_accelerations(
            self.problem.skeleton.tree,
            prior,
            frames.start,
            frames.stop,
            lag,
            q,
            work.axes,
            work.R,
            sums.turn,
            sums.shift,
        )

    def _average(self, parts: Iterable[AccelerationSquares], count: int) -> AccelerationSquares:
        """Return the sum of those of the chunks, divided by a number of frames."""
        total = self.new_squares()
        for part in parts:
            total.turn[:] += part.turn
            total.shift[:] += part.shift
        return AccelerationSquares(total.turn / max(count, 1), total.shift / max(count, 1))

    def _run_chunks(
        self, work: Callable[[Chunk], OfChunk], chunks: Sequence[Chunk]
    ) -> list[OfChunk]:
        """Return what `work` returns for each chunk, in their order; on all threads."""
        results: list[OfChunk | None] = [None] * len(chunks)

        def run_chunk(n: int) -> None:
            results[n] = work(chunks[n])

        run_in_threads(self.threads, run_chunk, range(len(chunks)))
        return [result for result in results if result is not None]

    def _clip(self, q: Array) -> None:
        """Move poses into the limits, in place."""
        box = self.problem.frame_problem.box
        limited = box.coordinate >= 0
        columns = box.coordinate[limited]
        q[:, columns] = np.clip(q[:, columns], box.lower[limited], box.upper[limited])
