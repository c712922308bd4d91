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
from exactik.kernels.smoothing.accelerations import AccelerationPrior
from exactik.recordings.tracking._frame_solver import FrameSolutions, TrackingRun, unwrap_path
from exactik.recordings.tracking.smoothing._chunks import Chunk, cover_recording
from exactik.recordings.tracking.smoothing._noise import estimate_noise_between_frames
from exactik.recordings.tracking.smoothing._prior import (
    AccelerationSquares,
    Smoothing,
    make_prior,
    weigh_accelerations,
)
from exactik.recordings.tracking.smoothing._smoother import (
    Smoother,
    compute_mean_weight,
    make_smoothing_problem,
)
from exactik.recordings.tracking.smoothing._strength import (
    compute_strength_of_cutoff,
    estimate_strength,
    update_strength,
)
from exactik.typing import Array

ROUNDS = 2
"""Of steps with the accelerations as estimated. While they are estimated, again after each, and one
more step follows."""
RELAXATION = (100.0, 30.0, 10.0, 3.0)
"""Times the accelerations that are allowed in the first steps, one each. By hand: with larger
ratios the steps grow beyond what their linear model holds for, and take dofs that markers leave
open, such as those of a neck of three joints, against their limits: after 10 and 3 alone heads were
up to 64 mm beside their markers; test_smoothing_leaves_no_limb_beside_its_markers,
test_a_lower_cut_off_is_smoother."""

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
    chunk_frames, noise = run.options.chunk_frames, sigma
    if noise is None:
        noise = estimate_noise_between_frames(run.problem, path.q, information)
    problem = make_smoothing_problem(run.problem, noise)
    mean_weight = compute_mean_weight(run.problem)
    # What no marker is on or beyond stays at rest and has no say in how the rest of it moves.
    is_seen = np.asarray(information.sum(axis=0) > 0.0)
    smoother = Smoother(problem, chunk_frames, run.threads, is_seen)
    free = make_prior(problem.skeleton)

    def weigh(strength: AccelerationSquares, relaxation: float) -> AccelerationPrior:
        return weigh_accelerations(
            problem.skeleton, free, is_seen, noise, strength, relaxation=relaxation
        )

    chunks, q = cover_recording(len(path.q), chunk_frames), path.q
    is_estimated = smooth == "auto"
    step_count = len(RELAXATION) + ROUNDS + (1 if is_estimated else 0)

    def report_steps(frames: int) -> None:
        report_frames(frames / step_count)

    if is_estimated:
        strength, q = _settle_strength(smoother, q, noise, chunks, free, weigh, report_steps)
        stages = [1.0]  # all frames are there already, but for the last change of strength
    else:
        own_information = information / mean_weight  # with the weights of the smoothing problem
        strength = compute_strength_of_cutoff(problem, float(smooth), own_information, noise, free)
        stages = [*RELAXATION, *([1.0] * ROUNDS)]
    priors = [weigh(strength, allowed) for allowed in stages]
    found = smoother.advance(q, priors, noise, chunks, estimate=False, report_frames=report_steps)
    smoothed = FrameSolutions(found.q, path.outcomes.copy())
    smoothed.cost[:] = mean_weight * found.cost
    unwrap_path(problem, smoothed.q)
    return smoothed, Smoothing(prior=priors[-1], noise=noise)


def _settle_strength(
    smoother: Smoother,
    q: Array,
    noise: float,
    chunks: Sequence[Chunk],
    free: AccelerationPrior,
    weigh: Callable[[AccelerationSquares, float], AccelerationPrior],
    report_frames: Callable[[int], None],
) -> tuple[AccelerationSquares, Array]:
    """Return s² as smoothed frames have it, and the poses, (T, nq), smoothed with the one before.

    Args:
        smoother: of the recording.
        q: poses to start from, (T, nq).
        noise: σ [m].
        chunks: that cover all frames.
        free: which dofs turn and which shift.
        weigh: returns the prior of s² and a relaxation.
        report_frames: see `Smoother.advance`.
    """
    initial = estimate_strength(smoother, q, free, chunks)
    strength, relaxations = initial, [*RELAXATION, 1.0]
    for _ in range(ROUNDS):
        priors = [weigh(strength, relaxation) for relaxation in relaxations]
        smoothed = smoother.advance(
            q, priors, noise, chunks, estimate=True, report_frames=report_frames
        )
        strength, q = update_strength(smoother, free, initial, smoothed), smoothed.q
        # Relaxed steps still tremble: they come first, and are not estimated by.
        relaxations = [1.0]
    return strength, q
