"""The meshes of one model: each file read once, and what was missing or bad said in one note."""

from __future__ import annotations

import os

import numpy as np

from exactik._text import count_noun
from exactik.errors import ExactikError, FileError, ModelError, Note
from exactik.io._files import read_bytes
from exactik.io._notes import Notes
from exactik.io.formats import GLB, GLTF
from exactik.io.gltf import read_gltf_skeleton, read_gltf_visuals
from exactik.io.meshes._dae import read_dae
from exactik.io.meshes._parts import MeshPart, read_triangles, read_vtp
from exactik.io.meshes._paths import MeshFinder
from exactik.model.visuals import (
    MAX_PIXELS,
    MAX_VERTICES,
    Material,
    Mesh,
    Texture,
    Visual,
    Visuals,
    find_image_type,
    measure_image,
)
from exactik.typing import Array

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
            if suffix in (".stl", ".obj"):
                parts = read_triangles(path, read_bytes(path), open_beside, open_texture)
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


KINDS = ("mesh-missing", "mesh-outside")  # of faults that have a note of their own
DEFAULT_MATERIAL = Material.of_srgb((0.72, 0.74, 0.78))
MAX_FILES = 2000  # meshes of one model; decides no more than how long a hostile one takes
MAX_VISUALS = 3000  # shapes and meshes of one model: more than ten times those of any robot seen


class MeshLibrary:
    """Collects visuals of a model.

    Attributes:
        visuals: added so far.
    """

    def __init__(self, finder: MeshFinder):
        """Begin with nothing."""
        self.finder = finder
        self.visuals: list[Visual] = []
        self._parts: dict[str, list[MeshPart]] = {}
        self._textures: dict[str, Texture | None] = {}
        self._faults: dict[str, FileError] = {}
        self._vertices = 0

    @property
    def is_full(self) -> bool:
        """Whether there are as many visuals as are shown; that there are more is then noted."""
        if len(self.visuals) < MAX_VISUALS:
            return False
        self.skip(FileError(self.finder.path, f"the first {MAX_VISUALS} shapes are shown alone"))
        return True

    def add_shape(
        self, name: str, bone: str, mesh: Mesh, T_bone_mesh: Array, material: Material | None
    ) -> None:
        """Add a box, a cylinder, a sphere."""
        self._count(mesh)
        self._add(name, bone, mesh, material or DEFAULT_MATERIAL, T_bone_mesh)

    def add_file(
        self, name: str, bone: str, reference: str, T_bone_mesh: Array, material: Material | None
    ) -> None:
        """Add the meshes of a file; `material` counts where the file has none of its own."""
        parts = self._read(reference)
        for part in parts:
            look = part.material or material or DEFAULT_MATERIAL
            self._add(name, bone, part.mesh, look, T_bone_mesh @ part.T_file_mesh)

    def _add(
        self, name: str, bone: str, mesh: Mesh, material: Material, T_bone_mesh: Array
    ) -> None:
        try:
            self.visuals.append(Visual(name, bone, mesh, material, T_bone_mesh))
        except ModelError as error:  # too large, or not finite
            self.skip(FileError(self.finder.path, str(error)))

    def skip(self, error: FileError) -> None:
        """Note that something of the model is not shown."""
        self._faults.setdefault(f"{error.place} {error.message}", error)

    def find_texture(self, reference: str) -> Texture | None:
        """Return the image of a material of the model; one that cannot be had is noted."""
        if reference not in self._textures:
            self._textures[reference] = None
            try:
                self._textures[reference] = read_texture(self.finder.find(reference))
            except FileError as error:
                self._faults[reference] = error
        return self._textures[reference]

    def _read(self, reference: str) -> list[MeshPart]:
        if reference not in self._parts:
            self._parts[reference] = []
            try:
                if len(self._parts) > MAX_FILES:
                    raise FileError(self.finder.path, f"more than {MAX_FILES} meshes")
                parts = read_mesh_file(self.finder.find(reference), self.finder)
                for part in parts:
                    self._count(part.mesh)
                self._parts[reference] = parts
            except FileError as error:
                self._faults[reference] = error
            except OSError as error:
                text = f"cannot be read: {error.strerror or error}"
                self._faults[reference] = FileError(reference, text)
        return self._parts[reference]

    def _count(self, mesh: Mesh) -> None:
        self._vertices += len(mesh.vertices)
        if self._vertices > MAX_VERTICES:
            text = f"more than {MAX_VERTICES} vertices in all meshes; the others are not shown"
            raise FileError(self.finder.path, text)

    def build(self) -> Visuals:
        """Return the visuals, with a note for each kind of fault."""
        by_kind: dict[str, list[FileError]] = {}
        for error in self._faults.values():
            kind = error.code if error.code in KINDS else "mesh-not-read"
            by_kind.setdefault(kind, []).append(error)
        notes = []
        for kind, (first, *others) in by_kind.items():
            place = "" if first.path == self.finder.path else f"{first.path}: "
            where = f"{first.place}: " if first.place != "" else ""
            more = f"; and {count_noun(len(others), 'other')}" if len(others) > 0 else ""
            notes.append(Note(kind, "damage", "", f"{place}{where}{first.message}{more}"))
        return Visuals(rigid=tuple(self.visuals), notes=tuple(notes))
