"""The source of a conversion: what a file holds, with everything that has to be said about it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from exactik.errors import Advice, FileError, Note
from exactik.io._files import read_bytes
from exactik.io._load import load_markers, load_motion, load_skeleton
from exactik.io._notes import Notes, collect_warnings
from exactik.io.conversion._convert_options import ConvertOptions
from exactik.io.formats import Content, Format, find_format, readable_format_of, suffix_of
from exactik.model import Skeleton
from exactik.model.motion import Markers, Motion

Thing = Skeleton | Motion | Markers
Unit = str | float | None


@dataclass(frozen=True)
class Source:
    """What was found in a file."""

    format: Format  # of the file
    thing: Thing  # what it holds
    up_axis: str | None  # which axis is up, None if that is not known
    skeleton_path: str | None  # file of the skeleton that was read as well, if any
    notes: tuple[Note, ...]  # what is odd about it, in the words of `convert`


def read_source(path: str, content: Content, options: ConvertOptions) -> Source:
    """Return what a file holds; faults and notes speak of the arguments of `convert`."""
    try:
        return _read(path, content, options)
    except FileError as error:
        raise error.renamed(_argument_of_convert) from None


def _argument_of_convert(name: str) -> str:
    """Return what an argument of a reader is called by `convert`, whose own are of the target."""
    return {"length_unit": "input_unit", "rate": "input_rate"}.get(name, name)


def _read(path: str, content: Content, options: ConvertOptions) -> Source:
    form, notes = readable_format_of(path), list[Note]()
    skeleton = None if options.skeleton is None else os.fspath(options.skeleton)
    unit = _unit_to_read(form, options.input_unit)
    if content == "markers":
        with collect_warnings(notes, path):
            markers = load_markers(
                path,
                length_unit=unit,
                rate=options.input_rate,
                zeros_are_missing=options.zeros_are_missing,
                strict=options.strict,
            )
        notes = _in_words_of_convert([*notes, *markers.notes])
        return Source(form, markers, markers.up_axis, None, notes)
    if content == "skeleton":
        with collect_warnings(notes, path):
            figure = load_skeleton(path, unit, strict=options.strict)
        return Source(form, figure, _known_up_axis(path), None, _in_words_of_convert(notes))
    if skeleton is None and form.companion != "":
        skeleton = find_skeleton_beside(path)
        text = f"the skeleton is that of {Path(skeleton).name}, beside it"
        notes.append(Note("skeleton-beside", "remark", "", text))
    if skeleton is None and form.needs_skeleton:
        raise FileError(
            path,
            "holds no skeleton",
            code="no-skeleton",
            advice=Advice("; give ", "skeleton", after=", the file that does"),
        )
    figure = None
    if skeleton is not None:
        with collect_warnings(notes, path):
            figure = _read_skeleton(skeleton, options)
    with collect_warnings(notes, path):
        motion = load_motion(
            path,
            figure,
            length_unit=unit,
            rate=options.input_rate,
            positions=options.positions,
            animation=options.animation,
            smpl_model=options.smpl_model,
            strict=options.strict,
        )
    notes = _in_words_of_convert([*notes, *motion.notes])
    return Source(form, motion, motion.up_axis, skeleton, notes)


def _read_skeleton(path: str, options: ConvertOptions) -> Skeleton:
    """Return the skeleton of another file; the unit given is also its, unless it is in metres."""
    form, unit = find_format(path), None
    if form is not None and form.length_unit != "m":
        unit = _unit_to_read(form, options.input_unit)
    return load_skeleton(path, unit, strict=options.strict)


def _unit_to_read(form: Format, unit: Unit) -> Unit:
    return "auto" if unit is None and form.length_unit is None else unit


def _in_words_of_convert(notes: Iterable[str]) -> tuple[Note, ...]:
    return tuple(Note.of(note).renamed(_argument_of_convert) for note in dict.fromkeys(notes))


def find_skeleton_beside(path: str) -> str:
    """Return the file with the skeleton of a motion: of its name, or the only one there is."""
    suffix = readable_format_of(path).companion
    candidates = sorted(p for p in Path(path).parent.glob("*") if suffix_of(p) == suffix)
    same = [p for p in candidates if p.stem == Path(path).stem]
    if len(same) == 1 or len(candidates) == 1:
        return str((same or candidates)[0])
    if not Path(path).is_file():
        read_bytes(path)  # says why not
    count = f"there are {len(candidates)}" if len(candidates) > 1 else "there is none"
    raise FileError(
        path,
        "holds no skeleton",
        code="no-skeleton",
        advice=Advice("; give ", "skeleton", after=f", or one {suffix} file beside it ({count})"),
    )


def find_up_axis(path: str) -> str | None:
    """Return which axis is up for the skeleton in a file: what it says, else the custom."""
    form = readable_format_of(path)
    return _known_up_axis(path) if form.up_axis_of is not None else form.up_axis


def _known_up_axis(path: str) -> str | None:
    """Return the up axis of a file that is read as a skeleton, which does not keep it."""
    form = readable_format_of(path)
    if form.up_axis_of is not None:
        return form.up_axis_of.resolve()(path, Notes(path))
    return form.up_axis if form.up_axis_is_fixed else None
