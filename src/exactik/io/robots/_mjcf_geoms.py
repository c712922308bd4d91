"""What the bodies of an MJCF look like: geoms of the groups that MuJoCo shows, 0 to 2.

Half lengths, as MuJoCo has them: a box of size 1 is two units long. `fromto` places what is long by
its ends. A mesh is where its file has it: MuJoCo moves it to its centre of mass and back.
"""

from __future__ import annotations

import numpy as np

from exactik.errors import FileError
from exactik.io._xml import Element
from exactik.io.meshes import MeshFinder, MeshLibrary
from exactik.io.robots._mjcf_bodies import BodyGeom, read_bodies
from exactik.io.robots._mjcf_include import expand_includes
from exactik.io.robots._mjcf_names import BoneNames
from exactik.io.robots._mjcf_settings import (
    Compiler,
    DefaultClasses,
    normalise,
    read_compiler,
    read_defaults,
)
from exactik.spatial import matrix_from_wxyz, rotation_taking_z_to
from exactik.typing import Array
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
MESH_FOLDERS, TEXTURE_FOLDERS = ("meshdir", "assetdir"), ("texturedir", "assetdir")


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
        compilers = list(root.find_children("compiler"))

        def folders(keys: tuple[str, ...]) -> tuple[str, ...]:
            found = [c.attributes[key] for c in compilers for key in keys if key in c.attributes]
            return tuple(folder.replace("\\", "/") for folder in found)

        finder = MeshFinder(root.path, (*folders(MESH_FOLDERS), *folders(TEXTURE_FOLDERS)))
        self.library, self.defaults = MeshLibrary(finder), defaults
        self.meshes: dict[str, Element] = {}
        self.materials: dict[str, Element] = {}
        self.textures: dict[str, Element] = {}
        self._read: dict[str, Material] = {}
        for asset in root.find_children("asset"):
            for element in asset.children:
                file = element.attributes.get("file", "").replace("\\", "/")
                stem = file.rpartition("/")[2].rpartition(".")[0]
                name = element.attributes.get("name", stem)
                kinds = {"mesh": self.meshes, "material": self.materials, "texture": self.textures}
                if element.tag in kinds:
                    kinds[element.tag].setdefault(name, element)

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
    element = defaults.apply_to(geom.element, geom.default_class)
    if int(element.read_number("group", 0.0)) not in SHOWN_GROUPS:
        return
    mesh_name = element.attributes.get("mesh", "")
    kind = element.attributes.get("type", "mesh" if mesh_name != "" else "sphere").strip()
    p_frame_geom = np.array(element.read_numbers("pos", (0.0, 0.0, 0.0)))
    R_frame_geom = compiler.read_orientation(element)
    size = element.read_numbers("size", (0.0, 0.0, 0.0), fewer=True)
    if "fromto" in element.attributes:
        ends = np.reshape(element.read_numbers("fromto", (0.0,) * 6), (2, 3))
        along = ends[1] - ends[0]
        p_frame_geom = ends.mean(axis=0)
        R_frame_geom = rotation_taking_z_to(normalise(element, "fromto", along))
        half = 0.5 * float(np.linalg.norm(along))
        size = (size[0], half, 0.0) if kind in ("capsule", "cylinder") else (size[0], size[0], half)
    T_bone_geom = np.eye(4)
    T_bone_geom[:3, :3] = metres * (geom.R_body_frame @ R_frame_geom)
    T_bone_geom[:3, 3] = metres * (geom.p_body_frame + geom.R_body_frame @ p_frame_geom)
    material = assets.find_material(element.attributes.get("material", ""))
    if "rgba" in element.attributes or material is None:
        rgba = element.read_numbers("rgba", DEFAULT_RGBA)
        if rgba[3] <= 0.0:
            return
        material = Material.of_srgb(rgba)
    name = element.attributes.get("name", "") or mesh_name or bone
    if kind == "mesh":
        if mesh_name not in assets.meshes:
            raise element.error(f"mesh {mesh_name[:60]!r} is no asset; expected one")
        asset = assets.defaults.apply_to(assets.meshes[mesh_name], None)
        T_bone_mesh = T_bone_geom @ _read_mesh_frame(asset)
        reference = asset.attributes.get("file", "")
        if reference != "":
            assets.library.add_file(name, bone, reference, T_bone_mesh, material)
        return
    mesh = _make_shape(kind, size)
    if mesh is not None:
        assets.library.add_shape(name, bone, mesh, T_bone_geom, material)


def _read_mesh_frame(asset: Element) -> Array:
    """Return the map of a mesh's file into its geom, (4, 4): reference pose, then scale."""
    scale = np.diag(asset.read_numbers("scale", (1.0, 1.0, 1.0)))
    wxyz = np.array(asset.read_numbers("refquat", (1.0, 0.0, 0.0, 0.0)))
    R_ref = matrix_from_wxyz(normalise(asset, "refquat", wxyz))
    T_geom_file = np.eye(4)
    T_geom_file[:3, :3] = R_ref.T @ scale
    T_geom_file[:3, 3] = -R_ref.T @ np.array(asset.read_numbers("refpos", (0.0, 0.0, 0.0)))
    return T_geom_file


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
