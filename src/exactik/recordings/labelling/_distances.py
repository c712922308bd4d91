"""Distances between markers over time: what stays tells what is rigid."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.typing import Array, IntArray

MAX_FRAMES = 240  # looked at, evenly spread: statistics of distances settle long before


class PairDistances(NamedTuple):
    """Distances of all pairs of M markers over time, (M, M) each; not a number where never seen."""

    mean: Array  # [m]
    sd: Array  # standard deviation over time [m]
    quantile: Array  # the asked one [m]
    frames: IntArray  # number in which both are seen


def measure_pair_distances(positions: Array, quantile: float = 0.5) -> PairDistances:
    """Return the statistics of the distances of all pairs over time.

    Args:
        positions: [m], (T, M, 3); not a number where missing.
        quantile: that is wanted too.
    """
    count = positions.shape[1]
    mean, sd, quantiles = (np.full((count, count), np.nan) for _ in range(3))
    seen_together = np.zeros((count, count), dtype=np.int64)
    for k in range(count):  # a marker against all others: T × M numbers at a time
        distances = np.linalg.norm(positions - positions[:, k : k + 1], axis=2)
        both = np.isfinite(distances)
        seen_together[k] = both.sum(axis=0)
        there = seen_together[k] > 0
        mean[k, there] = np.nanmean(distances[:, there], axis=0)
        sd[k, there] = np.nanstd(distances[:, there], axis=0)
        whole = both.all(axis=0)  # the same numbers, found faster where nothing is missing
        quantiles[k, whole] = np.quantile(distances[:, whole], quantile, axis=0)
        gaps = there & ~whole
        quantiles[k, gaps] = np.nanquantile(distances[:, gaps], quantile, axis=0)
    return PairDistances(mean=mean, sd=sd, quantile=quantiles, frames=seen_together)
