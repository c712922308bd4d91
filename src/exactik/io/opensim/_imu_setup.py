"""Inertial sensors: OpenSense's tables of orientations, and the set-up files of its IK tool.

A table has a quaternion in each cell, `w,x,y,z`, a column for each sensor, which is called like the
frame of the model that it is on. `sensor_to_opensim_rotations` turns the sensors' world into
OpenSim's: angles about the fixed axes x, y and z, in this order.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from exactik.errors import Note
from exactik.io._notes import Notes
from exactik.io.opensim._document import objects_of, read_document
from exactik.io.opensim._ik_setup import (
    is_setup,
    read_path,
    read_time_range,
    require_path,
    resolve_path,
)
from exactik.io.tables import split_storage
from exactik.spatial import axis_rotation, matrix_from_wxyz
from exactik.typing import Array

TOOL_TAG = "IMUInverseKinematicsTool"


class OrientationTable(NamedTuple):
    """Orientations of sensors over time."""

    names: tuple[str, ...]  # of the sensors, (n,)
    rotations: Array  # R_world_sensor, (T, n, 3, 3); not a number where missing
    times: Array  # [s], (T,)


@dataclass(frozen=True)
class ImuSetup:
    """What an inverse kinematics tool for inertial sensors is to do."""

    path: str  # of the set-up file
    name: str  # of the trial
    model_path: str  # the .osim file, with a frame for each sensor
    orientations_path: str  # the .sto file of the sensors
    R_opensim_sensors: Array  # from the sensors' world to the model's, (3, 3)
    weights: Mapping[str, float]  # sensor → weight; 1 for those that are not in it
    # First and last time [s]; infinite where the table's end decides
    time_range: tuple[float, float]
    motion_path: str  # .mot to write
    errors_path: str | None  # .sto of orientation errors to write; None for none
    notes: tuple[Note, ...] = ()  # what is odd about the file


def is_imu_setup(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a set-up for inertial sensors, by its first lines."""
    return is_setup(path, TOOL_TAG)


def read_imu_setup(path: str | os.PathLike[str], notes: Notes) -> ImuSetup:
    """Return what a set-up file asks for; files that it names must exist."""
    path = os.fspath(path)
    tool = read_document(path, notes, TOOL_TAG).root
    orientations = require_path(tool, "orientations_file", "the sensors' orientations, a .sto file")
    a, b, c = tool.vector_of("sensor_to_opensim_rotations", (0.0, 0.0, 0.0))
    weights = {}
    for element in objects_of(next(tool.find_children("OrientationWeightSet"), None)):
        weight = element.finite_of("weight", 1.0)
        if weight < 0.0:
            raise element.error(f"its weight is {weight:g}; expected a number ≥ 0")
        weights[element.plain_name] = weight
    stem = os.path.splitext(os.path.basename(orientations))[0]
    output = read_path(tool, "output_motion_file") or resolve_path(path, f"ik_{stem}.mot")
    folder = tool.text_of("results_directory")
    if folder != "":
        output = os.path.join(resolve_path(path, folder), os.path.basename(output))
    if os.path.splitext(output)[1] == "":
        output = f"{output}.mot"
    reports = tool.flag_of("report_errors", True)
    errors = f"{os.path.splitext(output)[0]}_orientationErrors.sto"
    return ImuSetup(
        path=path,
        name=tool.plain_name,
        model_path=require_path(tool, "model_file", "the model, an .osim file"),
        orientations_path=orientations,
        R_opensim_sensors=axis_rotation("z", c) @ axis_rotation("y", b) @ axis_rotation("x", a),
        weights=weights,
        time_range=read_time_range(tool),
        motion_path=output,
        errors_path=errors if reports else None,
        notes=notes.all,
    )


def read_orientations(path: str, notes: Notes) -> OrientationTable:
    """Return the orientations in a .sto file of quaternions."""
    lines, end = split_storage(path, notes, "a table of orientations")
    names = lines[end + 1].split()
    if len(names) < 2 or names[0].lower() != "time":
        raise notes.error("expected columns called time and one a sensor", f"line {end + 2}")
    times, rows = [], []
    for index in range(end + 2, len(lines)):
        cells = lines[index].split()
        if len(cells) == 0:
            continue
        place = f"line {index + 1}"
        if len(cells) != len(names):
            raise notes.error(f"expected {len(names)} cells, found {len(cells)}", place)
        times.append(_parse(cells[0], 1, notes, place)[0])
        rows.append([_parse(cell, 4, notes, place) for cell in cells[1:]])
    wxyz = np.array(rows, dtype=float).reshape(len(rows), len(names) - 1, 4)
    length = np.linalg.norm(wxyz, axis=2, keepdims=True)
    wxyz = np.divide(wxyz, length, out=np.full_like(wxyz, np.nan), where=length > 1e-9)
    is_missing = np.asarray(np.isnan(wxyz).any(axis=2))
    rotations = matrix_from_wxyz(np.where(is_missing[..., None], (1.0, 0.0, 0.0, 0.0), wxyz))
    rotations[is_missing] = np.nan
    return OrientationTable(tuple(names[1:]), rotations, np.array(times))


def _parse(cell: str, count: int, notes: Notes, place: str) -> list[float]:
    try:
        values = [float(part) for part in cell.split(",")]
    except ValueError:
        values = []
    if len(values) != count or any(math.isinf(value) for value in values):
        wanted = "a time" if count == 1 else "a quaternion w,x,y,z"
        raise notes.error(f"expected {wanted}, found {cell[:40]!r}", place)
    return values
