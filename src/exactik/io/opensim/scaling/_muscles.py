"""Lengths of muscles' paths in the default pose, and what goes with them.

A path runs straight from point to point. Conditional points count where their coordinate is in
their range; moving ones are where their functions put them. Wrapping around surfaces is not done
here: the share by which a wrapped muscle grows is that of its straight path.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from exactik.io._element import Element
from exactik.io._notes import Notes
from exactik.io.opensim._description import GROUND, OpenSimModel
from exactik.io.opensim._document import objects_of, open_set
from exactik.io.opensim._frames import FrameTable, read_socket
from exactik.io.opensim._functions import find_moving_function, read_function
from exactik.io.opensim._skeleton import build_skeleton
from exactik.io.opensim.scaling._text import DocumentText
from exactik.model import Skeleton
from exactik.typing import Array

LENGTH_TAGS = ("optimal_fiber_length", "tendon_slack_length", "resting_length")
RANGE_MARGIN = 1e-5  # [rad or m] beyond its range at which OpenSim still has a point; its own


def default_pose(model: OpenSimModel, skeleton: Skeleton) -> Array:
    """Return the coordinates of the model's default pose, (nq,)."""
    defaults = {coordinate.name: coordinate.default for coordinate in model.coordinates}
    return np.array([defaults[name.rpartition(".")[2]] for name in skeleton.dof_names])


def measure_paths(root: Element, model: OpenSimModel, notes: Notes) -> dict[str, float]:
    """Return the length of every path of a <Model> in its default pose [m], by the force's name."""
    skeleton = build_skeleton(model)
    pose = skeleton.forward(default_pose(model, skeleton))
    frames = FrameTable(root, notes)
    coordinates = {coordinate.name: coordinate.default for coordinate in model.coordinates}

    def locate(point: Element) -> Array:
        socket = read_socket(point, "parent_frame") or point.text_of("body")
        place = frames.find(point, "/forceset", socket, "frame")
        local = np.array(point.vector_of("location", (0.0, 0.0, 0.0)))
        if point.tag == "MovingPathPoint":
            local = np.array([_moving_part(point, axis, coordinates) for axis in "xyz"])
        in_body = place.position + place.rotation @ local
        if place.body == GROUND:
            return in_body
        k = skeleton.bone_index(place.body)
        return pose.positions[k] + pose.rotations[k] @ in_body

    lengths = {}
    for force, points in _list_paths(root, notes):
        active = [point for point in points if _is_active(point, coordinates)]
        places = np.array([locate(point) for point in active]).reshape(-1, 3)
        steps = np.linalg.norm(np.diff(places, axis=0), axis=1)
        lengths[force.plain_name] = float(steps.sum())
    return lengths


def scale_muscles(
    root: Element,
    text: DocumentText,
    before: dict[str, float],
    after: dict[str, float],
    notes: Notes,
) -> int:
    """Change fibre, tendon and resting lengths with those of their paths.

    Args:
        text: that it was parsed from; takes the changes.
        before: lengths of paths before scaling [m], see `measure_paths`.
        after: likewise after it.

    Returns:
        How many of them wrap around surfaces, whose length is not exact.
    """
    wrapped = 0
    for force, _ in _list_paths(root, notes):
        name = force.plain_name
        if before[name] <= 0.0:
            continue
        ratio = after[name] / before[name]
        for tag in LENGTH_TAGS:
            child = force.first(tag)
            if child is not None:
                text.set_numbers(child, (ratio * force.number_of(tag, 0.0),))
        wraps = (w for w in force.find_descendants("PathWrapSet"))
        wrapped += any(len(list(objects_of(wrap))) > 0 for wrap in wraps)
    return wrapped


def _list_paths(root: Element, notes: Notes) -> Iterator[tuple[Element, list[Element]]]:
    """Run over the forces that have a path, and its points."""
    for force in objects_of(open_set(root, "ForceSet", notes)):
        sets = list(force.find_descendants("PathPointSet"))
        if len(sets) > 0:
            yield force, list(objects_of(sets[0]))


def _is_active(point: Element, coordinates: dict[str, float]) -> bool:
    if point.tag != "ConditionalPathPoint":
        return True
    name = read_socket(point, "coordinate").rpartition("/")[2] or point.text_of("coordinate")
    ends = point.numbers_of("range")
    if name not in coordinates or len(ends) != 2:
        return True
    return ends[0] - RANGE_MARGIN <= coordinates[name] <= ends[1] + RANGE_MARGIN


def _moving_part(point: Element, axis: str, coordinates: dict[str, float]) -> float:
    """Return x, y or z of a moving point [m]."""
    function = find_moving_function(point, axis)
    if function is None:
        return 0.0
    read = read_function(function)
    socket = read_socket(point, f"{axis}_coordinate") or point.text_of(f"{axis}_coordinate")
    name = socket.rpartition("/")[2]
    value = coordinates.get(name, 0.0)
    return float(read(*[value] * read.coordinate_count))
