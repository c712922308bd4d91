"""CSV for spreadsheets, a row per frame, a column per number; and TSV of Qualisys."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from exactik.errors import UsageError
from exactik.io._files import open_atomic, read_text
from exactik.io._notes import Notes
from exactik.io._rest_frames import keep_signs
from exactik.io._units import metres_per, require_named_unit
from exactik.io.tables._columns import (
    AngleColumns,
    Column,
    ColumnQuality,
    blank_missing,
    compare_count,
    estimate_rate,
    list_clinical_columns,
    make_marker_names,
    parse_cell,
    parse_row,
)
from exactik.model import Skeleton
from exactik.model.motion import Markers, Motion
from exactik.spatial import exp_rotation, log_rotation, wxyz_from_matrix
from exactik.typing import Array

RotationColumns = Literal["coordinates", "wxyz", "swing-twist"]
"""How the joints' rotations are written: as coordinates, as quaternions, as swing and twist."""


def write_csv_markers(markers: Markers, path: str, length_unit: str | float = "m") -> None:
    """Write frame, time [s] and x, y, z of every marker; missing ones are empty."""
    unit, metres = require_named_unit(path, length_unit)
    names = [f"{name} {axis} [{unit}]" for name in markers.names for axis in "xyz"]
    rows = markers.positions.reshape(len(markers), len(names)) / metres
    write_csv(path, names, rows, markers.times, markers.first_frame)


def write_csv_motion(
    motion: Motion,
    path: str,
    angles: AngleColumns = "both",
    rotations: RotationColumns = "coordinates",
    quality: ColumnQuality | None = None,
) -> None:
    """Write frame, time [s], joint angles and coordinates.

    Args:
        angles: "clinical" for the joint angles of docs/angles.md [degrees], "joints" for every
            coordinate [rad or m, quaternions as w, x, y, z], "both" for both, in this order; of a
            figure that is no body both are coordinates alone.
        rotations: of the joints, see `RotationColumns`; shifts are written in any case.
        quality: what the values are worth: a column of words behind them for each.
    """
    columns = list_clinical_columns(motion, angles)
    if angles != "clinical":
        columns += _list_coordinates(motion, with_rotations=rotations == "coordinates")
        if rotations != "coordinates":
            columns += _list_rotations(motion, rotations)
    names = [f"{c.name} [{c.unit}]" if c.unit != "" else c.name for c in columns]
    words = np.empty((len(motion), 0), dtype=str)
    if quality is not None:
        names += [f"{c.name} quality" for c in columns]
        codes = np.array([quality.find(c) for c in columns]).reshape(len(columns), len(motion))
        words = np.array(quality.words)[codes.T]
        columns = quality.leave_out(columns)
    rows = np.stack([c.values for c in columns], axis=1) if columns else np.empty((len(motion), 0))
    write_csv(path, names, rows, motion.times, motion.first_frame, words)


def write_csv(
    path: str,
    names: Sequence[str],
    rows: Array,
    times: Array,
    first_frame: int,
    words: NDArray[np.str_] | None = None,
) -> None:
    """Write frame, time [s] and columns of numbers, (T, n), with these names; NaN is left empty.

    Columns of words, (T, m), come last.
    """
    with open_atomic(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["frame", "time [s]", *names])
        for t, row in enumerate(rows.tolist()):
            cells = ["" if x != x else repr(x) for x in row]
            cells += [] if words is None else words[t].tolist()
            writer.writerow([first_frame + t, f"{times[t]:.9g}", *cells])


def _list_coordinates(motion: Motion, with_rotations: bool) -> list[Column]:
    skeleton = motion.skeleton
    columns: dict[int, Column] = {}
    dofs = zip(skeleton.dof_names, skeleton.plain_q.tolist(), skeleton.turns, strict=True)
    for name, index, is_rotation in dofs:
        if index >= 0 and (with_rotations or not is_rotation):
            unit = "rad" if is_rotation else "m"
            columns[index] = Column(name, unit, motion.q[:, index])
    for bone, first in skeleton.quaternions if with_rotations else ():
        for k, letter in enumerate("wxyz", start=first):
            columns[k] = Column(f"{bone}.{letter}", "", motion.q[:, k])
    return [columns[index] for index in sorted(columns)]


def _list_rotations(motion: Motion, rotations: RotationColumns) -> list[Column]:
    """Return what each joint turns its bone by, against its place at rest in the parent.

    Args:
        rotations: "wxyz": unit quaternions, "bone.w" to "bone.z", continuous in sign;
            "swing-twist": "bone.twist" about the bone's long axis (towards its first child) and
            before it "bone.swing_x" to "bone.swing_z", a rotation vector across that axis [rad].
    """
    if rotations not in ("wxyz", "swing-twist"):
        raise UsageError(
            f"rotations is {rotations!r}; expected 'coordinates', 'wxyz' or 'swing-twist'"
        )
    skeleton, pose = motion.skeleton, motion.forward()
    columns: list[Column] = []
    for k, bone in enumerate(skeleton.bones):
        if not bone.joint.rotates:
            continue
        parent = int(skeleton.parents[k])
        R_parent_bone = pose.rotations[:, k]
        if parent >= 0:
            R_parent_bone = np.swapaxes(pose.rotations[:, parent], 1, 2) @ R_parent_bone
        pre, post = bone.constant_rotations
        R_joint = pre.T @ R_parent_bone @ post.T
        if rotations == "wxyz":
            wxyz = _make_continuous(wxyz_from_matrix(R_joint))
            columns += [Column(f"{bone.name}.{c}", "", wxyz[:, i]) for i, c in enumerate("wxyz")]
        else:
            columns += _split_swing_twist(bone.name, R_joint, post @ _find_long_axis(skeleton, k))
    return columns


def _make_continuous(wxyz: Array) -> Array:
    """Return quaternions (T, 4) with signs that do not change from frame to frame."""
    present = np.flatnonzero(np.isfinite(wxyz).all(axis=1))
    wxyz = wxyz.copy()
    wxyz[present] = keep_signs(wxyz[present])
    return wxyz


def _find_long_axis(skeleton: Skeleton, k: int) -> Array:
    """Return the direction from a bone's joint to its first child's, else along its own offset."""
    children = [bone.offset for bone in skeleton.bones if bone.parent == skeleton.bone_names[k]]
    for offset in (*children, skeleton.bones[k].offset):
        length = float(np.linalg.norm(offset))
        if length > 0.0:
            return np.array(offset) / length
    return np.array([0.0, 0.0, 1.0])


def _split_swing_twist(bone: str, R_joint: Array, axis: Array) -> list[Column]:
    """Return swing and twist of rotations (T, 3, 3) = swing · twist about an axis (3,) [rad]."""
    wxyz = wxyz_from_matrix(R_joint)
    twist = 2.0 * np.arctan2(wxyz[:, 1:] @ axis, wxyz[:, 0])
    swing = log_rotation(R_joint @ exp_rotation(-twist[:, None] * axis))
    present = np.isfinite(twist)
    twist[present] = np.unwrap(twist[present])
    columns = [Column(f"{bone}.swing_{c}", "rad", swing[:, i]) for i, c in enumerate("xyz")]
    return [*columns, Column(f"{bone}.twist", "rad", twist)]


def read_tsv(
    path: str,
    notes: Notes,
    length_unit: str | float | None = None,
    rate: float | None = None,
    zeros_are_missing: bool = True,
) -> Markers:
    """Return the markers of a QTM export; QTM writes millimetres and zeros for what is missing."""
    lines = read_text(path).split("\n")
    values: dict[str, list[str]] = {}
    heading = 0
    while (
        heading < len(lines)
        and lines[heading][:1].isalpha()
        and not lines[heading].startswith("Frame\t")
    ):
        key, *rest = lines[heading].split("\t")
        values[key.strip()] = [cell.strip() for cell in rest]
        heading += 1
    if "NO_OF_MARKERS" not in values and "MARKER_NAMES" not in values:
        raise notes.error("no MARKER_NAMES in the first lines; expected a table of Qualisys")
    has_heading = heading < len(lines) and lines[heading].startswith("Frame\t")
    # Frame and time come first only where the columns have a heading.
    leading_columns = 2 if has_heading else 0
    first_row = heading + has_heading
    names = [name for name in values.get("MARKER_NAMES", []) if name != ""]
    rows = []
    for index in range(first_row, len(lines)):
        if lines[index].strip() == "":
            continue
        cells = lines[index].rstrip("\t").split("\t")
        rows.append(parse_row(cells, notes, index + 1))
    width = leading_columns + 3 * len(names)
    short = [k for k, row in enumerate(rows) if len(row) < width]
    if short == [len(rows) - 1] and len(rows) > 1:
        notes.flag_damage("the last row is cut off and was dropped", f"line {len(lines)}")
        rows.pop()
    elif len(short) > 0:
        raise notes.error(
            f"expected {width} numbers for {len(names)} markers, found {len(rows[short[0]])}",
            f"line {first_row + short[0] + 1}",
        )
    table = np.array([row[:width] for row in rows]).reshape(len(rows), width)
    positions = table[:, leading_columns:].reshape(len(rows), len(names), 3).copy()
    blank_missing(positions, zeros_are_missing)
    for key, count in (("NO_OF_FRAMES", len(rows)), ("NO_OF_MARKERS", len(names))):
        compare_count((values.get(key) or [""])[0], count, f"for {key}", notes)
    stated_rate = parse_cell((values.get("FREQUENCY") or [""])[0])
    times = table[:, 1] if has_heading else np.empty(0)
    first_frame = table[0, 0] if has_heading and len(rows) > 0 else 1.0
    unit = "mm" if length_unit is None or length_unit == "auto" else length_unit
    return Markers(
        positions=positions * metres_per(unit),
        names=make_marker_names(names, notes),
        rate=rate if rate is not None else estimate_rate(times, stated_rate, notes),
        first_frame=int(first_frame) if np.isfinite(first_frame) else 1,
        start_time=float(times[0]) if len(times) > 0 and np.isfinite(times[0]) else 0.0,
        units_in_file=str(unit),
        source=path,
        metadata={"format": "Qualisys TSV", **{k: "\t".join(v) for k, v in values.items()}},
        notes=notes.all,
    )
