"""OpenSim's .mot and .sto: a header that ends with endheader, the names of the columns, rows.

Angles are in degrees where the header says inDegrees=yes, and in the old header of SIMM, which says
nothing; translations are always in metres.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from exactik._registry import find
from exactik.errors import FileError
from exactik.io._files import open_atomic
from exactik.io._format import Outline
from exactik.io._notes import Notes
from exactik.io.tables._columns import (
    AngleColumns,
    Column,
    ColumnQuality,
    compare_count,
    compute_column,
    estimate_rate,
    list_clinical_columns,
    list_coordinate_columns,
    match_columns,
    parse_row,
    split_storage,
)
from exactik.model import Skeleton
from exactik.model.motion import Motion
from exactik.typing import Array

UNITS = (
    "",
    "Units are S.I. units (second, meters, Newtons, ...)",
    "If the header above contains a line with 'inDegrees', this indicates whether rotational "
    "values are in degrees (yes) or radians (no).",
    "",
)


class CoordinateTable(NamedTuple):
    """Columns of numbers over time, as the file has them."""

    names: tuple[str, ...]  # of the columns, without the time
    values: Array  # (T, n); angles in degrees if `in_degrees`
    times: Array  # [s], (T,)
    in_degrees: bool  # whether angles are in degrees


def load_coordinate_table(
    path: str | os.PathLike[str], notes: Notes | None = None
) -> CoordinateTable:
    """Return the columns of a .mot or .sto file, whatever they are."""
    path = os.fspath(path)
    notes = notes or Notes(path)
    lines, end = split_storage(path, notes, "a motion or storage of OpenSim")
    header = [line.strip() for line in lines[:end]]
    stated = next((x for x in header if x.lower().startswith("indegrees")), None)
    in_degrees = stated is None or stated.partition("=")[2].strip().lower() == "yes"
    if stated is None:
        notes.remark("the header does not say whether angles are in degrees; degrees are assumed")
    names = [cell.strip() for cell in lines[end + 1].rstrip().split("\t")]
    if len(names) < 2:
        names = lines[end + 1].split()
    if len(names) == 0 or names[0].lower() != "time":
        raise notes.error("expected a first column called time", f"line {end + 2}")
    rows = []
    for index in range(end + 2, len(lines)):
        if lines[index].strip() == "":
            continue
        cells = lines[index].split()
        if len(cells) != len(names):
            place = f"line {index + 1}"
            if index >= len(lines) - 2 and len(cells) < len(names) and len(rows) > 0:
                notes.flag_damage("the last row is cut off and was dropped", place)
                continue
            raise notes.error(f"expected {len(names)} numbers, found {len(cells)}", place)
        rows.append(parse_row(cells, notes, index + 1))
    table = np.array(rows).reshape(len(rows), len(names))
    for line in header:
        key, _, value = line.replace("=", " ").partition(" ")
        if key.lower() in ("nrows", "datarows"):
            compare_count(value, len(rows), "rows", notes)
    return CoordinateTable(
        names=tuple(names[1:]), values=table[:, 1:], times=table[:, 0], in_degrees=in_degrees
    )


def outline_mot(path: str, notes: Notes) -> Outline:
    """Return what the table of a MOT or STO file tells without a skeleton."""
    table = load_coordinate_table(path, notes)
    rate = estimate_rate(table.times, None, notes) if len(table.times) > 1 else np.nan
    is_missing = np.isnan(table.values)
    return Outline(
        columns=table.names,
        frames=len(table.times),
        rate=rate if np.isfinite(rate) else None,
        missing=float(is_missing.mean()) if is_missing.size > 0 else 0.0,
        details={
            "angles": "in degrees" if table.in_degrees else "in radians",
            "time": f"{table.times[0]:g} to {table.times[-1]:g} s" if len(table.times) else "none",
        },
    )


def read_mot_motion(
    path: str,
    notes: Notes,
    skeleton: Skeleton | None = None,
    rate: float | None = None,
) -> Motion:
    """Return the columns as a motion of a skeleton; columns are matched with the names of dofs."""
    if skeleton is None:
        raise notes.error(
            "holds no skeleton; give one: load_motion(path, skeleton)", code="no-skeleton"
        )
    table = load_coordinate_table(path, notes)
    q = np.tile(skeleton.neutral(), (len(table.times), 1))
    matches = match_columns(skeleton, table.names)
    if len(matches) == 0:
        columns = list_coordinate_columns(skeleton)
        first, expected = (*table.names, "none")[0], columns[0].name if len(columns) > 0 else "none"
        raise notes.error(
            f"no column is named as a dof of the skeleton: the first is {first[:40]!r}; "
            f"expected names such as {expected!r}"
        )
    for number, column in matches.items():
        if column.q_index >= 0:  # one that follows another has its value from that
            scale = np.pi / 180.0 if table.in_degrees and column.is_angle else 1.0
            q[:, column.q_index] = table.values[:, number] * scale
    # What nothing determined has no number: a figure needs one, unless the whole frame is missing.
    rest, is_root = skeleton.neutral(), np.zeros(skeleton.nq, dtype=bool)
    is_root[skeleton.plain_q[(skeleton.dof_bones == 0) & (skeleton.plain_q >= 0)]] = True
    is_empty = np.isnan(q) & ~is_root & ~np.isnan(q[:, ~is_root]).all(axis=1, keepdims=True)
    if is_empty.any():
        q = np.where(is_empty, rest, q)
        count = int(is_empty.any(axis=1).sum())
        notes.remark(f"{count} frames lack values, which are taken from the pose at rest")
    # Joint angles are what we write beside the coordinates; the pose does not need them.
    others = {name for number, name in enumerate(table.names) if number not in matches}
    unmatched = [name for name in table.names if name in others - find("ANGLE_NAMES")]
    if len(unmatched) > 0:
        shown = ", ".join(unmatched[:5])
        notes.remark(f"{len(unmatched)} columns match no dof and were left out: {shown}")
    frame_rate = rate if rate is not None else estimate_rate(table.times, None, notes)
    has_time = len(table.times) > 0 and np.isfinite(table.times[0])
    return Motion(
        skeleton,
        q,
        frame_rate,
        source=path,
        metadata={"format": "MOT"},
        notes=notes.all,
        start_time=float(table.times[0]) if has_time else 0.0,
    )


def write_mot(
    motion: Motion,
    path: str,
    in_degrees: bool = True,
    angles: AngleColumns = "both",
    quality: ColumnQuality | None = None,
) -> None:
    """Write joint angles and the coordinates of all dofs, a column each.

    Args:
        motion: what to write.
        path: where.
        in_degrees: whether angles are in degrees, else in radians.
        angles: "clinical" for the joint angles of docs/angles.md, "joints" for the coordinates, by
            which the motion can be read again, "both" for both, in this order, unless names of
            coordinates are those of joint angles. Quaternions have no such columns.
        quality: what the values are worth: codes go to a table of their own, see `quality_path`.
    """
    columns = list_clinical_columns(motion, angles)
    if angles != "clinical":
        coordinates = _list_coordinates(motion, path)
        # A model of OpenSim has coordinates called as the clinical angles are, but not the same:
        # a table has one column of a name, and the model's own are the ones to play it with.
        taken = {column.name for column in coordinates}
        is_apart = all(column.name not in taken for column in columns)
        columns = [*(columns if is_apart else ()), *coordinates]
    names = [column.name for column in columns]
    if quality is not None:
        codes = np.array([quality.find(c) for c in columns], dtype=float)
        title = f"Quality: {', '.join(f'{k} {word}' for k, word in enumerate(quality.words))}"
        codes = codes.reshape(len(columns), len(motion)).T
        write_storage(quality_path(path), title, motion.times, names, codes)
        columns = quality.leave_out(columns)
    convert = {"rad": np.degrees} if in_degrees else {"deg": np.radians}
    rows = np.empty((len(motion), len(columns)))
    for k, column in enumerate(columns):
        rows[:, k] = convert.get(column.unit, np.asarray)(column.values)
    header = ("Coordinates", "version=1", f"nRows={len(motion)}", f"nColumns={len(columns) + 1}")
    with open_atomic(path) as file:
        file.write("\n".join((*header, f"inDegrees={'yes' if in_degrees else 'no'}", "endheader")))
        file.write("\n" + "\t".join(("time", *names)) + "\n")
        for time, row in zip(motion.times.tolist(), rows.tolist(), strict=True):
            file.write("\t".join(f"{x:.12g}" for x in (time, *row)) + "\n")


def quality_path(path: str) -> str:
    """Return the name of the table of qualities beside a motion: walk-quality.mot for walk.mot."""
    return str(Path(path).with_stem(f"{Path(path).stem}-quality"))


def _list_coordinates(motion: Motion, path: str) -> list[Column]:
    skeleton, q = motion.skeleton, motion.q
    if len(skeleton.quaternions) > 0:
        bone, _ = skeleton.quaternions[0]
        hint = "BVH and NPZ can hold it, and a skeleton read from BVH has angles instead"
        raise FileError(path, f"bone {bone!r} turns by a quaternion, no column of .mot; {hint}")
    for name in skeleton.bone_names:
        if name != name.lstrip() or any(c in name for c in "\t\n\r"):
            rule = "in .mot a name has no tabs, no line ends and no blanks before it"
            raise FileError(path, f"cannot be written: bone {name!r} must be renamed, for {rule}")
    return [
        Column(column.name, "rad" if column.is_angle else "m", compute_column(skeleton, column, q))
        for column in list_coordinate_columns(skeleton)
    ]


def write_storage(
    path: str,
    title: str,
    times: Array,
    names: Sequence[str],
    values: Array,
    *,
    in_degrees: bool = False,
    describe_units: bool = False,
) -> None:
    """Write columns of numbers over time; the folder is made if there is none.

    Args:
        path: .mot or .sto.
        title: first line, "Coordinates" for a motion.
        times: [s], (T,).
        names: of the columns, (n,).
        values: (T, n); numbers that are missing are written as nan.
        in_degrees: what the header says about angles.
        describe_units: whether the header has OpenSim's sentence about units.
    """
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    header = [
        title,
        "version=1",
        f"nRows={len(times)}",
        f"nColumns={len(names) + 1}",
        f"inDegrees={'yes' if in_degrees else 'no'}",
    ]
    if describe_units:
        header.extend(UNITS)
    header.extend(("endheader", "\t".join(("time", *names))))
    with open_atomic(path) as file:
        file.write("\n".join(header) + "\n")
        for time, row in zip(times.tolist(), values.tolist(), strict=True):
            # Ten digits after the point: a nanometre, and less than OpenSim's own rounding of 1e-8.
            file.write("\t".join(f"{x:16.10f}" for x in (time, *row)) + "\n")
