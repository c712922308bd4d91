"""OpenSim's XML: a document with a version, objects with properties, values in element text.

Every property is an element of its own, `<range>-1.57 1.57</range>`; one that is absent has a
default. Of two elements with one name OpenSim takes the first, and so does all here. Sets of
objects have theirs under `<objects>` and may be in another file: `<MarkerSet file="markers.xml"/>`.

Frames of a model are found by their paths. A path is absolute, "/bodyset/pelvis", or starts at the
object that names it, "../ground"; before OpenSim 4 it was the bare name of a body. An offset frame
stands in its parent by a translation and by turns about its own x, y and z axes, in this order.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from exactik.errors import FileError
from exactik.io._notes import Notes
from exactik.io._xml import Element, read_xml
from exactik.io.opensim._description import GROUND, FramePlace
from exactik.spatial import axis_rotation
from exactik.typing import Array

BRACKETS = str.maketrans("()[]~,", "      ")  # that vectors of old files are written with
OFFSET_FRAME = "PhysicalOffsetFrame"
OLD_BODY_SOCKETS = {"parent_frame": "parent_body", "child_frame": "child_body"}


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


def body_fixed_xyz(angles: tuple[float, float, float]) -> Array:
    """Return R_x(a) R_y(b) R_z(c), (3, 3), of angles [rad]."""
    a, b, c = angles
    return axis_rotation("x", a) @ axis_rotation("y", b) @ axis_rotation("z", c)


def read_socket(element: Element, name: str) -> str:
    """Return the path that a socket of an object points to, empty if it has none.

    Versions 3.x to 4 called it connector, and put it in a list, before it was an element.
    """
    path = element.text_of(
        f"socket_{name}", f"socket_{name}_connectee_name", f"connector_{name}_connectee_name"
    )
    connectors = element.first("connectors")
    if path == "" and connectors is not None:
        names = (name, OLD_BODY_SOCKETS.get(name, ""))
        for connector in connectors.children:
            if connector.attributes.get("name", "") in names:
                path = connector.text_of("connectee_name")
    return path.strip()


class FrameTable:
    """All frames of a model.

    Attributes:
        places: path of a body, or of an offset frame that was looked up → where it is.
        offsets: path of an offset frame → its element.
    """

    def __init__(self, model: Element, notes: Notes):
        """List the frames of a <Model>; they are placed when they are asked for."""
        self.places: dict[str, FramePlace] = {}
        self.offsets: dict[str, Element] = {}
        self._add_body("/ground", GROUND)
        self._list_offsets(model.first("Ground"), "/ground")
        for body in objects_of(open_set(model, "BodySet", notes)):
            name = body.plain_name
            if body.tag == "Body" and name != GROUND:
                self._add_body(f"/bodyset/{name}", name)
            self._list_offsets(body, "/ground" if name == GROUND else f"/bodyset/{name}")
        for joint in objects_of(open_set(model, "JointSet", notes)):
            self._list_offsets(joint, f"/jointset/{joint.plain_name}")
        for constraint in objects_of(open_set(model, "ConstraintSet", notes)):
            self._list_offsets(constraint, f"/constraintset/{constraint.plain_name}")
        self._list_offsets(model, "")
        for frame in objects_of(open_set(model, "FrameSet", notes)):
            self.offsets[f"/{frame.plain_name}"] = frame
        for component in objects_of(open_set(model, "ComponentSet", notes)):
            if component.tag == OFFSET_FRAME:
                self.offsets[f"/componentset/{component.plain_name}"] = component
                self._list_offsets(component, f"/componentset/{component.plain_name}")

    @property
    def standing_offsets(self) -> list[str]:
        """Paths of the offset frames that are no part of a joint or constraint."""
        parts = ("/jointset/", "/constraintset/")
        return [path for path in self.offsets if not path.startswith(parts)]

    def find(self, owner: Element, owner_path: str, path: str, what: str) -> FramePlace:
        """Return where the frame is that an object names.

        Args:
            owner: the object, for errors.
            owner_path: its path in the model, from which relative ones start.
            path: as the file has it.
            what: the frame is to the object, such as "parent frame", for errors.
        """
        if path == "":
            raise owner.error(f"no {what}; expected the path of a body or frame")
        return self._place(self._resolve(owner, owner_path, path, what))

    def _add_body(self, path: str, name: str) -> None:
        self.places[path] = FramePlace(name, np.zeros(3), np.eye(3))

    def _list_offsets(self, owner: Element | None, path: str) -> None:
        """List the offset frames inside an object, which may have others inside them."""
        stack = [] if owner is None else [(owner, path)]
        while len(stack) > 0:
            element, above = stack.pop()
            for holder in element.find_children("components", "frames"):
                for frame in holder.find_children(OFFSET_FRAME):
                    self.offsets[f"{above}/{frame.plain_name}"] = frame
                    stack.append((frame, f"{above}/{frame.plain_name}"))

    def _resolve(self, owner: Element, owner_path: str, path: str, what: str) -> str:
        """Return the path of a known frame that is meant."""
        name = posixpath.basename(path)
        candidates = [posixpath.normpath(posixpath.join(owner_path, path))]
        if "/" not in path or path.startswith("../"):
            # Relative paths of versions before 4 do not count the sets that objects are in.
            candidates += ["/ground" if name == GROUND else f"/bodyset/{name}"]
        for candidate in candidates:
            if candidate in self.places or candidate in self.offsets:
                return candidate
        same_name = [known for known in self.offsets if posixpath.basename(known) == name]
        if len(same_name) == 1:
            return same_name[0]
        bodies = ", ".join(place.body for place in list(self.places.values())[:40])
        raise owner.error(f"its {what} {path[:60]!r} does not exist (bodies are: {bodies})")

    def _place(self, path: str) -> FramePlace:
        """Return where a known frame is."""
        chain: list[str] = []
        while path not in self.places:
            if path in chain:
                ring = " → ".join(posixpath.basename(p) for p in (*chain, path))
                raise self.offsets[path].error(f"frames stand on each other in a ring: {ring}")
            chain.append(path)
            frame = self.offsets[path]
            path = self._resolve(frame, path, self._parent_of(frame), "parent")
        place = self.places[path]
        for above in reversed(chain):
            frame = self.offsets[above]
            p_parent_frame = np.array(frame.vector_of("translation", (0.0, 0.0, 0.0)))
            R_parent_frame = body_fixed_xyz(frame.vector_of("orientation", (0.0, 0.0, 0.0)))
            place = FramePlace(
                place.body,
                place.position + place.rotation @ p_parent_frame,
                place.rotation @ R_parent_frame,
            )
            self.places[above] = place
        return place

    def _parent_of(self, frame: Element) -> str:
        path = read_socket(frame, "parent")
        if path == "":
            raise frame.error("no <socket_parent>; expected the path of the frame it stands on")
        return path
