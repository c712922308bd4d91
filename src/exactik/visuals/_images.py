"""What an image is and how large, by its first bytes: PNG and JPEG, the images of glTF.

A browser decodes what it is given, so that a file of a kilobyte could ask it for gigabytes. Sizes
are read here, without decoding anything.
"""

from __future__ import annotations

import struct

__all__ = ["MAX_PIXELS", "find_image_type", "measure_image"]

MAX_PIXELS = 8192 * 8192  # 256 MB when decoded; graphics processors take no larger texture
PNG_MAGIC, JPEG_MAGIC = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"


def find_image_type(data: bytes) -> str:
    """Return "image/png" or "image/jpeg"; empty for anything else."""
    if data.startswith(PNG_MAGIC):
        return "image/png"
    return "image/jpeg" if data.startswith(JPEG_MAGIC) else ""


def measure_image(data: bytes) -> tuple[int, int] | None:
    """Return width and height in pixels; None if they cannot be told."""
    if data.startswith(PNG_MAGIC) and len(data) >= 24:
        width, height = struct.unpack_from(">II", data, 16)
        return width, height
    if not data.startswith(JPEG_MAGIC):
        return None
    start = 2
    while start + 9 <= len(data) and data[start] == 0xFF:
        marker = data[start + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):  # a frame header
            height, width = struct.unpack_from(">HH", data, start + 5)
            return width, height
        if marker == 0xFF:  # a fill byte
            start += 1
            continue
        start += 2 + struct.unpack_from(">H", data, start + 2)[0]
    return None
