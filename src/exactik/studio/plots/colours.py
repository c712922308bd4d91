"""Colours of values, and pictures in these colours.

PNG is written by hand: the heat map is the only picture of the library, a palette image without
filters takes twenty lines of zlib, and none of our dependencies writes PNG (matplotlib and Pillow
are not among them).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exactik.recordings.tracking import Quality
from exactik.typing import Array

Bytes = NDArray[np.uint8]

QUALITY_COLOURS = {
    Quality.MEASURED: (70, 160, 110),
    Quality.BOUND: (80, 130, 200),
    Quality.INFERRED: (225, 190, 80),
    Quality.DOUBTFUL: (205, 70, 60),
    Quality.OPEN: (150, 150, 155),
}
"""What values are worth: the report's map and the bones of the player."""

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


def format_hex(colour: Sequence[int]) -> str:
    """Return a colour as "#rrggbb"."""
    return "#" + "".join(f"{channel:02x}" for channel in colour)


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
