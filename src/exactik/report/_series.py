"""Numbers of a report made small: bins for long recordings, bytes in place of decimals, colours.

PNG is written by hand: the heat map is the only picture of the library, a palette image without
filters takes twenty lines of zlib, and none of our dependencies writes PNG (matplotlib and Pillow
are not among them).
"""

from __future__ import annotations

import base64
import struct
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactik.report._summary import compute_frame_errors, find_missing
from exactik.typing import Array, IntArray

if TYPE_CHECKING:
    from exactik.tracking import Track

__all__ = [
    "Bins",
    "HeatMap",
    "encode_16_bit",
    "encode_bytes",
    "encode_png",
    "encode_series",
    "error_colours",
    "make_heat_map",
    "round_axis_end",
]

Bytes = NDArray[np.uint8]

MAX_HEAT_BYTES = 1_500_000  # bytes of the heat map at most
NO_NUMBER = 65535  # stands for no number

# From Oklab to the cube roots of cone responses, and from these responses to linear sRGB.
# B. Ottosson, "A perceptual color space for image processing", 2020.
_CONES = np.array(
    [
        [1.0, 0.3963377774, 0.2158037573],
        [1.0, -0.1055613458, -0.0638541728],
        [1.0, -0.0894841775, -1.2914855480],
    ]
)
_SRGB = np.array(
    [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.7076147010],
    ]
)


class Bins(NamedTuple):
    """Frames, some together.

    Attributes:
        frames: their number.
        edges: first frame of every bin, (n,).
    """

    frames: int
    edges: IntArray

    @classmethod
    def of(cls, count: int, most: int) -> Bins:
        """Return at most so many bins of about the same number of frames."""
        n = max(1, min(count, most))
        return cls(count, (np.arange(n) * count) // n)

    def __len__(self) -> int:
        return len(self.edges)

    @property
    def middles(self) -> Array:
        """Where each bin is on an axis on which frame t takes t to t + 1, (n,)."""
        return np.asarray(0.5 * (self.edges + np.append(self.edges[1:], self.frames)), dtype=float)

    def most(self, values: Array) -> Array:
        """Return the largest value of each bin, (n, …); NaN only where all are."""
        return np.fmax.reduceat(values, self.edges, axis=0)

    def least(self, values: Array) -> Array:
        """Return the smallest value of each bin."""
        return np.fmin.reduceat(values, self.edges, axis=0)


def encode_bytes(array: NDArray[Any]) -> str:
    """Return the bytes of an array as text."""
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")


def round_axis_end(value: float) -> float:
    """Return the next of 1, 1.5, 2, 3, 4, 5, 6, 8, 10 times a power of ten."""
    if not value > 0.0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    steps = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
    return float(power * next(s for s in steps if s * power >= 0.999999 * value))


class HeatMap(NamedTuple):
    """Errors of markers over time.

    Attributes:
        bins: the columns.
        level: 0 where missing, else 1 to 255 with the root of the error, (n, M).
        most: error of level 255 [mm].
        top: error of the brightest colour [mm].
    """

    bins: Bins
    level: Bytes
    most: float
    top: float

    @property
    def palette(self) -> Bytes:
        """The colour of each level, (256, 3)."""
        errors = self.most * (np.maximum(np.arange(256.0) - 1.0, 0.0) / 254.0) ** 2
        return error_colours(errors / self.top)


def make_heat_map(track: Track) -> HeatMap:
    """Return the errors of all markers, binned by the largest."""
    errors = 1e3 * track.marker_errors
    seen = errors[np.isfinite(errors)]
    most = float(seen.max()) if len(seen) > 0 else 1.0
    top = float(np.percentile(seen, 99.0)) if len(seen) > 0 else 1.0
    bins = Bins.of(len(track), MAX_HEAT_BYTES // max(len(track.names), 1))
    binned = bins.most(errors)
    level = 1.0 + np.round(254.0 * np.sqrt(np.nan_to_num(binned) / max(most, 1e-9)))
    level = np.where(np.isfinite(binned), level, 0.0).astype(np.uint8)
    return HeatMap(bins, level, max(most, 1e-9), round_axis_end(top))


def encode_series(track: Track) -> dict[str, Any]:
    """Return what every frame has one of, at full rate."""
    mean, most = compute_frame_errors(track)
    words = sorted(set(track.status.tolist()))
    return {
        "mean": encode_16_bit(1e3 * mean),
        "most": encode_16_bit(1e3 * most),
        "missing": _encode_8_bit(find_missing(track).sum(axis=1)),
        "iterations": _encode_8_bit(track.iterations),
        "status": {**_encode_8_bit(np.searchsorted(words, track.status)), "words": words},
    }


def _encode_8_bit(values: NDArray[Any]) -> dict[str, Any]:
    return {"scale": 1.0, "bits": 8, "data": encode_bytes(np.minimum(values, 255).astype(np.uint8))}


def encode_16_bit(values: Array) -> dict[str, Any]:
    """Return values of all frames ≥ 0, (T,), for the script; NaN where there is none."""
    top = float(np.nanmax(values)) if np.isfinite(values).any() else 0.0
    scale = max(top, 1e-9) / (NO_NUMBER - 1)
    whole = np.where(np.isfinite(values), np.round(np.nan_to_num(values) / scale), NO_NUMBER)
    return {"scale": scale, "bits": 16, "data": encode_bytes(whole.astype("<u2"))}


def error_colours(values: Array) -> Bytes:
    """Return colours for values from 0 to 1, (n, 3): dark violet over green to bright yellow.

    Lightness rises evenly, so that readers who do not tell all hues apart, and printers without
    colours, see the same order.
    """
    x = np.clip(values, 0.0, 1.0)
    lightness = 0.30 + 0.62 * x
    hue = np.radians(298.0 - 192.0 * x)
    chroma = 0.125 + 0.035 * np.sin(np.pi * x) + 0.03 * x
    lab = np.stack([lightness, chroma * np.cos(hue), chroma * np.sin(hue)], axis=-1)
    linear = np.clip((lab @ _CONES.T) ** 3 @ _SRGB.T, 0.0, 1.0)
    low = 12.92 * linear
    high = 1.055 * np.maximum(linear, 1e-9) ** (1.0 / 2.4) - 0.055
    return np.round(255.0 * np.where(linear <= 0.0031308, low, high)).astype(np.uint8)


def encode_png(pixels: Bytes, palette: Bytes) -> bytes:
    """Return a picture file of palette colours.

    Args:
        pixels: (height, width), which colour; 0 is transparent whatever the palette says.
        palette: (n, 3), n ≤ 256.
    """
    height, width = pixels.shape
    rows = np.zeros((height, width + 1), dtype=np.uint8)  # each row begins with its filter: none
    rows[:, 1:] = pixels
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = [
        _chunk(b"IHDR", header),
        _chunk(b"PLTE", palette.tobytes()),
        _chunk(b"tRNS", b"\x00"),
        _chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)),
        _chunk(b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
