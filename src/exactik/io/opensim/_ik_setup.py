"""Set-up files of OpenSim's inverse kinematics tool: which model, markers, weights, times, outputs.

The tool minimises, frame by frame,

    ½ Σ_m w_m |p_m(q) − target_m|² / Σ_m w_m  +  ½ Σ_c w_c (q_c − reference_c)²

over the markers m that have a task, are on the model and are seen, and the coordinates c that have
a task. Paths in the file start at its own folder.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from exactik.errors import Note
from exactik.io._notes import Notes
from exactik.io._xml import Element
from exactik.io.opensim._document import (
    first_child,
    name_of,
    objects_of,
    open_set,
    read_document,
    read_flag,
    read_number,
    text_of,
)

__all__ = ["CoordinateTask", "IkSetup", "is_ik_setup", "read_ik_setup"]

# The second is how a test of OpenSim's spells it, whose parser does not look at this tag.
TOOL_TAGS = ("InverseKinematicsTool", "InverseKinemtaticsTool", "IKTool")
UNSET = ("", "unassigned")  # what an empty path is written as

ValueType = Literal["default_value", "manual_value", "from_file"]


@dataclass(frozen=True)
class CoordinateTask:
    """A coordinate that should have a value.

    Attributes:
        name: of the coordinate.
        weight: of its square error [1/rad² or 1/m²], against a mean of the markers' in m².
        value_type: where the value is from: the model's default, this task, or a file.
        value: of "manual_value" [rad or m].
    """

    name: str
    weight: float
    value_type: ValueType
    value: float


@dataclass(frozen=True)
class IkSetup:
    """What an inverse kinematics tool is to do.

    Attributes:
        path: of the set-up file.
        name: of the trial, with which the names of reports begin.
        model_path: the .osim file.
        marker_path: the .trc file.
        coordinate_path: .mot or .sto with values of coordinates; None if there is none.
        marker_weights: marker → weight of its square error, of the tasks that apply.
        coordinate_tasks: those that apply.
        time_range: first and last time [s]; infinite where the markers' end decides.
        motion_path: .mot to write; None for none.
        errors_path: .sto of marker errors to write; None for none.
        locations_path: .sto of model markers to write; None for none.
        constraint_weight: of constraints; infinite if they hold exactly.
        accuracy: at which OpenSim would stop.
        notes: what is odd about the file.
    """

    path: str
    name: str
    model_path: str
    marker_path: str
    coordinate_path: str | None
    marker_weights: Mapping[str, float]
    coordinate_tasks: tuple[CoordinateTask, ...]
    time_range: tuple[float, float]
    motion_path: str | None
    errors_path: str | None
    locations_path: str | None
    constraint_weight: float
    accuracy: float
    notes: tuple[Note, ...] = ()


def is_ik_setup(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a set-up of inverse kinematics, by its name and its first tags."""
    if not os.fspath(path).lower().endswith(".xml"):
        return False
    try:
        with open(path, "rb") as file:
            head = file.read(4096)
    except OSError:
        return False
    return any(f"<{tag}".encode() in head for tag in TOOL_TAGS)


def read_ik_setup(path: str | os.PathLike[str], notes: Notes) -> IkSetup:
    """Return what a set-up file asks for; files that it names must exist."""
    path = os.fspath(path)
    tool = read_document(path, notes, *TOOL_TAGS).root
    name = name_of(tool)
    results = _resolve(path, text_of(tool, "results_directory", default="./"))
    prefix = os.path.join(results, f"{name}_ik_")
    marker_weights, coordinate_tasks = _read_tasks(tool, notes)
    motion = _read_path(tool, "output_motion_file")
    reports = read_flag(tool, "report_errors", True)
    locates = read_flag(tool, "report_marker_locations", False)
    coordinates = _read_path(tool, "coordinate_file")
    if coordinates is not None:
        _require_file(tool, "coordinate_file", coordinates)
    return IkSetup(
        path=path,
        name=name,
        model_path=_require_path(tool, "model_file", "the model, an .osim file"),
        marker_path=_require_path(tool, "marker_file", "the markers, a .trc file"),
        coordinate_path=coordinates,
        marker_weights=marker_weights,
        coordinate_tasks=coordinate_tasks,
        time_range=_read_time_range(tool),
        motion_path=motion,
        errors_path=f"{prefix}marker_errors.sto" if reports else None,
        locations_path=f"{prefix}model_marker_locations.sto" if locates else None,
        constraint_weight=read_number(tool, "constraint_weight", math.inf),
        accuracy=read_number(tool, "accuracy", 1e-5),
        notes=notes.all,
    )


def _read_tasks(tool: Element, notes: Notes) -> tuple[dict[str, float], tuple[CoordinateTask, ...]]:
    """Return the weights of markers and the tasks of coordinates that apply."""
    markers: dict[str, float] = {}
    coordinates: list[CoordinateTask] = []
    for task in objects_of(open_set(tool, "IKTaskSet", notes)):
        name = task.attributes.get("name", "").strip()
        weight = read_number(task, "weight", 0.0)
        if not 0.0 <= weight < math.inf:
            raise task.error(f"its weight is {weight:g}; expected a number ≥ 0")
        if not read_flag(task, "apply", True):
            continue
        if task.tag == "IKMarkerTask":
            markers[name] = weight
        elif task.tag == "IKCoordinateTask":
            value_type = text_of(task, "value_type", default="default_value").lower()
            if value_type not in get_args(ValueType):
                expected = ", ".join(get_args(ValueType))
                raise task.error(f"value_type is {value_type[:40]!r}; expected one of {expected}")
            value = read_number(task, "value", 0.0)
            coordinates.append(CoordinateTask(name, weight, value_type, value))
        else:
            raise task.error(f"a task of type {task.tag[:40]}; expected a marker or a coordinate")
    if len(markers) == 0:
        raise tool.error("no marker has a task that applies; expected some in its <IKTaskSet>")
    return markers, tuple(coordinates)


def _read_time_range(tool: Element) -> tuple[float, float]:
    element = first_child(tool, "time_range")
    if element is None or element.text == "":
        return -math.inf, math.inf
    first, last = element.parse_text(2, infinite=True)
    if first > last:
        raise element.error(f"ends at {last:g} s, before it begins at {first:g} s")
    return first, last


def _read_path(tool: Element, tag: str) -> str | None:
    text = text_of(tool, tag)
    return None if text.lower() in UNSET else _resolve(tool.path, text)


def _require_path(tool: Element, tag: str, what: str) -> str:
    path = _read_path(tool, tag)
    if path is None:
        raise tool.error(f"no <{tag}>; expected the path of {what}")
    _require_file(tool, tag, path)
    return path


def _require_file(tool: Element, tag: str, path: str) -> None:
    if not os.path.isfile(path):
        element = first_child(tool, tag)
        assert element is not None
        raise element.error(
            f"{element.text[:80]!r} does not exist; expected a path from the folder of this file",
            code="no-such-file",
        )


def _resolve(setup: str, text: str) -> str:
    """Return a path of the file, which starts at its folder and may have Windows' separators."""
    return os.path.normpath(os.path.join(os.path.dirname(setup), text.strip().replace("\\", "/")))
