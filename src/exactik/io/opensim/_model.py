"""An .osim file as a description: bodies, joints, couplers and markers; and what was left out."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from exactik._text import count_noun, join_names
from exactik.errors import ExactikError
from exactik.io._notes import Notes
from exactik.io._xml import Element
from exactik.io.opensim._description import (
    GROUND,
    FramePlace,
    OpenSimBody,
    OpenSimCoupler,
    OpenSimJoint,
    OpenSimMarker,
    OpenSimModel,
    find_function,
    read_function,
)
from exactik.io.opensim._document import (
    FrameTable,
    body_fixed_xyz,
    objects_of,
    open_set,
    read_document,
    read_socket,
)
from exactik.io.opensim._joints import read_joints
from exactik.model import Loop
from exactik.model.functions import Scaled
from exactik.typing import Array

COUPLER = "CoordinateCouplerConstraint"
# Sets of things that do not change where bones and markers are.
SETS_NOT_READ = ("ForceSet", "ContactGeometrySet", "ControllerSet", "ProbeSet")
MESH_TAGS = ("mesh_file", "geometry_file")
ZERO = (0.0, 0.0, 0.0)


def load_opensim_model(path: str | os.PathLike[str], notes: Notes | None = None) -> OpenSimModel:
    """Return what an .osim file says about kinematics: bodies with masses, joints, markers, …."""
    path = os.fspath(path)
    notes = notes or Notes(path)
    model, version = read_document(path, notes, "Model")
    frames = FrameTable(model, notes)
    bodies = _read_bodies(model, notes)
    joints = read_joints(model, frames, notes)
    _check_tree(model, bodies, joints)
    units = model.text_of("length_units", default="meters")
    if units.lower() not in ("meters", "metres", "m"):
        notes.assume(
            f"lengths are said to be in {units[:20]!r}; OpenSim takes them for metres, as here",
            code="unit-ignored",
        )
    couplers, loops, constraints = _read_constraints(model, frames, notes)
    _check_couplers(model, couplers, joints)
    return OpenSimModel(
        name=model.plain_name or Path(path).stem,
        path=path,
        version=version,
        bodies=tuple(bodies),
        joints=tuple(joints),
        couplers=tuple(couplers),
        loops=tuple(loops),
        markers=tuple(read_markers(open_set(model, "MarkerSet", notes), frames)),
        frames={
            path.rpartition("/")[2]: frames.find(frames.offsets[path], path, path, "frame")
            for path in frames.standing_offsets
        },
        not_read={**constraints, **_count_not_read(model, notes)},
    )


def read_markers(marker_set: Element | None, frames: FrameTable) -> list[OpenSimMarker]:
    """Return the markers of a set; those of a name that came before are left out."""
    markers: dict[str, OpenSimMarker] = {}
    for element in objects_of(marker_set):
        if element.tag != "Marker":
            continue
        name = element.plain_name
        if name == "":
            raise element.error("a marker without name; expected one")
        # A marker's own path has no part in finding its body, which is never inside it.
        socket = read_socket(element, "parent_frame") or element.text_of("body")
        place = frames.find(element, f"/markerset/{name}", socket, "body")
        location = place.rotation @ element.vector_of("location", ZERO)
        x, y, z = (place.position + location).tolist()
        fixed = element.flag_of("fixed", False)
        markers.setdefault(name, OpenSimMarker(name, place.body, (x, y, z), fixed))
    return list(markers.values())


def describe_not_read(counts: Mapping[str, int]) -> str:
    """Return what was left out, most of all first, such as "54 muscles, 2 forces"."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count} {kind}" for kind, count in ordered)


def _read_bodies(model: Element, notes: Notes) -> list[OpenSimBody]:
    bodies: dict[str, OpenSimBody] = {}
    for element in objects_of(open_set(model, "BodySet", notes)):
        name = element.plain_name
        if element.tag != "Body" or name == "ground":
            continue
        if name == "" or name in bodies:
            raise element.error("a body without a name of its own; expected one")
        meshes = (mesh.text for mesh in element.find_descendants(*MESH_TAGS) if mesh.text != "")
        bodies[name] = OpenSimBody(
            name=name,
            mass=element.finite_of("mass", 0.0),
            mass_center=element.vector_of("mass_center", ZERO),
            meshes=tuple(dict.fromkeys(meshes)),
        )
    if len(bodies) == 0:
        raise model.error("no <Body> in its <BodySet>; expected at least one")
    return list(bodies.values())


def _check_tree(model: Element, bodies: list[OpenSimBody], joints: list[OpenSimJoint]) -> None:
    """Raise if a body has no joint, or two, or joints run in a ring."""
    above: dict[str, OpenSimJoint] = {}
    for joint in joints:
        if joint.child.body in above or joint.child.body == "ground":
            other = above[joint.child.body].name if joint.child.body in above else ""
            why = f"joint {other!r} has it too" if other != "" else "it never moves"
            raise model.error(
                f"joint {joint.name!r} has {joint.child.body!r} for its child, but {why}; expected "
                "a tree that starts at the ground"
            )
        above[joint.child.body] = joint
    for body in bodies:
        if body.name not in above:
            raise model.error(f"body {body.name!r} is the child of no joint; expected one")
        seen, name = [body.name], above[body.name].parent.body
        while name != "ground":
            if name in seen:
                raise model.error(f"the joints above body {body.name!r} run in a ring")
            seen.append(name)
            name = above[name].parent.body


def _read_constraints(
    model: Element, frames: FrameTable, notes: Notes
) -> tuple[list[OpenSimCoupler], list[Loop], Mapping[str, int]]:
    """Return couplers, closed loops, and how many enforced ones of each other kind there are."""
    couplers: list[OpenSimCoupler] = []
    loops: list[Loop] = []
    others: Counter[str] = Counter()
    for element in objects_of(open_set(model, "ConstraintSet", notes)):
        if not element.flag_of("isEnforced", True) or element.flag_of("isDisabled", False):
            continue
        if element.tag != COUPLER:
            loop = read_loop(element, frames) if element.tag in LOOP_TAGS else None
            if loop is None:
                others[element.tag] += 1
            else:
                loops.append(loop)
            continue
        independent = element.words_of("independent_coordinate_names")
        dependent = element.text_of("dependent_coordinate_name")
        if len(independent) != 1 or dependent == "":
            n = len(independent)
            raise element.error(f"{n} coordinates drive {dependent[:60]!r}; expected one")
        function = find_function(element, "coupled_coordinates_function")
        if function is None:
            raise element.error("no <coupled_coordinates_function>; expected one")
        scale = element.finite_of("scale_factor", 1.0)
        couplers.append(
            OpenSimCoupler(
                name=element.plain_name,
                dependent=dependent,
                independent=independent[0],
                function=Scaled(read_function(function), scale),
            )
        )
    if len(others) > 0:
        notes.flag_damage(
            f"constraints that are not kept: {describe_not_read(others)}",
            code="constraints-not-kept",
        )
    return couplers, loops, others


def _check_couplers(
    model: Element, couplers: list[OpenSimCoupler], joints: list[OpenSimJoint]
) -> None:
    names = {coordinate.name for joint in joints for coordinate in joint.coordinates}
    for coupler in couplers:
        for name in (coupler.dependent, coupler.independent):
            if name not in names:
                raise model.error(
                    f"constraint {coupler.name!r} couples {name[:60]!r}, which is no coordinate"
                )


def _count_not_read(model: Element, notes: Notes) -> dict[str, int]:
    """Return how many objects of each kind were left out."""
    counts: Counter[str] = Counter()
    for tag in SETS_NOT_READ:
        for element in objects_of(open_set(model, tag, notes)):
            counts["muscles" if "Muscle" in element.tag else element.tag] += 1
    counts["wrap objects"] = sum(
        len(list(objects_of(wraps))) for wraps in model.find_descendants("WrapObjectSet")
    )
    return {kind: count for kind, count in counts.items() if count > 0}


MAX_NAMES = 6  # of coordinates in a sentence


def describe_opensim_model(path: str, notes: Notes) -> Mapping[str, str]:
    """Return version, mass, coordinates and what is not read of an .osim file."""
    model = load_opensim_model(path, notes)
    details = {
        "model": f"document version {model.version}, "
        f"{count_noun(len(model.bodies), 'body', 'bodies')}, {model.mass:.4g} kg",
        "joints": _describe_coordinates(model),
        "markers": count_noun(len(model.markers), "marker"),
    }
    meshes = sum(len(body.meshes) for body in model.bodies)
    if meshes > 0:
        details["meshes"] = f"{count_noun(meshes, 'mesh', 'meshes')}, by name"
    if len(model.not_read) > 0:
        details["not read"] = describe_not_read(model.not_read)
    for note in notes.all:
        if note.code in ("encoding-guessed", "stray-text"):
            details["text"] = note.text
    return details


def _describe_coordinates(model: OpenSimModel) -> str:
    coordinates = model.coordinates
    parts = [count_noun(len(coordinates), "coordinate")]
    for word, names in (
        ("locked", [c.name for c in coordinates if c.locked]),
        ("clamped", [c.name for c in coordinates if c.clamped and not c.locked]),
        ("coupled", [coupler.dependent for coupler in model.couplers]),
    ):
        if len(names) > 0:
            parts.append(f"{len(names)} {word} ({join_names(names, MAX_NAMES, rest=', …')})")
    return ", ".join(parts)


# --- constraints of OpenSim's that close loops: points, frames, distances, a point on a line


LOOP_TAGS = (
    "PointConstraint",
    "WeldConstraint",
    "ConstantDistanceConstraint",
    "PointOnLineConstraint",
)
ORIGIN = (0.0, 0.0, 0.0)


def read_loop(element: Element, frames: FrameTable) -> Loop | None:
    """Return the loop that a constraint closes; None if it does not say which bodies."""
    try:
        if element.tag == "PointOnLineConstraint":
            return _read_line(element, frames)
        one, other = (_find_end(element, frames, number) for number in (1, 2))
        if one is not None and one.body == GROUND:
            one, other = other, one
        if one is None or other is None or one.body == GROUND:
            return None
        is_weld = element.tag == "WeldConstraint"
        is_rod = element.tag == "ConstantDistanceConstraint"
        return Loop(
            one.body,
            None if other.body == GROUND else other.body,
            kind="weld" if is_weld else "distance" if is_rod else "point",
            points=(one.position, other.position),
            rotation=other.rotation @ one.rotation.T if is_weld else None,
            distance=element.finite_of("constant_distance", 0.0) if is_rod else None,
            name=element.plain_name,
        )
    except ExactikError as error:
        raise element.error(str(error)) from error


def _read_line(element: Element, frames: FrameTable) -> Loop | None:
    line = _find_frame(element, frames, "line_body")
    follower = _find_frame(element, frames, "follower_body")
    if line is None or follower is None or follower.body == GROUND:
        return None
    return Loop(
        follower.body,
        None if line.body == GROUND else line.body,
        kind="line",
        points=(
            _place(follower, element.vector_of("point_on_follower", ORIGIN)),
            _place(line, element.vector_of("point_on_line", ORIGIN)),
        ),
        axis=line.rotation @ element.vector_of("line_direction_vec", ORIGIN),
        name=element.plain_name,
    )


def _find_end(element: Element, frames: FrameTable, number: int) -> FramePlace | None:
    """Return the frame that the first or the second body of a constraint is held by."""
    body = f"body_{number}"
    new = read_socket(element, f"frame{number}")
    place = _find_frame(element, frames, f"frame{number}" if new != "" else body)
    if place is None:
        return None
    position = _place(place, element.vector_of(f"location_{body}", ORIGIN))
    turn = body_fixed_xyz(element.vector_of(f"orientation_{body}", ORIGIN))
    return FramePlace(place.body, position, place.rotation @ turn)


def _find_frame(element: Element, frames: FrameTable, socket: str) -> FramePlace | None:
    path = read_socket(element, socket) or element.text_of(socket).strip()
    if path == "":
        return None
    return frames.find(element, f"/constraintset/{element.plain_name}", path, socket)


def _place(frame: FramePlace, location: tuple[float, float, float]) -> Array:
    """Return a location in a frame as a point of its body [m], (3,)."""
    return frame.position + frame.rotation @ np.asarray(location)
