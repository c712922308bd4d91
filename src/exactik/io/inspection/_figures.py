"""The facts of skeletons and motions, also of motions whose skeleton is in another file."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from exactik.errors import FileError
from exactik.io._files import read_text
from exactik.io._load import load_couplings, load_motion, load_skeleton
from exactik.io._notes import Notes
from exactik.io.acclaim import AcclaimSkeleton
from exactik.io.inspection._facts import (
    Facts,
    format_of,
    prefixes_of,
    skeleton_facts,
    space_of,
    unit_name,
)
from exactik.io.inspection._markers import maker_of
from exactik.io.inspection._oddities import limit_sentences, parted, start_sentences
from exactik.io.tables import estimate_rate, read_mot
from exactik.model import Skeleton
from exactik.motion import Motion

__all__ = ["facts_of_figure", "facts_of_motion", "facts_of_moves", "facts_of_skeleton"]

Unit = str | float | None

ROBOTS = (".urdf", ".xml", ".mjcf")
NO_MOTION = ("no MOTION section", "missing or empty; expected a motion")  # but a skeleton
SAMPLES = 50  # poses of a motion that are looked at for its space
LARGEST_NUMBER = 9  # digits of a frame's number in an AMC file


def facts_of_figure(path: str, length_unit: Unit, said: list[str]) -> Facts:
    """Return the facts of a BVH or glTF file, which has a skeleton and may have a motion."""
    is_bvh = Path(path).suffix.lower() == ".bvh"
    unit = "auto" if is_bvh and length_unit is None else length_unit
    try:
        return _figure(path, unit, said)
    except FileError as error:
        if unit != "auto":
            raise
        said.clear()
        try:  # a figure that is no human's size has a unit that cannot be guessed
            facts = _figure(path, 1.0, said)
        except FileError:
            raise error from None
        why = f"BVH states no length unit, and {error.message}; shown as if in metres."
        return replace(facts, length_unit="", oddities=(why, *facts.oddities))


def _figure(path: str, length_unit: Unit, said: list[str]) -> Facts:
    try:
        return facts_of_motion(path, load_motion(path, length_unit=length_unit), said)
    except FileError as error:
        if not error.message.startswith(NO_MOTION):
            raise
    said.clear()
    return facts_of_skeleton(path, load_skeleton(path, length_unit), said, length_unit)


def facts_of_motion(
    path: str, motion: Motion, said: Sequence[str], skeleton_path: str = ""
) -> Facts:
    """Return the facts of a motion.

    Args:
        path: of the file.
        motion: what it holds.
        said: what was warned of on reading.
        skeleton_path: where the skeleton is from, if from another file.
    """
    gone = np.asarray(np.isnan(motion.q).any(axis=1))
    whole = motion.q[~gone]
    shown = whole[:: max(1, len(whole) // SAMPLES)]
    space, tallest = space_of(motion.skeleton.forward(shown).positions)
    assumed, noted = parted((*motion.notes, *said))
    metres = motion.metadata.get("length_unit")
    name = str(motion.metadata.get("animation") or "")
    return Facts(
        path=path,
        kind="motion",
        format=format_of(path),
        maker=maker_of(motion.metadata) or _maker_by_names(motion.skeleton),
        frames=len(motion),
        rate=motion.rate,
        duration=len(motion) / motion.rate,
        first_frame=motion.first_frame,
        missing=float(gone.mean()) if len(gone) > 0 else 0.0,
        length_unit=unit_name(metres if isinstance(metres, float) else 1.0),
        up_axis=motion.up_axis,
        tallest_axis=tallest,
        space=space,
        prefixes=prefixes_of(motion.skeleton.bone_names),
        skeleton=skeleton_facts(motion.skeleton),
        skeleton_path=skeleton_path,
        details={"animation": name} if name != "" else {},
        assumed=assumed,
        oddities=(*limit_sentences(motion), *start_sentences(motion), *noted),
    )


def facts_of_skeleton(
    path: str, skeleton: Skeleton, said: Sequence[str], length_unit: Unit = None
) -> Facts:
    """Return the facts of a file that holds a skeleton and no motion."""
    coupled = 0
    if Path(path).suffix.lower() in ROBOTS:
        coupled = len(load_couplings(path))
    assumed, noted = parted(said)
    figure = skeleton_facts(skeleton, coupled)
    unit = "m" if not isinstance(length_unit, float) else unit_name(length_unit)
    if isinstance(skeleton, AcclaimSkeleton):
        unit = unit_name(skeleton.acclaim.metres)
    elif isinstance(length_unit, str):
        match = re.match(r"Length unit (.*?) assumed", assumed[0] if len(assumed) > 0 else "")
        unit = length_unit if match is None else match[1]
    return Facts(
        path=path,
        kind="skeleton",
        format=format_of(path),
        maker=_maker_by_names(skeleton),
        length_unit=unit,
        up_axis="y" if isinstance(skeleton, AcclaimSkeleton) else None,
        prefixes=prefixes_of(skeleton.bone_names),
        skeleton=figure,
        assumed=assumed,
        oddities=noted,
    )


def facts_of_moves(path: str, skeleton: str | None, length_unit: Unit, said: list[str]) -> Facts:
    """Return the facts of an AMC or MOT file, with a skeleton of another file if there is one."""
    is_amc = Path(path).suffix.lower() == ".amc"
    beside = _asf_beside(path) if is_amc and skeleton is None else None
    other = skeleton if skeleton is not None else beside
    if other is None:
        return _amc_alone(path) if is_amc else _mot_alone(path, said)
    figure = load_skeleton(other, length_unit if is_amc else None)
    # What is odd about the other file is told by its own note.
    said.clear()
    try:
        motion = load_motion(path, figure, length_unit=length_unit)
    except FileError as error:
        if beside is None:
            raise
        text = f"{error.message} (with the skeleton {Path(beside).name} beside it)"
        raise FileError(path, text, error.place) from None
    return facts_of_motion(path, motion, said, other)


def _asf_beside(path: str) -> str | None:
    """Return the skeleton in the same folder that an AMC file can be meant for; None if unclear."""
    file = Path(path)
    try:
        found = sorted(f for f in file.parent.iterdir() if f.suffix.lower() == ".asf")
    except OSError:
        return None
    named = [f for f in found if file.stem.lower().startswith(f.stem.lower())]
    if len(named) > 0:  # HDM_bk_walk_01.amc has HDM_bk.asf
        longest = max(len(f.stem) for f in named)
        named = [f for f in named if len(f.stem) == longest]
    found = named if len(named) > 0 else found
    return str(found[0]) if len(found) == 1 else None


def _amc_alone(path: str) -> Facts:
    """Return the little that an AMC file tells without its skeleton."""
    lines = [line.strip() for line in read_text(path).split("\n")]
    numbers = [k for k, line in enumerate(lines) if line.isdecimal() and line.isascii()]
    numbers = [k for k in numbers if len(lines[k]) <= LARGEST_NUMBER]
    if len(numbers) == 0:
        raise FileError(path, "no frames; expected a frame number after the head")
    end = numbers[1] if len(numbers) > 1 else len(lines)
    bones = [line.split()[0] for line in lines[numbers[0] + 1 : end] if line != ""]
    return Facts(
        path=path,
        kind="coordinates",
        format="AMC",
        frames=len(numbers),
        first_frame=int(lines[numbers[0]]),
        columns=tuple(bones),
        up_axis="y",
        assumed=("AMC states no rate.",),
        oddities=(
            "No ASF file beside it is surely its skeleton; give that with --skeleton to see more.",
        ),
    )


def _mot_alone(path: str, said: Sequence[str]) -> Facts:
    """Return the table of a MOT or STO file."""
    notes = Notes(path)
    table = read_mot(path, notes)
    rate = estimate_rate(table.times, None, notes) if len(table.times) > 1 else math.nan
    known = math.isfinite(rate)
    gone = np.isnan(table.values)
    assumed, noted = parted((*notes.all, *said))
    return Facts(
        path=path,
        kind="coordinates",
        format=format_of(path),
        frames=len(table.times),
        rate=rate if known else None,
        duration=len(table.times) / rate if known else None,
        first_frame=1,
        missing=float(gone.mean()) if gone.size > 0 else 0.0,
        columns=table.names,
        details={
            "angles": "in degrees" if table.in_degrees else "in radians",
            "time": f"{table.times[0]:g} to {table.times[-1]:g} s" if len(table.times) else "none",
        },
        assumed=assumed,
        oddities=noted,
    )


def _maker_by_names(skeleton: Skeleton) -> str:
    """Return who made a figure if its names tell."""
    if skeleton.name == "VICON":
        return "Vicon"
    mixamo = any(name.startswith("mixamorig") for name in skeleton.bone_names)
    return "Mixamo, by the names" if mixamo else ""
