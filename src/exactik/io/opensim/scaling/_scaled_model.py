"""The scaled model as a file: the generic model's text, with other numbers and markers.

Muscles keep the shares of their paths' lengths in the default pose. A path runs straight from point
to point. Conditional points count where their coordinate is in their range; moving ones are where
their functions put them. Wrapping around surfaces is not done here: the share by which a wrapped
muscle grows is that of its straight path.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from exactik.errors import FileError
from exactik.io._files import open_atomic
from exactik.io._notes import Notes
from exactik.io._xml import Element
from exactik.io.opensim._description import (
    GROUND,
    OpenSimMarker,
    OpenSimModel,
    find_moving_function,
    read_function,
)
from exactik.io.opensim._document import (
    FrameTable,
    objects_of,
    open_set,
    read_document,
    read_socket,
)
from exactik.io.opensim._model import load_opensim_model, read_markers
from exactik.io.opensim._skeleton import build_skeleton
from exactik.io.opensim.scaling._scale_text import Factors, scale_text
from exactik.io.opensim.scaling._text import DocumentText, format_numbers
from exactik.model import Skeleton
from exactik.typing import Array

OLDEST_VERSION = 20302
"""Of a document that can be scaled: the first whose joints are custom joints."""

SOCKET_VERSION = 30517
"""From which sockets are paths."""

JOINT_SET_VERSION = 30500
"""From which joints are in a set of their own, no more inside bodies. Between this and the last, in
months when version 4 was made, files changed from week to week: they are refused."""
LENGTH_TAGS = ("optimal_fiber_length", "tendon_slack_length", "resting_length")
RANGE_MARGIN = 1e-5  # [rad or m] beyond its range at which OpenSim still has a point; its own


class GenericModel:
    """A model that is to be scaled.

    Attributes:
        path: of its file.
        model: what it says, without markers of other files.
        markers: of it and of a marker set that was added.
        wrapped_muscles: how many muscles wrap around surfaces, after `scale`.
    """

    def __init__(
        self, path: str | os.PathLike[str], marker_set_path: str | os.PathLike[str] | None = None
    ):
        """Read a model, and a marker set that is put on it."""
        self.path = path = os.fspath(path)
        self.notes = notes = Notes(path)
        self.root, version = read_document(path, notes, "Model")
        if version < OLDEST_VERSION or JOINT_SET_VERSION <= version < SOCKET_VERSION:
            known = f"{OLDEST_VERSION} to {JOINT_SET_VERSION - 1}, or {SOCKET_VERSION} and later"
            raise self.root.error(
                f"document version {version}; expected {known}: open and save it in OpenSim 4 first"
            )
        self._has_sockets = version >= SOCKET_VERSION
        self.model = load_opensim_model(path, notes)
        markers = {marker.name: marker for marker in self.model.markers}
        if marker_set_path is not None:
            element = read_document(os.fspath(marker_set_path), notes, "MarkerSet").root
            added = read_markers(element, FrameTable(self.root, notes))
            markers |= {marker.name: marker for marker in added}
        self.markers = list(markers.values())
        self.wrapped_muscles = 0
        self._factors: Factors = {}
        self._mass, self._keeps = -1.0, True
        self._after: dict[str, float] | None = None

    def scale(
        self, factors: Factors, *, mass: float, keeps_mass_distribution: bool
    ) -> OpenSimModel:
        """Scale bodies, and markers with them; return what the scaled file says."""
        self._factors, self._mass, self._keeps = factors, mass, keeps_mass_distribution
        self.markers = [
            marker._replace(position=_multiply(marker.position, factors.get(marker.body)))
            for marker in self.markers
        ]
        with tempfile.TemporaryDirectory() as folder:
            scaled_path = os.path.join(folder, "scaled.osim")
            self.save(scaled_path, "")
            try:
                scaled = load_opensim_model(scaled_path, self.notes)
                root = read_document(scaled_path, self.notes, "Model").root
                self._after = _measure_paths(root, scaled, self.notes)
            except FileError as error:
                raise error.about(self.path) from None
        return scaled

    def save(self, path: str, name: str) -> None:
        """Write the model as it is scaled so far, under this name if it is not empty."""
        text = DocumentText(self.path, self.root)
        if name != "":
            text.set_attribute(self.root, "name", name)
        scale_text(
            self.root,
            text,
            self.model,
            self._factors,
            mass=self._mass,
            keeps_mass_distribution=self._keeps,
            notes=self.notes,
        )
        if self._after is not None:
            before = _measure_paths(self.root, self.model, self.notes)
            self.wrapped_muscles = scale_muscles(self.root, text, before, self._after, self.notes)
        _replace_markers(self.root, text, self.markers, self._has_sockets)
        text.save(path)


def write_scale_set(path: str, factors: Mapping[str, tuple[float, float, float]]) -> None:
    """Write factors of bodies as OpenSim's scale tool does."""
    scales = "".join(
        f"\t\t\t<Scale>\n\t\t\t\t<scales> {' '.join(f'{x:.6g}' for x in values)}</scales>\n"
        f"\t\t\t\t<segment>{body}</segment>\n\t\t\t\t<apply>true</apply>\n\t\t\t</Scale>\n"
        for body, values in factors.items()
    )
    _write_set(path, "ScaleSet", scales)


def write_marker_set(path: str, markers: Sequence[OpenSimMarker]) -> None:
    """Write markers as a file of their own."""
    _write_set(path, "MarkerSet", "".join(_format_marker(marker) for marker in markers))


def _write_set(path: str, tag: str, objects: str) -> None:
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open_atomic(path) as file:
        file.write('<?xml version="1.0" encoding="UTF-8" ?>\n<OpenSimDocument Version="40000">\n')
        file.write(f'\t<{tag} name="{tag.lower()}">\n\t\t<objects>\n{objects}\t\t</objects>\n')
        file.write(f"\t\t<groups />\n\t</{tag}>\n</OpenSimDocument>\n")


def _multiply(position: tuple[float, float, float], factors: object) -> tuple[float, float, float]:
    if factors is None:
        return position
    x, y, z = (np.array(position) * np.asarray(factors)).tolist()
    return x, y, z


def _replace_markers(
    root: Element, text: DocumentText, markers: Sequence[OpenSimMarker], has_sockets: bool
) -> None:
    objects = "".join(_format_marker(marker, has_sockets) for marker in markers)
    inside = f"\n\t\t\t<objects>\n{objects}\t\t\t</objects>\n\t\t\t<groups />\n\t\t"
    element = root.first("MarkerSet")
    if element is None:
        text.append(root, f'\t<MarkerSet name="markerset">{inside}</MarkerSet>\n\t')
    else:
        text.replace(element, f'<MarkerSet name="markerset">{inside}</MarkerSet>')


def _format_marker(marker: OpenSimMarker, has_sockets: bool = True) -> str:
    path = "/ground" if marker.body == "ground" else f"/bodyset/{marker.body}"
    body = f"<socket_parent_frame>{path}</socket_parent_frame>"
    if not has_sockets:
        body = f"<body>{marker.body}</body>"
    fixed = "true" if marker.fixed else "false"
    return (
        f'\t\t\t\t<Marker name="{marker.name}">\n'
        f"\t\t\t\t\t{body}\n"
        f"\t\t\t\t\t<location>{format_numbers(marker.position)}</location>\n"
        f"\t\t\t\t\t<fixed>{fixed}</fixed>\n\t\t\t\t</Marker>\n"
    )


def default_pose(model: OpenSimModel, skeleton: Skeleton) -> Array:
    """Return the coordinates of the model's default pose, (nq,)."""
    defaults = {coordinate.name: coordinate.default for coordinate in model.coordinates}
    return np.array([defaults[name.rpartition(".")[2]] for name in skeleton.dof_names])


def _measure_paths(root: Element, model: OpenSimModel, notes: Notes) -> dict[str, float]:
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
        before: lengths of paths before scaling [m], see `_measure_paths`.
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
