"""What a file of meshes holds, and how surfaces are shaded; VTP, the files of OpenSim's bones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactik.errors import FileError
from exactik.io._element import Element
from exactik.io._xml import read_xml
from exactik.model.visuals import Material, Mesh
from exactik.typing import Array

CREASE_COSINE = np.cos(np.radians(40.0))  # faces that meet at a larger angle have an edge between
# Faces that share a vertex, as pairs: so many, and so many more for each corner. With more, where
# most faces meet in few vertices, each face is shaded by itself. Costs memory, decides little else.
FREE_PAIRS, PAIRS_PER_CORNER = 100_000, 24


@dataclass(frozen=True, eq=False)
class MeshPart:
    """A surface of one material."""

    mesh: Mesh  # in the unit of the file
    material: Material | None = None  # its look; None if the file says nothing
    T_file_mesh: Array = field(default_factory=lambda: np.eye(4))  # where it is in the file, (4, 4)


def shade(vertices: NDArray[Any], faces: NDArray[Any], uv: NDArray[Any] | None = None) -> Mesh:
    """Return triangles with normals: smooth, but for edges at which faces meet at a large angle.

    Args:
        vertices: (n, 3); those at the same place are taken for one.
        faces: (m, 3).
        uv: texture coordinates of the vertices, (n, 2), or None.
    """
    faces = np.asarray(faces, dtype=np.int64).reshape(-1, 3)
    corners = np.asarray(vertices, dtype=float)[faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(across, axis=1)
    keep = length > 0.0
    faces, across, length = faces[keep], across[keep], length[keep]
    flat = np.repeat(across / length[:, None], 3, axis=0)
    used = np.asarray(vertices, dtype=np.float32)[faces.ravel()]
    _, place = np.unique(used, axis=0, return_inverse=True)
    place = place.reshape(-1)
    normals = _smooth(place, flat, np.repeat(across, 3, axis=0))
    columns = [place[:, None], np.rint(normals * 512.0).astype(np.int64)]
    if uv is not None:
        columns.append(faces.ravel()[:, None])
    _, first, index = np.unique(
        np.concatenate(columns, axis=1), axis=0, return_index=True, return_inverse=True
    )
    return Mesh(
        vertices=used[first],
        faces=index.reshape(-1, 3),
        normals=normals[first],
        uv=None if uv is None else np.asarray(uv)[faces.ravel()][first],
    )


def _smooth(place: NDArray[Any], flat: Array, across: Array) -> Array:
    """Return a normal of each corner, (n, 3), of the faces there that it has no edge with.

    Args:
        place: which vertex the corner is at, (n,).
        flat: unit normal of its face, (n, 3).
        across: the same times twice the area, (n, 3).
    """
    count = np.bincount(place)
    if float((count.astype(float) ** 2).sum()) > FREE_PAIRS + PAIRS_PER_CORNER * len(place):
        return flat
    order = np.argsort(place, kind="stable")
    start = np.concatenate([[0], np.cumsum(count)[:-1]])
    # All pairs of corners at one vertex: corner a, and each of the corners b there.
    pairs_of = count[place]
    a = np.repeat(np.arange(len(place)), pairs_of)
    within = np.arange(len(a)) - np.repeat(np.cumsum(pairs_of) - pairs_of, pairs_of)
    b = order[start[place[a]] + within]
    together = np.einsum("ni,ni->n", flat[a], flat[b]) >= CREASE_COSINE
    a, b = a[together], b[together]
    total = np.stack(
        [np.bincount(a, across[b, axis], minlength=len(place)) for axis in range(3)], axis=1
    )
    length = np.linalg.norm(total, axis=1, keepdims=True)
    return np.where(length > 0.0, total / np.where(length > 0.0, length, 1.0), flat)


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
