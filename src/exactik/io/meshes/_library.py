"""The meshes of one model: each file read once, and what was missing or bad said in one note."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from exactik._text import count_noun
from exactik.errors import FileError, Note
from exactik.io.meshes._paths import MeshFinder
from exactik.io.meshes._read import MeshPart, read_mesh_file
from exactik.typing import Array
from exactik.visuals import MAX_VERTICES, Material, Mesh, Visual, Visuals

__all__ = ["MeshLibrary"]

CODES: Mapping[str, str] = {"mesh-missing": "mesh-missing", "mesh-outside": "mesh-outside"}
DEFAULT_MATERIAL = Material.of_srgb((0.72, 0.74, 0.78))
MAX_FILES = 2000  # meshes of one model


class MeshLibrary:
    """Collects visuals of a model.

    Attributes:
        finder: of its files.
        visuals: added so far.
    """

    def __init__(self, finder: MeshFinder):
        """Begin with nothing."""
        self.finder = finder
        self.visuals: list[Visual] = []
        self._parts: dict[str, list[MeshPart]] = {}
        self._faults: dict[str, FileError] = {}
        self._vertices = 0

    def add_shape(
        self, name: str, bone: str, mesh: Mesh, T_bone_mesh: Array, material: Material | None
    ) -> None:
        """Add a box, a cylinder, a sphere."""
        self._count(mesh)
        visual = Visual(name, bone, mesh, material or DEFAULT_MATERIAL, T_bone_mesh)
        self.visuals.append(visual)

    def add_file(
        self, name: str, bone: str, reference: str, T_bone_mesh: Array, material: Material | None
    ) -> None:
        """Add the meshes of a file; `material` counts where the file has none of its own."""
        parts = self._read(reference)
        for part in parts:
            T_bone_part = T_bone_mesh @ part.T_file_mesh
            if not np.isfinite(T_bone_part).all():
                continue
            look = part.material or material or DEFAULT_MATERIAL
            self.visuals.append(Visual(name, bone, part.mesh, look, T_bone_part))

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
        kinds = Counter(CODES.get(error.code, "mesh-not-read") for error in self._faults.values())
        notes = []
        for kind, count in kinds.items():
            faults = [e for e in self._faults.values() if CODES.get(e.code, "mesh-not-read") == kind]
            first = faults[0]
            place = "" if first.path == self.finder.path else f"{first.path}: "
            where = f"{first.place}: " if first.place != "" else ""
            more = f"; and {count_noun(count - 1, 'other')}" if count > 1 else ""
            text = f"{place}{where}{first.message}{more}"
            notes.append(Note(kind, "damage", "", text))
        return Visuals(rigid=tuple(self.visuals), notes=tuple(notes))
