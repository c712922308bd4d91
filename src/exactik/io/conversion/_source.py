"""Options of `convert`, and its source: what a file holds, and what has to be said about it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from exactik._options import option
from exactik.errors import Advice, FileError, Note
from exactik.io._files import read_bytes
from exactik.io._load import load_markers, load_motion, load_skeleton
from exactik.io._notes import Notes, collect_warnings
from exactik.io.formats import Content, Format, find_format, readable_format_of, suffix_of
from exactik.model import Skeleton
from exactik.model.motion import Markers, Motion

Thing = Skeleton | Motion | Markers
Unit = str | float | None


@dataclass(frozen=True, kw_only=True)
class ConvertOptions:
    """How a file is written as another."""

    skeleton: str | os.PathLike[str] | None = option(
        None,
        "File of the skeleton, for .amc and .mot.",
        more="Of an .amc it is else the .asf beside it; for other motions, whose coordinates to "
        "use.",
        metavar="FIGURE",
    )
    start: float | None = option(
        None, "Time to begin at, counted from the first frame.", unit="s", metavar="SECONDS"
    )
    end: float | None = option(None, "Time to end at, included.", unit="s", metavar="SECONDS")
    output_rate: float | None = option(
        None,
        "Frames a second to write.",
        more="Those between frames of the source are interpolated.",
        unit="Hz",
        metavar="HZ",
    )
    output_up: str | None = option(
        None,
        "Turn the output so that x, y or z is up.",
        more="Everything is turned by a quarter turn.",
        metavar="AXIS",
    )
    output_unit: str | float | None = option(
        None,
        "Unit to write: m, cm, mm, in, … or the metres in it.",
        more="Where the format leaves a choice.",
        metavar="UNIT",
    )
    input_rate: float | None = option(
        None, "Frames a second of IN, in place of its own.", unit="Hz", metavar="HZ"
    )
    input_unit: str | float | None = option(
        None,
        "Length unit of IN, in place of its own; BVH has none.",
        more="It is guessed without this, by the height of the figure, and the guess noted.",
        metavar="UNIT",
    )
    input_up: str | None = option(None, "Up axis of IN, in place of its own.", metavar="AXIS")
    positions: str = option(
        "replace",
        "BVH: whether positions 'replace' an OFFSET or 'add' to it.",
        more="See `load_motion`.",
        metavar="WORD",
    )
    animation: int | str | None = option(
        None,
        "glTF: which animation, by name or number.",
        more="See `load_motion`.",
        metavar="NAME",
    )
    smpl_model: str | os.PathLike[str] | None = option(
        None,
        "Your .npz model file for motions of AMASS, SMPL, SMPL-H or SMPL-X.",
        more="See `load_motion`.",
        metavar="FILE",
    )
    zeros_are_missing: bool = option(
        True,
        "Take a marker at (0, 0, 0) as seen, not as missing.",
        more="False says so, see `load_markers`.",
        flags="--keep-zeros",
    )
    strict: bool = option(False, "Refuse a file that is damaged but usable.", flags="--strict")
    tell: Callable[[str], None] = option(
        lambda stage: None, "Called with what is being done, for a sign of life."
    )


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
