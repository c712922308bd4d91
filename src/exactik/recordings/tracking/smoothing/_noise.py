"""σ: by how much markers are wrong from frame to frame, as their standard deviation [m].

The noise of the markers, or what residuals change by within a moment, if that is more: what is
wrong with the figure for longer is no noise.
"""

from __future__ import annotations

import numpy as np

from exactik.model.motion import choose_even_frames
from exactik.recordings.tracking._problem import TrackingProblem
from exactik.typing import Array

NOISE_LAG_SECONDS = 0.05
"""[s] within which residuals change by noise, and hardly by the motion: a third of a step of a
run."""
ASSUMED_NOISE = 0.001
"""[m] of markers from frame to frame where no marker is seen five frames long."""
NOISE_FRAMES = 500
"""By which that is judged, spread over the recording."""
WHITE_NOISE_SAMPLES = 10_000
"""Of every marker, each of five frames in a row, spread over the recording, by which its noise is
judged: bounds the memory, and the median of so many is right to a hundredth. A tenth of them would
do, ten times as many only cost memory."""

FOURTH_DIFFERENCE = (1.0, -4.0, 6.0, -4.0, 1.0)
VARIANCE_OF_FOURTH_DIFFERENCES = 70.0  # 1 + 16 + 36 + 16 + 1 times that of independent values
NORMAL_QUARTILE = 0.6745  # of a normal distribution: half of it is nearer to the middle, in σ
MIN_NOISE = 1e-6  # [m] recordings without noise still have rounding


def estimate_noise_between_frames(problem: TrackingProblem, q: Array, information: Array) -> float:
    """Return σ [m] of the markers along each axis.

    Args:
        problem: markers and figure.
        q: poses found for them, (T, nq).
        information: what markers say about dofs, (M, nv), see `compute_marker_information`.
    """
    changing = estimate_changing_noise(problem, q, information)
    return max(estimate_white_noise(problem), changing)


def estimate_white_noise(problem: TrackingProblem) -> float:
    """Return what markers change by from frame to frame beyond their motion: its sd [m].

    By fourth differences in time, in which motions have next to no part. Half of the samples
    decide, so that spikes and impacts do not. Of long recordings some are taken, spread over it.
    """
    position, used = problem.targets.position, problem.counts
    last = len(FOURTH_DIFFERENCE) - 1
    first = choose_even_frames(max(len(position) - last, 0), WHITE_NOISE_SAMPLES)
    differences = np.zeros((len(first), *position.shape[1:]))
    for n, factor in enumerate(FOURTH_DIFFERENCE):
        differences += factor * position[first + n]
    values = np.abs(differences[:, used])
    values = values[np.isfinite(values)]
    if len(values) == 0:
        return ASSUMED_NOISE
    scale = NORMAL_QUARTILE * np.sqrt(VARIANCE_OF_FOURTH_DIFFERENCES)
    return max(float(np.median(values)) / scale, MIN_NOISE)


def estimate_changing_noise(problem: TrackingProblem, q: Array, information: Array) -> float:
    """Return by how much residuals change within a moment, as the sd of markers [m]; 0 if unknown.

    Files are often filtered and have next to no white noise left; skin that moves and a figure that
    fits badly are then what makes badly determined joints wander. What is wrong for longer than a
    moment is not counted: it is no reason to smooth.
    """
    lag = max(round(NOISE_LAG_SECONDS * problem.rate), 1)
    if len(q) <= lag:
        return 0.0
    frames = choose_even_frames(len(q) - lag, NOISE_FRAMES)
    change = problem.residuals(q[frames + lag], frames + lag) - problem.residuals(q[frames], frames)
    change = change[:, problem.counts]
    # Each dof takes one number out of the residuals; only what is left over tells of noise.
    moves = (information.sum(axis=0) > 0.0) & ~problem.frame_problem.locked
    surplus = np.isfinite(change).sum(axis=(1, 2)) - int(moves.sum())
    usable = surplus > 0
    if not usable.any():
        return 0.0
    # A difference of two has twice the variance; the median leaves out jumps and swapped names.
    squares = np.nansum(change[usable] ** 2, axis=(1, 2)) / (2.0 * surplus[usable])
    return float(np.sqrt(np.median(squares)))
