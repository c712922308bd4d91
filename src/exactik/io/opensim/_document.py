"""OpenSim's XML: a document with a version, objects with properties, values in element text.

Every property is an element of its own, `<range>-1.57 1.57</range>`; one that is absent has a
default. Of two elements with one name OpenSim takes the first, and so does all here. Sets of
objects have theirs under `<objects>` and may be in another file: `<MarkerSet file="markers.xml"/>`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import NamedTuple

from exactik.errors import FileError
from exactik.io._notes import Notes
from exactik.io._xml import Element, read_xml

__all__ = [
    "OpenSimDocument",
    "first_child",
    "name_of",
    "objects_of",
    "open_set",
    "read_document",
    "read_finite",
    "read_flag",
    "read_number",
    "read_numbers",
    "read_vector",
    "read_words",
    "text_of",
]

BRACKETS = str.maketrans("()[]~,", "      ")  # that vectors of old files are written with


class OpenSimDocument(NamedTuple):
    """A file of OpenSim.

    Attributes:
        root: the object in it, such as <Model>.
        version: as 20302, 30000 or 40500; 10500 for the files of before there were versions.
    """

    root: Element
    version: int


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


def first_child(element: Element, tag: str) -> Element | None:
    """Return the first child with this tag, None if there is none."""
    return next(element.find_children(tag), None)


def name_of(element: Element) -> str:
    """Return the name of an object, without blanks, which OpenSim takes out as well."""
    return "".join(element.attributes.get("name", "").split())


def text_of(element: Element, *tags: str, default: str = "") -> str:
    """Return the text of the first of these properties that is there and not empty."""
    for tag in tags:
        child = first_child(element, tag)
        if child is not None and child.text != "":
            return child.text
    return default


def read_words(element: Element, tag: str) -> tuple[str, ...]:
    """Return a property that is a list of names."""
    return tuple(text_of(element, tag).translate(BRACKETS).split())


def read_numbers(element: Element, tag: str) -> tuple[float, ...]:
    """Return a property of any number of numbers; none if it is absent."""
    child = first_child(element, tag)
    if child is None:
        return ()
    words = child.text.translate(BRACKETS).split()
    plain = Element(child.tag, child.attributes, child.path, child.line)
    plain.text = " ".join(words)
    values = plain.parse_text(len(words), infinite=True)
    if not all(map(math.isfinite, values)):
        raise child.error(f"{child.text[:40]!r} has a number that is not finite")
    return values


def read_vector(
    element: Element, tag: str, default: tuple[float, float, float]
) -> tuple[float, float, float]:
    """Return a property of three numbers."""
    values = read_numbers(element, tag)
    if len(values) == 0:
        return default
    if len(values) != 3:
        child = first_child(element, tag)
        assert child is not None
        raise child.error(f"{child.text[:40]!r}; expected 3 numbers, found {len(values)}")
    x, y, z = values
    return x, y, z


def read_number(element: Element, tag: str, default: float) -> float:
    """Return a property of one number, which may be infinite."""
    child = first_child(element, tag)
    if child is None or child.text == "":
        return default
    (value,) = child.parse_text(1, infinite=True)
    return value


def read_finite(element: Element, tag: str, default: float) -> float:
    """Return a property of one finite number."""
    value = read_number(element, tag, default)
    if not math.isfinite(value):
        raise element.error(f"its {tag} is {value:g}; expected a finite number")
    return value


def read_flag(element: Element, tag: str, default: bool) -> bool:
    """Return a property that is true or false."""
    child = first_child(element, tag)
    if child is None or child.text == "":
        return default
    word = child.text.lower()
    if word not in ("true", "false", "1", "0"):
        raise child.error(f"{child.text[:40]!r}; expected true or false")
    return word in ("true", "1")


def open_set(parent: Element, tag: str, notes: Notes) -> Element | None:
    """Return a set of objects inside an object, read from its own file where it names one."""
    element = first_child(parent, tag)
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
