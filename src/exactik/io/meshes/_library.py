"""The meshes of one model: each file read once, and what was missing or bad said in one note."""

from __future__ import annotations

from exactik._text import count_noun
from exactik.errors import FileError, ModelError, Note
from exactik.io.meshes._paths import MeshFinder
from exactik.io.meshes._read import MeshPart, read_mesh_file, read_texture
from exactik.typing import Array
from exactik.visuals import MAX_VERTICES, Material, Mesh, Texture, Visual, Visuals

__all__ = ["MeshLibrary"]

KINDS = ("mesh-missing", "mesh-outside")  # of faults that have a note of their own
DEFAULT_MATERIAL = Material.of_srgb((0.72, 0.74, 0.78))
MAX_FILES = 2000  # meshes of one model; decides no more than how long a hostile one takes
MAX_VISUALS = 3000  # shapes and meshes of one model: more than ten times those of any robot seen


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
