"""What an MJCF file states once for many elements: compiler settings and default classes.

A file may be made of several: `<include file="…"/>` is replaced by the file's contents. A path is
relative to the folder of the main file, then to that of the including one, as in MuJoCo, and may
not lead out of the folder of the main file: a model from elsewhere can read nothing else. A file is
included once at most, so that includes end.

Files with visuals alone are often not passed on. A missing one is an error where bodies or defaults
are expected, a `FileWarning` at the top level, where it may hold anything, and ignored elsewhere,
where all that it can hold is skipped anyway.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from exactik.io._xml import MAX_ELEMENTS, Element, read_xml
from exactik.spatial import axis_rotation, exp_rotation, matrix_from_wxyz
from exactik.typing import Array

ORIENTATION_ATTRIBUTES = ("quat", "axisangle", "euler", "xyaxes", "zaxis")
# Those that anything here has use for.
DEFAULT_TAGS = ("joint", "equality", "geom", "mesh", "material", "site", "velocity", "intvelocity")
MIN_LENGTH = 1e-10  # a shorter vector gives no direction; near MuJoCo's threshold


@dataclass(frozen=True)
class Compiler:
    """The element <compiler>: how the numbers of a file are meant."""

    angle_unit: float  # the file's unit of angle [rad]
    eulerseq: str  # three axes; small letters rotate about moving axes, capitals about fixed ones
    autolimits: bool  # whether a range alone makes a limit

    def read_orientation(self, element: Element) -> Array:
        """Return the rotation that an element states in one of five ways, (3, 3)."""
        stated = [key for key in ORIENTATION_ATTRIBUTES if key in element.attributes]
        if len(stated) > 1:
            raise element.error(f"{' and '.join(stated)}; expected one orientation")
        if len(stated) == 0:
            return np.eye(3)
        return getattr(self, f"_{stated[0]}")(element)

    def _quat(self, element: Element) -> Array:
        wxyz = np.array(element.read_numbers("quat", (1.0, 0.0, 0.0, 0.0)))
        return matrix_from_wxyz(normalise(element, "quat", wxyz))

    def _axisangle(self, element: Element) -> Array:
        x, y, z, angle = element.read_numbers("axisangle", (0.0, 0.0, 1.0, 0.0))
        axis = normalise(element, "axis of axisangle", np.array([x, y, z]))
        return exp_rotation(axis * angle * self.angle_unit)

    def _euler(self, element: Element) -> Array:
        R = np.eye(3)
        angles = element.read_numbers("euler", (0.0, 0.0, 0.0))
        for letter, angle in zip(self.eulerseq, angles, strict=True):
            R_axis = axis_rotation(letter, angle * self.angle_unit)
            R = R @ R_axis if letter.islower() else R_axis @ R
        return R

    def _xyaxes(self, element: Element) -> Array:
        x, y = np.reshape(element.read_numbers("xyaxes", (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)), (2, 3))
        x = normalise(element, "x of xyaxes", x)
        y = normalise(element, "y of xyaxes, across x,", y - (x @ y) * x)
        return np.column_stack([x, y, np.cross(x, y)])

    def _zaxis(self, element: Element) -> Array:
        """Return the smallest rotation that takes z there; half a turn about x if it is −z."""
        x, y, z = normalise(
            element, "zaxis", np.array(element.read_numbers("zaxis", (0.0, 0.0, 1.0)))
        ).tolist()
        sine = math.hypot(x, y)
        axis = np.array([-y, x, 0.0]) / sine if sine > MIN_LENGTH else np.array([1.0, 0.0, 0.0])
        return exp_rotation(axis * math.atan2(sine, z))


def read_compiler(root: Element) -> Compiler:
    """Return the settings of all <compiler> elements together; later ones win."""
    angle, eulerseq, autolimits = "degree", "xyz", "true"
    for element in root.find_children("compiler"):
        angle = element.read_choice("angle", angle, "degree", "radian")
        autolimits = element.read_choice("autolimits", autolimits, "true", "false")
        element.read_choice("coordinate", "local", "local")
        eulerseq = element.attributes.get("eulerseq", eulerseq)
        if len(eulerseq) != 3 or set(eulerseq.lower()) - set("xyz"):
            raise element.error(f"eulerseq is {eulerseq!r}; expected three of x, y, z, X, Y, Z")
    return Compiler(
        angle_unit=math.radians(1.0) if angle == "degree" else 1.0,
        eulerseq=eulerseq,
        autolimits=autolimits == "true",
    )


class DefaultClasses:
    """Default classes: values of the attributes that an element does not state.

    Attributes:
        classes: name of the class → tag → attributes.
    """

    def __init__(self) -> None:
        """Begin with the class "main", which is empty."""
        self.classes: dict[str, dict[str, dict[str, str]]] = {"main": {}}

    def apply_to(self, element: Element, inherited: str | None, kind: str | None = None) -> Element:
        """Return the element with the attributes of its class filled in.

        Args:
            inherited: the class in force around it, used if it names none.
            kind: the tag of its defaults, if it is not the element's.
        """
        name = element.attributes.get("class", inherited or "main")
        if name not in self.classes:
            raise element.error(
                f"no default class {name!r} (there are: {', '.join(list(self.classes)[:40])})"
            )
        defaults = self.classes[name].get(kind or element.tag, {})
        return Element(element.tag, {**defaults, **element.attributes}, element.path, element.line)


def read_defaults(root: Element) -> DefaultClasses:
    """Return the default classes; a nested class begins as a copy of the one around it."""
    defaults = DefaultClasses()
    stack = [(element, "") for element in reversed(list(root.find_children("default")))]
    while len(stack) > 0:
        element, enclosing = stack.pop()
        if enclosing == "":
            name = element.attributes.get("class", "main")
            attributes = defaults.classes.setdefault(name, defaults.classes["main"])
        else:
            name = element.read_required("class", "the name of a nested default class")
            if name in defaults.classes:
                raise element.error(f"a second default class {name!r}; expected one")
            inherited = defaults.classes[enclosing]
            attributes = {tag: dict(values) for tag, values in inherited.items()}
            defaults.classes[name] = attributes
        for child in element.find_children(*DEFAULT_TAGS):
            attributes.setdefault(child.tag, {}).update(child.attributes)
        stack.extend((child, name) for child in reversed(list(element.find_children("default"))))
    return defaults


def normalise(element: Element, what: str, vector: Array) -> Array:
    """Return the vector with length 1."""
    length = float(np.linalg.norm(vector))
    if not MIN_LENGTH < length < math.inf:
        raise element.error(f"{what} has length {length:g}; expected a direction")
    return vector / length


KINEMATIC_TAGS = ("worldbody", "body", "frame", "replicate", "default", "equality")


def expand_includes(root: Element) -> None:
    """Replace every <include> below `root` by the children of the file that it names."""
    folder = os.path.dirname(os.path.abspath(root.path))
    seen = {os.path.abspath(root.path)}
    stack = [root]
    count = 0
    while len(stack) > 0:
        parent = stack.pop()
        if any(child.tag == "include" for child in parent.children):
            parent.children = _expand_children(parent, folder, seen)
        stack.extend(parent.children)
        count += len(parent.children)
        if count > MAX_ELEMENTS:
            raise root.error(f"the files included have more than {MAX_ELEMENTS} elements together")


def _expand_children(parent: Element, folder: str, seen: set[str]) -> list[Element]:
    """Return the children of an element without includes among them."""
    children: list[Element] = []
    stack = parent.children[::-1]
    while len(stack) > 0:
        child = stack.pop()
        if child.tag != "include":
            children.append(child)
            continue
        path = _find_file(child, parent, folder)
        if path is None:
            continue
        if path in seen:
            raise child.error("the file is included for the second time; expected once at most")
        seen.add(path)
        stack.extend(reversed(read_xml(path).children))
    return children


def _find_file(include: Element, parent: Element, folder: str) -> str | None:
    """Return the path of an included file; None if it is missing and may be."""
    name = include.read_required("file", "a path")
    candidates = [os.path.join(base, name) for base in (folder, os.path.dirname(include.path))]
    inside = [p for p in map(os.path.abspath, candidates) if Path(p).is_relative_to(folder)]
    if len(inside) == 0:
        raise include.error(f"file {name!r} lies outside the folder of the main file, {folder}")
    for path in inside:
        if os.path.exists(path):
            return path
    if parent.tag in KINEMATIC_TAGS:
        raise include.error(f"file {name!r} does not exist; expected it beside the main file")
    if parent.tag in ("mujoco", "mujocoinclude"):
        text = f"file {name!r} does not exist; if it held bodies or defaults, they are missing"
        include.warn(text, code="include-missing")
    return None
