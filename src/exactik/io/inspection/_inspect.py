"""What is in a file, whichever kind it is, and what is odd about it; nothing is printed here."""

from __future__ import annotations

import os
from dataclasses import replace

from exactik.errors import FileError, Note
from exactik.io._load import load_markers, load_motion, load_skeleton
from exactik.io._notes import collect_warnings
from exactik.io.formats import Content, Format, find_content, readable_format_of, readable_suffixes
from exactik.io.inspection._facts import Facts
from exactik.io.inspection._markers import inspect_markers
from exactik.io.inspection._motions import inspect_coordinates, inspect_motion, inspect_skeleton

READABLE = tuple(sorted(readable_suffixes()))

Unit = str | float | None


def inspect_file(
    path: str | os.PathLike[str],
    *,
    skeleton: str | os.PathLike[str] | None = None,
    length_unit: Unit = None,
) -> Facts:
    """Return what is in a file and what is odd about it.

    Args:
        skeleton: file of the skeleton of a .amc, .mot or .sto. Without it an .asf beside an .amc is
            taken if only one can be meant; else only part is told.
        length_unit: in place of what the file says; without it the unit of a BVH file is guessed.

    Raises:
        FileError: the file cannot be read.
    """
    path = os.fspath(path)
    form = readable_format_of(path)
    notes: list[Note] = []
    with collect_warnings(notes, path):
        if form.needs_skeleton:
            other = None if skeleton is None else os.fspath(skeleton)
            return inspect_coordinates(path, form, other, length_unit, notes)
        content = find_content(path)
        if "length_unit" not in form.readers[content].options:
            length_unit = None
        if form.length_unit is not None or length_unit is not None:
            return _inspect(path, form, content, length_unit, notes)
        try:
            return _inspect(path, form, content, "auto", notes)
        except FileError as error:
            if error.code != "unit-unknown":
                raise
            notes.clear()
            return _in_metres(_inspect(path, form, content, 1.0, notes), form, error)


def _inspect(
    path: str, form: Format, content: Content, length_unit: Unit, notes: list[Note]
) -> Facts:
    if content == "markers":
        return inspect_markers(path, form, load_markers(path, length_unit=length_unit), notes)
    if content == "motion":
        return inspect_motion(path, form, load_motion(path, length_unit=length_unit), notes)
    return inspect_skeleton(path, form, load_skeleton(path, length_unit), notes, length_unit)


def _in_metres(facts: Facts, form: Format, error: FileError) -> Facts:
    """Return the facts of a figure that is no human's size, whose unit cannot be guessed."""
    advice = (
        None if error.advice is None else error.advice._replace(after="; shown as if in metres")
    )
    text = f"{form.name} states no length unit, and {error.fault}"
    why = Note(error.code, "assumption", "", text, advice=advice).as_sentence()
    return replace(facts, length_unit="", oddities=(why, *facts.oddities))
