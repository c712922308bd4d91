"""OpenSim's XML: a document with a version, objects with properties, values in element text.

Every property is an element of its own, `<range>-1.57 1.57</range>`; one that is absent has a
default. Of two elements with one name OpenSim takes the first, and so does all here. Sets of
objects have theirs under `<objects>` and may be in another file: `<MarkerSet file="markers.xml"/>`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from exactik.errors import FileError
from exactik.io._notes import Notes
from exactik.io._xml import Element, read_xml

BRACKETS = str.maketrans("()[]~,", "      ")  # that vectors of old files are written with


class OpenSimDocument(NamedTuple):
    """A file of OpenSim."""

    root: Element  # the object in it, such as <Model>
    version: int  # as 20302, 30000 or 40500; 10500 for the files of before there were versions


def read_document(path: str, notes: Notes, *tags: str) -> OpenSimDocument:
    """Return the object in a file of OpenSim; `tags` are what it may be."""
    root = read_xml(path, tolerant=notes)
    version = 10500
    if root.tag == "OpenSimDocument":
        text = root.attributes.get("Version", "").strip()
        if not text.isdecimal():
            raise root.error(f"Version is {text[:20]!r}; expected a number such as 40000")
        version = int(text)
        if len(root.children) == 0:
            raise root.error(f"an empty document; expected <{tags[0]}> in it")
        # What else is there are defaults of objects, which come before or after the object itself.
        inner = [child for child in root.children if child.tag in tags]
        root = inner[0] if len(inner) > 0 else root.children[0]
    if root.tag not in tags:
        raise root.error(f"a <{root.tag[:40]}>; expected a <{tags[0]}> of OpenSim")
    return OpenSimDocument(root, version)


def open_set(parent: Element, tag: str, notes: Notes) -> Element | None:
    """Return a set of objects inside an object, read from its own file where it names one."""
    element = parent.first(tag)
    if element is None:
        return None
    file = element.attributes.get("file", "").strip()
    if file == "":
        return element
    path = os.path.join(os.path.dirname(parent.path), file.replace("\\", "/"))
    try:
        return read_document(path, notes, tag).root
    except FileError as error:
        if not os.path.exists(path):
            raise element.error(f"its file {file!r} cannot be read: there is none") from error
        raise


def objects_of(element: Element | None) -> Iterator[Element]:
    """Run over the objects of a set."""
    if element is not None:
        for group in element.find_children("objects"):
            yield from group.children
