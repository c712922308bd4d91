"""Wavefront OBJ with its MTL: polygons in groups of one material each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from exactik.errors import FileError
from exactik.io.meshes._parts import MeshPart, shade
from exactik.visuals import Material, Mesh, Texture

__all__ = ["read_obj"]

Corner = tuple[int, int, int]  # indices of position, texture coordinates, normal; −1 for none

# name of a file beside this one → its bytes; None where it cannot be had
Open = Callable[[str], bytes | None]
OpenTexture = Callable[[str], Texture | None]


def read_obj(
    path: str, data: bytes, open_beside: Open, open_texture: OpenTexture
) -> list[MeshPart]:
    """Return the surfaces in an OBJ file, one for each material.

    Args:
        path: of the file, for errors.
        data: its bytes.
        open_beside: reads the MTL that it names.
        open_texture: reads the images that the MTL names.
    """
    places: dict[str, list[bytes]] = {"v": [], "vt": [], "vn": []}
    groups: dict[str, list[list[Corner]]] = {"": []}
    materials: dict[str, Material] = {}
    faces = groups[""]
    for number, line in enumerate(data.split(b"\n"), start=1):
        words = line.split()
        if len(words) == 0:
            continue
        tag = words[0]
        if tag in (b"v", b"vt", b"vn"):
            places[tag.decode()].append(b" ".join(words[1:4]))
        elif tag == b"f":
            counts = [len(places[key]) for key in ("v", "vt", "vn")]
            faces.append([_parse_corner(path, number, word, counts) for word in words[1:]])
        elif tag == b"usemtl":
            name = line[6:].strip().decode("utf-8", "replace")
            faces = groups.setdefault(name, [])
        elif tag == b"mtllib":
            text = open_beside(line[6:].strip().decode("utf-8", "replace"))
            if text is not None:
                materials.update(_read_mtl(text, open_texture))
    points = _parse_rows(path, places["v"], 3)
    uvs, normals = _parse_rows(path, places["vt"], 2), _parse_rows(path, places["vn"], 3)
    parts = [
        MeshPart(_build(points, uvs, normals, polygons), materials.get(name))
        for name, polygons in groups.items()
        if len(polygons) > 0
    ]
    if len(parts) == 0:
        raise FileError(path, "no faces; expected a surface")
    return parts


def _parse_rows(path: str, rows: list[bytes], width: int) -> np.ndarray:
    try:
        values = np.array([row.split()[:width] for row in rows], dtype=float)
        values = values.reshape(len(rows), width)
    except ValueError:
        raise FileError(path, f"a vertex is not {width} numbers; expected so many") from None
    if not np.isfinite(values).all():
        raise FileError(path, "a vertex is not finite; expected numbers")
    return values


def _parse_corner(path: str, line: int, word: bytes, counts: list[int]) -> Corner:
    """Return the indices of a corner; negative ones count from the end."""
    out = [-1, -1, -1]
    try:
        for k, text in enumerate(word.split(b"/")[:3]):
            if text != b"":
                index = int(text)
                out[k] = index - 1 if index > 0 else counts[k] + index
                if not 0 <= out[k] < counts[k]:
                    raise ValueError
        if out[0] < 0:
            raise ValueError
    except ValueError:
        text = f"corner {word[:30].decode('ascii', 'replace')!r} names no vertex"
        raise FileError(path, f"{text}; expected indices", f"line {line}") from None
    return out[0], out[1], out[2]


def _build(
    points: np.ndarray, uvs: np.ndarray, normals: np.ndarray, polygons: list[list[Corner]]
) -> Mesh:
    """Return the triangles of polygons, each cut into a fan."""
    index: dict[Corner, int] = {}
    faces: list[tuple[int, int, int]] = []
    for polygon in polygons:
        corners = [index.setdefault(corner, len(index)) for corner in polygon]
        faces += [(corners[0], corners[k], corners[k + 1]) for k in range(1, len(corners) - 1)]
    keys = np.array(list(index), dtype=np.int64).reshape(-1, 3)
    has_uv = len(uvs) > 0 and bool((keys[:, 1] >= 0).all())
    # The first row of an image is its upper one, and v runs upwards in OBJ.
    uv = uvs[keys[:, 1]] * (1.0, -1.0) + (0.0, 1.0) if has_uv else None
    triangles = np.array(faces, dtype=np.int64).reshape(-1, 3)
    if len(normals) == 0 or (keys[:, 2] < 0).any():
        return shade(points[keys[:, 0]], triangles, uv)
    directions = normals[keys[:, 2]]
    length = np.linalg.norm(directions, axis=1, keepdims=True)
    unit = np.where(length > 0.0, directions / np.where(length > 0.0, length, 1.0), (0.0, 0.0, 1.0))
    return Mesh(points[keys[:, 0]], triangles, unit, uv)


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
