"""All frames of a recording together: markers and accelerations weighed against each other.

    min  Σ_t cost_t(q_t) + ½ Σ_t Σ_k w_k |a_tk|²      within the limits

with the angular acceleration a of every bone in the world (`kernels/recording/accelerations.py`):
the most probable motion, if markers have independent errors of standard deviation σ from frame to
frame and bone k has accelerations of s_k, w_k = σ²/s_k². What the markers determine well stays
where it is, and what they determine badly follows a smooth course (docs/maths.md §15).

With "auto" both come from the recording. σ is the noise of the markers, or what residuals change by
within a moment, if that is more: what is wrong with the figure for longer is no noise. s_k² begins
with the mean square of the accelerations over a lag, in which noise has less part, and is then what
accelerations the solution has over the share of them that the recording determines,
s² = Σ|a|² / Σ(1 − V/s²) with their posterior variance V (MacKay 1992). With a cut-off frequency f,
w_k is such that a turn of the bone is halved at f.

Frames that were solved alone tremble far more than s. So the first steps take accelerations lightly
and each step more seriously: every one of them is then short enough for its linear model.

Long recordings are solved in chunks that overlap; what a chunk does not see has died away.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np

from exactik.errors import UsageError
from exactik.kernels.calculus.sums import GAUSS_NEWTON, VALUE
from exactik.kernels.recording.accelerations import AccelerationPrior, sum_accelerations
from exactik.kernels.recording.frames import QUADRATIC
from exactik.kernels.recording.smoothing import (
    SequenceWorkspace,
    compute_sequence_step,
    estimate_variances,
    evaluate_sequence,
    new_sequence_workspace,
)
from exactik.kernels.tree.integrate import integrate_batch
from exactik.model import Skeleton
from exactik.tracking._frame_solver import FrameSolutions, TrackingRun, run_in_threads, unwrap_path
from exactik.tracking._options import SmoothingOptions
from exactik.tracking._problem import UNKNOWN_SD, TrackingProblem, split_into_chunks
from exactik.typing import Array, BoolArray, IntArray

__all__ = [
    "Smoother",
    "Smoothing",
    "compute_smooth_variances",
    "estimate_changing_noise",
    "estimate_white_noise",
    "make_prior",
    "require_smooth",
    "smooth_path",
]

T = TypeVar("T")

MIN_OWN_CURVATURE = 0.1
"""Of the curvature of a bone and all below it: what it has itself at least, if it has no marker."""
VARIANCE_OF_FOURTH_DIFFERENCES = 70.0  # 1 + 16 + 36 + 16 + 1 times that of independent values
NORMAL_QUARTILE = 0.6745  # of a normal distribution: half of it is nearer to the middle, in σ
MIN_NOISE = 1e-6  # [m] recordings without noise still have rounding
VARIANCE_CHUNK_FRAMES = 256  # whose variances are computed in one call


def require_smooth(smooth: float | str | None, rate: float) -> None:
    """Raise unless it is "auto", None or a frequency [Hz] that frames at this rate [Hz] show."""
    if smooth is None or smooth == "auto":
        return
    if isinstance(smooth, str) or not 0.0 < smooth < 0.5 * rate:
        raise UsageError(
            f"smooth is {smooth!r}; it must be 'auto', None or a frequency between 0 and "
            f"{rate / 2:g} Hz"
        )


class Smoothing(NamedTuple):
    """How firmly accelerations were held.

    Attributes:
        prior: weights of accelerations.
        noise: σ, standard deviation of the markers along each axis from frame to frame [m].
    """

    prior: AccelerationPrior
    noise: float


class AccelerationSums(NamedTuple):
    """Squares of accelerations, over frames: of the bones, (n + 1,), and of shifts, (nv,)."""

    turn: Array
    shift: Array


def smooth_path(
    run: TrackingRun,
    path: FrameSolutions,
    smooth: float | str,
    sigma: float | None,
    information: Array,
    report_frames: Callable[[int], None],
) -> tuple[FrameSolutions, Smoothing | None]:
    """Return the smoothed path, and how it was smoothed; None if it has too few frames.

    Args:
        run: problem and options.
        path: to start from.
        smooth: "auto", or the frequency [Hz] above which motion is suppressed.
        sigma: standard deviation of the markers along each axis [m]; found in them if None.
        information: what markers say about dofs, (M, nv), see `compute_marker_information`.
        report_frames: is called with the number of frames solved since its last call.
    """
    if len(path.q) < 3:
        return path, None
    options = run.options.smoothing
    noise = sigma
    if noise is None:
        changing = estimate_changing_noise(run.problem, path.q, information, options)
        noise = max(estimate_white_noise(run.problem, options), changing)
    problem = _prepare_problem(run.problem, noise)
    # What no marker is on or beyond stays at rest and has no say in how the rest of it moves.
    is_seen = np.asarray(information.sum(axis=0) > 0.0)
    smoother = Smoother(problem, options, run.threads, is_seen)
    q = path.q.copy()
    free = make_prior(problem.skeleton)
    turns, shifts = _find_seen_turns(problem.skeleton, free, is_seen), free.shift_coordinate >= 0
    if smooth == "auto":
        initial = strength = smoother.find_strength(q, free)
    else:
        initial = strength = _strength_of_cutoff(problem, float(smooth), information, noise, free)
    stages = [*options.relaxation, *([1.0] * options.rounds)]
    cost, prior = np.empty(len(q)), free
    for n, relaxation in enumerate(stages):
        prior = free._replace(
            turn=_weights(noise, relaxation, strength.turn, turns),
            shift=_weights(noise, relaxation, strength.shift, shifts & is_seen),
        )
        estimate = smooth == "auto" and relaxation == 1.0 and n + 1 < len(stages)
        q, cost, observed, spread = smoother.advance(q, prior, noise, estimate=estimate)
        if estimate:
            strength = smoother.update_strength(initial, observed, spread, free)
        report_frames(len(q) // len(stages))
    smoothed = path.copy()
    smoothed.q[:], smoothed.cost[:] = q, cost
    unwrap_path(problem, smoothed.q)
    return smoothed, Smoothing(prior=prior, noise=noise)


def _prepare_problem(problem: TrackingProblem, noise: float) -> TrackingProblem:
    """Return a problem whose robust weights stay as they were found.

    The neutral pose counts no more than a prior of an angle of which nothing is known: where
    markers are missing, accelerations decide.
    """
    rest_weight = np.minimum(problem.targets.rest_weight, (noise / UNKNOWN_SD) ** 2)
    return problem.with_targets(loss=np.array([QUADRATIC, 1.0, 1.0]), rest_weight=rest_weight)


def make_prior(skeleton: Skeleton) -> AccelerationPrior:
    """Return which dofs turn and which shift, with weights 0."""
    tree = skeleton.tree
    turn_count = np.zeros(len(tree.parent), dtype=np.uint32)
    shift_coordinate = np.full(skeleton.nv, -1, dtype=np.int64)
    for b in range(1, len(tree.parent)):
        first, end = int(tree.first_v[b]), int(tree.first_v[b + 1])
        shifts = int(tree.shift_count[b])
        turn_count[b] = end - first - shifts
        shift_coordinate[first : first + shifts] = int(tree.first_q[b]) + np.arange(shifts)
    return AccelerationPrior(
        turn=np.zeros(len(tree.parent)),
        shift=np.zeros(skeleton.nv),
        turn_count=turn_count,
        shift_coordinate=shift_coordinate,
    )


def _find_seen_turns(skeleton: Skeleton, prior: AccelerationPrior, is_seen: BoolArray) -> BoolArray:
    """Return the bones, (n + 1,), with a turn that markers tell of, by dofs that they do, (nv,)."""
    seen, end = np.zeros(len(prior.turn_count), dtype=bool), skeleton.tree.first_v[1:]
    for b in np.flatnonzero(prior.turn_count):
        seen[b] = is_seen[int(end[b]) - int(prior.turn_count[b]) : int(end[b])].any()
    return seen


def _weights(noise: float, relaxation: float, mean_square: Array, used: BoolArray) -> Array:
    """Return σ²/s² where it is used, else 0."""
    safe = np.where(used, mean_square, 1.0)
    return np.where(used, noise**2 / (relaxation**2 * safe), 0.0)


def estimate_white_noise(problem: TrackingProblem, options: SmoothingOptions) -> float:
    """Return what markers change by from frame to frame beyond their motion: its sd [m].

    By fourth differences in time, in which motions have next to no part. Half of the samples
    decide, so that spikes and impacts do not.
    """
    differences = np.diff(problem.targets.position[:, problem.targets.weight > 0.0], 4, axis=0)
    values = np.abs(differences[np.isfinite(differences)])
    if len(values) == 0:
        return options.assumed_noise
    scale = NORMAL_QUARTILE * np.sqrt(VARIANCE_OF_FOURTH_DIFFERENCES)
    return max(float(np.median(values)) / scale, MIN_NOISE)


def estimate_changing_noise(
    problem: TrackingProblem, q: Array, information: Array, options: SmoothingOptions
) -> float:
    """Return by how much residuals change within a moment, as the sd of markers [m]; 0 if unknown.

    Files are often filtered and have next to no white noise left; skin that moves and a figure that
    fits badly are then what makes badly determined joints wander. What is wrong for longer than a
    moment is not counted: it is no reason to smooth.
    """
    lag = max(round(options.noise_lag_seconds * problem.rate), 1)
    if len(q) <= lag:
        return 0.0
    frames = np.linspace(0, len(q) - 1 - lag, min(len(q) - lag, options.noise_frames))
    frames = np.unique(frames.astype(np.int64))
    change = problem.residuals(q[frames + lag], frames + lag) - problem.residuals(q[frames], frames)
    moves = (information.sum(axis=0) > 0.0) & ~problem.frame_problem.locked
    surplus = np.isfinite(change).sum(axis=(1, 2)) - int(moves.sum())
    usable = surplus > 0
    if not usable.any():
        return 0.0
    squares = np.nansum(change[usable] ** 2, axis=(1, 2)) / (2.0 * surplus[usable])
    return float(np.sqrt(np.median(squares)))


def _strength_of_cutoff(
    problem: TrackingProblem,
    cutoff: float,
    information: Array,
    noise: float,
    prior: AccelerationPrior,
) -> AccelerationSums:
    """Return the mean squares of accelerations that halve a motion of the cut-off frequency [Hz].

    A dof is halved at it if the weights of all bones below add up to its curvature over
    (2 sin(π f/rate))⁴: so each bone has what its own markers add to the curvature.
    """
    tree, curvature = problem.skeleton.tree, information.sum(axis=0)
    least = 1e-9 * float(curvature.max(initial=1.0))
    of_bone = np.zeros(len(tree.parent))
    for b in np.flatnonzero(prior.turn_count):
        end = int(tree.first_v[b + 1])
        of_bone[b] = curvature[end - int(prior.turn_count[b]) : end].mean()
    own = of_bone.copy()
    for b in range(1, len(own)):
        own[int(tree.parent[b])] -= of_bone[b]
    own = np.maximum(own, MIN_OWN_CURVATURE * of_bone)
    factor = noise**2 * (2.0 * np.sin(np.pi * cutoff / problem.rate)) ** 4
    return AccelerationSums(
        turn=factor / np.maximum(own, least), shift=factor / np.maximum(curvature, least)
    )


class Smoother:
    """Frames of a recording that are moved together, chunk by chunk.

    Attributes:
        problem: with a quadratic loss.
        options: of smoothing.
        threads: how many.
        box: limits, with the dofs that markers tell nothing of locked.
    """

    def __init__(
        self,
        problem: TrackingProblem,
        options: SmoothingOptions,
        threads: int,
        is_seen: BoolArray | None = None,
    ):
        self.problem, self.options, self.threads = problem, options, threads
        box = problem.frame_problem.box
        self.box = box if is_seen is None else box._replace(free=box.free * is_seen)
        self._local = threading.local()

    @property
    def workspace(self) -> SequenceWorkspace:
        """That of the calling thread."""
        if not hasattr(self._local, "workspace"):
            frames = min(
                self.options.chunk_frames + 2 * self.options.overlap_frames, len(self.problem)
            )
            width = self.problem.buffers.workspace.H.shape[1]
            tree = self.problem.skeleton.tree
            self._local.workspace = new_sequence_workspace(tree, frames, width)
        return self._local.workspace

    def evaluate(self, q: Array, first: int, prior: AccelerationPrior, order: int) -> float:
        """Return the sum to minimise at poses q, (n, nq), of the frames from `first` on."""
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

    def find_strength(self, q: Array, prior: AccelerationPrior) -> AccelerationSums:
        """Return mean squares of accelerations over a lag, of poses q, (T, nq)."""
        lag, sums = self._count_lag(self.options.lag_seconds), self._new_sums()

        def add_chunk(first: int, end: int, low: int, high: int) -> AccelerationSums:
            self.evaluate(q[low:high], low, prior, VALUE)
            return self._sum_accelerations(q[low:high], first - low, end - low, lag, prior)

        for chunk in self._run_chunks(add_chunk):
            sums.turn[:] += chunk.turn
            sums.shift[:] += chunk.shift
        count = max(len(q) - 2 * lag, 1)
        least = self._least_strength()
        per_dof = count * np.maximum(prior.turn_count, 1)
        return AccelerationSums(
            turn=np.maximum(sums.turn / per_dof, least.turn),
            shift=np.maximum(sums.shift / count, least.shift),
        )

    def update_strength(
        self,
        initial: AccelerationSums,
        observed: AccelerationSums,
        spread: AccelerationSums,
        prior: AccelerationPrior,
    ) -> AccelerationSums:
        """Return mean squares of accelerations as the last solution has them.

        `spread` are the posterior variances over s², so that the rest is determined by the markers.
        Limited by the `initial` ones: a jump from one solution to another is no acceleration.
        """
        most = self.options.max_growth**2
        count, extra, least = len(self.problem), self.options.least_count, self._least_strength()
        turns = np.maximum(count * prior.turn_count - spread.turn, 0.0)
        shifts = np.maximum(count - spread.shift, 0.0)
        return AccelerationSums(
            turn=np.minimum(
                (observed.turn + extra * least.turn) / (turns + extra), most * initial.turn
            ),
            shift=np.minimum(
                (observed.shift + extra * least.shift) / (shifts + extra), most * initial.shift
            ),
        )

    def advance(
        self, q: Array, prior: AccelerationPrior, noise: float, *, estimate: bool
    ) -> tuple[Array, Array, AccelerationSums, AccelerationSums]:
        """Take one step from poses q, (T, nq).

        Returns:
            The new poses, what the markers of each frame cost there, (T,), and if `estimate` the
            squares of their accelerations and how much of these is not determined, in s².
        """
        skeleton, options = self.problem.skeleton, self.options
        box, tree = self.box, skeleton.tree
        damping = np.full(skeleton.nv, (noise / options.step_sd) ** 2)
        lag = self._count_lag(options.update_lag_seconds)
        result, cost = q.copy(), np.empty(len(q))
        observed, spread = self._new_sums(), self._new_sums()

        def solve_chunk(
            first: int, end: int, low: int, high: int
        ) -> tuple[AccelerationSums, AccelerationSums]:
            work, start = self.workspace, np.ascontiguousarray(q[low:high])
            trial, chunk_spread = start.copy(), self._new_sums()
            total = self.evaluate(start, low, prior, GAUSS_NEWTON)
            compute_sequence_step(
                tree,
                box,
                prior,
                damping,
                options.max_iterations,
                options.tolerance,
                first - low,
                end - low if estimate else first - low,
                start,
                chunk_spread.turn,
                chunk_spread.shift,
                work,
            )
            step = work.step[: len(start)].copy()
            for halvings in range(options.max_halvings):
                integrate_batch(tree, start, 0.5**halvings * step, trial)
                self._clip(trial)
                if self.evaluate(trial, low, prior, VALUE) < total:
                    break
            else:
                trial = start
                self.evaluate(trial, low, prior, VALUE)
            result[first:end] = trial[first - low : end - low]
            cost[first:end] = work.cost[first - low : end - low]
            if not estimate:
                return self._new_sums(), chunk_spread
            sums = self._sum_accelerations(trial, first - low, end - low, lag, prior)
            return sums, chunk_spread

        for chunk_observed, chunk_spread in self._run_chunks(solve_chunk):
            for total, part in ((observed, chunk_observed), (spread, chunk_spread)):
                total.turn[:] += part.turn
                total.shift[:] += part.shift
        spread.turn[:] *= prior.turn
        spread.shift[:] *= prior.shift
        return result, cost, observed, spread

    def _run_chunks(self, work: Callable[[int, int, int, int], T]) -> list[T]:
        """Call `work` with first, end, and the same with overlap, of all chunks; on all threads."""
        count, options = len(self.problem), self.options
        starts = range(0, count, options.chunk_frames)
        results: list[T | None] = [None] * len(starts)

        def run_chunk(n: int) -> None:
            first = starts[n]
            end = min(first + options.chunk_frames, count)
            low = max(first - options.overlap_frames, 0)
            high = min(end + options.overlap_frames, count)
            results[n] = work(first, end, low, high)

        run_in_threads(self.threads, run_chunk, range(len(starts)))
        return [result for result in results if result is not None]

    def _count_lag(self, seconds: float) -> int:
        """Return a lag in frames, at least one and short enough for the recording."""
        return max(min(round(seconds * self.problem.rate), (len(self.problem) - 1) // 2), 1)

    def _clip(self, q: Array) -> None:
        """Move poses into the limits, in place."""
        box = self.problem.frame_problem.box
        limited = box.coordinate >= 0
        columns = box.coordinate[limited]
        q[:, columns] = np.clip(q[:, columns], box.lower[limited], box.upper[limited])

    def _new_sums(self) -> AccelerationSums:
        skeleton = self.problem.skeleton
        return AccelerationSums(np.zeros(len(skeleton.tree.parent)), np.zeros(skeleton.nv))

    def _least_strength(self) -> AccelerationSums:
        """Return the squares of the least accelerations that anything alive has, a frame⁴."""
        options, per_frame = self.options, self.problem.rate**-2
        skeleton = self.problem.skeleton
        return AccelerationSums(
            turn=np.full(len(skeleton.tree.parent), (options.least_turn * per_frame) ** 2),
            shift=np.full(skeleton.nv, (options.least_shift * per_frame) ** 2),
        )

    def _sum_accelerations(
        self, q: Array, first: int, end: int, lag: int, prior: AccelerationPrior
    ) -> AccelerationSums:
        """Return those of poses q, which were evaluated last."""
        sums, work = self._new_sums(), self.workspace
        tree = self.problem.skeleton.tree
        sum_accelerations(tree, prior, first, end, lag, q, work.axes, work.R, sums.turn, sums.shift)
        return sums


def compute_smooth_variances(
    problem: TrackingProblem, q: Array, smoothing: Smoothing, threads: int
) -> Array:
    """Return the variance that noise leaves in every dof of a smoothed motion, (T, nv)."""
    problem = _prepare_problem(problem, smoothing.noise)
    options = SmoothingOptions(chunk_frames=VARIANCE_CHUNK_FRAMES, overlap_frames=0)
    smoother = Smoother(problem, options, threads)
    tree, box = problem.skeleton.tree, problem.frame_problem.box
    damping = np.full(problem.skeleton.nv, (smoothing.noise / UNKNOWN_SD) ** 2)
    variance = np.empty((len(q), problem.skeleton.nv))

    def compute_chunk(frames: IntArray) -> None:
        first, chunk = int(frames[0]), np.ascontiguousarray(q[frames])
        smoother.evaluate(chunk, first, smoothing.prior, GAUSS_NEWTON)
        sums = AccelerationSums(np.zeros(len(tree.parent)), np.zeros(variance.shape[1]))
        values = np.empty((len(frames), variance.shape[1]))
        estimate_variances(
            tree,
            box,
            smoothing.prior,
            damping,
            chunk,
            smoother.workspace,
            sums.turn,
            sums.shift,
            values,
        )
        variance[frames] = smoothing.noise**2 * values

    run_in_threads(threads, compute_chunk, split_into_chunks(len(q), VARIANCE_CHUNK_FRAMES))
    return variance
