"""Outliers that show in the markers alone, before any figure is fitted.

Spikes: a marker that is for a moment far from where it was just before and is just after. They are
taken for missing. Swaps: two markers that exchange their names (`motion.find_swaps`); they are
exchanged back if that leaves them better in place among the markers around them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from exactik.model.motion import Markers, Swap, find_swaps
from exactik.recordings.tracking._options import DEFAULT_OPTIONS, TrackingOptions
from exactik.recordings.tracking._problem import CHUNK_FRAMES, TrackingProblem
from exactik.recordings.tracking.preparation._fill import find_neighbours
from exactik.typing import Array, BoolArray

SWAP_MAX_MISFIT = 0.5
"""Share of its old misfit that a pair may keep for its names to be exchanged back, if it never
changes back in the recording: only clear cases. By hand;
test_without_errors_a_robust_loss_changes_little."""
RETURNING_SWAP_MAX_MISFIT = 1.2
"""The same, if the pair changes back, which is evidence by itself; above 1, since among markers in
line either way fits. By hand; test_markers_on_two_sides_of_a_wrist_are_exchanged_back."""


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
