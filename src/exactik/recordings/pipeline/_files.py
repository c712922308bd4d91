"""The files of a solve: a recording and a skeleton as they are read, a motion as it is written."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

from exactik import model as figures
from exactik._text import join_names
from exactik.anatomy import stand_up_skeleton
from exactik.errors import Advice, FileError, UnknownNameError
from exactik.io import (
    Note,
    choose_unit,
    collect_warnings,
    describe_markers,
    files_to_write,
    find_format,
    find_robot,
    find_skeleton_beside,
    find_up_axis,
    inspect_markers,
    list_robots,
    load_markers,
    load_motion,
    load_skeleton,
    readable_suffixes,
    suffix_of,
    write_files,
)
from exactik.io.formats import CSV, MOT, NPZ, reader_of
from exactik.io.native import read_npz_metadata
from exactik.io.tables import ColumnQuality, list_coordinate_columns, quality_path
from exactik.model import Skeleton
from exactik.model.motion import Markers, Motion, axes_matrix, check_up_axis, turn_to_up
from exactik.recordings.angles import is_body
from exactik.recordings.calibration import CalibrationRecord, HandMapping
from exactik.recordings.pipeline._options import RecordingOptions
from exactik.recordings.pipeline._subjects import choose_subjects
from exactik.recordings.pipeline._up_axis import align_up_axis, find_motion_up, find_upright_person
from exactik.recordings.tracking import FigureErrors, Quality, Track

BUILT_IN = ("human", "quadruped", "hand", "octopus")  # what stands for our own figures


@dataclass
class LoadedSkeleton:
    """The skeleton that is to move."""

    skeleton: Skeleton  # itself
    name: str  # file, or that of a figure of our own
    up: str | None  # which axis is up at rest, None if nobody knows
    notes: list[str] = field(default_factory=list)  # what is to be said about it, a sentence each
    metadata: Mapping[str, Any] = field(default_factory=dict)  # what its file says beside it

    @cached_property
    def record(self) -> CalibrationRecord | None:
        """How it was fitted to a subject, if its file says so."""
        return CalibrationRecord.from_metadata(self.metadata)

    @cached_property
    def figure_errors(self) -> FigureErrors | None:
        """How far it may be wrong where it was fitted, if its file says so."""
        try:
            return FigureErrors.from_dict(self.skeleton, self.metadata["figure_errors"])
        except (KeyError, TypeError, ValueError):
            return None

    @property
    def upright(self) -> Skeleton:
        """The skeleton with z up, as the scene of a viewer has it."""
        return stand_up_skeleton(self.skeleton, self.up)

    @property
    def built_in(self) -> bool:
        """Whether it is a figure of our own, which has nobody's size."""
        return self.name in BUILT_IN


@dataclass
class LoadedMotion:
    """A motion as read."""

    motion: Motion  # with the axis that is up, where that is known
    notes: list[str]  # what is odd, a sentence each


@dataclass
class LoadedRecording:
    """A recording as read."""

    markers: Markers  # in the axes of the skeleton
    words: str  # what was read, in a line
    notes: list[str]  # what is odd and what was done, a sentence each


def read_skeleton(
    name: str, unit: str | float | None = None, up: str | None = None
) -> LoadedSkeleton:
    """Return the skeleton in a file, a figure of our own, or a robot by its name.

    Args:
        name: the file; "human", "quadruped", "hand" or "octopus"; or as for `find_robot`.
        unit: length unit of the file, in place of what it says.
        up: which axis is up, in place of what is customary.
    """
    own = name.lower()
    if own in BUILT_IN and not Path(name).exists():
        figure: Skeleton = getattr(figures, own)()
        return LoadedSkeleton(figure, own, "z" if up is None else check_up_axis(up))
    notes: list[Note] = []
    form, known = find_format(name), readable_suffixes("skeleton")
    if suffix_of(name) not in known and not Path(name).exists():
        try:
            file = str(find_robot(name))
        except UnknownNameError:
            raise FileError(name, _say_what_figures_there_are(own)) from None
        loaded = read_skeleton(file, unit, up)
        return replace(loaded, notes=[f"read from {file}", *loaded.notes])
    with collect_warnings(notes, name):
        unstated = form is not None and form.length_unit is None
        skeleton = load_skeleton(name, "auto" if unit is None and unstated else unit)
        up_axis = _find_skeleton_up(name, skeleton, notes) if up is None else check_up_axis(up)
    metadata = read_npz_metadata(name) if form is NPZ else {}
    return LoadedSkeleton(skeleton, name, up_axis, [*notes], metadata)


def _say_what_figures_there_are(name: str) -> str:
    """Return a sentence for a name that no figure has, with near misses."""
    robots = list_robots()
    near = get_close_matches(name, BUILT_IN, n=1) or get_close_matches(name, robots, n=2)
    hint = f"did you mean {' or '.join(near)}? " if len(near) > 0 else ""
    known = " ".join(readable_suffixes("skeleton"))
    by_name = "" if len(robots) > 0 else " (names of robots: pip install robot_descriptions)"
    return (
        f"no such figure; {hint}Expected {', '.join(BUILT_IN)}, a robot by name{by_name} or a file "
        f"({known})"
    )


def _find_skeleton_up(name: str, skeleton: Skeleton, notes: list[Note]) -> str | None:
    """Return which axis is up for a skeleton at rest; None if nothing tells."""
    form = find_format(name)
    if form is None or form.up_axis_of is not None:  # its file says so
        return find_up_axis(name)
    rest = Motion(skeleton, skeleton.neutral()[None], 1.0, source=name)
    up = find_motion_up(rest)
    _note_unusual_up(name, up, notes)
    return up


def read_motion(
    name: str,
    figure: Skeleton | None = None,
    up: str | None = None,
    figure_up: str | None = None,
    *,
    by_custom: bool = True,
    smpl_model: str | None = None,
) -> LoadedMotion:
    """Return the motion in a file, with the axis that is up in it.

    Args:
        figure: skeleton, for files that hold none; without it one that lies beside the file.
        up: which axis is up, in place of what the file or custom says.
        figure_up: which axis is up in the skeleton's file; holds where the motion does not tell.
        by_custom: whether what is usual for such files holds where nothing tells.
        smpl_model: file of the model, for parameters of the SMPL family.
    """
    form = find_format(name)
    notes: list[Note] = []
    needs_skeleton = form is not None and form.needs_skeleton and figure is None
    reader_of(name, "motion")
    if not Path(name).exists():
        raise FileError(name, "cannot be read: No such file or directory")
    if form is not None and needs_skeleton and form.companion == "":
        advice = Advice("; give ", "skeleton", after=", the file that does")
        raise FileError(name, "holds no skeleton", code="no-skeleton", advice=advice)
    with collect_warnings(notes, name):
        if needs_skeleton:
            figure = load_skeleton(find_skeleton_beside(name))
        unstated = form is not None and form.length_unit is None
        motion = load_motion(
            name, figure, length_unit="auto" if unstated else None, smpl_model=smpl_model
        )
    known = motion.up_axis if up is None else check_up_axis(up)
    if known is None and by_custom:
        known = find_motion_up(replace(motion, source=name))
        _note_unusual_up(name, known, notes)
    return LoadedMotion(replace(motion, up_axis=known or figure_up), [*notes])


def _note_unusual_up(name: str, up: str | None, notes: list[Note]) -> None:
    """Note an up axis that was seen on the figure and is not the one of most such files."""
    form = find_format(name)
    custom = None if form is None or form.up_axis_of is not None else form.up_axis
    if up is not None and custom not in (None, up):
        text = f"{up} is taken for up, along which the figure stands, although {custom} is usual"
        advice = Advice("; ", "up", after=" says otherwise")
        notes.append(Note("up-axis-assumed", "assumption", "", text, up, advice))


def read_recording(
    path: Path,
    skeleton_up: str | None,
    options: RecordingOptions | None = None,
    *,
    align: bool = True,
) -> LoadedRecording:
    """Return the markers in a file, turned to the axes of the skeleton, cut in time.

    Args:
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


def read_trial(
    path: Path,
    skeleton_up: str | None,
    options: RecordingOptions,
    subject: str | None,
    by_hand: HandMapping | None,
) -> tuple[str, Markers, list[str]]:
    """Return what was read in words, the markers of the subject, and what is to be said of them.

    Args:
        path: a recording that a figure is fitted to.
        skeleton_up: which axis is up for the figure.
        options: what the user says about the file.
        subject: whom to take of several; the first if None.
        by_hand: what recorded markers are, see `propose_mapping`.
    """
    read = read_recording(path, skeleton_up, options)
    chosen = choose_subjects(read.markers, subject, by_hand)[0]
    notes = [*read.notes, *chosen.notes]
    if len(chosen.subjects) > 1:
        others = join_names([name for name in chosen.subjects if name != chosen.name])
        notes.append(f"Fitted to {chosen.name}, not to {others}. --subject says otherwise.")
    return read.words, chosen.markers, notes


def rate_columns(track: Track, blank: Collection[Quality]) -> ColumnQuality:
    """Return what the values of a track are worth, by the names that tables have for them.

    Args:
        track: the solved recording.
        blank: qualities of the values that are left out.
    """
    skeleton, quality = track.skeleton, track.quality
    codes = dict(zip(skeleton.bone_names, track.joint_quality.T, strict=True))
    if is_body(skeleton):
        codes |= dict(zip(track.angles().names, track.angle_quality.T, strict=True))
    dofs = dict(zip(skeleton.dof_names, quality.T, strict=True))
    columns = [column for column in list_coordinate_columns(skeleton) if column.dof in dofs]
    codes |= dofs | {column.name: dofs[column.dof] for column in columns}
    words = tuple(quality.name.lower() for quality in Quality)
    return ColumnQuality(codes=codes, words=words, blank=tuple(map(int, blank)))


def write_motion(
    motion: Motion,
    path: Path,
    angles: str | None = None,
    rotations: str | None = None,
    quality: ColumnQuality | None = None,
) -> list[tuple[Path, str]]:
    """Write a motion as what its name says; return the files and what is in them, in words.

    Args:
        angles: columns of MOT and CSV, see `write_csv_motion`. If None, CSV gets joint angles of
            a body alone, and MOT the coordinates too, for these can be read again.
        rotations: columns of CSV, likewise; coordinates if None.
        quality: what values are worth, for CSV, MOT and NPZ; see `rate_columns`.
    """
    form, up, turned = find_format(path), motion.up_axis, ""
    assert form is not None  # as planned
    # Readers of a format that cannot say which axis is up expect the customary one.
    assumed = None if "motion" in form.states_up_axis else form.up_axis
    if assumed is not None and up is not None and up != assumed:
        motion = turn_to_up(motion, assumed)
        turned = f", turned from {up} up to {assumed} up, as readers of {form.suffix} expect"
    files = files_to_write(str(path), ())
    more = {"angles": angles, "rotations": rotations, "quality": quality}
    if angles is None and form is CSV and rotations is None and is_body(motion.skeleton):
        more["angles"] = "clinical"
    given = {name: value for name, value in more.items() if value is not None}
    write_files(motion, files, choose_unit(motion, form), motion.up_axis, **given)
    columns = f"{motion.skeleton.nv} dofs"
    if more["angles"] == "clinical" and form is CSV:
        columns = "the joint angles of the ISB"
    words = f"{len(motion)} frames of {columns}{turned}"
    beside = [(Path(file), "its skeleton") for file in files[1:]]
    if quality is not None and form is MOT:
        beside.append((Path(quality_path(str(path))), "what its values are worth"))
    return [(path, words), *beside]
