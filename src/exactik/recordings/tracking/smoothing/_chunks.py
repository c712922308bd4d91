"""Which frames are solved together.

Recordings are solved in chunks that overlap; what a chunk does not see has died away.
"""

from __future__ import annotations

from typing import NamedTuple

OVERLAP_FRAMES = 30
"""Frames to each side of a chunk that are solved with it and not used: what lies beyond has no
influence any more. test_seams_between_chunks_do_not_show."""


class Chunk(NamedTuple):
    """Frames that are solved together.

    Attributes:
        low: first of them.
        high: one after the last.
        first: from which on they are kept, and estimates go by them.
        end: of these, excluded.
    """

    low: int
    high: int
    first: int
    end: int

    @property
    def kept(self) -> slice:
        """Those that are kept, among those that are solved."""
        return slice(self.first - self.low, self.end - self.low)


def cover_recording(frame_count: int, size: int) -> list[Chunk]:
    """Return chunks of a size [frames] that overlap and cover all frames."""
    return [
        Chunk(
            low=max(first - OVERLAP_FRAMES, 0),
            high=min(first + size + OVERLAP_FRAMES, frame_count),
            first=first,
            end=min(first + size, frame_count),
        )
        for first in range(0, frame_count, size)
    ]
