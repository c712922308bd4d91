"""Meshes, skins and colours of an FBX file, as glTF has them.

A skin has a cluster for each of its bones: vertices, their weights, and where the mesh was in the
frame of the bone when it was bound, which with the mesh's own place in its node is glTF's inverse
bind matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from exactik.io.fbx._scene import Object
from exactik.typing import Array, IntArray

LazyArray = tuple[str, Callable[[], Array]]  # its type in glTF, and what makes it

MAX_MATERIALS = 1000  # of one mesh
INFLUENCES = 4  # bones that a vertex follows
DEFAULT_GREY = 0.8  # of a surface without a material


class SkinnedMesh:
    """A mesh of the file, taken apart when its triangles are asked for."""

    def __init__(self, shape: Object):
        """Find the clusters of its skin and the bones that they hang on."""
        self.object = shape
        skins = shape.list_parts("Deformer", "Skin")
        clusters = [c for skin in skins[:1] for c in skin.list_parts("Deformer", "Cluster")]
        self.bound = [(c, bone) for c in clusters for bone in c.list_parts("Model")[:1]]

    @cached_property
    def _vertices(self) -> dict[str, Array]:
        vertices = self.object.array("Vertices", 3)
        found = {"POSITION": vertices}
        if len(self.bound) > 0:
            clusters = [cluster for cluster, _ in self.bound]
            found["JOINTS_0"], found["WEIGHTS_0"] = _find_influences(clusters, len(vertices))
        return found

    @cached_property
    def _triangles(self) -> tuple[IntArray, IntArray]:
        faces, chosen = _make_triangles(self.object)
        count = len(self._vertices["POSITION"])
        if len(faces) > 0 and not 0 <= faces.min() <= faces.max() < count:
            text = f"names vertex {faces.max()}; there are {count}"
            place = f"{self.object.place}, PolygonVertexIndex"
            raise self.object.scene.notes.error(text, place)
        return faces, chosen

    def read(self, name: str, material: int, materials: int) -> Array:
        """Return what the vertices of one material have, or its triangles as "indices"."""
        faces, chosen = self._triangles
        chosen = np.where(chosen < materials, chosen, 0)
        used, indices = np.unique(faces[chosen == material], return_inverse=True)
        return (
            indices.reshape(-1, 1).astype(float)
            if name == "indices"
            else self._vertices[name][used]
        )

    def read_binds(self, T_node_mesh: Array) -> Array:
        """Return the inverse bind matrices, column by column as in both formats, (B, 16)."""
        binds = np.empty((len(self.bound), 16))
        for k, (cluster, _) in enumerate(self.bound):
            matrix = cluster.array("Transform")
            if len(matrix) != 16:
                text = f"has {len(matrix)} numbers; expected a 4×4 matrix"
                raise cluster.scene.notes.error(text, f"{cluster.place}, Transform")
            binds[k] = (T_node_mesh.T @ matrix.reshape(4, 4)).ravel()
        return binds


class Surfaces:
    """Collects meshes, skins and materials for a glTF document, and the arrays they are made of."""

    def __init__(self, nodes: dict[Object, int], arrays: list[LazyArray]):
        """Begin with the numbers of the nodes, and the arrays to which to add."""
        self.nodes, self._arrays = nodes, arrays
        self.meshes: list[dict[str, Any]] = []
        self.skins: list[dict[str, Any]] = []
        self.materials: list[dict[str, Any]] = []
        self._materials: dict[Object, int] = {}

    def _keep(self, kind: str, make: Callable[[], Array]) -> int:
        self._arrays.append((kind, make))
        return len(self._arrays) - 1

    def add(self, model: Object, mesh: Object, T_node_mesh: Array) -> dict[str, Any]:
        """Add a mesh; return what its node says of it.

        Args:
            model: the node on which it is.
            mesh: the mesh.
            T_node_mesh: where it is in that node, (4, 4).
        """
        shape, node = SkinnedMesh(mesh), {"mesh": len(self.meshes)}
        attributes = {"POSITION": "VEC3"}
        if len(shape.bound) > 0:
            attributes |= {"JOINTS_0": "VEC4", "WEIGHTS_0": "VEC4"}
            node["skin"] = len(self.skins)
            binds = self._keep("MAT4", partial(shape.read_binds, T_node_mesh))
            joints = [self.nodes[bone] for _, bone in shape.bound]
            self.skins.append({"joints": joints, "inverseBindMatrices": binds})
        materials = model.list_parts("Material")[:MAX_MATERIALS] or [None]
        primitives = []
        for k, material in enumerate(materials):

            def keep(name: str, kind: str, k: int = k) -> int:
                return self._keep(kind, partial(shape.read, name, k, len(materials)))

            primitives.append(
                {
                    "attributes": {name: keep(name, kind) for name, kind in attributes.items()},
                    "indices": keep("indices", "SCALAR"),
                    "material": self._add_material(material),
                }
            )
        written: dict[str, Any] = {"name": mesh.name or model.name, "primitives": primitives}
        if len(mesh.list_parts("Deformer", "BlendShape")) > 0:
            written["weights"] = []
        self.meshes.append({**written, "place": mesh.place})
        return node

    def _add_material(self, material: Object | None) -> int:
        if material is None:
            colour, name = np.full(3, DEFAULT_GREY), ""
        elif material in self._materials:
            return self._materials[material]
        else:
            grey = 3 * (DEFAULT_GREY,)
            colour = material.numbers("DiffuseColor", *material.numbers("Diffuse", *grey).tolist())
            name = material.name
            self._materials[material] = len(self.materials)
        rgba = [*np.clip(colour, 0.0, 1.0).tolist(), 1.0]
        surface = {"baseColorFactor": rgba, "metallicFactor": 0.0, "roughnessFactor": 0.8}
        self.materials.append({"name": name, "pbrMetallicRoughness": surface, "doubleSided": True})
        return len(self.materials) - 1


def _make_triangles(shape: Object) -> tuple[IntArray, IntArray]:
    """Return the polygons as fans of triangles, (m, 3), and the material of each, (m,)."""
    raw = shape.array("PolygonVertexIndex").astype(np.int64)
    is_last = raw < 0  # the last corner of a polygon is stored as −1 − its vertex
    corners = np.where(is_last, -1 - raw, raw)
    starts = np.concatenate([[0], np.flatnonzero(is_last) + 1])
    polygons = np.cumsum(is_last) - is_last
    third = np.flatnonzero(np.arange(len(raw)) - starts[polygons] >= 2) if len(raw) > 0 else raw
    faces = np.stack([corners[starts[polygons[third]]], corners[third - 1], corners[third]], axis=1)
    chosen = np.zeros(len(raw) + 1, dtype=np.int64)
    layer = shape.record.first("LayerElementMaterial")
    mapping = None if layer is None else layer.first("MappingInformationType")
    if mapping is not None and mapping.value(0, str, "") == "ByPolygon":
        values = shape.scene.file.array(layer, "Materials", shape.place).astype(np.int64)
        chosen[: len(values)] = values[: len(chosen)]
    return faces, chosen[polygons[third]]


def _find_influences(clusters: list[Object], count: int) -> tuple[Array, Array]:
    """Return the four strongest clusters of each of the vertices and their weights, (n, 4) each."""
    found: list[tuple[IntArray, Array]] = []
    for cluster in clusters:
        if cluster.record.first("Indexes") is None:  # a bone without vertices
            found.append((np.empty(0, dtype=np.int64), np.empty(0)))
            continue
        vertices, weights = cluster.array("Indexes").astype(np.int64), cluster.array("Weights")
        is_sound = len(vertices) == len(weights)
        if not is_sound or (len(vertices) and not 0 <= vertices.min() <= vertices.max() < count):
            text = f"{len(weights)} weights for {len(vertices)} vertices of {count}"
            raise cluster.scene.notes.error(f"{text}; expected one each", cluster.place)
        found.append((vertices, weights))
    owner = np.repeat(np.arange(len(found)), [len(v) for v, _ in found])
    vertex = np.concatenate([v for v, _ in found])
    weight = np.concatenate([w for _, w in found])
    order = np.lexsort((-weight, vertex))
    owner, vertex, weight = owner[order], vertex[order], weight[order]
    rank = np.arange(len(vertex)) - np.searchsorted(vertex, vertex)
    kept = rank < INFLUENCES
    joints, weights = np.zeros((count, INFLUENCES)), np.zeros((count, INFLUENCES))
    joints[vertex[kept], rank[kept]] = owner[kept]
    weights[vertex[kept], rank[kept]] = weight[kept]
    return joints, weights
