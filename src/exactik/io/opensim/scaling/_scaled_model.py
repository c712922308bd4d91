"""The scaled model as a file: the generic model's text, with other numbers and markers."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence

import numpy as np

from exactik.errors import FileError
from exactik.io._element import Element
from exactik.io._files import open_atomic
from exactik.io._notes import Notes
from exactik.io.opensim._description import OpenSimMarker, OpenSimModel
from exactik.io.opensim._document import read_document
from exactik.io.opensim._frames import FrameTable
from exactik.io.opensim._model import read_markers, read_model
from exactik.io.opensim.scaling._muscles import measure_paths, scale_muscles
from exactik.io.opensim.scaling._scale_text import Factors, scale_text
from exactik.io.opensim.scaling._text import DocumentText, format_numbers

OLDEST_VERSION = 20302
"""Of a document that can be scaled: the first whose joints are custom joints."""

SOCKET_VERSION = 30517
"""From which sockets are paths."""

JOINT_SET_VERSION = 30500
"""From which joints are in a set of their own, no more inside bodies. Between this and the last, in
months when version 4 was made, files changed from week to week: they are refused."""


class GenericModel:
    """A model that is to be scaled.

    Attributes:
        path: of its file.
        model: what it says, without markers of other files.
        markers: of it and of a marker set that was added.
        wrapped_muscles: how many muscles wrap around surfaces, after `scale`.
    """

    def __init__(self, path: str, marker_set_path: str | None, notes: Notes):
        """Read a model, and a marker set that is put on it."""
        self.path, self.notes = path, notes
        self.root, version = read_document(path, notes, "Model")
        if version < OLDEST_VERSION or JOINT_SET_VERSION <= version < SOCKET_VERSION:
            known = f"{OLDEST_VERSION} to {JOINT_SET_VERSION - 1}, or {SOCKET_VERSION} and later"
            raise self.root.error(
                f"document version {version}; expected {known}: open and save it in OpenSim 4 first"
            )
        self._has_sockets = version >= SOCKET_VERSION
        self.model = read_model(path, notes)
        markers = {marker.name: marker for marker in self.model.markers}
        if marker_set_path is not None:
            element = read_document(marker_set_path, notes, "MarkerSet").root
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
                scaled = read_model(scaled_path, self.notes)
                root = read_document(scaled_path, self.notes, "Model").root
                self._after = measure_paths(root, scaled, self.notes)
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
            before = measure_paths(self.root, self.model, self.notes)
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
