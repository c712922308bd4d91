"""STL: triangles, binary or as text."""

from __future__ import annotations

import re
import struct

import numpy as np

from exactik.errors import FileError
from exactik.io.meshes._parts import MeshPart, shade

__all__ = ["read_stl"]

HEADER_BYTES, FACE_BYTES = 84, 50
FACE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
VERTEX_PATTERN = re.compile(rb"vertex\s+(\S+)\s+(\S+)\s+(\S+)", re.I)


def read_stl(path: str, data: bytes) -> list[MeshPart]:
    """Return the surface in an STL file; its size tells whether it is text, not its first word."""
    count = struct.unpack_from("<I", data, 80)[0] if len(data) >= HEADER_BYTES else -1
    if count >= 0 and len(data) >= HEADER_BYTES + FACE_BYTES * count and not _is_text(data, count):
        corners = np.frombuffer(data, FACE, count, HEADER_BYTES)["corners"].astype(np.float32)
    else:
        words = VERTEX_PATTERN.findall(data)
        if len(words) == 0:
            raise FileError(path, "neither binary nor text STL; expected triangles")
        try:
            numbers = np.array(words[: len(words) // 3 * 3], dtype=np.float64)
        except ValueError:
            raise FileError(path, "a vertex is no number; expected three a vertex") from None
        corners = numbers.reshape(-1, 3, 3)
    if len(corners) == 0 or not np.isfinite(corners).all():
        raise FileError(path, "no triangles, or some that are not finite; expected a surface")
    faces = np.arange(3 * len(corners)).reshape(-1, 3)
    return [MeshPart(shade(corners.reshape(-1, 3), faces))]


def _is_text(data: bytes, count: int) -> bool:
    """Return whether a file that could be binary is text: no binary one has a facet in its head."""
    is_exact = len(data) == HEADER_BYTES + FACE_BYTES * count
    return not is_exact and data[:5].lower() == b"solid" and b"facet" in data[:1024]
