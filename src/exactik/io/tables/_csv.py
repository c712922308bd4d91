"""CSV for spreadsheets: a row per frame, a column per number, names in the first row."""

from __future__ import annotations

import csv

import numpy as np

from exactik.biomechanics import JointAngles
from exactik.io._files import open_atomic
from exactik.io._units import require_named_unit
from exactik.io.tables._motion_columns import (
    AngleColumns,
    Column,
    RotationColumns,
    list_clinical_columns,
    list_rotations,
)
from exactik.motion import Markers, Motion

__all__ = ["write_csv_angles", "write_csv_markers", "write_csv_motion"]


def write_csv_markers(markers: Markers, path: str, length_unit: str | float = "m") -> None:
    """Write frame, time [s] and x, y, z of every marker; missing ones are empty."""
    unit, metres = require_named_unit(path, length_unit)
    names = [f"{name} {axis} [{unit}]" for name in markers.names for axis in "xyz"]
    rows = markers.positions.reshape(len(markers), len(names)) / metres
    _write_rows(path, names, rows, markers.times, markers.first_frame)


def write_csv_motion(
    motion: Motion,
    path: str,
    angles: AngleColumns = "both",
    rotations: RotationColumns = "coordinates",
) -> None:
    """Write frame, time [s], joint angles and coordinates.

    Args:
        motion: what to write.
        path: where.
        angles: "clinical" for the joint angles of docs/angles.md [degrees], "joints" for every
            coordinate [rad or m, quaternions as w, x, y, z], "both" for both, in this order; of a
            figure that is no body both are coordinates alone.
        rotations: of the joints, see `RotationColumns`; shifts are written in any case.
    """
    columns = list_clinical_columns(motion, angles)
    if angles != "clinical":
        columns += _list_coordinates(motion, with_rotations=rotations == "coordinates")
        if rotations != "coordinates":
            columns += list_rotations(motion, rotations)
    names = [f"{c.name} [{c.unit}]" if c.unit != "" else c.name for c in columns]
    rows = np.stack([c.values for c in columns], axis=1) if columns else np.empty((len(motion), 0))
    _write_rows(path, names, rows, motion.times, motion.first_frame)


def write_csv_angles(angles: JointAngles, path: str) -> None:
    """Write frame, time [s], joint angles and their standard deviations [degrees]."""
    names = [f"{name} [deg]" for name in angles.names]
    rows = angles.degrees
    if angles.sd is not None:
        names += [f"sd {name} [deg]" for name in angles.names]
        rows = np.concatenate([rows, np.degrees(angles.sd)], axis=1)
    _write_rows(path, names, rows, angles.times, angles.first_frame)


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


def _write_rows(
    path: str, names: list[str], rows: np.ndarray, times: np.ndarray, first: int
) -> None:
    with open_atomic(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["frame", "time [s]", *names])
        for t, row in enumerate(rows.tolist()):
            cells = ["" if x != x else repr(x) for x in row]
            writer.writerow([first + t, f"{times[t]:.9g}", *cells])
