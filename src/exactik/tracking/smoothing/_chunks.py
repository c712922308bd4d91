"""Which frames are solved together.

Recordings are solved in chunks that overlap; what a chunk does not see has died away.
"""

from __future__ import annotations

from typing import NamedTuple

from exactik.tracking._options import SmoothingOptions

__all__ = ["Chunk", "cover_recording"]


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

    def count_accelerations(self, lag: int) -> int:
        """Return how many of those kept have an acceleration over a lag [frames]."""
        first, end = self.kept.start, self.kept.stop
        return max(min(end, self.high - self.low - lag) - max(first, lag), 0)


def cover_recording(frame_count: int, options: SmoothingOptions) -> list[Chunk]:
    """Return chunks that overlap and cover all frames."""
    size, overlap = options.chunk_frames, options.overlap_frames
    return [
        Chunk(
            low=max(first - overlap, 0),
            high=min(first + size + overlap, frame_count),
            first=first,
            end=min(first + size, frame_count),
        )
        for first in range(0, frame_count, size)
    ]
