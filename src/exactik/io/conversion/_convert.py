"""From one file to another: read, cut, resample, turn, write, and say what is lost on the way."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from exactik.errors import FileError
from exactik.io import _load, _save
from exactik.io._units import LENGTH_UNITS, metres_per
from exactik.io.conversion._losses import losses
from exactik.io.conversion._read import Found, Reading, Source, kind_in, read
from exactik.io.conversion._words import in_words, plural
from exactik.model import Skeleton
from exactik.motion import Markers, Motion, cyclic_axes

__all__ = ["Conversion", "convert", "files_to_write", "targets_of", "write_files"]

PathLike = str | os.PathLike[str]
Unit = str | float

# Formats by what they can hold; the first that fits both files is what is converted.
_WRITERS = {"motion": _save.MOTIONS, "markers": _save.MARKERS, "skeleton": _save.SKELETONS}
_IN_METRES = {("motion", ".csv"), ("motion", ".mot")}
_IN_METRES |= {(kind, suffix) for kind in _WRITERS for suffix in (".glb", ".npz")}

# Which axis is up in files that do not say, where there is a custom.
_USUAL_UP = {".bvh": "y", ".c3d": "z", ".tsv": "z"}


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
    notes: tuple[str, ...]
    lost: tuple[str, ...]


def convert(
    source: PathLike,
    target: PathLike,
    *,
    skeleton: PathLike | None = None,
    start: float | None = None,
    end: float | None = None,
    rate: float | None = None,
    up: str | None = None,
    length_unit: Unit | None = None,
    input_rate: float | None = None,
    input_unit: Unit | None = None,
    from_up: str | None = None,
    positions: str = "replace",
    animation: int | str | None = None,
    zeros_are_missing: bool = True,
    strict: bool = False,
    tell: Callable[[str], None] = lambda stage: None,
) -> Conversion:
    """Write what is in one file as another; suffixes tell the formats.

    Motions become motions, markers markers and skeletons skeletons; a motion also becomes the
    skeleton alone (.asf) or the paths of the skeleton's markers (.c3d, .trc). An .amc gets its .asf
    beside it, of the same name.

    Args:
        source: the file to read.
        target: the file to write, whole or not at all; never one of those that are read.
        skeleton: file of the skeleton, for .amc (else the .asf beside it) and .mot; for other
            motions, whose coordinates to use.
        start: where to begin [s from the first frame].
        end: where to end, included [s from the first frame].
        rate: of the target [Hz]; frames between those of the source are interpolated.
        up: "x", "y" or "z": turns everything by a quarter turn so that this axis is up.
        length_unit: of the target, where its format leaves a choice.
        input_rate: of the source [Hz], in place of what it says.
        input_unit: length unit of the source, in place of what it says. BVH says nothing: without
            this it is guessed by the height of the figure, and the guess noted.
        from_up: which axis is up in the source, in place of what it says.
        positions: for BVH, see `load_motion`.
        animation: for glTF, see `load_motion`.
        zeros_are_missing: for markers, see `load_markers`.
        strict: whether to refuse a source that is damaged but usable.
        tell: called with what is being done, for a sign of life.

    Raises:
        FileError: a file that cannot be read or written, or a pair that makes no sense.
    """
    path, goal = os.fspath(source), os.fspath(target)
    own_skeleton = None if skeleton is None else os.fspath(skeleton)
    for axis in (up, from_up):
        if axis is not None:
            _load.checked_axis(axis)
    kind, written_as = _kinds(path, goal)
    unit = _unit_checked(goal, written_as, length_unit)
    tell(f"reading {path}")
    options = Source(input_unit, input_rate, positions, animation, zeros_are_missing, strict)
    found = read(path, kind, own_skeleton, options)
    files = files_to_write(goal, (path, found.skeleton_file))
    thing, before, notes = found.thing, in_words(found.thing), list(found.notes)
    if unit is None and written_as != "markers":
        unit = _unit_of(found, Path(path).suffix.lower(), Path(goal).suffix.lower())
    thing = _in_time(thing, path, start, end, rate)
    thing, up_axis = _upright(thing, found.up_axis, path, up, from_up, notes)
    shortened: list[str] = []
    if written_as != kind:
        thing = _only(thing, written_as, goal, shortened)
    tell(f"writing {goal}")
    write_files(thing, files, unit, up_axis)
    tell(f"comparing {goal}")
    lost, again = losses(thing, files, unit, up_axis)
    after, lost = in_words(again), shortened + lost
    return Conversion(path, files, written_as, before, after, tuple(notes), tuple(lost))


def targets_of(suffix: str) -> list[str]:
    """Return the suffixes that a file with this one may be converted to."""
    readers = {"motion": _load.MOTIONS, "markers": _load.MARKERS, "skeleton": _load.SKELETONS}
    kinds = [kind for kind, table in readers.items() if suffix.lower() in table]
    if "motion" in kinds:
        kinds += ["markers", "skeleton"]
    return list(dict.fromkeys(s for kind in kinds for s in _WRITERS[kind]))


# --- what becomes what


def _kinds(path: str, goal: str) -> tuple[str, str]:
    """Return what is read and what is written."""
    suffix = Path(goal).suffix.lower()
    held = [kind for kind, writers in _WRITERS.items() if suffix in writers]
    if len(held) == 0:
        known = " ".join(sorted({s for writers in _WRITERS.values() for s in writers}))
        found = suffix or "a name without suffix"
        raise FileError(goal, f"nothing can be written as {found}; expected one of {known}")
    kind = kind_in(path)
    if kind in held:
        return kind, kind
    if kind == "motion":
        return kind, held[0]
    what = {"motion": "a motion", "markers": "markers", "skeleton": "a skeleton"}
    can = " and ".join(what[one] for one in held)
    fault = f"{path} holds {what[kind]} and {suffix} {can}"
    raise FileError(goal, f"{fault}; expected one of {' '.join(_WRITERS[kind])}")


def _only(thing: Found, kind: str, goal: str, lost: list[str]) -> Found:
    """Return the part of a motion that the target can hold; say what that leaves out."""
    assert isinstance(thing, Motion)
    frames, suffix = plural(len(thing), "frame"), Path(goal).suffix.lower()
    if kind == "skeleton":
        lost.append(f"the motion, {frames}: {suffix} holds a skeleton alone, .amc would have both")
        return thing.skeleton
    markers, name = thing.skeleton.markers, thing.skeleton.name
    if len(markers) == 0:
        fault = f"skeleton {name!r} has no markers, and {suffix} holds nothing else"
        raise FileError(goal, f"{fault}; expected a skeleton with markers")
    count = plural(len(markers), "marker")
    lost.append(f"the skeleton and its coordinates: {suffix} holds the paths of its {count} alone")
    parts = [
        replace(thing, q=thing.q[at : at + 4096]).forward().markers
        for at in range(0, max(len(thing), 1), 4096)
    ]
    place = {"first_frame": thing.first_frame, "up_axis": thing.up_axis, "source": thing.source}
    return Markers(np.concatenate(parts), tuple(markers), thing.rate, **place)


def _unit_checked(goal: str, kind: str, length_unit: Unit | None) -> Unit | None:
    suffix = Path(goal).suffix.lower()
    if length_unit is None:
        return None
    if (kind, suffix) in _IN_METRES:
        if metres_per(length_unit) != 1.0:
            raise FileError(goal, f"{suffix} is in metres; length_unit cannot change that")
        return None
    metres_per(length_unit)
    return length_unit


def _unit_of(found: Reading, suffix: str, goal: str) -> Unit | None:
    """Return the length unit to write: that of the source if it is of the same kind."""
    if goal in (".asf", ".amc"):
        from exactik.io.acclaim import choose_asf_unit

        owner = found.thing.skeleton if isinstance(found.thing, Motion) else found.thing
        return choose_asf_unit(owner, None) if isinstance(owner, Skeleton) else None
    if goal != ".bvh":
        return None
    if suffix == ".bvh" and isinstance(found.thing, Motion):
        metres = found.thing.metadata["length_unit"]
        return next((name for name, size in LENGTH_UNITS.items() if size == metres), metres)
    return "cm"


def files_to_write(goal: str, sources: tuple[str | None, ...]) -> tuple[str, ...]:
    """Return the files to write, none of which is read."""
    files = (goal,)
    if Path(goal).suffix.lower() == ".amc":
        files = (goal, str(Path(goal).with_suffix(".asf")))
    for file in files:
        for source in sources:
            if source is None or not (os.path.exists(file) and os.path.exists(source)):
                continue
            if os.path.samefile(file, source):
                beside = " with an .asf beside it" if file != goal else ""
                raise FileError(file, f"is read; expected another name to write to{beside}")
    if len(files) > 1 and os.path.isfile(files[1]):
        with open(files[1], "rb") as file:
            if b"written by exactik" not in file.read(1 << 12):
                text = "would be replaced by the skeleton of the .amc, and exactik did not write it"
                raise FileError(files[1], f"{text}; expected another name for the .amc")
    return files


# --- changes on the way


def _in_time(
    thing: Found, path: str, start: float | None, end: float | None, rate: float | None
) -> Found:
    if isinstance(thing, Skeleton):
        if (start, end, rate) != (None, None, None):
            raise FileError(path, "holds a skeleton; start, end and rate are for recordings")
        return thing
    lasts = max(len(thing) - 1, 0) / thing.rate
    if (start, end) != (None, None):
        frames = len(thing)
        thing = thing.between(start, end)
        if len(thing) == 0 and frames > 0:
            asked = f"{0.0 if start is None else start:g} and {lasts if end is None else end:g} s"
            raise FileError(path, f"no frame between {asked}; the recording lasts {lasts:g} s")
    return thing if rate is None else thing.resampled(rate)


def _upright(
    thing: Found,
    known: str | None,
    path: str,
    up: str | None,
    from_up: str | None,
    notes: list[str],
) -> tuple[Found, str | None]:
    """Return the same with another axis up, and which it is."""
    was = known if from_up is None else _load.checked_axis(from_up)
    if up is not None and was is None:
        was = _USUAL_UP.get(Path(path).suffix.lower())
        if was is None:
            raise FileError(path, "which axis is up is not known; give from_up")
        notes.append(f"{was} is taken for up, as in most such files; from_up says otherwise")
    still = isinstance(thing, Skeleton)
    motion = Motion(thing, thing.neutral()[None], 30.0) if still else thing
    motion = replace(motion, up_axis=was)
    if up is not None and was is not None and _load.checked_axis(up) != was:
        axes = cyclic_axes(was, _load.checked_axis(up))
        motion = motion.turned(axes)
        notes.append(f"turned from {was} up to {motion.up_axis} up (axes {axes})")
        if isinstance(motion, Markers) and len(motion.others) > 0:
            notes.append(f"{len(motion.others)} other series are not turned")
    return (motion.skeleton if still and isinstance(motion, Motion) else motion), motion.up_axis


def write_files(thing: Found, files: tuple[str, ...], unit: Unit | None, up: str | None) -> None:
    """Write a thing to its files, see `files_to_write`."""
    options: dict[str, Any] = {} if unit is None else {"length_unit": unit}
    if Path(files[0]).suffix.lower() == ".glb":
        options = {"markers": True, "up_axis": up}
    goal, *beside = files
    if isinstance(thing, Markers):
        _save.save_markers(thing, goal, **options)
    elif isinstance(thing, Skeleton):
        _save.save_skeleton(thing, goal, **options)
    else:
        for file in beside:  # the skeleton first: an .amc without one is of no use
            _save.save_skeleton(thing.skeleton, file, **options)
        _save.save_motion(thing, goal, **options)
