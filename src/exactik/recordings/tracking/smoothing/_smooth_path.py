"""The stage of smoothing: one step after another, from poses that were found frame by frame.

Frames that were solved alone tremble far more than s. So the first steps take accelerations lightly
and each step more seriously: every one of them is then short enough for its linear model. Strength
is found first, on poses of their own (`_strength`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from exactik._arrays import is_number
from exactik._threads import run_in_threads
from exactik.errors import UsageError
from exactik.kernels.smoothing.accelerations import AccelerationPrior
from exactik.kernels.smoothing.variances import estimate_variances
from exactik.problem import GAUSS_NEWTON
from exactik.recordings.tracking._frame_solver import FrameSolutions, TrackingRun, unwrap_path
from exactik.recordings.tracking._problem import UNKNOWN_SD, TrackingProblem, split_into_chunks
from exactik.recordings.tracking.smoothing._prior import (
    AccelerationSquares,
    Smoothing,
    make_prior,
    relax,
    weigh_accelerations,
)
from exactik.recordings.tracking.smoothing._smoother import (
    AfterStep,
    Chunk,
    SmoothedFrames,
    Smoother,
    compute_mean_weight,
    cover_recording,
    make_smoothing_problem,
)
from exactik.recordings.tracking.smoothing._strength import (
    LOOSE_SHARE,
    TRIALS,
    Trial,
    compute_strength_of_cutoff,
    estimate_noise_between_frames,
    estimate_strength,
    find_loose_bones,
)
from exactik.typing import Array, BoolArray, IntArray

RELAXATION = (100.0, 30.0, 10.0, 3.0, 1.0, 1.0, 1.0)
"""Times the accelerations that are allowed in the steps, one each, or what was chosen, if that is
more. By hand: with larger ratios the steps grow beyond what their linear model holds for, and take
dofs that markers leave open, such as those of a neck of three joints, against their limits: after
10 and 3 alone heads were up to 64 mm beside their markers;
test_smoothing_leaves_no_limb_beside_its_markers, test_a_lower_cut_off_is_smoother."""
FORGETTING = (100.0, 30.0, 10.0, 3.0)
"""Likewise, of the first steps with samples held out: until accelerations decide, and nothing is
left of these samples where no other marker tells of a dof."""
MIN_FRAMES = 3  # with which there is an acceleration
CHUNK_FRAMES = 256  # whose variances are computed in one call; they need no overlap


def require_smooth(smooth: float | str | None, rate: float) -> None:
    """Raise unless it is "auto", None or a frequency [Hz] that frames at this rate [Hz] show."""
    if smooth is None or (isinstance(smooth, str) and smooth == "auto"):
        return
    if not is_number(smooth) or not 0.0 < smooth < 0.5 * rate:
        raise UsageError(
            f"smooth is {smooth!r}; it must be 'auto', None or a frequency between 0 and "
            f"{rate / 2:g} Hz"
        )


def smooth_path(
    run: TrackingRun,
    path: FrameSolutions,
    smooth: float | str,
    sigma: float | None,
    information: Array,
    report_frames: Callable[[float], None],
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
    if len(path.q) < MIN_FRAMES:
        return path, None
    noise = sigma
    if noise is None:
        noise = estimate_noise_between_frames(run.problem, path.q, information)
    problem, mean_weight = (
        make_smoothing_problem(run.problem, noise),
        compute_mean_weight(run.problem),
    )
    step_count = len(RELAXATION) + (len(FORGETTING) + len(TRIALS) if smooth == "auto" else 0)
    stage = _SmoothingSteps(
        run=run,
        problem=problem,
        # What no marker is on or beyond stays at rest and has no say in how the rest of it moves.
        is_seen=np.asarray(information.sum(axis=0) > 0.0),
        noise=noise,
        report_steps=lambda frames: report_frames(frames / step_count),
    )
    if smooth == "auto":
        prior, allowed = stage.find_strength(path.q)
    else:
        own_information = information / mean_weight  # with the weights of the smoothing problem
        prior = stage.weigh(
            compute_strength_of_cutoff(problem, float(smooth), own_information, noise, stage.free)
        )
        allowed = np.ones_like(prior.turn)
    relaxations = [np.maximum(allowed, each) for each in RELAXATION]
    found = stage.advance(stage.smoother, path.q, prior, relaxations)
    smoothed = FrameSolutions(found.q, path.outcomes.copy())
    smoothed.cost[:] = mean_weight * found.cost
    unwrap_path(problem, smoothed.q)
    return smoothed, Smoothing(
        prior=relax(problem.skeleton, prior, allowed),
        noise=noise,
        stretch_frames=stage.smoother.stretch_frames,
    )


@dataclass(frozen=True, kw_only=True)
class _SmoothingSteps:
    """What all steps share."""

    run: TrackingRun  # problem and options of the recording
    problem: TrackingProblem  # with the weights that smoothing takes, see `make_smoothing_problem`
    is_seen: BoolArray  # dofs that markers tell of, (nv,)
    noise: float  # σ [m]
    report_steps: Callable[[int], None]  # is called with the number of frames that took a step

    @cached_property
    def smoother(self) -> Smoother:
        """Of all samples."""
        return self.make_smoother(self.problem)

    def make_smoother(self, problem: TrackingProblem) -> Smoother:
        """Return that of the same frames with other targets."""
        options = self.run.options
        return Smoother(problem, options.chunk_frames, self.run.threads, self.is_seen)

    @cached_property
    def free(self) -> AccelerationPrior:
        """Which dofs turn and which shift; with weights 0."""
        return make_prior(self.problem.skeleton)

    @cached_property
    def chunks(self) -> list[Chunk]:
        """Frames that are solved together."""
        return cover_recording(len(self.problem), self.smoother.chunk_frames)

    def weigh(self, strength: AccelerationSquares) -> AccelerationPrior:
        """Return the prior of a strength."""
        return weigh_accelerations(
            self.problem.skeleton, self.free, self.is_seen, self.noise, strength
        )

    def advance(
        self,
        by: Smoother,
        q: Array,
        prior: AccelerationPrior,
        relaxations: Sequence[Array],
        measure: AfterStep | None = None,
    ) -> SmoothedFrames:
        """Take steps from poses q, (T, nq), each with so many times the accelerations allowed."""
        priors = [relax(self.problem.skeleton, prior, each) for each in relaxations]
        return by.advance(
            q,
            priors,
            self.noise,
            self.chunks,
            after_step=measure,
            report_frames=self.report_steps,
        )

    def find_strength(self, q: Array) -> tuple[AccelerationPrior, Array]:
        """Return a prior by poses q, (T, nq), and the relaxations that predict best, (S, n + 1)."""
        strength = estimate_strength(self.smoother, q, self.free, self.chunks)
        trial = Trial(self.problem, self.smoother.stretch_frames)
        trying, all_bones = self.make_smoother(trial.problem), np.ones_like(strength.turn)
        forgetting = [each * all_bones for each in FORGETTING]
        tried = self.advance(trying, q, self.weigh(strength), forgetting).q
        # What markers hardly tell of trembles in frames alone, and no marker would show it.
        loose = find_loose_bones(self.smoother, q, self.free, self.noise)
        calm = LOOSE_SHARE * estimate_strength(trying, tried, self.free, self.chunks).turn
        strength.turn[:, loose] = np.minimum(strength.turn, calm)[:, loose]
        prior, trials = self.weigh(strength), [each * all_bones for each in TRIALS]
        self.advance(trying, tried, prior, trials, trial.measure)
        return prior, np.where(loose, 1.0, trial.choose())


def compute_smooth_variances(
    problem: TrackingProblem, q: Array, smoothing: Smoothing, threads: int
) -> Array:
    """Return the variance that noise leaves in every dof of a motion [rad² or m²], (T, nv).

    Args:
        problem: markers and figure.
        q: smoothed poses, (T, nq).
        smoothing: how they were smoothed.
        threads: how many.
    """
    problem = make_smoothing_problem(problem, smoothing.noise)
    smoother = Smoother(problem, CHUNK_FRAMES, threads)
    skeleton, box = problem.skeleton, problem.frame_problem.box
    damping = np.full(skeleton.nv, (smoothing.noise / UNKNOWN_SD) ** 2)
    variance = np.empty((len(q), skeleton.nv))

    def compute_chunk(frames: IntArray) -> None:
        first, chunk = int(frames[0]), np.ascontiguousarray(q[frames])
        prior = smoothing.select(frames).prior
        smoother.evaluate(chunk, first, prior, GAUSS_NEWTON)
        values = np.empty((len(frames), skeleton.nv))
        estimate_variances(
            skeleton.tree,
            box,
            prior,
            damping,
            chunk,
            smoother.workspace,
            values,
        )
        variance[frames] = smoothing.noise**2 * values

    run_in_threads(threads, compute_chunk, split_into_chunks(len(q), CHUNK_FRAMES))
    return variance
