"""Joints of a model: their frames, their coordinates and, for custom joints, six motions.

Since version 4 joints are in a <JointSet> and have frames of their own; before, a body had its
joint inside it, with the name of the parent body and places of both ends.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from exactik.io._notes import Notes
from exactik.io._xml import Element
from exactik.io.opensim._description import (
    FramePlace,
    OpenSimCoordinate,
    OpenSimJoint,
    TransformAxis,
    find_function,
    read_function,
)
from exactik.io.opensim._document import (
    FrameTable,
    body_fixed_xyz,
    objects_of,
    open_set,
    read_socket,
)
from exactik.model.functions import Constant, CoordinateFunction, Linear

# Kind of joint → how many coordinates it has; of a custom joint as many as drive its axes.
COORDINATE_COUNTS = {
    "Custom": None,
    "Pin": 1,
    "Slider": 1,
    "Universal": 2,
    "Ball": 3,
    "Gimbal": 3,
    "Ellipsoid": 3,
    "Planar": 3,
    "Scapulothoracic": 4,
    "Free": 6,
    "Weld": 0,
}
AXIS_NAMES = ("rotation1", "rotation2", "rotation3", "translation1", "translation2", "translation3")
DEFAULT_AXES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)) * 2
ZERO = (0.0, 0.0, 0.0)
MIN_SINE = 1e-5  # between turning axes; OpenSim refuses what is nearer to parallel
OPENSIM_RANGE = (-10.0, 10.0)  # [rad or m] of a coordinate whose range the file does not say


def read_joints(model: Element, frames: FrameTable, notes: Notes) -> list[OpenSimJoint]:
    """Return the joints of a <Model>, in the order of the file."""
    joints = [
        _read_joint(element, frames, f"/jointset/{element.plain_name}", None)
        for element in objects_of(open_set(model, "JointSet", notes))
        if element.tag.endswith("Joint")
    ]
    for body in objects_of(open_set(model, "BodySet", notes)):
        for holder in body.find_children("Joint"):
            for element in holder.children:
                joints.append(_read_joint(element, frames, "/jointset", body))
    names: dict[str, Element] = {}
    for joint in joints:
        for coordinate in joint.coordinates:
            if coordinate.name in names:
                raise model.error(f"two coordinates are called {coordinate.name[:60]!r}")
            names[coordinate.name] = model
    return joints


def _read_joint(
    element: Element, frames: FrameTable, path: str, body: Element | None
) -> OpenSimJoint:
    """Return a joint; `body` is the one that it is inside of, in versions before 4."""
    kind = element.tag.removesuffix("Joint")
    if kind not in COORDINATE_COUNTS:
        known = ", ".join(f"{name}Joint" for name in COORDINATE_COUNTS)
        raise element.error(f"a joint of type {element.tag[:40]}; expected one of {known}")
    parent, child = _read_ends(element, frames, path, body)
    if element.flag_of("reverse", False):
        parent, child = child, parent
    coordinates = tuple(_read_coordinates(element))
    wanted = COORDINATE_COUNTS[kind]
    if wanted is not None and len(coordinates) != wanted:
        if len(coordinates) > 0:
            n = len(coordinates)
            raise element.error(f"{n} coordinates; a {kind}Joint has {wanted}")
        # OpenSim names them after the joint where the file does not.
        coordinates = tuple(
            OpenSimCoordinate(f"{element.plain_name}_coord_{k}") for k in range(wanted)
        )
    axes: tuple[TransformAxis, ...] = ()
    if kind == "Custom":
        axes, coordinates = _read_motions(element, coordinates)
    radii_tag = "radii_x_y_z" if kind == "Ellipsoid" else "thoracic_ellipsoid_radii_x_y_z"
    origin = element.numbers_of("scapula_winging_axis_origin") or (0.0, 0.0)
    if len(origin) != 2:
        raise element.error(f"{len(origin)} numbers for the winging axis' origin; expected 2")
    return OpenSimJoint(
        name=element.plain_name,
        kind=kind,
        parent=parent,
        child=child,
        coordinates=coordinates,
        axes=axes,
        radii=element.vector_of(radii_tag, (1.0, 1.0, 1.0)),
        winging_origin=(origin[0], origin[1]),
        winging_direction=element.finite_of("scapula_winging_axis_direction", 0.0),
    )


def _read_ends(
    element: Element, frames: FrameTable, path: str, body: Element | None
) -> tuple[FramePlace, FramePlace]:
    """Return the joint's frames on its parent and on its child."""
    places = []
    for end, where in (("parent", "in_parent"), ("child", "in_child")):
        socket = read_socket(element, f"{end}_frame")
        if socket == "" and body is not None:
            socket = element.text_of("parent_body") if end == "parent" else body.plain_name
        if socket == "":
            raise element.error(f"no <socket_{end}_frame>; expected the frame at this end")
        place = frames.find(element, path, socket, f"{end} frame")
        old = ("location", "orientation") if end == "child" else ()
        location = _read_old(element, f"location_{where}", old[:1])
        orientation = body_fixed_xyz(_read_old(element, f"orientation_{where}", old[1:]))
        places.append(
            FramePlace(
                place.body,
                place.position + place.rotation @ np.array(location),
                place.rotation @ orientation,
            )
        )
    return places[0], places[1]


def _read_old(element: Element, tag: str, older: tuple[str, ...]) -> tuple[float, float, float]:
    """Return what versions before 4 say about a joint's end, under this tag or an older one."""
    names = [name for name in (tag, *older) if element.first(name) is not None]
    return element.vector_of(names[0], ZERO) if len(names) > 0 else ZERO


def _read_coordinates(element: Element) -> Iterator[OpenSimCoordinate]:
    """Run over the coordinates of a joint, under either of their two roofs."""
    found = [c for holder in element.find_children("coordinates") for c in holder.children]
    for old in element.find_children("CoordinateSet"):
        found += list(objects_of(old))
    for coordinate in found:
        name = coordinate.plain_name
        if name == "":
            raise coordinate.error("a coordinate without name; expected one")
        ends = coordinate.numbers_of("range") or OPENSIM_RANGE
        if len(ends) != 2 or ends[0] > ends[1]:
            raise coordinate.error("range is no lower and upper value; expected two numbers")
        function = find_function(coordinate, "prescribed_function")
        yield OpenSimCoordinate(
            name=name,
            default=coordinate.finite_of("default_value", 0.0),
            low=ends[0],
            high=ends[1],
            clamped=coordinate.flag_of("clamped", False),
            locked=coordinate.flag_of("locked", False),
            prescribed=coordinate.flag_of("prescribed", False) and function is not None,
        )


def _read_motions(
    element: Element, coordinates: tuple[OpenSimCoordinate, ...]
) -> tuple[tuple[TransformAxis, ...], tuple[OpenSimCoordinate, ...]]:
    """Return the six motions of a custom joint, and its coordinates in the order of these."""
    transform = element.first("SpatialTransform")
    if transform is None:
        raise element.error("no <SpatialTransform>; expected the motions of a custom joint")
    axes = []
    for name, default in zip(AXIS_NAMES, DEFAULT_AXES, strict=True):
        axis = next(
            (a for a in transform.find_children("TransformAxis", name) if _is_axis(a, name)), None
        )
        axes.append(
            TransformAxis(default, None, Constant(0.0))
            if axis is None
            else _read_axis(axis, default)
        )
    for i, k in ((0, 1), (0, 2), (1, 2)):
        if np.linalg.norm(np.cross(axes[i].axis, axes[k].axis)) < MIN_SINE:
            raise transform.error(f"axes {i + 1} and {k + 1} of its turns are parallel")
    listed = {coordinate.name: coordinate for coordinate in coordinates}
    drivers = list(dict.fromkeys(axis.coordinate for axis in axes if axis.coordinate is not None))
    for name in listed:
        if name not in drivers:
            raise transform.error(f"coordinate {name[:60]!r} drives none of its axes")
    # One that only the motions name has OpenSim's defaults, as in OpenSim.
    return tuple(axes), tuple(listed.get(name, OpenSimCoordinate(name)) for name in drivers)


def _read_axis(axis: Element, default: tuple[float, float, float]) -> TransformAxis:
    drivers = axis.words_of("coordinates") or axis.words_of("coordinate")
    if len(drivers) > 1:
        raise axis.error(f"{len(drivers)} coordinates drive one axis; expected at most one")
    driver = drivers[0] if len(drivers) == 1 else None
    direction = np.array(axis.vector_of("axis", default))
    length = math.hypot(*direction.tolist())
    if not 0.0 < length < math.inf:
        raise axis.error("its axis has no direction; expected a vector that is not zero")
    x, y, z = (direction / length).tolist()
    return TransformAxis((x, y, z), driver, _read_axis_function(axis, driver))


def _is_axis(element: Element, name: str) -> bool:
    return element.tag == name or element.plain_name == name


def _read_axis_function(axis: Element, driver: str | None) -> CoordinateFunction:
    """Return the function of an axis: without one it is the coordinate itself, or zero."""
    element = find_function(axis, "function")
    function = None if element is None else read_function(element)
    if driver is None:
        if function is None:
            return Constant(0.0)
        # OpenSim evaluates such a function at zero.
        return function if isinstance(function, Constant) else Constant(_value_at_zero(function))
    if function is None:
        return Linear()
    # A constant that a coordinate "drives" does not change with it, but keeps it in the joint.
    if function.coordinate_count == 0:
        return Linear(0.0, _value_at_zero(function))
    return function


def _value_at_zero(function: CoordinateFunction) -> float:
    return float(function(*[0.0] * function.coordinate_count))
