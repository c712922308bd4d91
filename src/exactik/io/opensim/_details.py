"""What a model has besides its skeleton, in words."""

from __future__ import annotations

from collections.abc import Mapping

from exactik._text import count_noun, join_names
from exactik.io._notes import Notes
from exactik.io.opensim._description import OpenSimModel
from exactik.io.opensim._model import describe_not_read, read_model

__all__ = ["describe_opensim_model"]

MAX_NAMES = 6  # of coordinates in a sentence


def describe_opensim_model(path: str, notes: Notes) -> Mapping[str, str]:
    """Return version, mass, coordinates and what is not read of an .osim file."""
    model = read_model(path, notes)
    details = {
        "model": f"document version {model.version}, "
        f"{count_noun(len(model.bodies), 'body', 'bodies')}, {model.mass:.4g} kg",
        "joints": _describe_coordinates(model),
        "markers": count_noun(len(model.markers), "marker"),
    }
    meshes = sum(len(body.meshes) for body in model.bodies)
    if meshes > 0:
        details["meshes"] = f"{count_noun(meshes, 'mesh', 'meshes')}, by name"
    if len(model.not_read) > 0:
        details["not read"] = describe_not_read(model.not_read)
    for note in notes.all:
        if note.code in ("encoding-guessed", "stray-text"):
            details["text"] = note.text
    return details


def _describe_coordinates(model: OpenSimModel) -> str:
    coordinates = model.coordinates
    parts = [count_noun(len(coordinates), "coordinate")]
    for word, names in (
        ("locked", [c.name for c in coordinates if c.locked]),
        ("clamped", [c.name for c in coordinates if c.clamped and not c.locked]),
        ("coupled", [coupler.dependent for coupler in model.couplers]),
    ):
        if len(names) > 0:
            parts.append(f"{len(names)} {word} ({join_names(names, MAX_NAMES, rest=', …')})")
    return ", ".join(parts)
