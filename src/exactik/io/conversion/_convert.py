"""From one file to another: read, cut, resample, turn, write, and say what is lost on the way."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from exactik._options import accepts_options
from exactik._text import count_noun
from exactik.errors import Advice, FileError, Note
from exactik.io._units import LENGTH_UNITS, metres_per
from exactik.io.conversion._losses import content_of, describe, find_losses
from exactik.io.conversion._source import ConvertOptions, Source, Thing, read_source
from exactik.io.formats import (
    CONTENTS,
    FORMATS,
    Content,
    Format,
    find_content,
    find_format,
    suffix_of,
    writable_suffixes,
    writer_of,
)
from exactik.model import Skeleton
from exactik.model.motion import Markers, Motion, check_up_axis, cyclic_axes

PathLike = str | os.PathLike[str]
Unit = str | float

CHUNK_FRAMES = 4096  # of which forward kinematics is done at a time, to bound memory


@dataclass(frozen=True)
class Conversion:
    """What a conversion did.

    Attributes:
        source: the file that was read.
        targets: the files that were written, the one asked for first.
        kind: what was written: "motion", "markers" or "skeleton".
        read: what the source holds, in words.
        written: what the target holds, in words.
        notes: what is odd about the source and what was assumed, a sentence each.
        lost: what the target does not keep, a sentence each; none if it keeps everything.
    """

    source: str
    targets: tuple[str, ...]
    kind: str
    read: str
    written: str
    notes: tuple[Note, ...]
    lost: tuple[str, ...]


@accepts_options(ConvertOptions)
def convert(source: PathLike, target: PathLike, options: ConvertOptions) -> Conversion:
    """Write what is in one file as another; suffixes tell the formats.

    Motions become motions, markers markers and skeletons skeletons; a motion also becomes the
    skeleton alone (.asf) or the paths of the skeleton's markers (.c3d, .trc). An .amc gets its .asf
    beside it, of the same name.

    Args:
        source: the file to read.
        target: the file to write, whole or not at all; never one of those that are read.
        options: fields of `ConvertOptions`, as keywords.

    Raises:
        FileError: a file that cannot be read or written, or a pair that makes no sense.
    """
    source_path, target_path = os.fspath(source), os.fspath(target)
    for axis in (options.output_up, options.input_up):
        if axis is not None:
            check_up_axis(axis)
    content, written = _choose_contents(source_path, target_path)
    target_format = _writable_format_of(target_path)
    unit = _check_unit(target_path, target_format, written, options.output_unit)
    options.tell(f"reading {source_path}")
    read = read_source(source_path, content, options)
    files = files_to_write(target_path, (source_path, read.skeleton_path))
    if unit is None and written != "markers":
        unit = choose_unit(read.thing, target_format, read.format)
    thing = _cut_and_resample(read.thing, source_path, options)
    thing, up_axis, notes = _turn_upright(thing, read, source_path, options)
    losses: list[str] = []
    if written != content:
        thing, loss = _reduce_motion(thing, written, target_path)
        losses.append(loss)
    options.tell(f"writing {target_path}")
    write_files(thing, files, unit, up_axis)
    options.tell(f"comparing {target_path}")
    lost, again = find_losses(thing, files, unit, up_axis)
    return Conversion(
        source=source_path,
        targets=files,
        kind=written,
        read=describe(read.thing),
        written=describe(again),
        notes=(*read.notes, *notes),
        lost=(*losses, *lost),
    )


def target_suffixes(path: PathLike) -> tuple[str, ...]:
    """Return the suffixes of what a file like this may be converted to."""
    form = find_format(path)
    contents = () if form is None else CONTENTS if "motion" in form.readers else form.readable
    return tuple(dict.fromkeys(suffix for c in contents for suffix in writable_suffixes(c)))


# --- what becomes what


def _writable_format_of(path: str) -> Format:
    form = find_format(path)
    if form is None or len(form.writers) == 0:
        suffix, known = suffix_of(path) or "a name without suffix", sorted(writable_suffixes())
        text = f"nothing can be written as {suffix}; expected one of {' '.join(known)}"
        raise FileError(path, text, code="unknown-suffix")
    return form


def _choose_contents(source: str, target: str) -> tuple[Content, Content]:
    """Return what is read and what is written."""
    form = _writable_format_of(target)
    held, content = form.writable, find_content(source)
    if content in held:
        return content, content
    if content == "motion":
        return content, held[0]
    words = {"motion": "a motion", "markers": "markers", "skeleton": "a skeleton"}
    can_hold = " and ".join(words[kind] for kind in held)
    fault = f"{source} holds {words[content]} and {suffix_of(target)} {can_hold}"
    expected = f"expected one of {' '.join(writable_suffixes(content))}"
    if content == "markers" and "motion" in held:
        expected += "; `exactik solve` finds the motion that markers show"
    raise FileError(target, f"{fault}; {expected}", code="wrong-kind")


def _reduce_motion(thing: Thing, content: Content, target: str) -> tuple[Thing, str]:
    """Return the part of a motion that the target can hold, and what that leaves out."""
    assert isinstance(thing, Motion)
    suffix = suffix_of(target)
    if content == "skeleton":
        lost = f"the motion, {count_noun(len(thing), 'frame')}: {suffix} holds a skeleton alone"
        pairs = [form.suffix for form in FORMATS if form.companion == suffix]
        return thing.skeleton, lost + "".join(f", {motion} would have both" for motion in pairs)
    markers = thing.skeleton.markers
    if len(markers) == 0:
        fault = f"skeleton {thing.skeleton.name!r} has no markers, and {suffix} holds nothing else"
        raise FileError(target, f"{fault}; expected a skeleton with markers", code="no-markers")
    paths = [
        replace(thing, q=thing.q[first : first + CHUNK_FRAMES]).forward().markers
        for first in range(0, max(len(thing), 1), CHUNK_FRAMES)
    ]
    count = count_noun(len(markers), "marker")
    lost = f"the skeleton and its coordinates: {suffix} holds the paths of its {count} alone"
    return Markers(
        positions=np.concatenate(paths),
        names=tuple(markers),
        rate=thing.rate,
        first_frame=thing.first_frame,
        up_axis=thing.up_axis,
        source=thing.source,
    ), lost


def _check_unit(path: str, form: Format, content: Content, length_unit: Unit | None) -> Unit | None:
    """Return the unit asked for, None if there is no choice or nobody asked."""
    if length_unit is None:
        return None
    metres = metres_per(length_unit)
    if "length_unit" in form.writers[content].options:
        return length_unit
    fixed_unit = form.length_unit or form.written_unit
    if metres != metres_per(fixed_unit):
        raise FileError(
            path,
            f"{suffix_of(path)} is in {'metres' if fixed_unit == 'm' else fixed_unit}",
            code="unit-fixed",
            advice=Advice("; ", "output_unit", after=" cannot change that"),
        )
    return None


def choose_unit(thing: Thing, target: Format, source: Format | None = None) -> Unit | None:
    """Return the length unit to write in: that which the thing came in if it is of the same kind.

    Args:
        target: format of the file to write.
        source: format of the file that it is from.

    Returns:
        None where the writer decides.
    """
    if target.unit_of is not None:
        owner = thing.skeleton if isinstance(thing, Motion) else thing
        return target.unit_of.resolve()(owner) if isinstance(owner, Skeleton) else None
    if target.length_unit is not None:
        return None
    if source is target and isinstance(thing, Motion):
        metres = thing.metadata["length_unit"]
        return next((name for name, size in LENGTH_UNITS.items() if size == metres), metres)
    return target.written_unit


def files_to_write(target: str, sources: tuple[str | None, ...]) -> tuple[str, ...]:
    """Return the files to write: the target, and the skeleton beside it; none of them is read."""
    files, form = (target,), find_format(target)
    if form is not None and form.companion != "":
        files = (target, str(Path(target).with_suffix(form.companion)))
    for file in files:
        for source in sources:
            if source is None or not (os.path.exists(file) and os.path.exists(source)):
                continue
            if os.path.samefile(file, source):
                beside = f" with an {suffix_of(file)} beside it" if file != target else ""
                text = f"is read; expected another name to write to{beside}"
                raise FileError(file, text, code="would-overwrite")
    if len(files) > 1 and os.path.isfile(files[1]):
        with open(files[1], "rb") as file:
            if b"written by exactik" not in file.read(1 << 12):
                suffix = suffix_of(target)
                fault = f"would be replaced by the skeleton of the {suffix}, and exactik did not"
                text = f"{fault} write it; expected another name for the {suffix}"
                raise FileError(files[1], text, code="would-overwrite")
    return files


# --- changes on the way


def _cut_and_resample(thing: Thing, path: str, options: ConvertOptions) -> Thing:
    start, end, rate = options.start, options.end, options.output_rate
    if isinstance(thing, Skeleton):
        if (start, end, rate) != (None, None, None):
            text = "holds a skeleton; start, end and rate are for recordings"
            raise FileError(path, text, code="wrong-kind")
        return thing
    duration = max(len(thing) - 1, 0) / thing.rate
    if (start, end) != (None, None):
        frames = len(thing)
        thing = thing.between(start, end)
        if len(thing) == 0 and frames > 0:
            first, last = 0.0 if start is None else start, duration if end is None else end
            text = f"no frame between {first:g} and {last:g} s; the recording lasts {duration:g} s"
            raise FileError(path, text, code="no-frames")
    return thing if rate is None else thing.resampled(rate)


def _turn_upright(
    thing: Thing, source: Source, path: str, options: ConvertOptions
) -> tuple[Thing, str | None, list[Note]]:
    """Return the same with another axis up, which it is, and what there is to say about that."""
    notes: list[Note] = []
    up, input_up = options.output_up, options.input_up
    old_up = source.up_axis if input_up is None else check_up_axis(input_up)
    if up is not None and old_up is None:
        old_up = source.format.up_axis if source.format.up_axis_of is None else None
        if old_up is None:
            raise FileError(
                path,
                "which axis is up is not known",
                code="up-axis-unknown",
                advice=Advice("; give ", "input_up"),
            )
        advice = Advice("; ", "input_up", after=" says otherwise")
        text = f"{old_up} is taken for up, as in most such files"
        notes.append(Note("up-axis-assumed", "assumption", "", text, advice=advice))
    is_skeleton = isinstance(thing, Skeleton)
    recording = Motion(thing, thing.neutral()[None], 30.0) if is_skeleton else thing
    recording = replace(recording, up_axis=old_up)
    if up is not None and old_up is not None and check_up_axis(up) != old_up:
        axes = cyclic_axes(old_up, check_up_axis(up))
        recording = recording.turned(axes)
        text = f"turned from {old_up} up to {recording.up_axis} up (axes {axes})"
        notes.append(Note("turned", "remark", "", text))
        if isinstance(recording, Markers) and len(recording.others) > 0:
            text = f"{len(recording.others)} other series are not turned"
            notes.append(Note("series-not-turned", "remark", "", text))
    if is_skeleton and isinstance(recording, Motion):
        return recording.skeleton, recording.up_axis, notes
    return recording, recording.up_axis, notes


def write_files(
    thing: Thing, files: tuple[str, ...], unit: Unit | None, up: str | None, **more: Any
) -> None:
    """Write a thing to its files, see `files_to_write`.

    Args:
        files: where; the skeleton of a motion that is kept apart goes to the second.
        unit: length unit; None where the writer decides.
        up: which axis is up.
        more: options of writers, for those that take them: `angles`, `rotations`.
    """
    target, *beside = files
    options: dict[str, Any] = {"markers": True, "up_axis": up, **more}
    if unit is not None:
        options["length_unit"] = unit
    if isinstance(thing, Motion):
        for file in beside:  # the skeleton first: a motion without one is of no use
            writer_of(file, "skeleton").bind(**options)(thing.skeleton, file)
    writer_of(target, content_of(thing)).bind(**options)(thing, target)
