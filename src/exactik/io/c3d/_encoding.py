"""How the numbers of a C3D file are written.

It depends on the machine that wrote the file: Intel writes the low byte first, MIPS the high one.
DEC (VAX) writes integers like Intel and floats in two words, the high one first, with an exponent
that makes them four times what an Intel float of the same bits is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Encoding:
    """How a kind of machine writes numbers."""

    name: str  # of the machine
    byte_order: str  # of the bytes in a number, as NumPy calls it
    words_swapped: bool = False  # whether the two words of a float change places

    def decode_integers(self, raw: bytes | NDArray[np.uint8]) -> NDArray[np.int16]:
        """Return 16-bit integers; the last axis of `raw` is one of bytes."""
        return _as_bytes(raw).view(f"{self.byte_order}i2").astype(np.int16, copy=False)

    def decode_floats(self, raw: bytes | NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return 32-bit floats; the last axis of `raw` is one of bytes."""
        vec8 = _as_bytes(raw)
        if not self.words_swapped:
            return vec8.view(f"{self.byte_order}f4").astype(np.float32, copy=False)
        words = vec8.view(f"{self.byte_order}u2")
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


def _as_bytes(raw: bytes | NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.frombuffer(raw, np.uint8) if isinstance(raw, bytes) else raw
