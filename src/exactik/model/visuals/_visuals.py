"""Meshes on bones, and skins over several of them, by the names of the bones.

A mesh on one bone has its vertices at

    x_world = R_world_bone (T_bone_mesh x) + p_world_bone

and a skin, by linear blend skinning, at the mean of what each of its bones would make of them:

    x_world = Σ_k w_k (R_world_bone_k (T_bone_mesh_k x) + p_world_bone_k),    Σ_k w_k = 1

T_bone_mesh is glTF's inverse bind matrix: where the mesh was in the bone's frame when it was bound.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactik.errors import ExactikError, FileError, ModelError, Note
from exactik.model.visuals._mesh import Material, Mesh
from exactik.typing import Array, IntArray

MIN_BONE_LENGTH = 1e-3  # [m] shorter ones have no direction
UNCHANGED = 1e-3  # bones that differ by a smaller part are as they were
MAX_REACH = 1e30  # [m]; anything between the largest figure and the end of single precision, 3e38
INFLUENCES = 4  # bones that a vertex follows: as many as glTF's first set has, and as browsers take


@dataclass(frozen=True, eq=False)
class Visual:
    """A mesh that is rigid with a bone."""

    name: str  # may be empty
    bone: str  # its name
    mesh: Mesh  # the surface
    material: Material = field(default_factory=Material)  # its look
    # Affine map of the mesh into the bone's frame [m], (4, 4); it may scale
    T_bone_mesh: Array = field(default_factory=lambda: np.eye(4))

    def __post_init__(self) -> None:
        """Check the map."""
        if np.shape(self.T_bone_mesh) != (4, 4) or not np.isfinite(self.T_bone_mesh).all():
            raise ModelError(f"the map of mesh {self.name[:40]!r} is no finite 4×4 matrix")
        _check_reach(self.mesh, self.T_bone_mesh)


@dataclass(frozen=True, eq=False)
class Skin:
    """A mesh that follows several bones.

    Attributes:
        name: may be empty.
        mesh: the surface.
        bones: names of the bones, (B,).
        T_bone_mesh: affine maps of the mesh into the bones' frames [m], (B, 4, 4).
        joints: which of `bones` each vertex follows, (n, 4).
        weights: how much, (n, 4), each row with sum 1.
        material: its look.
        fits: whether it is stretched with its bones where they have other lengths than when it was
            bound, as the bodies of the built-in figures are.
    """

    name: str
    mesh: Mesh
    bones: tuple[str, ...]
    T_bone_mesh: Array
    joints: NDArray[np.integer[Any]]
    weights: NDArray[np.floating[Any]]
    material: Material = field(default_factory=Material)
    fits: bool = False

    def __post_init__(self) -> None:
        """Check shapes, and bring the weights of each vertex to the sum 1."""
        n = len(self.mesh.vertices)
        joints = np.ascontiguousarray(self.joints, dtype=np.uint16)
        weights = np.array(self.weights, dtype=float)  # whose sums may leave single precision
        if joints.shape != (n, INFLUENCES) or weights.shape != (n, INFLUENCES):
            raise ModelError(f"a skin of {n} vertices has joints {joints.shape}")
        if np.shape(self.T_bone_mesh) != (len(self.bones), 4, 4):
            raise ModelError(f"a skin of {len(self.bones)} bones has as many 4×4 maps")
        if n > 0 and int(joints.max()) >= len(self.bones):
            raise ModelError(f"a skin of {len(self.bones)} bones names joint {int(joints.max())}")
        if not np.isfinite(weights).all() or not np.isfinite(self.T_bone_mesh).all():
            raise ModelError("weights or maps of a skin are not finite")
        _check_reach(self.mesh, self.T_bone_mesh)
        weights = np.clip(weights, 0.0, None)
        total = weights.sum(axis=1, keepdims=True)
        first = np.eye(1, INFLUENCES)  # without weights: all to the first
        weights = np.where(total > 0.0, weights / np.where(total > 0.0, total, 1.0), first)
        weights = weights.astype(np.float32)
        for name, array in (("joints", joints), ("weights", weights)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)


@dataclass(frozen=True, eq=False, repr=False)
class Visuals:
    """All that is seen of a figure.

    Attributes:
        rigid: meshes on single bones.
        skins: meshes on several.
        notes: what of the file is not shown, a sentence each.
    """

    rigid: tuple[Visual, ...] = ()
    skins: tuple[Skin, ...] = ()
    notes: tuple[Note, ...] = ()

    def __repr__(self) -> str:
        counts = f"{len(self.rigid)} on single bones, {len(self.skins)} skins"
        return f"<Visuals: {counts}, {self.vertex_count} vertices>"

    def __bool__(self) -> bool:
        return len(self.rigid) + len(self.skins) > 0

    @property
    def vertex_count(self) -> int:
        """Number of vertices of all meshes."""
        return sum(len(part.mesh.vertices) for part in (*self.rigid, *self.skins))

    def only_on(self, bone_names: Sequence[str]) -> Visuals:
        """Return what follows bones of these names alone."""
        names = set(bone_names)
        rigid = tuple(visual for visual in self.rigid if visual.bone in names)
        skins = tuple(skin for skin in self.skins if names.issuperset(skin.bones))
        complete = len(rigid) == len(self.rigid) and len(skins) == len(self.skins)
        return self if complete else Visuals(rigid, skins, self.notes)

    def mapped(self, T_new_old: Mapping[str, Array]) -> Visuals:
        """Return the same with every part mapped in the frame of its bone.

        Args:
            T_new_old: affine maps in the frames of bones, by bone, (4, 4); without one they stay.
                A skin that fits its bones is shifted alone: it is stretched by itself.
        """
        rigid = [
            replace(visual, T_bone_mesh=T_new_old[visual.bone] @ visual.T_bone_mesh)
            if visual.bone in T_new_old
            else visual
            for visual in self.rigid
        ]
        skins = []
        for skin in self.skins:
            maps = np.array([T_new_old.get(bone, np.eye(4)) for bone in skin.bones])
            if skin.fits:
                maps[:, :3, :3] = np.eye(3)
            skins.append(replace(skin, T_bone_mesh=maps @ skin.T_bone_mesh))
        return Visuals(tuple(rigid), tuple(skins), self.notes)

    def fitted(
        self,
        bone_names: Sequence[str],
        parents: IntArray,
        rest_offsets: Array,
        *,
        for_good: bool = False,
    ) -> Visuals:
        """Return the same with skins that fit stretched to bones of these lengths.

        Args:
            bone_names: (B,).
            parents: index of each bone's parent, −1 for a root, (B,).
            rest_offsets: where each bone begins in its parent [m], (B, 3).
            for_good: whether skins that had to be stretched fit no other bones afterwards.
        """
        if not any(skin.fits for skin in self.skins):
            return self
        skins = []
        for skin in self.skins:
            fitting = skin
            if skin.fits:
                fitting = stretch_skin(skin, bone_names, parents, rest_offsets)
            if for_good and fitting is not skin:
                fitting = replace(fitting, fits=False)
            skins.append(fitting)
        return Visuals(self.rigid, tuple(skins), self.notes)

    def compute_vertices(
        self, bone_names: Sequence[str], positions: Array, rotations: Array
    ) -> list[Array]:
        """Return where the vertices of each mesh are in a pose [m, world], (n, 3) each.

        Args:
            bone_names: names of the bones of the pose, (B,).
            positions: of them [m, world], (B, 3).
            rotations: of them, R_world_bone, (B, 3, 3).
        """
        index = {name: k for k, name in enumerate(bone_names)}
        T_world_bone = np.tile(np.eye(4), (len(index), 1, 1))
        T_world_bone[:, :3, :3], T_world_bone[:, :3, 3] = rotations, positions
        placed = []
        for visual in self.rigid:
            T_world_mesh = T_world_bone[index[visual.bone]] @ visual.T_bone_mesh
            placed.append(visual.mesh.vertices @ T_world_mesh[:3, :3].T + T_world_mesh[:3, 3])
        for skin in self.skins:
            rows = [index[bone] for bone in skin.bones]
            maps = (T_world_bone[rows] @ skin.T_bone_mesh)[:, :3]
            blended = np.einsum("nk,nkij->nij", skin.weights, maps[skin.joints])
            vertices = skin.mesh.vertices
            placed.append(np.einsum("nij,nj->ni", blended[:, :, :3], vertices) + blended[:, :, 3])
        return placed

    def find_vertex_bones(self, bone_names: Sequence[str]) -> list[IntArray]:
        """Return the bone that each vertex of each mesh follows most, as an index, (n,) each."""
        index = {name: k for k, name in enumerate(bone_names)}
        found = [np.full(len(v.mesh.vertices), index[v.bone], dtype=np.int64) for v in self.rigid]
        for skin in self.skins:
            rows = np.array([index[bone] for bone in skin.bones], dtype=np.int64)
            strongest = np.argmax(skin.weights, axis=1)
            found.append(rows[skin.joints[np.arange(len(strongest)), strongest]])
        return found


def _check_reach(mesh: Mesh, T_bone_mesh: Array) -> None:
    """Raise an error if a mesh, mapped by (…, 4, 4), is too large for single precision."""
    largest = float(np.abs(mesh.vertices).max(initial=1.0))
    with np.errstate(over="ignore"):
        reach = 4.0 * largest * float(np.abs(T_bone_mesh).max(initial=0.0))
    if reach > MAX_REACH:
        raise ModelError(f"a mesh reaches {reach:.0e} m; nothing as far is shown")


def stretch_skin(
    skin: Skin, bone_names: Sequence[str], parents: IntArray, rest_offsets: Array
) -> Skin:
    """Return a skin bound to bones of other lengths; see `Visuals.fitted`.

    Each bone's part is stretched along the bone as the bone is, and across it as the whole figure
    is. A bone without children, or with children at its own place, is as the whole figure.
    """
    index = {name: k for k, name in enumerate(bone_names)}
    row = {name: k for k, name in enumerate(skin.bones)}
    longest = np.zeros(len(skin.bones))
    factors, directions = np.ones(len(skin.bones)), np.zeros((len(skin.bones), 3))
    for name, k in row.items():
        parent = int(parents[index[name]])
        above = row.get(bone_names[parent]) if parent >= 0 else None
        if above is None:
            continue
        bound = (skin.T_bone_mesh[above] @ np.linalg.inv(skin.T_bone_mesh[k]))[:3, 3]
        length = float(np.linalg.norm(bound))
        if length > max(longest[above], MIN_BONE_LENGTH):
            longest[above] = length
            factors[above] = np.linalg.norm(rest_offsets[index[name]]) / length
            directions[above] = bound / length
    measured = factors[longest > 0.0]
    overall = float(np.median(measured)) if len(measured) > 0 else 1.0
    if np.abs(measured / overall - 1.0).max(initial=abs(overall - 1.0)) < UNCHANGED:
        return skin
    along = np.where(longest > 0.0, factors, overall) - overall
    stretch = np.tile(np.eye(4), (len(skin.bones), 1, 1))
    stretch[:, :3, :3] = overall * np.eye(3) + along[:, None, None] * (
        directions[:, :, None] * directions[:, None, :]
    )
    return replace(skin, T_bone_mesh=stretch @ skin.T_bone_mesh)


class LazyVisuals:
    """A function that makes visuals, and what it made once it was called.

    Figures that come from one another share it, so that a file is read once. What cannot be read is
    no error, since nothing but the look depends on it: the visuals are empty then, and their notes
    say why. It is sent to another process as the function alone.
    """

    def __init__(self, make: Callable[[], Visuals]):
        """Keep the function."""
        self._make = make
        self._visuals: Visuals | None = None
        self._lock = threading.Lock()

    def load(self) -> Visuals:
        """Return the visuals; the first call reads them."""
        with self._lock:
            if self._visuals is None:
                try:
                    self._visuals = self._make()
                except ExactikError as error:
                    place = error.place if isinstance(error, FileError) else ""
                    text = error.message if isinstance(error, FileError) else str(error)
                    note = Note("visuals-not-read", "damage", place, f"nothing is shown: {text}")
                    self._visuals = Visuals(notes=(note,))
            return self._visuals

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._make,)


def map_visuals(visuals: Visuals | LazyVisuals, T_new_old: Mapping[str, Array]) -> Visuals:
    """Return visuals mapped in the frames of their bones, see `Visuals.mapped`; reads them."""
    loaded = visuals.load() if isinstance(visuals, LazyVisuals) else visuals
    return loaded.mapped(T_new_old)
