"""Meshes, skins, materials and textures of a figure, added to a GLB that is being made.

A figure that has none is drawn: an octahedron from each bone to each of its children. Faces are
shaded flat, so that no two of them share a vertex, and each vertex has the normal of its face. A
bone without children ends in a shorter octahedron, and a marker is a small regular one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from exactik.model.visuals import Material, Mesh, Texture, Visuals

if TYPE_CHECKING:
    from exactik.io.gltf._write import GlbBuilder
from numpy.typing import ArrayLike

from exactik.model import Pose, Skeleton
from exactik.typing import Array, IntArray

# Where along its length an octahedron is widest, and how far it reaches to each side there.
WAIST_FRACTION = 0.1
TIP_FRACTION = 0.6  # length of the last bone of a chain, relative to the one before it
MIN_BONE_FRACTION = 0.02  # of the figure's size: shorter bones would not be seen


def make_octahedron(start: ArrayLike, end: ArrayLike, waist: float = WAIST_FRACTION) -> Array:
    """Return the triangles of an octahedron, (8, 3, 3), counter-clockwise from outside.

    Args:
        start: one end [m], (3,).
        end: the other one [m], (3,), somewhere else.
        waist: where along it it is widest, and how far it reaches to each side there, as parts of
            its length; one half makes it regular.
    """
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    along = end - start
    length = float(np.linalg.norm(along))
    # Any perpendicular direction will do; the axis furthest from the bone is well conditioned.
    side = np.cross(along, np.eye(3)[int(np.argmin(np.abs(along)))])
    side *= length * waist / np.linalg.norm(side)
    across = np.cross(along, side) / length
    ring = [start + waist * along + d for d in (side, across, -side, -across)]
    faces = []
    for a, b in zip(ring, [*ring[1:], ring[0]], strict=True):
        faces += [(start, b, a), (end, a, b)]
    return np.array(faces)


def compute_normals(triangles: Array) -> Array:
    """Return the unit normal of each corner, (n, 3, 3), of triangles (n, 3, 3)."""
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return np.repeat(normals[:, None], 3, axis=1)


def make_bone_mesh(skeleton: Skeleton, pose: Pose) -> tuple[Array, Array, IntArray]:
    """Return the figure in one pose.

    Returns:
        Vertices [m] and normals, (n, 3), three in a row for a triangle, and the bone that carries
        each vertex, (n,).
    """
    p_world = pose.positions
    shortest = MIN_BONE_FRACTION * measure_figure(pose)
    octahedra: list[Array] = []
    owners: list[int] = []
    inner = set()
    for k, parent in enumerate(skeleton.parents.tolist()):
        if parent >= 0:
            inner.add(parent)
            if np.linalg.norm(p_world[k] - p_world[parent]) > shortest:
                octahedra.append(make_octahedron(p_world[parent], p_world[k]))
                owners.append(parent)
    for k, parent in enumerate(skeleton.parents.tolist()):
        if k not in inner:
            along = TIP_FRACTION * (p_world[k] - p_world[parent]) if parent >= 0 else np.zeros(3)
            if np.linalg.norm(along) < shortest:  # at its parent's origin: along the bone's z
                along = 2.0 * shortest * pose.rotations[k, :, 2]
            octahedra.append(make_octahedron(p_world[k], p_world[k] + along))
            owners.append(k)
    triangles = np.concatenate(octahedra)
    bones = np.repeat(np.array(owners), 24)
    return triangles.reshape(-1, 3), compute_normals(triangles).reshape(-1, 3), bones


def make_marker_mesh(size: float) -> tuple[Array, Array]:
    """Return vertices and normals of an octahedron about the origin, `size` across [m]."""
    triangles = make_octahedron((0.0, 0.0, -0.5 * size), (0.0, 0.0, 0.5 * size), waist=0.5)
    return triangles.reshape(-1, 3), compute_normals(triangles).reshape(-1, 3)


def measure_figure(pose: Pose) -> float:
    """Return the largest extent of a figure in one pose [m], its markers included; never zero."""
    points = np.concatenate([pose.positions, pose.markers])
    extent = float(np.ptp(points, axis=0).max())
    return extent if extent > 1e-6 else 1.0


ARRAY_BUFFER, ELEMENT_BUFFER = 34962, 34963  # targets of buffer views
BYTE, SHORT, INT, FLOAT = 5121, 5123, 5125, 5126  # componentType
# Where the textures of a material stand in glTF: the part of the material, and the key in it.
TEXTURE_KEYS = {
    "base_colour": ("pbrMetallicRoughness", "baseColorTexture", ""),
    "metallic_roughness": ("pbrMetallicRoughness", "metallicRoughnessTexture", ""),
    "normal": ("", "normalTexture", "scale"),
    "occlusion": ("", "occlusionTexture", "strength"),
    "emissive": ("", "emissiveTexture", ""),
}


def add_surfaces(
    builder: GlbBuilder,
    visuals: Visuals,
    *,
    keep_normals: bool = False,
    skins_at_top: bool = True,
) -> None:
    """Add the visuals of a skeleton, whose bones are the nodes from 1 on.

    Args:
        keep_normals: whether to write the normals a second time, under a name of our own; the
            viewer's page computes others when it loads a file.
        skins_at_top: whether skinned meshes are roots, as they should be, for nodes above them have
            no effect; else they are below node 0 with all that belongs to the figure.
    """
    writer = SurfaceWriter(builder, keep_normals)
    bone_node = {name: k + 1 for k, name in enumerate(builder.skeleton.bone_names)}
    for visual in visuals.rigid:
        if len(visual.mesh.faces) == 0:  # glTF has no accessors without numbers
            continue
        node: dict[str, Any] = {"mesh": writer.add_mesh(visual.name, visual.mesh, visual.material)}
        if not np.array_equal(visual.T_bone_mesh, np.eye(4)):
            node["matrix"] = visual.T_bone_mesh.T.ravel().tolist()
        index = builder.add("nodes", {"name": visual.name or f"{visual.bone} mesh", **node})
        builder.json["nodes"][bone_node[visual.bone]].setdefault("children", []).append(index)
    for skin in visuals.skins:
        if len(skin.mesh.faces) == 0:
            continue
        component = BYTE if len(skin.bones) < 256 else SHORT
        joints, weights = skin.joints, skin.weights
        attributes = {
            "JOINTS_0": builder.add_accessor(joints, "VEC4", component, target=ARRAY_BUFFER),
            "WEIGHTS_0": builder.add_accessor(weights, "VEC4", FLOAT, target=ARRAY_BUFFER),
        }
        bind = np.swapaxes(skin.T_bone_mesh, 1, 2)
        entry = {
            "name": skin.name or builder.skeleton.name,
            "joints": [bone_node[bone] for bone in skin.bones],
            "inverseBindMatrices": builder.add_accessor(bind, "MAT4", FLOAT),
        }
        mesh = writer.add_mesh(skin.name, skin.mesh, skin.material, attributes)
        node = {"name": skin.name or "skin", "mesh": mesh, "skin": builder.add("skins", entry)}
        index = builder.add("nodes", node)
        if skins_at_top:
            builder.json["scenes"][0]["nodes"].append(index)
        else:
            builder.json["nodes"][0]["children"].append(index)


class SurfaceWriter:
    """Adds meshes and materials; what occurs twice is written once."""

    def __init__(self, builder: GlbBuilder, keep_normals: bool):
        """Write nothing yet."""
        self.builder, self.keep_normals = builder, keep_normals
        self._attributes: dict[int, dict[str, int]] = {}
        self._indices: dict[int, int] = {}
        self._materials: dict[int, int] = {}
        self._images: dict[bytes, int] = {}
        self._alive: list[object] = []  # what the keys above are the identities of

    def add_mesh(
        self, name: str, mesh: Mesh, material: Material, more: dict[str, int] | None = None
    ) -> int:
        """Add a mesh with one primitive; return its index."""
        if id(mesh) not in self._attributes:
            self._attributes[id(mesh)] = self._add_attributes(mesh)
            component = SHORT if len(mesh.vertices) < 1 << 16 else INT
            self._indices[id(mesh)] = self.builder.add_accessor(
                mesh.faces.ravel(), "SCALAR", component, target=ELEMENT_BUFFER
            )
            self._alive.append(mesh)
        primitive = {
            "attributes": {**self._attributes[id(mesh)], **(more or {})},
            "indices": self._indices[id(mesh)],
            "material": self._add_material(material),
        }
        return self.builder.add("meshes", {"name": name or "mesh", "primitives": [primitive]})

    def _add_attributes(self, mesh: Mesh) -> dict[str, int]:
        mesh = mesh.with_normals()
        assert mesh.normals is not None
        columns = {"NORMAL": (mesh.normals, "VEC3")}
        if self.keep_normals:
            columns["_NORMAL"] = (mesh.normals, "VEC3")
        if mesh.uv is not None:
            columns["TEXCOORD_0"] = (mesh.uv, "VEC2")
        if mesh.colours is not None:
            columns["COLOR_0"] = (mesh.colours, "VEC4")
        attributes = {
            "POSITION": self.builder.add_accessor(
                mesh.vertices, "VEC3", FLOAT, target=ARRAY_BUFFER, bounds=True
            )
        }
        for key, (values, kind) in columns.items():
            attributes[key] = self.builder.add_accessor(values, kind, FLOAT, target=ARRAY_BUFFER)
        return attributes

    def _add_material(self, material: Material) -> int:
        if id(material) not in self._materials:
            surface: dict[str, Any] = {
                "baseColorFactor": list(material.base_colour),
                "metallicFactor": material.metallic,
                "roughnessFactor": material.roughness,
            }
            entry: dict[str, Any] = {"pbrMetallicRoughness": surface}
            if material.name != "":
                entry["name"] = material.name
            if any(material.emissive):
                entry["emissiveFactor"] = list(material.emissive)
            if material.alpha_mode != "OPAQUE":
                entry["alphaMode"] = material.alpha_mode
            if material.alpha_mode == "MASK":
                entry["alphaCutoff"] = material.alpha_cutoff
            if material.double_sided:
                entry["doubleSided"] = True
            for slot, texture in material.textures.items():
                part, key, strength = TEXTURE_KEYS[slot]
                use: dict[str, Any] = {"index": self._add_texture(texture)}
                if strength != "" and texture.strength != 1.0:
                    use[strength] = texture.strength
                (entry[part] if part != "" else entry)[key] = use
            self._materials[id(material)] = self.builder.add("materials", entry)
            self._alive.append(material)
        return self._materials[id(material)]

    def _add_texture(self, texture: Texture) -> int:
        if texture.data not in self._images:
            view = self.builder.add_bytes(texture.data)
            image = {"bufferView": view, "mimeType": texture.image_type}
            self._images[texture.data] = self.builder.add("images", image)
        entry = {"source": self._images[texture.data]}
        if len(texture.sampler) > 0:
            entry["sampler"] = self.builder.add("samplers", dict(texture.sampler))
        return self.builder.add("textures", entry)
