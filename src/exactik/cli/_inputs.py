"""What commands read: recordings and a skeleton, brought into the same axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from glob import glob, has_magic
from pathlib import Path

from exactik.calibration import CalibrationRecord
from exactik.cli._options import RecordingOptions
from exactik.errors import FileError
from exactik.io import (
    Note,
    check_axis,
    collect_warnings,
    describe_markers,
    find_format,
    find_up_axis,
    inspect_markers,
    load_markers,
    load_skeleton,
    readable_suffixes,
    suffix_of,
)
from exactik.io.formats import NPZ
from exactik.io.native import read_npz_metadata
from exactik.model import Skeleton, human
from exactik.motion import Markers, axes_matrix
from exactik.pipeline import align_up_axis, find_upright_person

__all__ = [
    "LoadedRecording",
    "LoadedSkeleton",
    "find_recordings",
    "read_recording",
    "read_skeleton",
]

HUMAN = "human"  # what stands for the built-in figure in place of a file


@dataclass
class LoadedSkeleton:
    """The skeleton that is to move.

    Attributes:
        skeleton: itself.
        name: file, or "human".
        up: which axis is up at rest, None if nobody knows.
        notes: what is to be said about it, a sentence each.
        record: how it was fitted to a subject, if its file says so.
    """

    skeleton: Skeleton
    name: str
    up: str | None
    notes: list[str] = field(default_factory=list)
    record: CalibrationRecord | None = None

    @property
    def built_in(self) -> bool:
        """Whether it is our own human, which has nobody's size."""
        return self.name == HUMAN


@dataclass
class LoadedRecording:
    """A recording as read.

    Attributes:
        markers: in the axes of the skeleton.
        words: what was read, in a line.
        notes: what is odd and what was done, a sentence each.
    """

    markers: Markers
    words: str
    notes: list[str]


def find_recordings(given: Sequence[str]) -> list[Path]:
    """Return the recordings that names, patterns and folders mean; each once."""
    paths: list[Path] = []
    known = readable_suffixes("markers")
    for name in given:
        path = Path(name)
        if path.is_dir():
            inside = sorted(p for p in path.iterdir() if suffix_of(p) in known)
            inside = [p for p in inside if suffix_of(p) != NPZ.suffix]
            if len(inside) == 0:
                raise FileError(name, f"no recording in it; expected one of {' '.join(known)}")
            paths += inside
        elif has_magic(name) and not path.exists():
            matches = sorted(map(Path, glob(name, recursive=True)))
            if len(matches) == 0:
                raise FileError(name, "no file fits this pattern")
            paths += matches
        else:
            paths.append(path)
    return list(dict.fromkeys(paths))


def read_skeleton(
    name: str, unit: str | float | None = None, up: str | None = None
) -> LoadedSkeleton:
    """Return the skeleton in a file, or the built-in human.

    Args:
        name: the file, or "human".
        unit: length unit of the file, in place of what it says.
        up: which axis is up, in place of what is customary.
    """
    if name.lower() == HUMAN:
        return LoadedSkeleton(human(), HUMAN, "z" if up is None else check_axis(up))
    notes: list[Note] = []
    form, known = find_format(name), readable_suffixes("skeleton")
    if suffix_of(name) not in known and not Path(name).exists():
        raise FileError(name, f"no such skeleton; expected human or one of {' '.join(known)}")
    with collect_warnings(notes, name):
        unstated = form is not None and form.length_unit is None
        skeleton = load_skeleton(name, "auto" if unit is None and unstated else unit)
        up_axis = find_up_axis(name) if up is None else check_axis(up)
    record = None
    if form is NPZ:
        record = CalibrationRecord.from_metadata(read_npz_metadata(name))
    return LoadedSkeleton(skeleton, name, up_axis, [*notes], record)


def read_recording(
    path: Path,
    skeleton_up: str | None,
    options: RecordingOptions | None = None,
    *,
    align: bool = True,
) -> LoadedRecording:
    """Return the markers in a file, turned to the axes of the skeleton, cut in time.

    Args:
        path: the file.
        skeleton_up: which axis is up for the skeleton; None if nobody knows.
        options: what the user says about the file.
        align: whether to turn it; what `solve_recording` gets stays as it is in the file.
    """
    options = RecordingOptions() if options is None else options
    if options.axes is not None:
        axes_matrix(options.axes)  # a misspelt one is the user's fault, before any of the file
    warnings: list[Note] = []
    with collect_warnings(warnings, str(path)):
        markers = load_markers(path, length_unit=options.length_unit, up_axis=options.up)
    words = describe_markers(markers)
    start, end = options.start, options.end
    if (start, end) != (None, None):
        duration = max(len(markers) - 1, 0) / markers.rate
        cut = markers.between(start, end)
        if len(cut) == 0 and len(markers) > 0:
            first, last = 0.0 if start is None else start, duration if end is None else end
            message = f"no frame between {first:g} and {last:g} s"
            raise FileError(path, f"{message}; the recording lasts {duration:g} s")
        if len(cut) < len(markers):
            last_frame = cut.first_frame + len(cut) - 1
            words = f"{words}; frames {cut.first_frame} to {last_frame} of it"
        markers = cut
    if len(markers) == 0 or len(markers.names) == 0:
        what = "frames" if len(markers) == 0 else "markers"
        raise FileError(path, f"holds no {what}; expected a recording")
    form = find_format(path)
    assert form is not None  # it was read
    facts = inspect_markers(str(path), form, markers, warnings)
    notes: list[str] = [*facts.assumed, *facts.oddities]
    if options.axes is not None:
        return LoadedRecording(markers.turned(options.axes), words, notes)
    if not align:
        return LoadedRecording(markers, words, notes)
    is_given = options.up is not None
    aligned = align_up_axis(markers, skeleton_up, find_upright_person(markers), is_given=is_given)
    return LoadedRecording(aligned.markers, words, [*notes, *aligned.notes])
