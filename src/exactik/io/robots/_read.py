"""Read URDF or MJCF, whichever the root element says, with what the links look like."""

from __future__ import annotations

import os
import warnings
from functools import partial

import numpy as np

from exactik.errors import FileError, FileWarning
from exactik.io._notes import Notes
from exactik.io._units import metres_per
from exactik.io._xml import Element
from exactik.io.meshes import MeshFinder, MeshLibrary
from exactik.io.robots._robot import Robot
from exactik.io.robots._urdf import read_origin
from exactik.model import Skeleton
from exactik.model.shapes import LazyShapes, Shapes
from exactik.model.visuals import (
    LazyVisuals,
    Material,
    Mesh,
    Visuals,
    make_box,
    make_capsule,
    make_cylinder,
    make_sphere,
)
from exactik.typing import Array

Unit = str | float | None


def read_robot(path: str, length_unit: Unit, floating: bool | None) -> Robot:
    """Read URDF or MJCF; the root element decides, whatever the file is called."""
    # `import exactik` loads this module for its types; the XML parsers only when they are needed.
    from exactik.io._xml import read_xml
    from exactik.io.robots._mjcf import read_mjcf
    from exactik.io.robots._urdf import read_urdf

    metres = _find_metres(length_unit)
    root = read_xml(path)
    readers = {"robot": read_urdf, "mujoco": read_mjcf}
    if root.tag not in readers:
        opensim = root.tag == "OpenSimDocument"
        also = "; models of OpenSim are called .osim, marker sets go behind --marker-set"
        text = "not a robot description; expected <robot> (URDF) or <mujoco> (MJCF)"
        raise root.error(text + also if opensim else text)
    with np.errstate(over="ignore", invalid="ignore"):  # bones that are not finite are refused
        return readers[root.tag](root, metres, floating)


def read_robot_skeleton(
    path: str, notes: Notes, length_unit: Unit, floating: bool | None
) -> Skeleton:
    """Return the skeleton of a robot; its meshes are read when they are looked at."""
    whole = os.path.abspath(path)
    look = LazyVisuals(partial(read_robot_visuals, whole, length_unit))
    shapes = LazyShapes(partial(read_shapes, whole, length_unit))
    skeleton = read_robot(path, length_unit, floating).skeleton
    return skeleton.with_visuals(look).with_shapes(shapes)


def read_shapes(path: str, length_unit: Unit = None) -> Shapes:
    """Return what a robot collides with, and which pairs may touch."""
    from exactik.io.robots._shapes import read_robot_shapes

    return read_robot_shapes(path, _find_metres(length_unit))


def read_robot_visuals(path: str, length_unit: Unit = None) -> Visuals:
    """Return what a robot looks like: its visuals in URDF, its geoms in MJCF."""
    from exactik.io._xml import read_xml
    from exactik.io.robots._mjcf_geoms import read_mjcf_visuals

    root = read_xml(path)
    with np.errstate(over="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)  # the reader of the skeleton has warned
        read = _read_urdf_visuals if root.tag == "robot" else read_mjcf_visuals
        return read(root, _find_metres(length_unit))


def _find_metres(length_unit: Unit) -> float:
    return 1.0 if length_unit is None or length_unit == "auto" else metres_per(length_unit)


def _read_urdf_visuals(root: Element, metres: float) -> Visuals:
    """Return the visuals of the links of <robot>; those that cannot be had are noted.

    Args:
        metres: length of the file's unit [m].
    """
    library = MeshLibrary(MeshFinder(root.path))
    named = {
        element.attributes.get("name", ""): element for element in root.find_children("material")
    }
    for link in root.find_children("link"):
        bone = link.attributes.get("name", "").strip()
        for visual in link.find_children("visual"):
            if library.is_full:
                return library.build()
            try:
                _add_visual(library, bone, visual, named, metres)
            except FileError as error:
                library.skip(error)
    return library.build()


def _add_visual(
    library: MeshLibrary, bone: str, visual: Element, named: dict[str, Element], metres: float
) -> None:
    p_bone_mesh, R_bone_mesh = read_origin(visual)
    T_bone_mesh = np.eye(4)
    T_bone_mesh[:3, :3], T_bone_mesh[:3, 3] = metres * R_bone_mesh, metres * p_bone_mesh
    geometry = visual.find_child("geometry")
    if geometry is None:
        return
    material = _read_material(library, visual, named)
    name = visual.attributes.get("name", "") or bone
    for shape in geometry.children:
        if shape.tag == "mesh":
            scale = shape.read_numbers("scale", (1.0, 1.0, 1.0))
            reference = shape.read_required("filename", "the file of a mesh")
            T_bone_file = T_bone_mesh @ np.diag([*scale, 1.0])
            library.add_file(name, bone, reference, T_bone_file, material)
        else:
            mesh = _make_shape(shape)
            if mesh is not None:
                library.add_shape(name, bone, mesh, T_bone_mesh, material)


def _make_shape(shape: Element) -> Mesh | None:
    """Return a box, cylinder, capsule or sphere; None for anything else."""
    radius, length = shape.read_number("radius", 0.0), shape.read_number("length", 0.0)
    if shape.tag == "box":
        x, y, z = shape.read_numbers("size", (0.0, 0.0, 0.0))
        return make_box((x, y, z))
    if shape.tag == "cylinder":
        return make_cylinder(radius, length)
    if shape.tag == "capsule":
        return make_capsule(radius, length)
    return make_sphere(radius) if shape.tag == "sphere" else None


def _read_material(
    library: MeshLibrary, visual: Element, named: dict[str, Element]
) -> Material | None:
    """Return the material of a visual: its own, or that of the robot with the same name."""
    element = visual.find_child("material")
    if element is None:
        return None
    name = element.attributes.get("name", "")
    if element.find_child("color") is None and element.find_child("texture") is None:
        element = named.get(name, element)
    colour, texture = element.find_child("color"), element.find_child("texture")
    rgba: Array | tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)
    if colour is not None:
        rgba = colour.read_numbers("rgba", (1.0, 1.0, 1.0, 1.0))
    image = None
    if texture is not None:
        image = library.find_texture(texture.attributes.get("filename", ""))
    if colour is None and image is None:
        return None
    textures = {} if image is None else {"base_colour": image}
    return Material.of_srgb(rgba, name, textures=textures)
