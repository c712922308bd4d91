"""Meshes, skins, materials and textures of a figure, added to a GLB that is being made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from exactik.visuals import Material, Mesh, Texture, Visuals

if TYPE_CHECKING:
    from exactik.io.gltf._write import GlbBuilder

__all__ = ["add_surfaces"]

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
        builder: what is being made.
        visuals: of the skeleton's bones.
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
