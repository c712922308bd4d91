"""Set-up files of OpenSim's inverse kinematics tools, for markers and for inertial sensors.

That for markers minimises, frame by frame,

    ½ Σ_m w_m |p_m(q) − target_m|² / Σ_m w_m  +  ½ Σ_c w_c (q_c − reference_c)²

over the markers m that have a task, are on the model and are seen, and the coordinates c that have
a task. Paths in the file start at its own folder.

A table of OpenSense has a quaternion in each cell, `w,x,y,z`, a column for each sensor, which is
called like the frame of the model that it is on. `sensor_to_opensim_rotations` turns the sensors'
world into OpenSim's: angles about the fixed axes x, y and z, in this order.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from exactik.errors import Note
from exactik.io._notes import Notes
from exactik.io._xml import Element
from exactik.io.opensim._document import objects_of, open_set, read_document
from exactik.io.tables import split_storage
from exactik.spatial import axis_rotation, matrix_from_wxyz
from exactik.typing import Array

HEAD_BYTES = 4096  # in which the tag of a tool stands, behind a declaration and comments
UNSET = ("", "unassigned")  # what an empty path is written as

VALUE_TYPES = ("default_value", "manual_value", "from_file")
TOOL_TAG = "IMUInverseKinematicsTool"


@dataclass(frozen=True)
class CoordinateTask:
    """A coordinate that should have a value."""

    name: str  # of the coordinate
    weight: float  # of its square error [1/rad² or 1/m²], against a mean of the markers' in m²
    # Where the value is from: "default_value" of the model, "manual_value" of this task, or
    # "from_file"
    value_type: str
    value: float  # of "manual_value" [rad or m]


def read_tasks(tool: Element, notes: Notes) -> tuple[dict[str, float], tuple[CoordinateTask, ...]]:
    """Return the weights of markers and the tasks of coordinates that apply, of a tool."""
    markers: dict[str, float] = {}
    coordinates: list[CoordinateTask] = []
    for task in objects_of(open_set(tool, "IKTaskSet", notes)):
        name = task.attributes.get("name", "").strip()
        weight = task.number_of("weight", 0.0)
        if not 0.0 <= weight < math.inf:
            raise task.error(f"its weight is {weight:g}; expected a number ≥ 0")
        if not task.flag_of("apply", True):
            continue
        if task.tag == "IKMarkerTask":
            markers[name] = weight
        elif task.tag == "IKCoordinateTask":
            value_type = task.text_of("value_type", default="default_value").lower()
            if value_type not in VALUE_TYPES:
                expected = ", ".join(VALUE_TYPES)
                raise task.error(f"value_type is {value_type[:40]!r}; expected one of {expected}")
            value = task.number_of("value", 0.0)
            coordinates.append(CoordinateTask(name, weight, value_type, value))
        else:
            raise task.error(f"a task of type {task.tag[:40]}; expected a marker or a coordinate")
    if len(markers) == 0:
        raise tool.error("no marker has a task that applies; expected some in its <IKTaskSet>")
    return markers, tuple(coordinates)


def is_setup(path: str | os.PathLike[str], *tags: str) -> bool:
    """Whether a file is a set-up of the tool with one of these tags, by its first lines."""
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return False
    return head.lstrip(b"\xef\xbb\xbf \r\n\t")[:1] == b"<" and any(
        f"<{tag}".encode() in head for tag in tags
    )


def read_time_range(tool: Element) -> tuple[float, float]:
    """Return first and last time that a tool is to look at [s]; infinite where it does not say."""
    element = tool.first("time_range")
    if element is None or element.text == "":
        return -math.inf, math.inf
    first, last = element.parse_text(2, infinite=True)
    if first > last:
        raise element.error(f"ends at {last:g} s, before it begins at {first:g} s")
    return first, last


def read_path(tool: Element, tag: str) -> str | None:
    """Return the path in a property, from the folder of the file; None if it is not set."""
    text = tool.text_of(tag)
    return None if text.lower() in UNSET else _resolve_path(tool.path, text)


def require_path(tool: Element, tag: str, what: str) -> str:
    """Return the path of a file that has to be there."""
    path = read_existing_path(tool, tag)
    if path is None:
        raise tool.error(f"no <{tag}>; expected the path of {what}")
    return path


def read_existing_path(tool: Element, tag: str) -> str | None:
    """Return the path in a property, None if it is not set; raise if there is no such file."""
    path, element = read_path(tool, tag), tool.first(tag)
    if path is not None and element is not None and not os.path.isfile(path):
        raise element.error(
            f"{element.text[:80]!r} does not exist; expected a path from the folder of this file",
            code="no-such-file",
        )
    return path


def _resolve_path(setup: str, text: str) -> str:
    """Return a path of the file, which starts at its folder and may have Windows' separators."""
    return os.path.normpath(os.path.join(os.path.dirname(setup), text.strip().replace("\\", "/")))


# The second is how a test of OpenSim's spells it, whose parser does not look at this tag.
TOOL_TAGS = ("InverseKinematicsTool", "InverseKinemtaticsTool", "IKTool")


@dataclass(frozen=True)
class IkSetup:
    """What an inverse kinematics tool is to do."""

    path: str  # of the set-up file
    name: str  # of the trial, with which the names of reports begin
    model_path: str  # the .osim file
    marker_path: str  # the .trc file
    coordinate_path: str | None  # .mot or .sto with values of coordinates; None if there is none
    # Marker → weight of its square error, of the tasks that apply
    marker_weights: Mapping[str, float]
    coordinate_tasks: tuple[CoordinateTask, ...]  # those that apply
    # First and last time [s]; infinite where the markers' end decides
    time_range: tuple[float, float]
    motion_path: str | None  # .mot to write; None for none
    errors_path: str | None  # .sto of marker errors to write; None for none
    locations_path: str | None  # .sto of model markers to write; None for none
    constraint_weight: float  # of constraints; infinite if they hold exactly
    accuracy: float  # at which OpenSim would stop
    notes: tuple[Note, ...] = ()  # what is odd about the file


def is_ik_setup(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a set-up of inverse kinematics, by its first lines."""
    return is_setup(path, *TOOL_TAGS)


def load_ik_setup(path: str | os.PathLike[str]) -> IkSetup:
    """Return what a set-up file of inverse kinematics asks for; files that it names must exist."""
    path = os.fspath(path)
    notes = Notes(path)
    tool = read_document(path, notes, *TOOL_TAGS).root
    name = tool.plain_name
    results = _resolve_path(path, tool.text_of("results_directory", default="./"))
    prefix = os.path.join(results, f"{name}_ik_")
    marker_weights, coordinate_tasks = read_tasks(tool, notes)
    motion = read_path(tool, "output_motion_file")
    reports = tool.flag_of("report_errors", True)
    locates = tool.flag_of("report_marker_locations", False)
    coordinates = read_existing_path(tool, "coordinate_file")
    return IkSetup(
        path=path,
        name=name,
        model_path=require_path(tool, "model_file", "the model, an .osim file"),
        marker_path=require_path(tool, "marker_file", "the markers, a .trc file"),
        coordinate_path=coordinates,
        marker_weights=marker_weights,
        coordinate_tasks=coordinate_tasks,
        time_range=read_time_range(tool),
        motion_path=motion,
        errors_path=f"{prefix}marker_errors.sto" if reports else None,
        locations_path=f"{prefix}model_marker_locations.sto" if locates else None,
        constraint_weight=tool.number_of("constraint_weight", math.inf),
        accuracy=tool.number_of("accuracy", 1e-5),
        notes=notes.all,
    )


class OrientationTable(NamedTuple):
    """Orientations of sensors over time."""

    names: tuple[str, ...]  # of the sensors, (n,)
    rotations: Array  # R_world_sensor, (T, n, 3, 3); not a number where missing
    times: Array  # [s], (T,)


@dataclass(frozen=True)
class ImuSetup:
    """What an inverse kinematics tool for inertial sensors is to do."""

    path: str  # of the set-up file
    name: str  # of the trial
    model_path: str  # the .osim file, with a frame for each sensor
    orientations_path: str  # the .sto file of the sensors
    R_opensim_sensors: Array  # from the sensors' world to the model's, (3, 3)
    weights: Mapping[str, float]  # sensor → weight; 1 for those that are not in it
    # First and last time [s]; infinite where the table's end decides
    time_range: tuple[float, float]
    motion_path: str  # .mot to write
    errors_path: str | None  # .sto of orientation errors to write; None for none
    notes: tuple[Note, ...] = ()  # what is odd about the file


def is_imu_setup(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a set-up for inertial sensors, by its first lines."""
    return is_setup(path, TOOL_TAG)


def load_imu_setup(path: str | os.PathLike[str]) -> ImuSetup:
    """Return what a set-up file for inertial sensors asks for; files that it names must exist."""
    path = os.fspath(path)
    notes = Notes(path)
    tool = read_document(path, notes, TOOL_TAG).root
    orientations = require_path(tool, "orientations_file", "the sensors' orientations, a .sto file")
    a, b, c = tool.vector_of("sensor_to_opensim_rotations", (0.0, 0.0, 0.0))
    weights = {}
    for element in objects_of(next(tool.find_children("OrientationWeightSet"), None)):
        weight = element.finite_of("weight", 1.0)
        if weight < 0.0:
            raise element.error(f"its weight is {weight:g}; expected a number ≥ 0")
        weights[element.plain_name] = weight
    stem = os.path.splitext(os.path.basename(orientations))[0]
    output = read_path(tool, "output_motion_file") or _resolve_path(path, f"ik_{stem}.mot")
    folder = tool.text_of("results_directory")
    if folder != "":
        output = os.path.join(_resolve_path(path, folder), os.path.basename(output))
    if os.path.splitext(output)[1] == "":
        output = f"{output}.mot"
    reports = tool.flag_of("report_errors", True)
    errors = f"{os.path.splitext(output)[0]}_orientationErrors.sto"
    return ImuSetup(
        path=path,
        name=tool.plain_name,
        model_path=require_path(tool, "model_file", "the model, an .osim file"),
        orientations_path=orientations,
        R_opensim_sensors=axis_rotation("z", c) @ axis_rotation("y", b) @ axis_rotation("x", a),
        weights=weights,
        time_range=read_time_range(tool),
        motion_path=output,
        errors_path=errors if reports else None,
        notes=notes.all,
    )


def load_orientations(path: str | os.PathLike[str]) -> OrientationTable:
    """Return the orientations of sensors in a .sto file of quaternions."""
    path = os.fspath(path)
    notes = Notes(path)
    lines, end = split_storage(path, notes, "a table of orientations")
    names = lines[end + 1].split()
    if len(names) < 2 or names[0].lower() != "time":
        raise notes.error("expected columns called time and one a sensor", f"line {end + 2}")
    times, rows = [], []
    for index in range(end + 2, len(lines)):
        cells = lines[index].split()
        if len(cells) == 0:
            continue
        place = f"line {index + 1}"
        if len(cells) != len(names):
            raise notes.error(f"expected {len(names)} cells, found {len(cells)}", place)
        times.append(_parse(cells[0], 1, notes, place)[0])
        rows.append([_parse(cell, 4, notes, place) for cell in cells[1:]])
    wxyz = np.array(rows, dtype=float).reshape(len(rows), len(names) - 1, 4)
    length = np.linalg.norm(wxyz, axis=2, keepdims=True)
    wxyz = np.divide(wxyz, length, out=np.full_like(wxyz, np.nan), where=length > 1e-9)
    is_missing = np.asarray(np.isnan(wxyz).any(axis=2))
    rotations = matrix_from_wxyz(np.where(is_missing[..., None], (1.0, 0.0, 0.0, 0.0), wxyz))
    rotations[is_missing] = np.nan
    return OrientationTable(tuple(names[1:]), rotations, np.array(times))


def _parse(cell: str, count: int, notes: Notes, place: str) -> list[float]:
    try:
        values = [float(part) for part in cell.split(",")]
    except ValueError:
        values = []
    if len(values) != count or any(math.isinf(value) for value in values):
        wanted = "a time" if count == 1 else "a quaternion w,x,y,z"
        raise notes.error(f"expected {wanted}, found {cell[:40]!r}", place)
    return values
