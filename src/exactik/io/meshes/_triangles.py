"""STL and OBJ, read by trimesh: its parsers alone, which open no file and look at no image.

An OBJ names an MTL beside it. What that says of materials is read here, and trimesh is told their
names, by which it makes a surface of each.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any

import numpy as np

from exactik.errors import FileError
from exactik.io.meshes._parts import MeshPart, cut_polygons, shade
from exactik.model.visuals import Material, Mesh, Texture

Open = Callable[[str], bytes | None]
"""Name of a file beside this one → its bytes; None where it cannot be had."""

OpenTexture = Callable[[str], Texture | None]


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
