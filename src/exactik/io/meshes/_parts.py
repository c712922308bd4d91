"""What a file of meshes holds, and how surfaces are shaded; three formats of it.

VTP is read here; STL and OBJ by trimesh, its parsers alone, which open no file. An OBJ names an MTL
beside it. What that says of materials is read here, and trimesh is told their names, by which it
makes a surface of each.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactik.errors import FileError
from exactik.io._xml import Element, read_xml
from exactik.model.visuals import Material, Mesh, Texture
from exactik.typing import Array

CREASE_COSINE = np.cos(np.radians(40.0))  # faces that meet at a larger angle have an edge between
# Faces that share a vertex, as pairs: so many, and so many more for each corner. With more, where
# most faces meet in few vertices, each face is shaded by itself. Costs memory, decides little else.
FREE_PAIRS, PAIRS_PER_CORNER = 100_000, 24
Open = Callable[[str], bytes | None]
"""Name of a file beside this one → its bytes; None where it cannot be had."""

OpenTexture = Callable[[str], Texture | None]


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


class _Materials(dict[str, Material]):
    """The materials of an OBJ file by name, and what trimesh asks for them: the MTL by its path."""

    def __init__(self, open_beside: Open, open_texture: OpenTexture):
        super().__init__()
        self.open_beside, self.open_texture = open_beside, open_texture

    def __missing__(self, path: str) -> str:
        data = self.open_beside(path)
        self.update(_read_mtl(data or b"", self.open_texture))
        return "".join(f"newmtl {name}\n" for name in self)


def read_triangles(
    path: str, data: bytes, open_beside: Open, open_texture: OpenTexture
) -> list[MeshPart]:
    """Return the surfaces in an STL or OBJ file, one for each material.

    Args:
        open_beside: reads the MTL that it names.
        open_texture: reads the images that the MTL names.
    """
    try:
        from trimesh.exchange.obj import load_obj
        from trimesh.exchange.stl import load_stl
    except ImportError:
        text = "meshes need trimesh; in a clone of exactik: pip install '.[viewer]'"
        raise FileError(path, text) from None
    materials = _Materials(open_beside, open_texture)
    logging.getLogger("trimesh").setLevel(logging.CRITICAL)  # what is wrong is said below
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            is_stl = path.lower().endswith(".stl")
            found = load_stl(BytesIO(data)) if is_stl else load_obj(BytesIO(data), materials)
            surfaces = reversed(found.get("geometry", {"": found}).values())  # the last is first
            parts = [_make_part(s, materials) for s in surfaces if len(s.get("faces", ())) > 0]
        except Exception as error:  # of any kind: its parsers check little before they go on
            text = f"trimesh cannot read it ({type(error).__name__}); expected triangles"
            raise FileError(path, text) from None
    if len(parts) == 0:
        raise FileError(path, "no triangles; expected a surface")
    return parts


def _make_part(surface: Mapping[str, Any], materials: _Materials) -> MeshPart:
    vertices, polygons, look = surface["vertices"], surface["faces"], surface.get("visual")
    faces = cut_polygons(polygons.ravel(), np.full(len(polygons), polygons.shape[1]))
    uv = None if look is None else look.uv
    # The first row of an image is its upper one, and v runs upwards in OBJ.
    uv = None if uv is None else uv[:, :2] * (1.0, -1.0) + (0.0, 1.0)
    normals = surface.get("vertex_normals")
    if normals is None:
        mesh = shade(vertices, faces, uv)
    else:
        length = np.linalg.norm(normals, axis=1, keepdims=True)
        upwards = (0.0, 0.0, 1.0)
        unit = np.where(length > 0.0, normals / np.where(length > 0.0, length, 1.0), upwards)
        mesh = Mesh(vertices, faces, unit, uv)
    name = "" if look is None else str(look.material.name)
    return MeshPart(mesh, materials.get(name))


def _read_mtl(data: bytes, open_texture: OpenTexture) -> dict[str, Material]:
    """Return the materials of an MTL file; what is wrong in it is passed over."""
    values: dict[str, dict[str, str]] = {}
    current: dict[str, str] = {}
    for line in data.decode("utf-8", "replace").splitlines():
        key, _, rest = line.strip().partition(" ")
        if key == "newmtl":
            current = values.setdefault(rest.strip(), {})
        elif key != "":
            current.setdefault(key, rest.strip())
    return {name: _make_material(name, entry, open_texture) for name, entry in values.items()}


def _make_material(name: str, entry: dict[str, str], open_texture: OpenTexture) -> Material:
    def numbers(key: str, default: tuple[float, ...]) -> tuple[float, ...]:
        try:
            found = tuple(float(word) for word in entry[key].split()[: len(default)])
        except (KeyError, ValueError):
            return default
        return found if len(found) == len(default) and np.isfinite(found).all() else default

    texture = open_texture(entry["map_Kd"].split()[-1]) if entry.get("map_Kd") else None
    # Many files have black under their texture; glTF would multiply by it.
    colour = (1.0, 1.0, 1.0) if texture is not None else numbers("Kd", (0.6, 0.6, 0.6))
    alpha = numbers("d", (1.0 - numbers("Tr", (0.0,))[0],))[0]
    textures = {} if texture is None else {"base_colour": texture}
    return Material.of_srgb((*colour, alpha), name, textures=textures)
