"""What set-up files of OpenSim's tools share: tasks with weights, times, and paths to files."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

from exactik.io._notes import Notes
from exactik.io._xml import Element
from exactik.io.opensim._document import (
    first_child,
    objects_of,
    open_set,
    read_flag,
    read_number,
    text_of,
)

__all__ = [
    "CoordinateTask",
    "is_setup",
    "read_path",
    "read_tasks",
    "read_time_range",
    "require_file",
    "require_path",
    "resolve_path",
]

HEAD_BYTES = 4096  # in which the tag of a tool stands, behind a declaration and comments
UNSET = ("", "unassigned")  # what an empty path is written as

VALUE_TYPES = ("default_value", "manual_value", "from_file")


@dataclass(frozen=True)
class CoordinateTask:
    """A coordinate that should have a value.

    Attributes:
        name: of the coordinate.
        weight: of its square error [1/rad² or 1/m²], against a mean of the markers' in m².
        value_type: where the value is from: "default_value" of the model, "manual_value" of this
            task, or "from_file".
        value: of "manual_value" [rad or m].
    """

    name: str
    weight: float
    value_type: str
    value: float


def read_tasks(tool: Element, notes: Notes) -> tuple[dict[str, float], tuple[CoordinateTask, ...]]:
    """Return the weights of markers and the tasks of coordinates that apply, of a tool."""
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
            if value_type not in VALUE_TYPES:
                expected = ", ".join(VALUE_TYPES)
                raise task.error(f"value_type is {value_type[:40]!r}; expected one of {expected}")
            value = read_number(task, "value", 0.0)
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
    element = first_child(tool, "time_range")
    if element is None or element.text == "":
        return -math.inf, math.inf
    first, last = element.parse_text(2, infinite=True)
    if first > last:
        raise element.error(f"ends at {last:g} s, before it begins at {first:g} s")
    return first, last


def read_path(tool: Element, tag: str) -> str | None:
    """Return the path in a property, from the folder of the file; None if it is not set."""
    text = text_of(tool, tag)
    return None if text.lower() in UNSET else resolve_path(tool.path, text)


def require_path(tool: Element, tag: str, what: str) -> str:
    """Return the path of a file that has to be there."""
    path = read_path(tool, tag)
    if path is None:
        raise tool.error(f"no <{tag}>; expected the path of {what}")
    require_file(tool, tag, path)
    return path


def require_file(tool: Element, tag: str, path: str) -> None:
    """Raise if there is no file at the path of a property."""
    if not os.path.isfile(path):
        element = first_child(tool, tag)
        assert element is not None
        raise element.error(
            f"{element.text[:80]!r} does not exist; expected a path from the folder of this file",
            code="no-such-file",
        )


def resolve_path(setup: str, text: str) -> str:
    """Return a path of the file, which starts at its folder and may have Windows' separators."""
    return os.path.normpath(os.path.join(os.path.dirname(setup), text.strip().replace("\\", "/")))
