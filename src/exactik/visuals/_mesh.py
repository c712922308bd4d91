"""A surface of triangles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactik.errors import ModelError
from exactik.typing import Array

__all__ = ["MAX_VERTICES", "Mesh", "compute_normals", "join_meshes"]

# Of one mesh: 20 times the largest of 1,900 meshes of robots, and 100 MB in a browser.
MAX_VERTICES = 4_000_000

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False, repr=False)
class Mesh:
    """Triangles, counter-clockwise as seen from outside; arrays of single precision, read-only.

    Attributes:
        vertices: [m], (n, 3).
        faces: three vertices each, (m, 3).
        normals: unit vectors, (n, 3), or None.
        uv: texture coordinates, (n, 2), (0, 0) the upper left corner of the image; or None.
        colours: linear red, green, blue and opacity from 0 to 1, (n, 4), or None.
    """

    vertices: Floats
    faces: NDArray[np.integer[Any]]
    normals: Floats | None = None
    uv: Floats | None = None
    colours: Floats | None = None

    def __post_init__(self) -> None:
        """Check sizes, and that faces name vertices that exist."""
        n = len(self.vertices)
        if n > MAX_VERTICES or len(self.faces) > 2 * MAX_VERTICES:
            raise ModelError(f"a mesh of {n} vertices; at most {MAX_VERTICES} are shown")
        shapes = {"vertices": 3, "faces": 3, "normals": 3, "uv": 2, "colours": 4}
        for name, width in shapes.items():
            values = getattr(self, name)
            if values is None:
                continue
            dtype = np.uint32 if name == "faces" else np.float32
            array = np.ascontiguousarray(values, dtype=dtype).reshape(-1, width)
            if name not in ("faces", "vertices") and len(array) != n:
                raise ModelError(f"a mesh of {n} vertices has {len(array)} {name}")
            if name != "faces" and not np.isfinite(array).all():
                raise ModelError(f"{name} of a mesh are not finite")
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if len(self.faces) > 0 and int(self.faces.max()) >= n:
            raise ModelError(f"a face has vertex {int(self.faces.max())}, and there are {n}")

    def __repr__(self) -> str:
        return f"<Mesh: {len(self.vertices)} vertices, {len(self.faces)} faces>"

    def with_normals(self) -> Mesh:
        """Return the same with normals, computed where it has none."""
        if self.normals is not None:
            return self
        normals = compute_normals(self.vertices, self.faces).astype(np.float32)
        return Mesh(self.vertices, self.faces, normals, self.uv, self.colours)


def compute_normals(vertices: Floats, faces: NDArray[np.integer[Any]]) -> Array:
    """Return unit normals, (n, 3): the mean of those of the faces at a vertex, by their areas."""
    corners = np.asarray(vertices, dtype=float)[faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals = np.zeros((len(vertices), 3))
    for axis in range(3):
        weights = np.repeat(across[:, axis], 3)
        normals[:, axis] = np.bincount(faces.ravel(), weights, minlength=len(vertices))
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    upwards = np.array([0.0, 0.0, 1.0])  # for a vertex of no face, or of faces without area
    return np.where(length > 0.0, normals / np.where(length > 0.0, length, 1.0), upwards)


def join_meshes(meshes: Sequence[Mesh]) -> Mesh:
    """Return several meshes as one; what only some of them have is left out."""

    def stack(name: str) -> Floats | None:
        parts = [getattr(mesh, name) for mesh in meshes]
        return None if any(part is None for part in parts) else np.concatenate(parts)

    firsts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    return Mesh(
        vertices=np.concatenate([mesh.vertices for mesh in meshes]),
        faces=np.concatenate(
            [mesh.faces + np.uint32(first) for mesh, first in zip(meshes, firsts, strict=False)]
        ),
        normals=stack("normals"),
        uv=stack("uv"),
        colours=stack("colours"),
    )
