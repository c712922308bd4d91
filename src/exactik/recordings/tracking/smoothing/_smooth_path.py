"""The stage of smoothing: one step after another, from poses that were found frame by frame.

Frames that were solved alone tremble far more than s. So the first steps take accelerations lightly
and each step more seriously: every one of them is then short enough for its linear model. Strength
is estimated on the way, by all frames: bodies move in bursts, often at regular times, so that a few
chunks of a recording may have far more or far less of them than the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from exactik._arrays import is_number
from exactik.errors import UsageError
from exactik.recordings.tracking._frame_solver import FrameSolutions, TrackingRun, unwrap_path
from exactik.recordings.tracking.smoothing._chunks import cover_recording
from exactik.recordings.tracking.smoothing._held_out import TRIALS, Trial
from exactik.recordings.tracking.smoothing._noise import estimate_noise_between_frames
from exactik.recordings.tracking.smoothing._prior import (
    Smoothing,
    make_prior,
    relax,
    weigh_accelerations,
)
from exactik.recordings.tracking.smoothing._smoother import (
    AfterStep,
    Smoother,
    compute_mean_weight,
    make_smoothing_problem,
)
from exactik.recordings.tracking.smoothing._strength import (
    compute_strength_of_cutoff,
    estimate_strength,
)
from exactik.typing import Array

ROUNDS = 2
"""Of steps with the accelerations as estimated. While they are estimated, again after each, and one
more step follows."""
RELAXATION = (100.0, 30.0, 10.0, 3.0, 1.0, 1.0)
"""Times the accelerations that are allowed in the first steps, one each. By hand: with larger
ratios the steps grow beyond what their linear model holds for, and take dofs that markers leave
open, such as those of a neck of three joints, against their limits: after 10 and 3 alone heads were
up to 64 mm beside their markers; test_smoothing_leaves_no_limb_beside_its_markers,
test_a_lower_cut_off_is_smoother."""

FORGETTING = (100.0, 30.0, 10.0, 3.0)
"""Likewise, of the first steps with samples held out: until accelerations decide, so that nothing is
left of these samples where no other marker tells of a dof."""

MIN_FRAMES = 3  # with which there is an acceleration


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
    problem = make_smoothing_problem(run.problem, noise)
    mean_weight = compute_mean_weight(run.problem)
    # What no marker is on or beyond stays at rest and has no say in how the rest of it moves.
    is_seen = np.asarray(information.sum(axis=0) > 0.0)
    smoother = Smoother(problem, run.options.chunk_frames, run.threads, is_seen)
    free, chunks = make_prior(problem.skeleton), cover_recording(len(path.q), smoother.chunk_frames)
    trial_count = len(FORGETTING) + len(TRIALS) if smooth == "auto" else 0
    step_count = len(RELAXATION) + trial_count

    def report_steps(frames: int) -> None:
        report_frames(frames / step_count)

    def advance(by: Smoother, q: Array, relaxations: Sequence[Array], measure: AfterStep | None):
        priors = [relax(problem.skeleton, prior, each) for each in relaxations]
        return by.advance(q, priors, noise, chunks, after_step=measure, report_frames=report_steps)

    if smooth == "auto":
        strength = estimate_strength(smoother, path.q, free, chunks)
    else:
        own_information = information / mean_weight  # with the weights of the smoothing problem
        strength = compute_strength_of_cutoff(problem, float(smooth), own_information, noise, free)
    prior = weigh_accelerations(problem.skeleton, free, is_seen, noise, strength)
    allowed = np.ones_like(prior.turn)
    if smooth == "auto":
        trial = Trial(problem, smoother.stretch_frames)
        trying = Smoother(trial.problem, run.options.chunk_frames, run.threads, is_seen)
        tried = advance(trying, path.q, [each * allowed for each in FORGETTING], None).q
        advance(trying, tried, [each * allowed for each in TRIALS], trial.measure)
        allowed = trial.choose()
    found = advance(smoother, path.q, [np.maximum(allowed, each) for each in RELAXATION], None)
    smoothed = FrameSolutions(found.q, path.outcomes.copy())
    smoothed.cost[:] = mean_weight * found.cost
    unwrap_path(problem, smoothed.q)
    return smoothed, Smoothing(prior=relax(problem.skeleton, prior, allowed), noise=noise)
