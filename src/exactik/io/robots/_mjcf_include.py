"""MJCF files that are made of several: `<include file="…"/>` is replaced by the file's contents.

A path is relative to the folder of the main file, then to that of the including one, as in MuJoCo,
and may not lead out of the folder of the main file: a model from elsewhere can read nothing else. A
file is included once at most, so that includes end.

Files with visuals alone are often not passed on. A missing one is an error where bodies or defaults
are expected, a `FileWarning` at the top level, where it may hold anything, and ignored elsewhere,
where all that it can hold is skipped anyway.
"""

from __future__ import annotations

import os
from pathlib import Path

from exactik.io._xml import MAX_ELEMENTS, Element, read_xml

__all__ = ["expand_includes"]

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
