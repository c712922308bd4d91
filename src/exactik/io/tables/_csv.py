"""CSV for spreadsheets: a row per frame, a column per number, names in the first row."""

from __future__ import annotations

import csv

import numpy as np

from exactik.io._files import open_atomic
from exactik.io._units import require_named_unit
from exactik.motion import Markers, Motion

__all__ = ["write_csv_markers", "write_csv_motion"]


def write_csv_markers(markers: Markers, path: str, length_unit: str | float = "m") -> None:
    """Write frame, time [s] and x, y, z of every marker; missing ones are empty."""
    unit, metres = require_named_unit(path, length_unit)
    names = [f"{name} {axis} [{unit}]" for name in markers.names for axis in "xyz"]
    rows = markers.positions.reshape(len(markers), -1) / metres
    _write_rows(path, names, rows, markers.times, markers.first_frame)


def write_csv_motion(motion: Motion, path: str) -> None:
    """Write frame, time [s] and every coordinate [rad or m]; quaternions as w, x, y, z."""
    skeleton = motion.skeleton
    names = [""] * skeleton.nq
    dofs = zip(skeleton.dof_names, skeleton.plain_q, skeleton.turns, strict=True)
    for name, index, is_rotation in dofs:
        if index >= 0:
            names[index] = f"{name} [{'rad' if is_rotation else 'm'}]"
    for bone, index in skeleton.quaternions:
        names[index : index + 4] = [f"{bone}.{letter}" for letter in "wxyz"]
    _write_rows(path, names, motion.q, motion.times, motion.first_frame)


def _write_rows(
    path: str, names: list[str], rows: np.ndarray, times: np.ndarray, first: int
) -> None:
    with open_atomic(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["frame", "time [s]", *names])
        for t, row in enumerate(rows.tolist()):
            cells = ["" if x != x else repr(x) for x in row]
            writer.writerow([first + t, f"{times[t]:.9g}", *cells])
