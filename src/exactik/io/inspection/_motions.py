"""What is in a file and what is odd about it: skeletons, motions, and motions without theirs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from exactik._text import count_noun
from exactik.errors import FileError, Note
from exactik.io._load import load_markers, load_motion, load_skeleton
from exactik.io._notes import Notes, collect_warnings
from exactik.io.formats import (
    ASF,
    Content,
    Format,
    find_content,
    readable_format_of,
    readable_suffixes,
    suffix_of,
)
from exactik.io.inspection._facts import (
    Facts,
    describe_skeleton,
    format_length,
    measure_space,
    name_unit,
    remark,
    split_notes,
)
from exactik.io.inspection._markers import count_prefixes, inspect_markers, name_maker
from exactik.model import Skeleton
from exactik.model.motion import Motion

Unit = str | float | None

LIMIT_ROUNDING_RAD, LIMIT_ROUNDING_M = np.radians(0.5), 5e-4  # files round limits by so much
REST_POSE_STEP_RAD = np.radians(20.0)  # first step, if also five times as large as any other
REST_POSE_FRAMES = 60  # that are compared with the first step
SPACE_POSES = 50  # of a motion that are looked at for its space; more would cost forward kinematics
READABLE = tuple(sorted(readable_suffixes()))


def _inspect_motion(
    path: str, form: Format, motion: Motion, notes: Sequence[Note], skeleton_path: str = ""
) -> Facts:
    """Return the facts of a motion.

    Args:
        notes: what was warned of on reading.
        skeleton_path: where the skeleton is from, if from another file.
    """
    is_missing = np.asarray(np.isnan(motion.q).any(axis=1))
    present = motion.q[~is_missing]
    shown = present[:: max(1, len(present) // SPACE_POSES)]
    space, tallest = measure_space(motion.skeleton.forward(shown).positions)
    assumed, odd = split_notes((*motion.notes, *notes))
    metres = motion.metadata.get("length_unit")
    animation = str(motion.metadata.get("animation") or "")
    return Facts(
        path=path,
        kind="motion",
        format=form.full_name,
        maker=name_maker(motion.metadata) or _guess_maker(motion.skeleton),
        frames=len(motion),
        rate=motion.rate,
        duration=len(motion) / motion.rate,
        first_frame=motion.first_frame,
        missing=float(is_missing.mean()) if len(is_missing) > 0 else 0.0,
        length_unit=name_unit(metres if isinstance(metres, float) else 1.0),
        up_axis=motion.up_axis,
        tallest_axis=tallest,
        space=space,
        prefixes=count_prefixes(motion.skeleton.bone_names),
        skeleton=describe_skeleton(motion.skeleton),
        skeleton_path=skeleton_path,
        details={"animation": animation} if animation != "" else {},
        assumed=assumed,
        oddities=(*_describe_limits(motion), *_describe_first_frame(motion), *odd),
    )


def _inspect_skeleton(
    path: str, form: Format, skeleton: Skeleton, notes: Sequence[Note], length_unit: Unit = None
) -> Facts:
    """Return the facts of a file that holds a skeleton and no motion."""
    assumed, odd = split_notes(notes)
    unit = name_unit(length_unit) if isinstance(length_unit, float) else form.length_unit or "m"
    if form.unit_of is not None:
        unit = name_unit(form.unit_of.resolve()(skeleton))
    elif isinstance(length_unit, str):
        guessed = [note.value for note in assumed if note.code == "unit-guessed"]
        unit = guessed[0] if len(guessed) > 0 else length_unit
    return Facts(
        path=path,
        kind="skeleton",
        format=form.full_name,
        maker=_guess_maker(skeleton),
        length_unit=unit,
        up_axis=form.up_axis if form is ASF else None,  # robots: a custom, no word of the file
        prefixes=count_prefixes(skeleton.bone_names),
        skeleton=describe_skeleton(skeleton),
        details={} if form.details_of is None else form.details_of.resolve()(path, Notes(path)),
        assumed=assumed,
        oddities=odd,
    )


def _inspect_coordinates(
    path: str, form: Format, skeleton: str | None, length_unit: Unit, notes: list[Note]
) -> Facts:
    """Return the facts of a motion without its skeleton, which is read from another file if any.

    Args:
        skeleton: file of the skeleton; without it the one beside the file, if only one can be
            meant.
        length_unit: in place of what the file says.
        notes: takes what is warned of on reading.
    """
    beside = _find_skeleton_beside(path, form) if skeleton is None else None
    other = skeleton if skeleton is not None else beside
    if other is None:
        return _inspect_outline(path, form, notes)
    figure = load_skeleton(other, length_unit if form.companion != "" else None)
    notes.clear()  # what is odd about the other file is told by its own facts
    try:
        motion = load_motion(path, figure, length_unit=length_unit)
    except FileError as error:
        if beside is None:
            raise
        text = f"{error.message} (with the skeleton {Path(beside).name} beside it)"
        raise FileError(path, text, error.place, error.code) from None
    return _inspect_motion(path, form, motion, notes, other)


def _find_skeleton_beside(path: str, form: Format) -> str | None:
    """Return the skeleton in the same folder that a motion can be meant for; None if unclear."""
    if form.companion == "":
        return None
    file = Path(path)
    try:
        candidates = sorted(f for f in file.parent.iterdir() if suffix_of(f) == form.companion)
    except OSError:
        return None
    named = [f for f in candidates if file.stem.lower().startswith(f.stem.lower())]
    if len(named) > 0:  # HDM_bk_walk_01.amc has HDM_bk.asf
        longest = max(len(f.stem) for f in named)
        candidates = [f for f in named if len(f.stem) == longest]
    return str(candidates[0]) if len(candidates) == 1 else None


def _inspect_outline(path: str, form: Format, said: Sequence[Note]) -> Facts:
    """Return what a motion tells without its skeleton."""
    if form.read_outline is None:
        raise FileError(path, "holds no skeleton; give the file that does", code="no-skeleton")
    notes = Notes(path)
    outline = form.read_outline.resolve()(path, notes)
    assumed, odd = split_notes((*notes.all, *said))
    if form.companion != "":
        name = form.companion.removeprefix(".").upper()
        text = f"No {name} file beside it is surely its skeleton; give that with --skeleton to see"
        odd = (*odd, Note("no-skeleton", "remark", "", f"{text} more."))
    rate = outline.rate
    return Facts(
        path=path,
        kind="coordinates",
        format=form.full_name,
        frames=outline.frames,
        rate=rate,
        duration=None if rate is None else outline.frames / rate,
        first_frame=outline.first_frame,
        missing=outline.missing,
        columns=outline.columns,
        up_axis=form.up_axis if form.up_axis_is_fixed else None,
        details=outline.details,
        assumed=assumed,
        oddities=odd,
    )


def _guess_maker(skeleton: Skeleton) -> str:
    """Return who made a figure if its names tell."""
    if skeleton.name == "VICON":
        return "Vicon"
    mixamo = any(name.startswith("mixamorig") for name in skeleton.bone_names)
    return "Mixamo, by the names" if mixamo else ""


def _describe_limits(motion: Motion) -> list[Note]:
    """Return sentences where a motion leaves the limits of its skeleton, or turns round and round.

    Some trackers count whole turns; these are taken off before limits are looked at.
    """
    skeleton, index = motion.skeleton, motion.skeleton.plain_q
    plain = np.flatnonzero((index >= 0) & np.isfinite(skeleton.lower) & np.isfinite(skeleton.upper))
    q = motion.q[~np.isnan(motion.q).any(axis=1)][:, index[plain]]
    if q.size == 0:
        return []
    names = [skeleton.dof_names[k] for k in plain]
    lower, upper, turns = skeleton.lower[plain], skeleton.upper[plain], skeleton.turns[plain]
    whole = np.where(turns, np.round((q - 0.5 * (lower + upper)) / (2.0 * np.pi)), 0.0)
    bare = q - 2.0 * np.pi * whole
    over = np.maximum(bare - upper, lower - bare).max(axis=0)
    notes = []
    outside = over > np.where(turns, LIMIT_ROUNDING_RAD, LIMIT_ROUNDING_M)
    if outside.any():
        worst = int(np.argmax(np.where(outside, over / np.where(turns, 1.0, 0.2), 0.0)))
        by = (
            f"{np.degrees(over[worst]):.0f}°" if turns[worst] else format_length(float(over[worst]))
        )
        count = count_noun(int(outside.sum()), "dof leaves its", "dofs leave their")
        text = f"{count} limits at times, most of all {names[worst]} by {by}."
        notes.append(remark("limits-left", text))
    round_and_round = np.abs(whole).max(axis=0) > 0
    if round_and_round.any():
        far = int(np.argmax(np.abs(whole).max(axis=0)))
        angle = np.degrees(np.abs(q[:, far]).max())
        count = count_noun(int(round_and_round.sum()), "dof counts", "dofs count")
        text = f"{count} whole turns: {names[far]} gets to {angle:.0f}°."
        notes.append(remark("whole-turns", text))
    return notes


def _describe_first_frame(motion: Motion) -> list[Note]:
    """Return a sentence where the first frame is a pose of its own, such as a T-pose in front."""
    turns = motion.skeleton.turns
    q = motion.q[:REST_POSE_FRAMES]
    if len(motion) < 12 or np.isnan(q).any() or not turns.any():
        return []
    steps = np.abs(motion.skeleton.difference(q[1:], q[:-1])[:, turns])
    steps = np.minimum(steps % (2.0 * np.pi), -steps % (2.0 * np.pi)).max(axis=1)
    if steps[0] <= REST_POSE_STEP_RAD or steps[0] <= 5.0 * steps[1:].max():
        return []
    text = (
        f"The first frame is a pose of its own, {np.degrees(steps[0]):.0f}° from the second: "
        "perhaps a rest pose put in front."
    )
    return [remark("rest-pose-in-front", text)]


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
            return _inspect_coordinates(path, form, other, length_unit, notes)
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
        return _inspect_motion(path, form, load_motion(path, length_unit=length_unit), notes)
    return _inspect_skeleton(path, form, load_skeleton(path, length_unit), notes, length_unit)


def _in_metres(facts: Facts, form: Format, error: FileError) -> Facts:
    """Return the facts of a figure that is no human's size, whose unit cannot be guessed."""
    advice = (
        None if error.advice is None else error.advice._replace(after="; shown as if in metres")
    )
    text = f"{form.name} states no length unit, and {error.fault}"
    why = Note(error.code, "assumption", "", text, advice=advice).as_sentence()
    return replace(facts, length_unit="", oddities=(why, *facts.oddities))
