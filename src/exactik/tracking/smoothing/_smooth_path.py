"""The stage of smoothing: one step after another, from poses that were found frame by frame.

Frames that were solved alone tremble far more than s. So the first steps take accelerations lightly
and each step more seriously: every one of them is then short enough for its linear model.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from exactik.errors import UsageError
from exactik.tracking._frame_solver import FrameSolutions, TrackingRun, unwrap_path
from exactik.tracking.smoothing._noise import estimate_noise_between_frames
from exactik.tracking.smoothing._prior import Smoothing, make_prior, weigh_accelerations
from exactik.tracking.smoothing._smoother import Smoother, make_smoothing_problem
from exactik.tracking.smoothing._strength import (
    compute_strength_of_cutoff,
    estimate_strength,
    update_strength,
)
from exactik.typing import Array

__all__ = ["require_smooth", "smooth_path"]

MIN_FRAMES = 3  # with which there is an acceleration


def require_smooth(smooth: float | str | None, rate: float) -> None:
    """Raise unless it is "auto", None or a frequency [Hz] that frames at this rate [Hz] show."""
    if smooth is None or smooth == "auto":
        return
    if isinstance(smooth, str) or not 0.0 < smooth < 0.5 * rate:
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
    if len(path.q) < MIN_FRAMES:
        return path, None
    options, noise = run.options.smoothing, sigma
    if noise is None:
        noise = estimate_noise_between_frames(run.problem, path.q, information, options)
    problem = make_smoothing_problem(run.problem, noise)
    # What no marker is on or beyond stays at rest and has no say in how the rest of it moves.
    is_seen = np.asarray(information.sum(axis=0) > 0.0)
    smoother = Smoother(problem, options, run.threads, is_seen)
    q, free = path.q.copy(), make_prior(problem.skeleton)
    if smooth == "auto":
        initial = estimate_strength(smoother, q, free)
    else:
        initial = compute_strength_of_cutoff(problem, float(smooth), information, noise, free)
    stages = [*options.relaxation, *([1.0] * options.rounds)]
    strength, cost, prior = initial, np.empty(len(q)), free
    for n, relaxation in enumerate(stages):
        prior = weigh_accelerations(
            problem.skeleton, free, is_seen, noise, strength, relaxation=relaxation
        )
        # Relaxed steps still tremble, and after the last step no other would use the estimate.
        estimate = smooth == "auto" and relaxation == 1.0 and n + 1 < len(stages)
        step = smoother.advance(q, prior, noise, estimate=estimate)
        q, cost = step.q, step.cost
        if estimate:
            strength = update_strength(smoother, free, initial, step.observed, step.undetermined)
        report_frames(len(q) // len(stages))
    smoothed = path.copy()
    smoothed.q[:], smoothed.cost[:] = q, cost
    unwrap_path(problem, smoothed.q)
    return smoothed, Smoothing(prior=prior, noise=noise)
