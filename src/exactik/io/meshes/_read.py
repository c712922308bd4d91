"""A file of meshes, whichever kind it is."""

from __future__ import annotations

import os

import numpy as np

from exactik.errors import ExactikError, FileError
from exactik.io._files import read_bytes
from exactik.io._notes import Notes
from exactik.io.formats import GLB, GLTF
from exactik.io.gltf import read_gltf_skeleton, read_gltf_visuals
from exactik.io.meshes._dae import read_dae
from exactik.io.meshes._obj import read_obj
from exactik.io.meshes._parts import MeshPart
from exactik.io.meshes._paths import MeshFinder
from exactik.io.meshes._stl import read_stl
from exactik.io.meshes._vtp import read_vtp
from exactik.visuals import MAX_PIXELS, Texture, find_image_type, measure_image

__all__ = ["MESH_SUFFIXES", "MeshPart", "read_mesh_file", "read_texture"]

MESH_SUFFIXES = (".stl", ".obj", ".dae", *GLB.suffixes, *GLTF.suffixes, ".vtp")
MAX_MESH_BYTES = 128 << 20  # four times the largest mesh of a robot that was seen
MAX_TEXTURE_BYTES = 64 << 20  # as of textures in glTF


def read_mesh_file(path: str, finder: MeshFinder) -> list[MeshPart]:
    """Return the surfaces in a file.

    Args:
        path: as `finder` gave it.
        finder: of the model, for the materials and images that the file names.
    """
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in MESH_SUFFIXES:
        known = " ".join(MESH_SUFFIXES)
        raise FileError(path, f"no mesh is read from {suffix or 'this'}; expected one of {known}")
    if os.path.getsize(path) > MAX_MESH_BYTES:
        raise FileError(path, f"larger than {MAX_MESH_BYTES >> 20} MiB; expected a mesh")

    def open_beside(name: str) -> bytes | None:
        found = finder.find_beside(path, name)
        too_large = found is None or os.path.getsize(found) > MAX_TEXTURE_BYTES
        return None if found is None or too_large else read_bytes(found)

    def open_texture(name: str) -> Texture | None:
        found = finder.find_beside(path, name)
        try:
            return None if found is None else read_texture(found)
        except FileError:
            return None  # the surface is shown in its colour

    try:
        with np.errstate(over="ignore", invalid="ignore"):
            if suffix == ".stl":
                parts = read_stl(path, read_bytes(path))
            elif suffix == ".obj":
                parts = read_obj(path, read_bytes(path), open_beside, open_texture)
            elif suffix == ".dae":
                parts = read_dae(path, open_texture)
            else:
                parts = read_vtp(path) if suffix == ".vtp" else _read_gltf(path)
    except FileError:
        raise
    except ExactikError as error:  # a mesh that is none: too many vertices, not finite
        raise FileError(path, str(error)) from None
    parts = [part for part in parts if len(part.mesh.faces) > 0]
    if len(parts) == 0:
        raise FileError(path, "no triangle has an area; expected a surface")
    return parts


def read_texture(path: str) -> Texture:
    """Return the image in a file, or say why it is none."""
    if os.path.getsize(path) > MAX_TEXTURE_BYTES:
        raise FileError(path, f"larger than {MAX_TEXTURE_BYTES >> 20} MiB; expected an image")
    data = read_bytes(path)
    size = measure_image(data)
    if size is None:
        raise FileError(path, "neither PNG nor JPEG; expected one of them")
    if size[0] * size[1] > MAX_PIXELS:
        raise FileError(path, f"has {size[0]} × {size[1]} pixels; expected {MAX_PIXELS} at most")
    return Texture(data, find_image_type(data))


def _read_gltf(path: str) -> list[MeshPart]:
    """Return the surfaces of a glTF file as they are at rest."""
    skeleton, visuals = read_gltf_skeleton(path, Notes(path)), read_gltf_visuals(path)
    pose = skeleton.forward(skeleton.neutral())
    parts = []
    for visual in visuals.rigid:
        bone = skeleton.bone_index(visual.bone)
        T_file_bone = np.eye(4)
        T_file_bone[:3, :3], T_file_bone[:3, 3] = pose.rotations[bone], pose.positions[bone]
        parts.append(MeshPart(visual.mesh, visual.material, T_file_bone @ visual.T_bone_mesh))
    if len(parts) == 0:
        note = f": {visuals.notes[0]}" if len(visuals.notes) > 0 else ""
        raise FileError(path, f"no mesh that stands still{note}; expected one")
    return parts
