"""Markers before they are solved: outliers removed, gaps filled, the width of a robust loss.

Outliers show in the markers alone. Spikes: a marker that is for a moment far from where it was just
before and is just after. They are taken for missing. Swaps: two markers that exchange their names
(`motion.find_swaps`); they are exchanged back if that leaves them better in place among the markers
around them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from exactik.model.motion import Markers, Swap, choose_even_frames, find_swaps
from exactik.recordings.tracking._first_pass import solve_cold_start
from exactik.recordings.tracking._options import DEFAULT_OPTIONS, TrackingOptions
from exactik.recordings.tracking._problem import (
    ASSUMED_NOISE,
    CHUNK_FRAMES,
    LOSS_KINDS,
    TrackingProblem,
)
from exactik.recordings.tracking.preparation._fill import fill_gaps, find_neighbours
from exactik.typing import Array, BoolArray

SWAP_MAX_MISFIT = 0.5
"""Share of its old misfit that a pair may keep for its names to be exchanged back, if it never
changes back in the recording: only clear cases. By hand;
test_without_errors_a_robust_loss_changes_little."""
RETURNING_SWAP_MAX_MISFIT = 1.2
"""The same, if the pair changes back, which is evidence by itself; above 1, since among markers in
line either way fits. By hand; test_markers_on_two_sides_of_a_wrist_are_exchanged_back."""
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


class Outliers(NamedTuple):
    """What `remove_outliers` found.

    Attributes:
        swaps: pairs of markers that were exchanged back.
        spikes: samples that were taken for missing, (T, M).
    """

    swaps: tuple[Swap, ...]
    spikes: BoolArray


def remove_outliers(
    problem: TrackingProblem, options: TrackingOptions
) -> tuple[TrackingProblem, Outliers]:
    """Return the problem without spikes and with swapped markers exchanged back, and both."""
    position, swaps = problem.targets.position.copy(), []
    # A spike beside a larger one shows when that is gone.
    while (spikes := find_spikes(position, problem.rate, options)).any():
        position[spikes] = np.nan
    for swap in find_swaps(Markers(position, problem.names, problem.rate)):
        if fits_better_exchanged(problem, position, swap, options):
            exchange_names(position, problem.names, swap)
            swaps.append(swap)
    spikes = np.isnan(position[:, :, 0]) & problem.seen
    return problem.with_targets(position=position), Outliers(swaps=tuple(swaps), spikes=spikes)


def exchange_names(position: Array, names: Sequence[str], swap: Swap) -> None:
    """Exchange the places of two markers, (T, M, 3), in the frames of a swap, in place."""
    one, other = (names.index(name) for name in swap.names)
    frames = slice(swap.first, swap.last + 1)
    position[frames, [one, other]] = position[frames, [other, one]]


def find_spikes(
    position: Array, rate: float, options: TrackingOptions = DEFAULT_OPTIONS
) -> BoolArray:
    """Return the samples, (T, M), that lie far from every line through their neighbours in time."""
    max_distance = options.spike_min_distance + 0.5 * options.spike_max_acceleration / rate**2
    spikes = np.zeros(position.shape[:2], dtype=bool)
    for start in range(2, len(position) - 2, CHUNK_FRAMES):
        end = min(start + CHUNK_FRAMES, len(position) - 2)
        current = position[start:end]
        nearest = np.full(current.shape[:2], np.inf)
        for before, after in ((1, 1), (2, 1), (1, 2), (2, 2)):
            low = position[start - before : end - before]
            high = position[start + after : end + after]
            line = (after * low + before * high) / (before + after)
            distance = np.linalg.norm(current - line, axis=2)
            # A pair of which one is missing gives no line.
            nearest = np.where(np.isnan(distance), nearest, np.minimum(nearest, distance))
        spikes[start:end] = (nearest > max_distance) & np.isfinite(nearest)
    return spikes


def fits_better_exchanged(
    problem: TrackingProblem, position: Array, swap: Swap, options: TrackingOptions
) -> bool:
    """Whether both markers keep their usual distances to those around them better if exchanged."""
    first, second = (problem.names.index(name) for name in swap.names)
    swap_frames = np.arange(swap.first, swap.last + 1)
    neighbours = find_neighbours(problem, options)
    other_frames = np.setdiff1d(np.arange(len(position)), swap_frames)
    if len(other_frames) == 0:
        return False
    misfit = np.zeros(2)  # as it is, and exchanged
    for m, partner in ((first, second), (second, first)):
        for k in np.setdiff1d(neighbours[m], (first, second)):
            outside = np.linalg.norm(position[other_frames, m] - position[other_frames, k], axis=1)
            if not np.isfinite(outside).any():  # never seen together outside
                continue
            usual = np.nanmedian(outside)
            for n, j in enumerate((m, partner)):
                offset = position[swap_frames, j] - position[swap_frames, k]
                error = np.linalg.norm(offset, axis=1) - usual
                if np.isfinite(error).any():
                    misfit[n] += np.nanmedian(error**2)
    returns = swap.last < len(position) - 1
    max_misfit = RETURNING_SWAP_MAX_MISFIT if returns else SWAP_MAX_MISFIT
    return bool(misfit[1] <= max_misfit * misfit[0])


class PreparedMarkers(NamedTuple):
    """Markers ready to be solved."""

    # The problem of what was recorded, without outliers; errors are measured by it
    recorded: TrackingProblem
    problem: TrackingProblem  # the same with missing markers filled in; to be solved
    outliers: Outliers  # that were removed


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
