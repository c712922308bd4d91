"""Frames at an even rate; segments, which are consecutive frames, and frames spread evenly."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from exactik._arrays import is_number
from exactik.errors import UsageError
from exactik.typing import Array, BoolArray, IntArray


def check_rate(rate: float) -> float:
    """Return a rate [Hz]; raise `UsageError` unless it is a positive number."""
    if not is_number(rate) or not 0.0 < rate < np.inf:
        raise UsageError(f"rate is {rate!r}; it must be a positive number of frames a second")
    return float(rate)


def slice_frames(count: int, rate: float, start: float | None, end: float | None) -> slice:
    """Return the frames from `start` to `end`, both included [s from the first frame]."""
    first, last = 0, count
    if start is not None:
        first = int(np.ceil(np.clip(_check_time("start", start) * rate - 1e-6, 0, count)))
    if end is not None:
        last = int(np.floor(np.clip(_check_time("end", end) * rate + 1e-6, -1, count - 1))) + 1
    return slice(first, last)


def _check_time(name: str, seconds: float) -> float:
    """Return a time [s], which may be infinite; raise `UsageError` if it is none."""
    if not is_number(seconds) or np.isnan(seconds):
        raise UsageError(f"{name} is {seconds!r}; it must be a number of seconds")
    return float(seconds)


def compute_resampled_positions(count: int, rate: float, new: float) -> Array:
    """Return where frames of another rate lie, in frames of the old one, (n,)."""
    if count == 0:
        return np.empty(0)
    step = rate / check_rate(new)
    return step * np.arange(int(np.floor((count - 1) / step + 1e-9)) + 1, dtype=np.float64)


class Segment(NamedTuple):
    """Consecutive frames, first and last included."""

    first: int
    last: int

    @property
    def frame_count(self) -> int:
        """Number of frames."""
        return self.last - self.first + 1


def find_segments(flags: BoolArray, join: int = 0) -> list[Segment]:
    """Return the segments in which flags, (T,), are True.

    Args:
        flags: one per frame.
        join: segments with no more False frames than these between them become one.
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    segments: list[Segment] = []
    for first, end in zip(edges[::2], edges[1::2], strict=True):
        if len(segments) > 0 and first - segments[-1].last <= join + 1:
            segments[-1] = Segment(segments[-1].first, int(end) - 1)
        else:
            segments.append(Segment(int(first), int(end) - 1))
    return segments


def mark_segments(frame_count: int, segments: Iterable[tuple[int, int]]) -> BoolArray:
    """Return which frames are in one of the segments, (frame_count,): `find_segments` undone."""
    flags = np.zeros(frame_count, dtype=bool)
    for first, last in segments:
        flags[first : last + 1] = True
    return flags


def cut_into_segments(frame_count: int, length: int, shift: int = 0) -> list[Segment]:
    """Return segments of a fixed length that cover all frames; the first is shorter by `shift`.

    A last one of less than half the length is joined to the one before it.
    """
    cuts = [0, *range(length - shift, frame_count - length // 2, length), frame_count]
    return [Segment(first, end - 1) for first, end in pairwise(cuts)]


def choose_even_frames(frame_count: int, at_most: int) -> IntArray:
    """Return the numbers of frames spread evenly, first and last included, (n,); all if few."""
    spread = np.linspace(0, max(frame_count - 1, 0), min(frame_count, at_most))
    return np.unique(spread.astype(np.int64))
