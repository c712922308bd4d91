"""Numbers of a C3D file: three ways to write them, and the frames made of them.

A frame is a row of words, all 16-bit integers or all 32-bit floats: four for each point (x, y, z
and a status), then the analog samples. Floats are coordinates in the unit of the file; integers
become so by a common factor. The status word is an integer also where it is written as a float:
negative for a point that no camera saw, else the residual in its low byte (in steps of the factor's
size) and in its high byte the cameras that saw the point.

How a number is written depends on the machine that wrote the file: Intel writes the low byte first,
MIPS the high one. DEC (VAX) writes integers like Intel and floats in two words, the high one first,
with an exponent that makes them four times what an Intel float of the same bits is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactik.typing import Array, BoolArray

__all__ = ["ENCODINGS", "DataLayout", "Encoding", "Points", "read_points"]


@dataclass(frozen=True)
class Encoding:
    """How a kind of machine writes numbers.

    Attributes:
        name: of the machine.
        byte_order: of the bytes in a number, as NumPy calls it.
        words_swapped: whether the two words of a float change places.
    """

    name: str
    byte_order: str
    words_swapped: bool = False

    def decode_integers(self, raw: bytes | NDArray[np.uint8]) -> NDArray[np.int16]:
        """Return 16-bit integers; the last axis of `raw` is one of bytes."""
        return _as_bytes(raw).view(f"{self.byte_order}i2").astype(np.int16, copy=False)

    def decode_floats(self, raw: bytes | NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return 32-bit floats; the last axis of `raw` is one of bytes."""
        octets = _as_bytes(raw)
        if not self.words_swapped:
            return octets.view(f"{self.byte_order}f4").astype(np.float32, copy=False)
        words = octets.view(f"{self.byte_order}u2")
        pairs = words.reshape(*words.shape[:-1], -1, 2)[..., ::-1]
        bits = np.ascontiguousarray(pairs).view(f"{self.byte_order}u4")[..., 0].astype(np.uint32)
        with np.errstate(invalid="ignore"):  # the bits may be those of a signalling NaN
            values = bits.view(np.float32) / np.float32(4.0)
        # A VAX float with exponent 0 is zero, or no number if its sign is set.
        exponent_is_zero = (bits & 0x7F800000) == 0
        zero_or_nan = np.where(bits >> 31 == 1, np.float32(np.nan), 0)
        return np.where(exponent_is_zero, zero_or_nan, values)

    def decode_unsigned(self, raw: bytes) -> int:
        """Return the unsigned integer in two bytes."""
        return int.from_bytes(raw, "big" if self.byte_order == ">" else "little")


# By the fourth byte of the parameter section, the processor type.
ENCODINGS = {
    84: Encoding("Intel", "<"),
    85: Encoding("DEC", "<", words_swapped=True),
    86: Encoding("MIPS", ">"),
}


class DataLayout(NamedTuple):
    """Where the frames of a file are.

    Attributes:
        start: first byte of the first frame.
        point_count: points in each frame.
        analog_count: words in each frame after those of the points.
        is_float: whether the words are floats.
    """

    start: int
    point_count: int
    analog_count: int
    is_float: bool

    @property
    def frame_bytes(self) -> int:
        """Size of a frame [bytes]."""
        return (4 * self.point_count + self.analog_count) * (4 if self.is_float else 2)

    def fills_file(self, size: int, frames: int) -> bool:
        """Return whether `frames` frames end where the file does, up to the padding of a block."""
        return 0 <= size - self.start - frames * self.frame_bytes < 512


class Points(NamedTuple):
    """Points of all frames.

    Attributes:
        values: in the unit of the file, (T, P, 3).
        status_words: negative where a point is missing, else cameras and residual, (T, P).
    """

    values: Array
    status_words: NDArray[np.float32]

    @property
    def is_flagged(self) -> BoolArray:
        """Where the file marks a point as missing, (T, P)."""
        return ~(self.status_words >= 0.0)

    @property
    def is_not_finite(self) -> BoolArray:
        """Where a coordinate is infinite or not a number, (T, P)."""
        x, y, z = np.moveaxis(self.values, 2, 0)  # far faster than a reduction over an axis of 3
        with np.errstate(invalid="ignore"):
            return ~np.isfinite(x + y + z)

    @property
    def is_at_origin(self) -> BoolArray:
        """Where a point is exactly at (0, 0, 0), (T, P)."""
        x, y, z = np.moveaxis(self.values, 2, 0)
        return (x == 0.0) & (y == 0.0) & (z == 0.0)

    def select(self, index: Sequence[int] | NDArray[np.intp]) -> Points:
        """Return a copy of these points only."""
        return Points(self.values.take(index, axis=1), self.status_words.take(index, axis=1))

    def compute_residuals(self, scale: float) -> Array:
        """Return how well the cameras agreed where a point is not missing [unit of the file]."""
        seen = self.status_words[(self.status_words >= 0.0) & (self.status_words < 32768.0)]
        return np.asarray((seen.astype(np.int32) & 0xFF) * abs(scale), dtype=np.float64)


def read_points(
    data: bytes, layout: DataLayout, frames: int, encoding: Encoding, scale: float
) -> Points:
    """Return the points of the first `frames` frames, which the file must have.

    Args:
        data: the file.
        layout: where the frames are.
        frames: how many.
        encoding: how numbers are written.
        scale: what integers are multiplied by.
    """
    shape = (frames, layout.point_count)
    if frames == 0 or layout.point_count == 0:  # frames without points take no memory
        return Points(np.empty((*shape, 3)), np.empty(shape, "f4"))
    point_bytes = 16 if layout.is_float else 8
    all_bytes = np.frombuffer(data, np.uint8, frames * layout.frame_bytes, layout.start)
    rows = all_bytes.reshape(frames, layout.frame_bytes)[:, : point_bytes * layout.point_count]
    raw = np.ascontiguousarray(rows).reshape(*shape, point_bytes)
    if layout.is_float:
        words = encoding.decode_floats(raw)
        with np.errstate(invalid="ignore"):
            return Points(words[..., :3].astype(np.float64), words[..., 3])
    counts = encoding.decode_integers(raw)
    values = np.asarray(counts[..., :3] * scale, dtype=np.float64)
    return Points(values, counts[..., 3].astype(np.float32))


def _as_bytes(raw: bytes | NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.frombuffer(raw, np.uint8) if isinstance(raw, bytes) else raw
