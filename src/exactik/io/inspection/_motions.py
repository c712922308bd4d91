"""The facts of skeletons and motions, also of motions whose skeleton is in another file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from exactik.errors import FileError, Note
from exactik.io._load import load_couplings, load_motion, load_skeleton
from exactik.io._notes import Notes
from exactik.io.formats import ASF, Format, suffix_of
from exactik.io.inspection._facts import (
    Facts,
    count_prefixes,
    describe_skeleton,
    measure_space,
    name_unit,
)
from exactik.io.inspection._markers import name_maker
from exactik.io.inspection._oddities import describe_first_frame, describe_limits, split_notes
from exactik.model import Skeleton
from exactik.motion import Motion

__all__ = ["inspect_coordinates", "inspect_motion", "inspect_skeleton"]

Unit = str | float | None

SPACE_POSES = 50  # of a motion that are looked at for its space; more would cost forward kinematics


def inspect_motion(
    path: str, form: Format, motion: Motion, notes: Sequence[Note], skeleton_path: str = ""
) -> Facts:
    """Return the facts of a motion.

    Args:
        path: of the file.
        form: its format.
        motion: what it holds.
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
        oddities=(*describe_limits(motion), *describe_first_frame(motion), *odd),
    )


def inspect_skeleton(
    path: str, form: Format, skeleton: Skeleton, notes: Sequence[Note], length_unit: Unit = None
) -> Facts:
    """Return the facts of a file that holds a skeleton and no motion."""
    couplings = load_couplings(path) if form.has_couplings else {}
    assumed, odd = split_notes(notes)
    unit = name_unit(length_unit) if isinstance(length_unit, float) else form.length_unit or "m"
    if form.unit_of is not None:
        unit = name_unit(form.unit_of(skeleton))
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
        skeleton=describe_skeleton(skeleton, len(couplings)),
        assumed=assumed,
        oddities=odd,
    )


def inspect_coordinates(
    path: str, form: Format, skeleton: str | None, length_unit: Unit, notes: list[Note]
) -> Facts:
    """Return the facts of a motion without its skeleton, which is read from another file if any.

    Args:
        path: of the file.
        form: its format.
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
    return inspect_motion(path, form, motion, notes, other)


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
    if form.outline_of is None:
        raise FileError(path, "holds no skeleton; give the file that does", code="no-skeleton")
    notes = Notes(path)
    outline = form.outline_of(path, notes)
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
