"""Tasks of OpenSim's set-up files as goals of a track: markers with weights, coordinates.

The cost is OpenSim's, times Σ w of the markers seen in a frame:

    ½ Σ_m w_m |r_m|² + ½ (Σ_m w_m) Σ_c w_c (q_c − reference_c)²
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from exactik._text import join_names
from exactik.errors import FileError
from exactik.io import load_coordinate_table, load_timed_markers
from exactik.io.opensim import CoordinateTask, OpenSimModel
from exactik.io.tables import compute_column, list_coordinate_columns, write_storage
from exactik.model import Skeleton
from exactik.model.functions import CubicSpline
from exactik.model.motion import Markers, Motion
from exactik.recordings.tracking import DEFAULT_OPTIONS, CoordinateReference, Track, track
from exactik.typing import Array

SETUP_TOLERANCE = 1e-6
"""Relative projected gradient to which frames are solved: what is compared with another solver's
minimum should be a minimum. Costs of gait2354 are then those at 1e-8 to twelve digits, at 1e-4 to
nine."""
SETUP_POSTURE = 4e-9
"""Weight of the neutral pose, see `track`: a hundredth of the usual one. OpenSim has none and
leaves what no marker determines where the frame before had it; this settles it, and changes the
cost of the markers by less than 1e-11 of it (arm26)."""
MAX_NAMES = 6  # of markers in a sentence

Progress = Callable[[int, int], object]


@dataclass(frozen=True, kw_only=True)
class TaskSetup:
    """Tasks of a set-up file."""

    path: str  # of the set-up file
    marker_path: str  # of the recording
    coordinate_path: str | None  # of a table of coordinates; None if there is none
    marker_weights: Mapping[str, float]  # marker → weight of its square error
    coordinate_tasks: Sequence[CoordinateTask]  # of coordinates


def track_tasks(
    setup: TaskSetup,
    model: OpenSimModel,
    skeleton: Skeleton,
    markers: Markers,
    times: Array,
    *,
    branches: bool = True,
    threads: int | None = 1,
    progress: Progress | None = None,
) -> tuple[Track, list[str]]:
    """Solve every frame for the tasks alone; return the track, and what was left out.

    Args:
        setup: the tasks.
        model: of OpenSim.
        skeleton: the same as a skeleton.
        markers: of the frames to solve.
        times: of these frames [s], (T,).
        branches: whether to look for better solutions, also where a path has gone wrong; without
            it every frame is solved from the one before it, as OpenSim does.
        threads: see `track`.
        progress: is called with the number of frames done and to do.
    """
    names, said = choose_markers(setup, skeleton, markers)
    markers = markers.chosen(names)
    weights = np.array([setup.marker_weights[name] for name in names])
    references, unused = make_references(setup, model, skeleton, markers, weights, times)
    # Undamped: tasks may weigh 1000 times as much as others, and damping by the heaviest stalls
    # what is light; the pose of the frame before is near enough for Newton's step.
    warm_start = replace(DEFAULT_OPTIONS.warm_start, tolerance=SETUP_TOLERANCE, initial_damping=0.0)
    options = replace(
        DEFAULT_OPTIONS,
        warm_start=warm_start,
        neighbour_count=0,  # gaps stay gaps, as with OpenSim
    )
    if not branches:  # every frame from the one before it, and nothing else
        options = replace(options, max_poor_segments=0, segment_frames=max(len(markers), 1))
    solved = track(
        skeleton,
        markers,
        weights=dict(zip(names, weights.tolist(), strict=True)),
        smooth=None,
        robust=None,
        posture=SETUP_POSTURE,
        branches=branches,
        threads=threads,
        progress=progress,
        references=references,
        options=options,
    )
    motion = replace(solved.motion, start_time=float(times[0]))
    return replace(solved, motion=motion), said + unused


def choose_markers(
    setup: TaskSetup, skeleton: Skeleton, markers: Markers
) -> tuple[list[str], list[str]]:
    """Return the markers to follow, and sentences about those that are not."""
    names = [n for n in markers.names if n in setup.marker_weights and n in skeleton.markers]
    if len(names) == 0:
        listed = join_names(list(setup.marker_weights), MAX_NAMES)
        raise FileError(
            setup.path,
            f"no marker with a task is both in {os.path.basename(setup.marker_path)} and on the "
            f"model: tasks are for {listed}",
        )
    said = []
    lost = [name for name in setup.marker_weights if name not in names]
    if len(lost) > 0:
        said.append(f"Tasks without a marker were left out: {join_names(lost, MAX_NAMES)}.")
    return names, said


def make_references(
    setup: TaskSetup,
    model: OpenSimModel,
    skeleton: Skeleton,
    markers: Markers,
    weights: Array,
    times: Array,
) -> tuple[dict[str, CoordinateReference] | None, list[str]]:
    """Return what coordinates should be, and sentences about tasks that were left out."""
    if len(setup.coordinate_tasks) == 0:
        return None, []
    columns = {column.name: column for column in list_coordinate_columns(skeleton)}
    defaults = {coordinate.name: coordinate.default for coordinate in model.coordinates}
    x, y, z = np.moveaxis(markers.positions, 2, 0)
    seen = ~np.isnan(x + y + z)
    total = seen @ weights
    references: dict[str, CoordinateReference] = {}
    driven = []
    for task in setup.coordinate_tasks:
        if task.name not in columns:
            raise FileError(setup.path, f"task {task.name!r} is for no coordinate of the model")
        column = columns[task.name]
        if column.q_index < 0:
            driven.append(task.name)
            continue
        value: float | Array = task.value
        if task.value_type == "default_value":
            value = defaults[task.name]
        elif task.value_type == "from_file":
            value = _read_reference(setup, task.name, column.is_angle, times)
        weight = task.weight * (total if not seen.all() else total[0])
        references[column.dof] = CoordinateReference(value, weight)
    said = []
    if len(driven) > 0:
        listed = join_names(driven, MAX_NAMES)
        said.append(f"Tasks of coordinates that follow others were left out: {listed}.")
    return references, said


def _read_reference(setup: TaskSetup, name: str, is_angle: bool, times: Array) -> Array:
    """Return a coordinate of the set-up's coordinate file at these times [rad or m], (T,)."""
    if setup.coordinate_path is None:
        raise FileError(setup.path, f"task {name!r} is from_file, but no coordinate_file is given")
    table = load_coordinate_table(setup.coordinate_path)
    if name not in table.names:
        raise FileError(setup.coordinate_path, f"no column {name!r}, which {setup.path} asks for")
    values = table.values[:, table.names.index(name)]
    scale = math.pi / 180.0 if table.in_degrees and is_angle else 1.0
    if len(table.times) < 2 or not np.isfinite(values).all():
        raise FileError(setup.coordinate_path, f"column {name!r} has gaps or a single row")
    # OpenSim takes a spline of fifth degree; through samples of a motion both are the same.
    return CubicSpline(tuple(table.times.tolist()), tuple(values.tolist()))(times) * scale


def write_coordinates(
    path: str, title: str, model: OpenSimModel, times: Array, motion: Motion
) -> None:
    """Write the coordinates of a motion as OpenSim does: in the order of the model, in degrees.

    Args:
        path: of the .mot or .sto file.
        title: of the table.
        model: of the skeleton.
        times: of the frames [s], (T,).
        motion: its frames.
    """
    columns = list_coordinate_columns(motion.skeleton)
    order = {c.name: k for k, c in enumerate(model.coordinates)}
    columns.sort(key=lambda column: order[column.name])
    values = [compute_column(motion.skeleton, column, motion.q) for column in columns]
    degrees = [180.0 / math.pi if column.is_angle else 1.0 for column in columns]
    names = [column.name for column in columns]
    table = np.stack(values, axis=1) * degrees
    write_storage(path, title, times, names, table, in_degrees=True, describe_units=True)


def read_timed_markers(path: str) -> tuple[Markers, Array]:
    """Return the markers of a recording and its times [s], one for each frame."""
    markers, times = load_timed_markers(path)
    if len(times) == 0 or not np.isfinite(times).all():
        raise FileError(path, "has frames without a time; expected one in each")
    return markers, times
