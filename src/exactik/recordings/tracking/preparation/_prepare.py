"""Markers before they are solved: outliers removed, the width of a robust loss, gaps filled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.model.motion import choose_even_frames
from exactik.recordings.tracking._first_pass import solve_cold_start
from exactik.recordings.tracking._options import TrackingOptions
from exactik.recordings.tracking._problem import ASSUMED_NOISE, LOSS_KINDS, TrackingProblem
from exactik.recordings.tracking.preparation._fill import fill_gaps
from exactik.recordings.tracking.preparation._outliers import Outliers, remove_outliers
from exactik.typing import Array

MIN_LOSS_NOISE = 1e-4
"""[m] standard deviation of the markers below which a robust loss gets no narrower, where it is
estimated: better than any camera. Markers that a program made fit to rounding, and all that a
descent passes on its way to them would be outliers; see
test_a_robust_loss_does_no_harm_where_there_is_no_noise."""
MEDIAN_DISTANCE = 1.538
"""Standard deviations along an axis: the median distance of a normal distribution in space."""
INITIAL_LOSS_WIDTH = 0.05
"""[m] c of the Huber loss that gives the first estimate of the noise: wide enough for a figure that
fits badly. By hand."""
INITIAL_NOISE_FRAMES = 16
"""Spread over the recording, from which the noise is first estimated."""
INITIAL_NOISE_STARTS = 6
"""Cold starts of each of these."""


class PreparedMarkers(NamedTuple):
    """Markers ready to be solved.

    Attributes:
        recorded: the problem of what was recorded, without outliers; errors are measured by it.
        problem: the same with missing markers filled in; to be solved.
        outliers: that were removed.
    """

    recorded: TrackingProblem
    problem: TrackingProblem
    outliers: Outliers


def prepare_markers(
    problem: TrackingProblem,
    cold_start: Array,
    robust: str | None,
    sigma: float | None,
    options: TrackingOptions,
) -> PreparedMarkers:
    """Remove outliers, set the width of a robust loss and fill gaps.

    Args:
        problem: as recorded.
        cold_start: descent options, see `kernels.descent.options`.
        robust: name of the loss; outliers are removed if there is one.
        sigma: standard deviation of the markers along each axis [m]; estimated if None.
        options: of all stages.
    """
    outliers = Outliers(swaps=(), spikes=np.zeros((0, 0), dtype=bool))
    if robust is not None:
        problem, outliers = remove_outliers(problem, options)
    is_estimated = sigma is None
    if is_estimated and (robust is not None or not problem.seen.all()):
        sigma = estimate_initial_noise(problem, cold_start)
    if robust is not None:
        widths = {"huber": options.huber_width, "tukey": options.tukey_width}
        loss_noise = sigma or 0.0
        if is_estimated:
            loss_noise = max(loss_noise, MIN_LOSS_NOISE)
        loss = np.array([LOSS_KINDS[robust], widths[robust] * loss_noise, 1.0])
        problem = problem.with_targets(loss=loss)
    filled = problem if sigma is None else fill_gaps(problem, sigma, options)
    return PreparedMarkers(recorded=problem, problem=filled, outliers=outliers)


def estimate_initial_noise(
    problem: TrackingProblem,
    cold_start: Array,
) -> float:
    """Return a first estimate of the markers' standard deviation along each axis [m].

    From a sample of frames, solved independently with a robust loss.
    """
    frames = choose_even_frames(len(problem), INITIAL_NOISE_FRAMES)
    sample = problem.select(frames).with_targets(
        loss=np.array([LOSS_KINDS["huber"], INITIAL_LOSS_WIDTH, 1.0]),
        robust_weight=np.ones((len(frames), len(problem.names))),
    )
    rows = np.arange(len(frames))
    solutions = solve_cold_start(sample, cold_start, rows, INITIAL_NOISE_STARTS)
    distance = np.linalg.norm(sample.residuals(solutions.q), axis=2)[:, sample.counts]
    if not np.isfinite(distance).any():
        return ASSUMED_NOISE
    return max(float(np.nanmedian(distance)) / MEDIAN_DISTANCE, 1e-6)
