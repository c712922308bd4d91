"""Geoms of an MJCF: their shapes, their meshes among the assets, and how they look.

Shown are those of the groups that MuJoCo shows, 0 to 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exactik.errors import FileError
from exactik.io._xml import Element
from exactik.io.meshes import MeshFinder, MeshLibrary
from exactik.io.robots._mjcf_bodies import MjcfModel, Scope
from exactik.io.robots._mjcf_settings import DefaultClasses, normalise
from exactik.model.visuals import (
    Material,
    Mesh,
    Visuals,
    make_box,
    make_capsule,
    make_cylinder,
    make_sphere,
)
from exactik.spatial import matrix_from_wxyz, rotation_taking_z_to
from exactik.typing import Array

MESH_FOLDERS, TEXTURE_FOLDERS = ("meshdir", "assetdir"), ("texturedir", "assetdir")


@dataclass(frozen=True)
class GeomShape:
    """A geom with its defaults filled in."""

    element: Element  # with its defaults
    kind: str  # MuJoCo's word, such as "box" or "mesh"
    mesh: str  # name of the mesh asset, empty for none; a shape of another kind is fitted to it
    size: tuple[float, ...]  # half lengths [unit of the file], three of them, 0 where it has fewer
    p_body_geom: Array  # [unit of the file], (3,)
    R_body_geom: Array  # (3, 3)


def read_shape(model: MjcfModel, geom: Element, scope: Scope) -> GeomShape:
    """Return what a geom of a body is."""
    element = model.defaults.apply_to(geom, scope.default_class)
    mesh = element.attributes.get("mesh", "")
    kind = element.attributes.get("type", "mesh" if mesh != "" else "sphere").strip()
    p_frame_geom = np.array(element.read_numbers("pos", (0.0, 0.0, 0.0)))
    R_frame_geom = model.compiler.read_orientation(element)
    size = element.read_numbers("size", (0.0, 0.0, 0.0), fewer=True)
    if "fromto" in element.attributes:
        ends = np.reshape(element.read_numbers("fromto", (0.0,) * 6), (2, 3))
        along = ends[1] - ends[0]
        p_frame_geom = ends.mean(axis=0)
        R_frame_geom = rotation_taking_z_to(normalise(element, "fromto", along))
        half = 0.5 * float(np.linalg.norm(along))
        size = (size[0], half, 0.0) if kind in ("capsule", "cylinder") else (size[0], size[0], half)
    return GeomShape(
        element=element,
        kind=kind,
        mesh=mesh,
        size=size,
        p_body_geom=scope.p_body_frame + scope.R_body_frame @ p_frame_geom,
        R_body_geom=scope.R_body_frame @ R_frame_geom,
    )


@dataclass(frozen=True)
class MeshAsset:
    """A <mesh> of the assets."""

    element: Element  # with its defaults
    file: str  # as the model names it, empty for none
    # Map of the file's numbers into the geom: reference pose, then scale, (4, 4)
    T_geom_file: Array


def read_mesh_asset(element: Element, defaults: DefaultClasses) -> MeshAsset:
    """Return a mesh of the assets."""
    asset = defaults.apply_to(element, None)
    scale = np.diag(asset.read_numbers("scale", (1.0, 1.0, 1.0)))
    wxyz = np.array(asset.read_numbers("refquat", (1.0, 0.0, 0.0, 0.0)))
    R_ref = matrix_from_wxyz(normalise(asset, "refquat", wxyz))
    T_geom_file = np.eye(4)
    T_geom_file[:3, :3] = scale @ R_ref.T
    T_geom_file[:3, 3] = -scale @ R_ref.T @ asset.read_numbers("refpos", (0.0, 0.0, 0.0))
    return MeshAsset(element=asset, file=asset.attributes.get("file", ""), T_geom_file=T_geom_file)


def find_asset_files(root: Element) -> MeshFinder:
    """Return what finds the files of a model: beside it, and in the folders that it names."""
    compilers = list(root.find_children("compiler"))
    keys = (*MESH_FOLDERS, *TEXTURE_FOLDERS)
    found = [c.attributes[key] for key in keys for c in compilers if key in c.attributes]
    return MeshFinder(root.path, tuple(folder.replace("\\", "/") for folder in found))


def list_assets(root: Element, tag: str) -> dict[str, Element]:
    """Return the assets of a kind by name; that of one without a name is its file's."""
    by_name: dict[str, Element] = {}
    for asset in root.find_children("asset"):
        for element in asset.find_children(tag):
            file = element.attributes.get("file", "").replace("\\", "/")
            stem = file.rpartition("/")[2].rpartition(".")[0]
            by_name.setdefault(element.attributes.get("name", stem), element)
    return by_name


SHOWN_GROUPS = (0, 1, 2)  # MuJoCo's own viewer hides the others, which collide
DEFAULT_RGBA = (0.5, 0.5, 0.5, 1.0)  # MuJoCo's


def read_mjcf_visuals(root: Element, metres: float) -> Visuals:
    """Return the visuals of the bodies of <mujoco>; those that cannot be had are noted.

    Args:
        metres: length of the file's unit [m].
    """
    model = MjcfModel(root)
    assets = Assets(model)
    for body in model.bodies:
        for geom in body.geoms:
            if assets.library.is_full:
                return assets.library.build()
            try:
                _add_geom(assets, body.name, read_shape(model, *geom), metres)
            except FileError as error:
                assets.library.skip(error)
    return assets.library.build()


class Assets:
    """Meshes, materials and textures of a model, by their names."""

    def __init__(self, model: MjcfModel):
        """List them; files are read when geoms use them."""
        root, self.defaults = model.root, model.defaults
        self.library = MeshLibrary(find_asset_files(root))
        self.meshes = list_assets(root, "mesh")
        self.materials = list_assets(root, "material")
        self.textures = list_assets(root, "texture")
        self._read: dict[str, Material] = {}

    def find_material(self, name: str) -> Material | None:
        """Return a material by its name."""
        if name not in self.materials:
            return None
        if name not in self._read:
            element = self.defaults.apply_to(self.materials[name], None)
            rgba = element.read_numbers("rgba", (1.0, 1.0, 1.0, 1.0))
            texture = self.textures.get(element.attributes.get("texture", ""))
            file = "" if texture is None else texture.attributes.get("file", "")
            image = self.library.find_texture(file) if file != "" else None
            textures = {} if image is None else {"base_colour": image}
            self._read[name] = Material.of_srgb(rgba, name, textures=textures)
        return self._read[name]


def _add_geom(assets: Assets, bone: str, shape: GeomShape, metres: float) -> None:
    element = shape.element
    if int(element.read_number("group", 0.0)) not in SHOWN_GROUPS:
        return
    T_bone_geom = np.eye(4)
    T_bone_geom[:3, :3] = metres * shape.R_body_geom
    T_bone_geom[:3, 3] = metres * shape.p_body_geom
    material = assets.find_material(element.attributes.get("material", ""))
    if "rgba" in element.attributes or material is None:
        rgba = element.read_numbers("rgba", DEFAULT_RGBA)
        if rgba[3] <= 0.0:
            return
        material = Material.of_srgb(rgba)
    name = element.attributes.get("name", "") or shape.mesh or bone
    if shape.kind == "mesh":
        if shape.mesh not in assets.meshes:
            raise element.error(f"mesh {shape.mesh[:60]!r} is no asset; expected one")
        asset = read_mesh_asset(assets.meshes[shape.mesh], assets.defaults)
        if asset.file != "":
            T_bone_mesh = T_bone_geom @ asset.T_geom_file
            assets.library.add_file(name, bone, asset.file, T_bone_mesh, material)
        return
    mesh = _make_shape(shape.kind, shape.size)
    if mesh is not None:
        assets.library.add_shape(name, bone, mesh, T_bone_geom, material)


def _make_shape(kind: str, size: tuple[float, ...]) -> Mesh | None:
    """Return a shape of half lengths; None for planes and what else no robot consists of."""
    a, b, c = (abs(number) for number in size)
    if kind == "sphere":
        return make_sphere(a)
    if kind == "capsule":
        return make_capsule(a, 2.0 * b)
    if kind == "cylinder":
        return make_cylinder(a, 2.0 * b)
    if kind == "box":
        return make_box((2.0 * a, 2.0 * b, 2.0 * c))
    if kind == "ellipsoid":
        sphere = make_sphere(1.0)
        return Mesh(sphere.vertices * np.array([a, b, c]), sphere.faces)
    return None
