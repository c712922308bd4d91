"""Segments, consecutive frames, and frames spread evenly over a recording."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from exactik.typing import BoolArray, IntArray


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
