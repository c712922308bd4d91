"""Meshes and skins of a glTF file, as visuals of the bones that `_skeleton` made of its nodes.

With A and p the linear part and the place of a node at rest, R the rotation of a bone there and B
glTF's inverse bind matrix, all in the unit of the file, of which there are `metres` in a metre:

    skin   T_bone_mesh = metres · Rᵀ A B            its node is the bone's own
    mesh   T_bone_mesh = metres · Rᵀ (A x + p − p_bone)

so that scales of nodes are in the map, and bones can be rigid. Meshes that follow no bone stand
beside the figure and are left out, and so is whatever `write_glb` drew to make bones visible.
"""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from exactik._text import count_noun
from exactik.errors import ExactikError, FileError, FileWarning, Note
from exactik.io._notes import Notes
from exactik.io.gltf._document import Document, Opener, read_document
from exactik.io.gltf._json import JsonObject
from exactik.io.gltf._materials import MaterialReader
from exactik.io.gltf._nodes import extract_rotations
from exactik.io.gltf._skeleton import GltfFigure, read_figure
from exactik.model.visuals import MAX_VERTICES, Mesh, Skin, Visual, Visuals
from exactik.typing import Array, IntArray

TRIANGLES, STRIP, FAN = 4, 5, 6  # modes of a primitive
INFLUENCES = 4  # bones that a vertex of a skin follows
# Surfaces of one file: a character has some ten. A page takes 5 ms for each that has a skin.
MAX_SKINS, MAX_RIGID = 300, 3000
COMPRESSIONS = ("KHR_draco_mesh_compression", "EXT_meshopt_compression")


def read_gltf_visuals(
    path: str, length_unit: str | float | None = None, read: Opener = read_document
) -> Visuals:
    """Return the meshes and skins in a .gltf or .glb file; what cannot be shown is noted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)  # the reader of the skeleton has warned
        figure = read_figure(path, Notes(path), length_unit, read=read)
    return SurfaceReader(figure).read()


class SurfaceReader:
    """Collects the surfaces of a file, and what is left out of them."""

    def __init__(self, figure: GltfFigure):
        """Read nothing yet."""
        self.figure, self.document = figure, figure.document
        self.materials = MaterialReader(self.document)
        self.not_kept: Counter[str] = Counter()
        self.faults: list[FileError] = []
        self.rigid: list[Visual] = []
        self.skins: list[Skin] = []
        self._bones = {node: k for k, node in enumerate(figure.bone_nodes)}
        linear = np.array([figure.forest.rest_linear[k] for k in figure.bone_nodes])
        self._R_world_bone = extract_rotations(linear)
        self._vertices = 0

    def read(self) -> Visuals:
        """Return all surfaces."""
        meshes, skins = self.document.objects("meshes"), self.document.objects("skins")
        for k, node in enumerate(self.figure.forest.nodes):
            index = node.index("mesh", meshes)
            if index is None or "helper" in meshes[index].exactik_extras:
                continue
            skin_index = node.index("skin", skins)
            try:
                skin = None if skin_index is None else skins[skin_index]
                self._read_mesh(k, meshes[index], skin)
            except FileError as error:
                self.faults.append(error)
            except ExactikError as error:
                self.faults.append(meshes[index].error(str(error)))
        return Visuals(tuple(self.rigid), tuple(self.skins), self._make_notes())

    def _make_notes(self) -> tuple[Note, ...]:
        notes = []
        for text, count in (self.not_kept + self.materials.not_kept).items():
            times = f", {count} times" if count > 1 else ""
            notes.append(
                Note("visuals-not-kept", "remark", "", f"{text}{times}, which nothing here keeps")
            )
        faults = [*self.faults, *self.materials.faults]
        if len(faults) > 0:
            first = faults[0]
            rest = f"; and {count_noun(len(faults) - 1, 'other')}" if len(faults) > 1 else ""
            text = f"{first.message}; it is not shown{rest}"
            notes.append(Note("visuals-not-read", "damage", first.place, text))
        return tuple(notes)

    def _require_room(self, owner: JsonObject, skin: JsonObject | None) -> None:
        """Raise an error if there are as many surfaces as are shown."""
        if len(self.skins) >= MAX_SKINS if skin is not None else len(self.rigid) >= MAX_RIGID:
            shown = f"{MAX_SKINS} skins" if skin is not None else f"{MAX_RIGID} meshes"
            raise owner.error(f"the first {shown} of the file are shown alone")

    def _read_mesh(self, node: int, mesh: JsonObject, skin: JsonObject | None) -> None:
        self._require_room(mesh, skin)
        if isinstance(mesh.value.get("weights"), list):
            self.not_kept["morph targets of a mesh"] += 1
        name = mesh.text("name") or self.figure.forest.name(node)
        for primitive in mesh.objects("primitives"):
            if primitive.integer("mode", TRIANGLES) < TRIANGLES:
                self.not_kept["points or lines of a mesh"] += 1
                continue
            compressed = [c for c in COMPRESSIONS if c in primitive.object("extensions").value]
            if len(compressed) > 0:
                raise primitive.error(f"is compressed ({compressed[0]}); expected plain numbers")
            self._require_room(primitive, skin)
            surface = read_primitive(self.document, primitive)
            if len(surface.faces) == 0:
                self.not_kept["a mesh without triangles"] += 1
                continue
            self._vertices += len(surface.vertices)
            if self._vertices > MAX_VERTICES:
                raise primitive.error(f"expected at most {MAX_VERTICES} vertices in all meshes")
            material = self.materials.read(primitive)
            if skin is not None:
                joints, weights = _read_influences(self.document, primitive)
                bones, T_bone_mesh = self._read_skin(skin)
                self.skins.append(
                    Skin(
                        name=name,
                        mesh=surface,
                        bones=bones,
                        T_bone_mesh=T_bone_mesh,
                        joints=joints.astype(np.uint16),
                        weights=weights.astype(np.float32),
                        material=material,
                    )
                )
                continue
            bone = self._find_bone(node)
            if bone < 0:
                self.not_kept["a mesh that follows no bone"] += 1
                continue
            self.rigid.append(
                Visual(
                    name=name,
                    bone=self.figure.skeleton.bone_names[bone],
                    mesh=surface,
                    material=material,
                    T_bone_mesh=self._place_node(node, bone),
                )
            )

    def _find_bone(self, node: int) -> int:
        """Return the bone that a node is or hangs from, −1 if there is none."""
        while node >= 0 and node not in self._bones:
            node = self.figure.forest.parents[node]
        return self._bones.get(node, -1)

    def _place_node(self, node: int, bone: int) -> Array:
        """Return T_bone_mesh of a mesh at a node, (4, 4)."""
        forest, T_bone_mesh = self.figure.forest, np.eye(4)
        away = forest.rest_positions[node] - forest.rest_positions[self.figure.bone_nodes[bone]]
        R_bone_world = self.figure.metres * self._R_world_bone[bone].T
        T_bone_mesh[:3, :3], T_bone_mesh[:3, 3] = (
            R_bone_world @ forest.rest_linear[node],
            R_bone_world @ away,
        )
        return T_bone_mesh

    def _read_skin(self, skin: JsonObject) -> tuple[tuple[str, ...], Array]:
        """Return the names of the bones of a skin, and T_bone_mesh, (B, 4, 4)."""
        nodes = skin.indices("joints", self.figure.forest.nodes)
        bind = np.tile(np.eye(4), (len(nodes), 1, 1))
        if "inverseBindMatrices" in skin.value:
            matrices = self.document.read_accessor(skin, "inverseBindMatrices", "MAT4")
            if len(matrices) < len(nodes):
                text = f"has {len(matrices)} matrices for {len(nodes)} joints"
                raise skin.error(text, "inverseBindMatrices")
            bind = matrices[: len(nodes)].reshape(-1, 4, 4).swapaxes(1, 2)
        T_bone_mesh = np.empty_like(bind)
        for row, node in enumerate(nodes):
            T_bone_mesh[row] = self._place_node(node, self._bones[node]) @ bind[row]
        names = self.figure.skeleton.bone_names
        return tuple(names[self._bones[node]] for node in nodes), T_bone_mesh


def read_primitive(document: Document, primitive: JsonObject) -> Mesh:
    """Return the triangles of a primitive."""
    attributes = primitive.object("attributes")

    def read(key: str, *kinds: str) -> Array | None:
        if key not in attributes.value:
            return None
        kind = document.find_type(attributes, key)
        return document.read_accessor(attributes, key, kind if kind in kinds else kinds[0])

    vertices = document.read_accessor(attributes, "POSITION", "VEC3")
    faces = np.arange(len(vertices))
    if "indices" in primitive.value:
        faces = document.read_accessor(primitive, "indices", "SCALAR")[:, 0].astype(np.int64)
    colours = read("COLOR_0", "VEC4", "VEC3")
    if colours is not None and colours.shape[1] == 3:
        colours = np.column_stack([colours, np.ones(len(colours))])
    if len(faces) > 0 and (faces.min() < 0 or faces.max() >= len(vertices)):
        raise primitive.error(f"expected indices below {len(vertices)}", "indices")
    return Mesh(
        vertices=vertices.astype(np.float32),
        faces=_to_triangles(faces, primitive.integer("mode", TRIANGLES)).astype(np.uint32),
        normals=_as_singles(read("NORMAL", "VEC3")),
        uv=_as_singles(read("TEXCOORD_0", "VEC2")),
        colours=_as_singles(colours),
    )


def _as_singles(values: Array | None) -> NDArray[np.float32] | None:
    return None if values is None else values.astype(np.float32)


def _to_triangles(indices: IntArray, mode: int) -> IntArray:
    """Return triangles, (n, 3), of a list, a strip or a fan of them."""
    if mode == TRIANGLES:
        return indices[: len(indices) // 3 * 3].reshape(-1, 3)
    count = max(len(indices) - 2, 0)
    k = np.arange(count)
    if mode == FAN:
        return np.stack([np.full(count, indices[0]), indices[k + 1], indices[k + 2]], axis=1)
    odd = k % 2  # every second triangle of a strip runs the other way
    return np.stack([indices[k], indices[k + 1 + odd], indices[k + 2 - odd]], axis=1)


def _read_influences(document: Document, primitive: JsonObject) -> tuple[Array, Array]:
    """Return the four strongest joints of each vertex and their weights, (n, 4) each."""
    attributes = primitive.object("attributes")
    sets = [k for k in range(8) if f"JOINTS_{k}" in attributes.value]
    if len(sets) == 0:
        raise primitive.error("has no JOINTS_0; expected what its skin needs", "attributes")
    joints = [document.read_accessor(attributes, f"JOINTS_{k}", "VEC4") for k in sets]
    weights = [document.read_accessor(attributes, f"WEIGHTS_{k}", "VEC4") for k in sets]
    lengths = {len(part) for part in (*joints, *weights)}
    if len(lengths) > 1:
        raise primitive.error("joints and weights are not as many; expected one a vertex")
    all_joints, all_weights = np.concatenate(joints, axis=1), np.concatenate(weights, axis=1)
    if all_joints.min() < 0:
        raise primitive.error("has a negative joint; expected indices")
    strongest = np.argsort(-all_weights, axis=1, kind="stable")[:, :INFLUENCES]
    rows = np.arange(len(all_weights))[:, None]
    chosen, weight = all_joints[rows, strongest], all_weights[rows, strongest]
    return np.where(weight > 0.0, chosen, 0.0), weight
