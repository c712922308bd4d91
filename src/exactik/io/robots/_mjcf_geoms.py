"""What the bodies of an MJCF look like: geoms of the groups that MuJoCo shows, 0 to 2."""

from __future__ import annotations

import numpy as np

from exactik.errors import FileError
from exactik.io._xml import Element
from exactik.io.meshes import MeshLibrary
from exactik.io.robots._mjcf_bodies import BodyGeom, read_bodies
from exactik.io.robots._mjcf_include import expand_includes
from exactik.io.robots._mjcf_names import BoneNames
from exactik.io.robots._mjcf_settings import (
    Compiler,
    DefaultClasses,
    read_compiler,
    read_defaults,
)
from exactik.io.robots._mjcf_shapes import (
    find_asset_files,
    list_assets,
    read_mesh_asset,
    read_shape,
)
from exactik.visuals import (
    Material,
    Mesh,
    Visuals,
    make_box,
    make_capsule,
    make_cylinder,
    make_sphere,
)

__all__ = ["read_mjcf_visuals"]

SHOWN_GROUPS = (0, 1, 2)  # MuJoCo's own viewer hides the others, which collide
DEFAULT_RGBA = (0.5, 0.5, 0.5, 1.0)  # MuJoCo's


def read_mjcf_visuals(root: Element, metres: float) -> Visuals:
    """Return the visuals of the bodies of <mujoco>; those that cannot be had are noted.

    Args:
        root: the element <mujoco>.
        metres: length of the file's unit [m].
    """
    expand_includes(root)
    compiler, defaults = read_compiler(root), read_defaults(root)
    bodies = read_bodies(root, compiler, defaults)
    BoneNames(bodies)  # names those that have none
    assets = Assets(root, defaults)
    for body in bodies:
        for geom in body.geoms:
            if assets.library.is_full:
                return assets.library.build()
            try:
                _add_geom(assets, body.name, geom, compiler, defaults, metres)
            except FileError as error:
                assets.library.skip(error)
    return assets.library.build()


class Assets:
    """Meshes, materials and textures of a model, by their names."""

    def __init__(self, root: Element, defaults: DefaultClasses):
        """List them; files are read when geoms use them."""
        self.library, self.defaults = MeshLibrary(find_asset_files(root)), defaults
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


def _add_geom(
    assets: Assets,
    bone: str,
    geom: BodyGeom,
    compiler: Compiler,
    defaults: DefaultClasses,
    metres: float,
) -> None:
    shape = read_shape(geom, compiler, defaults)
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
        asset = read_mesh_asset(assets.meshes[shape.mesh], defaults)
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
