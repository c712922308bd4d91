"""Numbers of a C3D file: three ways to write them, and the frames made of them.

A frame is a row of words, all 16-bit integers or all 32-bit floats: four for each point (x, y, z
and a fourth), then the analog samples. Floats are coordinates in the unit of the file; integers
become so by a common factor. The fourth word is an integer also where it is written as a float:
negative for a point that no camera saw, else the residual in its low byte (in steps of the factor's
size) and in its high byte the cameras that saw the point.

The machine that wrote a file leaves its marks on every number in it: Intel writes the low byte
first, MIPS the high one. DEC (VAX) writes integers like Intel and floats in two words, the high one
first, with an exponent that makes them four times what an Intel float of the same bits is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactik.typing import Array, BoolArray

__all__ = ["ENCODINGS", "Encoding", "Layout", "Points", "read_points"]


@dataclass(frozen=True)
class Encoding:
    """How a kind of machine writes numbers.

    Attributes:
        name: of the machine.
        order: of the bytes in a number, as NumPy calls it.
        swapped: whether the two words of a float change places.
    """

    name: str
    order: str
    swapped: bool = False

    def integers(self, raw: bytes | NDArray[np.uint8]) -> NDArray[np.int16]:
        """Return 16-bit integers; the last axis of `raw` is one of bytes."""
        return _bytes(raw).view(f"{self.order}i2").astype(np.int16, copy=False)

    def floats(self, raw: bytes | NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return 32-bit floats; the last axis of `raw` is one of bytes."""
        found = _bytes(raw)
        if not self.swapped:
            return found.view(f"{self.order}f4").astype(np.float32, copy=False)
        words = found.view(f"{self.order}u2")
        pairs = words.reshape(*words.shape[:-1], -1, 2)[..., ::-1]
        bits = np.ascontiguousarray(pairs).view(f"{self.order}u4")[..., 0].astype(np.uint32)
        with np.errstate(invalid="ignore"):  # any bits may come, signalling ones too
            values = bits.view(np.float32) / np.float32(4.0)
        # Without exponent a VAX float is zero, or no number if its sign is set.
        nothing = (bits & 0x7F800000) == 0
        return np.where(nothing, np.where(bits >> 31 == 1, np.float32(np.nan), 0), values)

    def unsigned(self, raw: bytes) -> int:
        """Return the unsigned integer in two bytes."""
        return int.from_bytes(raw, "big" if self.order == ">" else "little")


# By the fourth byte of the parameter section.
ENCODINGS = {
    84: Encoding("Intel", "<"),
    85: Encoding("DEC", "<", swapped=True),
    86: Encoding("MIPS", ">"),
}


class Layout(NamedTuple):
    """Where the frames of a file are.

    Attributes:
        start: first byte of the first frame.
        points: in each frame.
        analog: words in each frame after those of the points.
        floats: whether the words are floats.
    """

    start: int
    points: int
    analog: int
    floats: bool

    @property
    def stride(self) -> int:
        """Bytes in a frame."""
        return (4 * self.points + self.analog) * (4 if self.floats else 2)

    def fits(self, size: int, frames: int) -> bool:
        """Return whether so many frames end where the file does, up to the padding of a block."""
        return 0 <= size - self.start - frames * self.stride < 512


class Points(NamedTuple):
    """Points of all frames.

    Attributes:
        values: in the unit of the file, (T, P, 3).
        fourth: negative where a point is missing, else a mask of cameras and a residual, (T, P).
    """

    values: Array
    fourth: NDArray[np.float32]

    @property
    def flagged(self) -> BoolArray:
        """Where the file says itself that a point is missing, (T, P)."""
        return ~(self.fourth >= 0.0)

    @property
    def unnumbered(self) -> BoolArray:
        """Where a coordinate is infinite or not a number, (T, P)."""
        x, y, z = np.moveaxis(self.values, 2, 0)  # far faster than to reduce so short an axis
        with np.errstate(invalid="ignore"):
            return ~np.isfinite(x + y + z)

    @property
    def at_origin(self) -> BoolArray:
        """Where a point is exactly at (0, 0, 0), (T, P)."""
        x, y, z = np.moveaxis(self.values, 2, 0)
        return (x == 0.0) & (y == 0.0) & (z == 0.0)

    def chosen(self, index: Sequence[int] | NDArray[np.intp]) -> Points:
        """Return a copy of these points only."""
        return Points(self.values.take(index, axis=1), self.fourth.take(index, axis=1))

    def residuals(self, scale: float) -> Array:
        """Return how well the cameras agreed where a point is not missing [unit of the file]."""
        seen = self.fourth[(self.fourth >= 0.0) & (self.fourth < 32768.0)]
        return np.asarray((seen.astype(np.int32) & 0xFF) * abs(scale), dtype=np.float64)


def read_points(
    data: bytes, layout: Layout, frames: int, encoding: Encoding, scale: float
) -> Points:
    """Return the points of so many frames, which must be there.

    Args:
        data: the file.
        layout: where the frames are.
        frames: how many.
        encoding: how numbers are written.
        scale: what integers are multiplied by.
    """
    if frames == 0 or layout.points == 0:  # many frames of nothing take no memory
        return Points(np.empty((frames, layout.points, 3)), np.empty((frames, layout.points), "f4"))
    size = 16 if layout.floats else 8
    whole = np.frombuffer(data, np.uint8, frames * layout.stride, layout.start)
    rows = whole.reshape(frames, layout.stride)[:, : size * layout.points]
    own = np.ascontiguousarray(rows).reshape(frames, layout.points, size)
    if layout.floats:
        words = encoding.floats(own)
        with np.errstate(invalid="ignore"):
            return Points(words[..., :3].astype(np.float64), words[..., 3])
    counts = encoding.integers(own)
    values = np.asarray(counts[..., :3] * scale, dtype=np.float64)
    return Points(values, counts[..., 3].astype(np.float32))


def _bytes(raw: bytes | NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.frombuffer(raw, np.uint8) if isinstance(raw, bytes) else raw
