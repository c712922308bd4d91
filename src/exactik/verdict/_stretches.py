"""Stretches of a recording in which a marker is far from its place, though it mostly is not.

Means hide them: a twentieth of the frames may be wrong by ten times the usual error and change the
mean of a recording by half. What a marker is off by for a moment is noise, and filled as gaps are;
so the error counts that it keeps up for a tenth of a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from exactik.typing import Array

__all__ = ["FarStretch", "count_moment_frames", "find_far_stretches"]

MOMENT_SECONDS = 0.1
"""[s] that an error must last: gaps up to it are filled without remark, feet land in less."""
MIN_MOMENT_FRAMES = 3  # at low rates: a spike of one sample shows in two frames that are smoothed
MIN_RATIO = 3.0
"""Of a stretch to the median error of the marker: less is how it usually sits on its skin."""


class FarStretch(NamedTuple):
    """Where a marker is farthest from its place for longer than a moment.

    Attributes:
        marker: its name.
        first: frame.
        last: frame.
        error: that it keeps up for a moment [m].
        largest: error in these frames [m].
    """

    marker: str
    first: int
    last: int
    error: float
    largest: float


def count_moment_frames(rate: float) -> int:
    """Return how many frames a moment has, at a number of frames per second."""
    return max(round(MOMENT_SECONDS * rate), MIN_MOMENT_FRAMES)


def find_far_stretches(
    errors: Array, names: Sequence[str], rate: float, first_frame: int = 0
) -> tuple[FarStretch, ...]:
    """Return the worst stretch of each marker that has one, the worst first.

    Args:
        errors: of every marker [m], (T, M), not a number where it is missing.
        names: of the markers, (M,).
        rate: frames per second.
        first_frame: number of the first of these frames.
    """
    count, stretches = count_moment_frames(rate), []
    if len(errors) < count:
        return ()
    for m, name in enumerate(names):
        seen = np.isfinite(errors[:, m])
        if not seen.any():
            continue
        usual = float(np.median(errors[seen, m]))
        error = np.where(seen, errors[:, m], 0.0)
        kept_up = sliding_window_view(error, count).min(axis=1)
        begin = int(kept_up.argmax())
        worst = float(kept_up[begin])
        if not worst > MIN_RATIO * usual:
            continue
        near = np.flatnonzero(error < 0.5 * worst)  # where the stretch is over
        first = int(near[near < begin].max(initial=-1)) + 1
        last = int(near[near >= begin + count].min(initial=len(error))) - 1
        stretches.append(
            FarStretch(
                marker=name,
                first=first + first_frame,
                last=last + first_frame,
                error=worst,
                largest=float(error[first : last + 1].max()),
            )
        )
    return tuple(sorted(stretches, key=lambda stretch: -stretch.error))
