"""VTP, the files of OpenSim's bones: polygons of VTK as XML with numbers in text."""

from __future__ import annotations

import numpy as np

from exactik.errors import FileError
from exactik.io._xml import Element, read_xml
from exactik.io.meshes._parts import MeshPart, shade
from exactik.typing import Array

__all__ = ["read_vtp"]


def read_vtp(path: str) -> list[MeshPart]:
    """Return the surface in a .vtp file of ASCII data."""
    root = read_xml(path)
    pieces = list(root.find_descendants("Piece"))
    if root.tag != "VTKFile" or len(pieces) == 0:
        raise root.error("no <Piece> of a <VTKFile>; expected polygons of VTK")
    parts = []
    for piece in pieces:
        points = _find(piece, "Points")
        polygons = next(piece.find_children("Polys"), None)
        if points is None or polygons is None:
            continue
        vertices = _numbers(points).reshape(-1, 3)
        arrays = {a.attributes.get("Name", ""): a for a in polygons.find_children("DataArray")}
        if "connectivity" not in arrays or "offsets" not in arrays:
            raise polygons.error("no connectivity and offsets; expected both")
        corners = _numbers(arrays["connectivity"]).astype(np.int64)
        ends = _numbers(arrays["offsets"]).astype(np.int64)
        if len(ends) == 0:
            continue
        is_sorted = (np.diff(ends, prepend=0) >= 0).all() and ends[-1] <= len(corners)
        is_known = len(corners) == 0 or (corners.min() >= 0 and corners.max() < len(vertices))
        if not (is_sorted and is_known):
            raise polygons.error("corners that are no points, or offsets that do not increase")
        parts.append(MeshPart(shade(vertices, cut_polygons(corners, np.diff(ends, prepend=0)))))
    if len(parts) == 0:
        raise FileError(path, "no polygons; expected a surface")
    return parts


def cut_polygons(corners: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the triangles, (m, 3), of polygons, each cut into a fan.

    Args:
        corners: of all polygons one after another, (n,).
        counts: number of corners of each, (p,).
    """
    start = np.cumsum(counts) - counts
    triangles = np.maximum(counts - 2, 0)
    first = np.repeat(start, triangles)
    k = np.arange(int(triangles.sum())) - np.repeat(np.cumsum(triangles) - triangles, triangles)
    return np.stack([corners[first], corners[first + k + 1], corners[first + k + 2]], axis=1)


def _find(piece: Element, tag: str) -> Element | None:
    holder = next(piece.find_children(tag), None)
    return None if holder is None else next(holder.find_children("DataArray"), None)


def _numbers(array: Element) -> Array:
    if array.attributes.get("format", "ascii") != "ascii":
        raise array.error("data are not ASCII; expected numbers as text")
    try:
        values = np.array(array.text.split(), dtype=float)
    except ValueError:
        raise array.error("a word is no number; expected numbers") from None
    is_table = array.attributes.get("NumberOfComponents") != "3" or len(values) % 3 == 0
    if not (np.isfinite(values).all() and is_table):
        raise array.error("numbers that are not finite, or no triples; expected points")
    return values
