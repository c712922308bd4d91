"""What a file of meshes holds, and how its surfaces are shaded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactik.typing import Array
from exactik.visuals import Material, Mesh

__all__ = ["MeshPart", "shade"]

CREASE_COSINE = np.cos(np.radians(40.0))  # faces that meet at a larger angle have an edge between
# Faces that share a vertex, as pairs: so many, and so many more for each corner. With more, where
# most faces meet in few vertices, each face is shaded by itself. Costs memory, decides little else.
FREE_PAIRS, PAIRS_PER_CORNER = 100_000, 24


@dataclass(frozen=True, eq=False)
class MeshPart:
    """A surface of one material.

    Attributes:
        mesh: in the unit of the file.
        material: its look; None if the file says nothing.
        T_file_mesh: where it is in the file, (4, 4).
    """

    mesh: Mesh
    material: Material | None = None
    T_file_mesh: Array = field(default_factory=lambda: np.eye(4))


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
