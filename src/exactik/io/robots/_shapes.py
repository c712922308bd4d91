"""What links and bodies collide with: <collision> of URDF, geoms of MJCF, pairs of SRDF.

Spheres and capsules are what they are. A cylinder becomes the capsule inside it, a box the capsules
along it (`split_box`), and a mesh the smallest capsule around it: edges are rounded off, and a note
says how many.
"""

from __future__ import annotations

import os
import warnings

import numpy as np

from exactik.errors import FileError, FileWarning
from exactik.io._xml import Element
from exactik.io.meshes import MeshFinder, MeshLibrary
from exactik.io.robots._mjcf_bodies import MjcfModel
from exactik.io.robots._mjcf_geoms import GeomShape, find_asset_files, list_assets, read_mesh_asset
from exactik.io.robots._mjcf_geoms import read_shape as read_geom
from exactik.io.robots._urdf import read_origin
from exactik.model.shapes import Capsule, CollisionShape, Shapes, Sphere, fit_capsule, split_box
from exactik.typing import Array

DISC = 0.5  # length over diameter of a cylinder below which it is flatter than a sphere


class ShapeList:
    """Collects the shapes of a file."""

    def __init__(self, finder: MeshFinder, metres: float):
        """Begin with nothing; `metres` is the length of the file's unit."""
        self.library, self.metres = MeshLibrary(finder), metres
        self.shapes: list[CollisionShape] = []
        self.rounded: dict[str, int] = {}

    def add(
        self, bone: str, kind: str, size: tuple[float, ...], p_bone: Array, R_bone: Array
    ) -> None:
        """Add a primitive: radius, or whole lengths, and where it is, all in the file's unit."""
        center, lengths = self.metres * p_bone, self.metres * np.abs(size)
        if not (lengths > 0.0).all():
            return
        if kind == "sphere":
            self.shapes.append(Sphere(bone, center, float(lengths[0])))
        elif kind in ("capsule", "cylinder"):
            radius, length = float(lengths[0]), float(lengths[1])
            if kind == "cylinder":
                self._count("cylinder")
                if length < 2.0 * DISC * radius:
                    size_of_box = np.array([2.0 * radius, 2.0 * radius, length])
                    self.shapes += split_box(bone, center, size_of_box, R_bone)
                    return
                length = max(length - 2.0 * radius, 0.0)
            half = 0.5 * length * R_bone[:, 2]
            self.shapes.append(Capsule(bone, center - half, center + half, radius))
        elif kind == "box":
            self._count("box")
            self.shapes += split_box(bone, center, lengths, R_bone)

    def add_mesh(self, bone: str, reference: str, T_bone_file: Array) -> None:
        """Add a capsule around the meshes of a file."""
        before = len(self.library.visuals)
        self.library.add_file(bone, bone, reference, T_bone_file, None)
        found = self.library.visuals[before:]
        if len(found) > 0:
            maps = [(v.mesh.vertices, v.T_bone_mesh) for v in found]
            points = np.concatenate([p @ T[:3, :3].T + T[:3, 3] for p, T in maps])
            self.shapes.append(fit_capsule(bone, points))
            self._count("mesh")

    def _count(self, kind: str) -> None:
        self.rounded[kind] = self.rounded.get(kind, 0) + 1

    def build(self, left_out: frozenset[frozenset[str]]) -> Shapes:
        """Return the shapes, and what they do not say."""
        plural = {"box": "boxes", "mesh": "meshes"}
        notes = [note.text for note in self.library.build().notes]
        if len(self.rounded) > 0:
            counts = [
                f"{n} {plural.get(kind, kind + 's')}" if n > 1 else kind
                for kind, n in self.rounded.items()
            ]
            notes.append(f"as capsules, their edges rounded off: {', '.join(counts)}")
        return Shapes(tuple(self.shapes), left_out, "file", tuple(notes))


def read_urdf_shapes(root: Element, metres: float) -> Shapes:
    """Return what the links of <robot> collide with; its SRDF, if it lies beside it, is read."""
    found = ShapeList(MeshFinder(root.path), metres)
    for link in root.find_children("link"):
        bone = link.attributes.get("name", "").strip()
        for collision in link.find_children("collision"):
            try:
                _add_collision(found, bone, collision)
            except FileError as error:
                found.library.skip(error)
    beside = os.path.splitext(root.path)[0] + ".srdf"
    return found.build(read_srdf(beside) if os.path.isfile(beside) else frozenset())


def _add_collision(found: ShapeList, bone: str, collision: Element) -> None:
    p_bone, R_bone = read_origin(collision)
    geometry = collision.find_child("geometry")
    for shape in [] if geometry is None else geometry.children:
        radius, length = shape.read_number("radius", 0.0), shape.read_number("length", 0.0)
        if shape.tag == "mesh":
            T = np.eye(4)
            T[:3, :3], T[:3, 3] = found.metres * R_bone, found.metres * p_bone
            scale = shape.read_numbers("scale", (1.0, 1.0, 1.0))
            reference = shape.read_required("filename", "the file of a mesh")
            found.add_mesh(bone, reference, T @ np.diag([*scale, 1.0]))
        elif shape.tag == "box":
            size = shape.read_numbers("size", (0.0, 0.0, 0.0))
            found.add(bone, "box", size, p_bone, R_bone)
        else:
            size = (radius,) if shape.tag == "sphere" else (radius, length)
            found.add(bone, shape.tag, size, p_bone, R_bone)


def read_srdf(path: str) -> frozenset[frozenset[str]]:
    """Return the pairs of links that an SRDF lets touch: its <disable_collisions>."""
    from exactik.io._xml import read_xml

    root = read_xml(path)
    if root.tag != "robot":
        raise root.error("no <robot>; expected an SRDF")
    return frozenset(
        frozenset((entry.read_required("link1", "a link"), entry.read_required("link2", "a link")))
        for entry in root.find_children("disable_collisions")
    )


def read_mjcf_shapes(root: Element, metres: float) -> Shapes:
    """Return what the bodies of <mujoco> collide with: geoms whose bits meet any others."""
    model = MjcfModel(root)
    found = ShapeList(find_asset_files(root), metres)
    meshes = list_assets(root, "mesh")
    for body in model.bodies:
        for geom in body.geoms:
            try:
                _add_geom(found, model, meshes, body.name, read_geom(model, *geom))
            except FileError as error:
                found.library.skip(error)
    return found.build(_read_excludes(root))


def _add_geom(
    found: ShapeList,
    model: MjcfModel,
    meshes: dict[str, Element],
    bone: str,
    shape: GeomShape,
) -> None:
    element = shape.element
    bits = [int(element.read_number(key, 1.0)) for key in ("contype", "conaffinity")]
    if bits == [0, 0]:
        return
    if shape.mesh != "":
        if shape.mesh not in meshes:
            raise element.error(f"mesh {shape.mesh[:60]!r} is no asset; expected one")
        asset = read_mesh_asset(meshes[shape.mesh], model.defaults)
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = found.metres * shape.R_body_geom, found.metres * shape.p_body_geom
        if asset.file != "":
            found.add_mesh(bone, asset.file, T @ asset.T_geom_file)
        return
    a, b, c = shape.size
    sizes = {
        "sphere": (a,),
        "capsule": (a, 2.0 * b),
        "cylinder": (a, 2.0 * b),
        "box": (2.0 * a, 2.0 * b, 2.0 * c),
        "ellipsoid": (2.0 * a, 2.0 * b, 2.0 * c),
    }
    if shape.kind in sizes:
        kind = "box" if shape.kind == "ellipsoid" else shape.kind
        found.add(bone, kind, sizes[shape.kind], shape.p_body_geom, shape.R_body_geom)


def _read_excludes(root: Element) -> frozenset[frozenset[str]]:
    """Return the pairs of bodies that <contact> excludes."""
    return frozenset(
        frozenset((entry.attributes.get("body1", ""), entry.attributes.get("body2", "")))
        for contact in root.find_children("contact")
        for entry in contact.find_children("exclude")
    )


def read_robot_shapes(path: str, metres: float) -> Shapes:
    """Return what a robot collides with.

    Args:
        metres: length of the file's unit [m].
    """
    from exactik.io._xml import read_xml

    root = read_xml(path)
    with np.errstate(over="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)  # the reader of the skeleton has warned
        read = read_urdf_shapes if root.tag == "robot" else read_mjcf_shapes
        return read(root, metres)
