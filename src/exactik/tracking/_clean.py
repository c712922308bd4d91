"""Errors of a recording that show in the markers alone, before any figure is fitted.

Spikes: a marker that is for a moment far from where it was just before and is just after. They are
taken for missing. Swaps: two markers that exchange their names (`motion.find_swaps`); they are
exchanged back if that leaves them better in place among the markers around them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.motion import Markers, Swap, find_swaps
from exactik.tracking._fill import find_neighbours
from exactik.tracking._recording import TrackingProblem
from exactik.typing import Array, BoolArray

__all__ = ["Outliers", "find_spikes", "remove_outliers"]


LEAST = 0.02  # [m] that a spike stands out
FASTEST = 400.0  # [m/s²] acceleration beyond what bodies do
PASSES = 2
BETTER = 0.5  # share of the old misfit that a pair may keep if it never changes back
NO_WORSE = 1.2  # the same, if it does; among markers in line, either way fits
AT_ONCE = 1 << 15


class Outliers(NamedTuple):
    """What was found.

    Attributes:
        swaps: pairs of markers that were exchanged back.
        spikes: samples that were taken for missing, (T, M).
    """

    swaps: tuple[Swap, ...]
    spikes: BoolArray


def remove_outliers(recording: TrackingProblem) -> tuple[TrackingProblem, Outliers]:
    """Return the recording without spikes, and with swapped markers in their places."""
    place, swaps = recording.targets.position.copy(), []
    for _ in range(PASSES):  # the second finds those beside another
        place[find_spikes(place, recording.rate)] = np.nan
    for swap in find_swaps(Markers(place, recording.names, recording.rate)):
        one, two = (recording.names.index(name) for name in swap.names)
        if _better_exchanged(recording, place, one, two, swap):
            own = slice(swap.first, swap.last + 1)
            place[own, one], place[own, two] = place[own, two].copy(), place[own, one].copy()
            swaps.append(swap)
    gone = np.isnan(place[:, :, 0]) & recording.seen
    return recording.with_targets(position=place), Outliers(tuple(swaps), gone)


def find_spikes(place: Array, rate: float) -> BoolArray:
    """Return the samples, (T, M), that lie far from every line through their neighbours in time."""
    limit = LEAST + 0.5 * FASTEST / rate**2
    out = np.zeros(place.shape[:2], dtype=bool)
    for at in range(2, len(place) - 2, AT_ONCE):
        end = min(at + AT_ONCE, len(place) - 2)
        here = place[at:end]
        nearest = np.full(here.shape[:2], np.inf)
        for before, after in ((1, 1), (2, 1), (1, 2), (2, 2)):
            low, high = place[at - before : end - before], place[at + after : end + after]
            line = (after * low + before * high) / (before + after)
            # Of a pair of neighbours that is not there, nothing can be said.
            miss = np.linalg.norm(here - line, axis=2)
            nearest = np.where(np.isnan(miss), nearest, np.minimum(nearest, miss))
        out[at:end] = (nearest > limit) & np.isfinite(nearest)
    return out


def _better_exchanged(
    recording: TrackingProblem, place: Array, one: int, two: int, swap: Swap
) -> bool:
    """Whether both markers keep their usual distances to those around them better if exchanged."""
    own, others = np.arange(swap.first, swap.last + 1), find_neighbours(recording)
    rest = np.setdiff1d(np.arange(len(place)), own)
    if len(rest) == 0:
        return False
    misfit = np.zeros(2)  # as it is, and exchanged
    for m, other in ((one, two), (two, one)):
        for k in np.setdiff1d(others[m], (one, two)):
            usual = np.nanmedian(np.linalg.norm(place[rest, m] - place[rest, k], axis=1))
            for n, j in enumerate((m, other)):
                miss = np.linalg.norm(place[own, j] - place[own, k], axis=1) - usual
                if np.isfinite(miss).any():
                    misfit[n] += np.nanmedian(miss**2)
    share = NO_WORSE if swap.last < len(place) - 1 else BETTER
    return bool(misfit[1] <= share * misfit[0])
