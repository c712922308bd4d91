"""What the bodies of an .osim look like: meshes beside the model or in its folder Geometry.

Version 4 has <attached_geometry> of bodies and of offset frames on them; version 3 and before had a
<VisibleObject> in a body, with a scale and a transform of its own (turns about x, y, z, then a
shift). Many models are passed on without their meshes, which is said in one note.
"""

from __future__ import annotations

import numpy as np

from exactik.errors import FileError
from exactik.io._notes import Notes
from exactik.io._xml import Element
from exactik.io.meshes import MeshFinder, MeshLibrary
from exactik.io.opensim._document import (
    FrameTable,
    body_fixed_xyz,
    objects_of,
    open_set,
    read_document,
)
from exactik.model.visuals import Material, Mesh, Visuals, make_box, make_cylinder, make_sphere
from exactik.typing import Array

FOLDERS = ("Geometry", "../Geometry")  # beside the model, where OpenSim looks for meshes
ONE = (1.0, 1.0, 1.0)
BONE_COLOUR = (0.93, 0.90, 0.82)  # OpenSim shows bones so, but whiter


def read_opensim_visuals(path: str) -> Visuals:
    """Return the meshes of a model's bodies; those that cannot be had are noted."""
    notes = Notes(path)
    model, _ = read_document(path, notes, "Model")
    library = MeshLibrary(MeshFinder(path, FOLDERS))
    frames = FrameTable(model, notes)
    for body in objects_of(open_set(model, "BodySet", notes)):
        bone = body.plain_name
        try:
            _add_attached(library, bone, body, np.eye(4))
            _add_display(library, bone, body)
        except FileError as error:
            library.skip(error)
    for frame_path, frame in frames.offsets.items():
        if frame.first("attached_geometry") is None:
            continue
        try:
            place = frames.find(frame, frame_path, frame_path, "frame")
            T_bone_frame = np.eye(4)
            T_bone_frame[:3, :3], T_bone_frame[:3, 3] = place.rotation, place.position
            _add_attached(library, place.body, frame, T_bone_frame)
        except FileError as error:
            library.skip(error)
    return library.build()


def _add_attached(library: MeshLibrary, bone: str, owner: Element, T_bone_frame: Array) -> None:
    """Add the geometry of a frame of version 4."""
    holder = owner.first("attached_geometry")
    for geometry in () if holder is None else holder.children:
        look = geometry.first("Appearance")
        material = _read_material(look) if look is not None else None
        if material is not None and material.base_colour[3] <= 0.0:
            continue
        scale = np.diag([*geometry.vector_of("scale_factors", ONE), 1.0])
        name = geometry.plain_name or bone
        if geometry.tag == "Mesh":
            file = geometry.text_of("mesh_file")
            if file != "":
                bony = material or Material.of_srgb(BONE_COLOUR)
                library.add_file(name, bone, file, T_bone_frame @ scale, bony)
            continue
        shape = _make_shape(geometry)
        if shape is not None:
            mesh, T_frame_shape = shape
            library.add_shape(name, bone, mesh, T_bone_frame @ scale @ T_frame_shape, material)


def _make_shape(geometry: Element) -> tuple[Mesh, Array] | None:
    """Return a brick, sphere, ellipsoid or cylinder, and where it is in its frame."""
    upright = np.eye(4)
    if geometry.tag == "Brick":
        x, y, z = geometry.vector_of("half_lengths", (0.0, 0.0, 0.0))
        return make_box((2.0 * x, 2.0 * y, 2.0 * z)), upright
    if geometry.tag == "Sphere":
        return make_sphere(geometry.finite_of("radius", 0.0)), upright
    if geometry.tag == "Ellipsoid":
        radii = geometry.vector_of("radii", (0.0, 0.0, 0.0))
        return make_sphere(1.0), np.diag([*radii, 1.0])
    if geometry.tag == "Cylinder":  # along y
        half = geometry.finite_of("half_height", 0.0)
        upright[:3, :3] = body_fixed_xyz((0.5 * np.pi, 0.0, 0.0))
        return make_cylinder(geometry.finite_of("radius", 0.0), 2.0 * half), upright
    return None


def _add_display(library: MeshLibrary, bone: str, body: Element) -> None:
    """Add the geometry of a body of version 3 and before."""
    visible = body.first("VisibleObject")
    if visible is None:
        return
    scale = np.diag([*visible.vector_of("scale_factors", ONE), 1.0])
    T_bone_object = _read_transform(visible)
    # The oldest files list the files alone, newer ones an object for each.
    for file in visible.text_of("geometry_files").split():
        material = Material.of_srgb(BONE_COLOUR)
        library.add_file(bone, bone, file, T_bone_object @ scale, material)
    for part in objects_of(visible.first("GeometrySet")):
        file = part.text_of("geometry_file")
        if file == "":
            continue
        own = np.diag([*part.vector_of("scale_factors", ONE), 1.0])
        T_bone_file = T_bone_object @ scale @ _read_transform(part) @ own
        library.add_file(part.plain_name or bone, bone, file, T_bone_file, _read_material(part))


def _read_material(look: Element) -> Material:
    red, green, blue = look.vector_of("color", BONE_COLOUR)
    if (red, green, blue) == ONE:
        red, green, blue = BONE_COLOUR
    return Material.of_srgb((red, green, blue, look.finite_of("opacity", 1.0)))


def _read_transform(owner: Element) -> Array:
    """Return the <transform> of an object: turns about x, y, z [rad] and a shift [m], (4, 4)."""
    values = owner.numbers_of("transform")
    T = np.eye(4)
    if len(values) == 6:
        T[:3, :3], T[:3, 3] = body_fixed_xyz((values[0], values[1], values[2])), values[3:]
    return T
