"""MJCF files that are made of several: `<include file="…"/>` gives way to what is in that file.

A path is relative to the folder of the main file, then to that of the including one, as in MuJoCo,
and may not lead out of the folder of the main file: a model that somebody sent can read nothing
else. A file is included once at most, so includes come to an end.

Files that hold looks and not kinematics are often not passed on. A missing one is an error where
bodies or defaults are expected, a `FileWarning` at the top level, where it may hold anything, and
nothing elsewhere, where all that it can hold is skipped anyway.
"""

from __future__ import annotations

import os
from pathlib import Path

from exactik.io._xml import MAX_ELEMENTS, Element, read_xml

__all__ = ["expand_includes"]

_KINEMATIC = ("worldbody", "body", "frame", "replicate", "default", "equality")


def expand_includes(root: Element) -> None:
    """Replace every <include> below `root` by the children of the file that it names."""
    folder = os.path.dirname(os.path.abspath(root.path))
    seen = {os.path.abspath(root.path)}
    stack = [root]
    count = 0
    while len(stack) > 0:
        parent = stack.pop()
        if any(child.tag == "include" for child in parent.children):
            parent.children = _expanded(parent, folder, seen)
        stack.extend(parent.children)
        count += len(parent.children)
        if count > MAX_ELEMENTS:
            raise root.error(f"the files included have more than {MAX_ELEMENTS} elements together")


def _expanded(parent: Element, folder: str, seen: set[str]) -> list[Element]:
    """Return the children of an element without includes among them."""
    done: list[Element] = []
    queue = parent.children[::-1]
    while len(queue) > 0:
        child = queue.pop()
        if child.tag != "include":
            done.append(child)
            continue
        path = _find(child, parent, folder)
        if path is None:
            continue
        if path in seen:
            raise child.error("the file is included for the second time; expected once at most")
        seen.add(path)
        queue.extend(reversed(read_xml(path).children))
    return done


def _find(include: Element, parent: Element, folder: str) -> str | None:
    """Return the path of an included file; None if it is missing and may be."""
    name = include.text("file", "a path")
    places = [os.path.join(base, name) for base in (folder, os.path.dirname(include.path))]
    inside = [path for path in map(os.path.abspath, places) if Path(path).is_relative_to(folder)]
    if len(inside) == 0:
        raise include.error(f"file {name!r} lies outside the folder of the main file, {folder}")
    for path in inside:
        if os.path.exists(path):
            return path
    if parent.tag in _KINEMATIC:
        raise include.error(f"file {name!r} does not exist; expected it beside the main file")
    if parent.tag in ("mujoco", "mujocoinclude"):
        text = f"file {name!r} does not exist; if it held bodies or defaults, they are missing"
        include.warn(text, code="include-missing")
    return None
