"""Which frames are solved together.

Long recordings are solved in chunks that overlap; what a chunk does not see has died away. Strength
is estimated in chunks apart from each other.
"""

from __future__ import annotations

from typing import NamedTuple

from exactik.motion import choose_even_frames
from exactik.tracking._options import SmoothingOptions

__all__ = ["Chunk", "cover_recording", "sample_recording"]


class Chunk(NamedTuple):
    """Frames that are solved together.

    Attributes:
        low: first of them.
        high: one after the last.
        first: from which on they are kept.
        end: of these, excluded.
        margin: frames at either end of those kept that estimates leave out.
    """

    low: int
    high: int
    first: int
    end: int
    margin: int = 0

    @property
    def kept(self) -> slice:
        """Those that are kept, among those that are solved."""
        return slice(self.first - self.low, self.end - self.low)

    @property
    def counted(self) -> slice:
        """Those that estimates go by, among those that are solved."""
        return slice(self.kept.start + self.margin, self.kept.stop - self.margin)

    def count_accelerations(self, lag: int) -> int:
        """Return how many of the counted frames have an acceleration over a lag [frames]."""
        first, end = self.counted.start, self.counted.stop
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


def sample_recording(frame_count: int, options: SmoothingOptions) -> list[Chunk] | None:
    """Return chunks apart from each other, spread over a long recording; None if it is short."""
    size, margin = options.chunk_frames, options.overlap_frames
    count, length = max(options.strength_frames // size, 1), size + 2 * margin
    if frame_count <= count * length:
        return None
    # Spread over the frames that they leave free, so that none overlaps another.
    free = choose_even_frames(frame_count - count * length + 1, count)
    starts = [int(before) + n * length for n, before in enumerate(free)]
    return [
        Chunk(low=low, high=low + length, first=low, end=low + length, margin=margin)
        for low in starts
    ]
