"""What a set-up file of OpenSim's inverse kinematics tool asks for, solved and written.

The cost is OpenSim's, times Σ w of the markers seen in a frame:

    ½ Σ_m w_m |r_m|² + ½ (Σ_m w_m) Σ_c w_c (q_c − reference_c)²

Every frame is solved by itself to rest, so `accuracy` has no part in it, and couplers hold exactly,
whatever `constraint_weight` says.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from exactik._text import join_names
from exactik.errors import FileError
from exactik.functions import CubicSpline
from exactik.io import (
    IkSetup,
    OpenSimModel,
    build_skeleton,
    compute_column,
    list_coordinate_columns,
    load_coordinate_table,
    load_ik_setup,
    load_marker_times,
    load_markers,
    load_opensim_model,
    write_storage,
)
from exactik.model import Skeleton
from exactik.motion import Markers
from exactik.solvers import Auto
from exactik.tracking import (
    DEFAULT_OPTIONS,
    CoordinateReference,
    PreparationOptions,
    Track,
    track,
)
from exactik.typing import Array

__all__ = ["SolvedSetup", "solve_ik_setup", "write_ik_results"]

SETUP_TOLERANCE = 1e-8
"""Relative projected gradient to which frames are solved: what is compared with another solver's
minimum should be a minimum. Newton steps get there from the usual 1e-4 in one more."""
SETUP_POSTURE = 4e-10
"""Weight of the neutral pose, see `track`: a thousandth of the usual one. OpenSim has none and
leaves what no marker determines where the frame before had it; this settles it and changes the cost
of the markers by less than 1e-13 of it (arm26). A factor of ten either way changes no digit that is
written."""
MAX_NAMES = 6  # of markers in a sentence

Progress = Callable[[int, int], object]


@dataclass(frozen=True, kw_only=True)
class SolvedSetup:
    """A set-up file that was run.

    Attributes:
        setup: what it asks for.
        model: the model it names.
        track: the motion of the frames it asks for.
        times: of these frames, as the marker file has them [s], (T,).
        notes: what was left out or done otherwise, a sentence each.
    """

    setup: IkSetup
    model: OpenSimModel
    track: Track
    times: Array
    notes: tuple[str, ...]


def solve_ik_setup(
    path: str | os.PathLike[str],
    *,
    branches: bool = True,
    threads: int | None = 1,
    progress: Progress | None = None,
) -> SolvedSetup:
    """Solve what a set-up file of OpenSim's inverse kinematics tool asks for; write nothing.

    Args:
        path: the set-up file; paths in it start at its folder.
        branches: see `track`.
        threads: see `track`.
        progress: is called with the number of frames done and to do.
    """
    setup = load_ik_setup(path)
    model = load_opensim_model(setup.model_path)
    skeleton = build_skeleton(model)
    markers, times = _read_frames(setup)
    names, said = _choose_markers(setup, skeleton, markers)
    markers = markers.chosen(names)
    weights = np.array([setup.marker_weights[name] for name in names])
    references, unused = _make_references(setup, model, skeleton, markers, weights, times)
    # A gap stays a gap: OpenSim fills in nothing.
    preparation = PreparationOptions(neighbour_count=0)
    solved = track(
        skeleton,
        markers,
        solver=Auto(tolerance=SETUP_TOLERANCE),
        weights=dict(zip(names, weights.tolist(), strict=True)),
        smooth=None,
        posture=SETUP_POSTURE,
        branches=branches,
        threads=threads,
        progress=progress,
        references=references,
        options=replace(DEFAULT_OPTIONS, preparation=preparation),
    )
    said += unused
    if len(model.couplers) > 0 and math.isfinite(setup.constraint_weight):
        weight = f"{setup.constraint_weight:g}"
        said.append(f"couplers hold exactly; constraint_weight {weight} has no part in it")
    return SolvedSetup(
        setup=setup,
        model=model,
        track=solved,
        times=times,
        notes=(*(note.as_sentence() for note in setup.notes), *said),
    )


def write_ik_results(solved: SolvedSetup) -> list[tuple[str, str]]:
    """Write the files that the set-up asks for; return their paths and what they are."""
    setup, solution, times = solved.setup, solved.track, solved.times
    written = []
    if setup.motion_path is not None:
        skeleton, q = solution.skeleton, solution.motion.q
        columns = list_coordinate_columns(skeleton)
        order = {c.name: k for k, c in enumerate(solved.model.coordinates)}
        columns.sort(key=lambda column: order[column.name])
        values = [compute_column(skeleton, column, q) for column in columns]
        factors = [180.0 / math.pi if column.is_angle else 1.0 for column in columns]
        write_storage(
            setup.motion_path,
            "Coordinates",
            times,
            [column.name for column in columns],
            np.stack(values, axis=1) * factors,
            in_degrees=True,
            describe_units=True,
        )
        written.append((setup.motion_path, "coordinates"))
    if setup.errors_path is not None:
        squares = solution.marker_errors**2
        total = np.nansum(squares, axis=1)
        rms = np.sqrt(total / squares.shape[1])
        largest = np.sqrt(np.nanmax(squares, axis=1, initial=0.0))
        write_storage(
            setup.errors_path,
            "Model Marker Errors from IK",
            times,
            ("total_squared_error", "marker_error_RMS", "marker_error_max"),
            np.stack([total, rms, largest], axis=1),
        )
        written.append((setup.errors_path, "marker errors"))
    if setup.locations_path is not None:
        places = solution.motion.forward().markers
        columns_of = {name: k for k, name in enumerate(solution.skeleton.markers)}
        used = [columns_of[name] for name in solution.names]
        write_storage(
            setup.locations_path,
            "Model Marker Locations from IK",
            times,
            [f"{name}_{axis}" for name in solution.names for axis in ("tx", "ty", "tz")],
            places[:, used].reshape(len(times), -1),
        )
        written.append((setup.locations_path, "markers of the model"))
    return written


def _read_frames(setup: IkSetup) -> tuple[Markers, Array]:
    """Return the markers and times of the frames that the set-up asks for."""
    markers = load_markers(setup.marker_path)
    times = load_marker_times(setup.marker_path)[: len(markers)]
    if len(times) == 0 or not np.isfinite(times).all():
        raise FileError(setup.marker_path, "has frames without a time; expected one in each")
    first, last = (_nearest_frame(times, time) for time in setup.time_range)
    begin, end = setup.time_range
    if begin > times[-1] or end < times[0]:
        raise FileError(
            setup.path,
            f"time_range is {begin:g} to {end:g} s, but the markers in "
            f"{os.path.basename(setup.marker_path)} are from {times[0]:g} to {times[-1]:g} s",
        )
    part = slice(first, last + 1)
    cut = replace(
        markers, positions=markers.positions[part], first_frame=markers.first_frame + first
    )
    return cut, times[part]


def _nearest_frame(times: Array, time: float) -> int:
    """Return the frame nearest to a time; of two the later one, as OpenSim does."""
    if not math.isfinite(time):
        return 0 if time < 0.0 else len(times) - 1
    return len(times) - 1 - int(np.argmin(np.abs(times - time)[::-1]))


def _choose_markers(
    setup: IkSetup, skeleton: Skeleton, markers: Markers
) -> tuple[list[str], list[str]]:
    """Return the markers to follow, and sentences about those that are not."""
    names = [n for n in markers.names if n in setup.marker_weights and n in skeleton.markers]
    if len(names) == 0:
        listed = join_names(list(setup.marker_weights), MAX_NAMES)
        raise FileError(
            setup.path,
            f"no marker with a task is in both {os.path.basename(setup.marker_path)} and "
            f"{os.path.basename(setup.model_path)}: tasks are for {listed}",
        )
    said = []
    lost = [name for name in setup.marker_weights if name not in names]
    if len(lost) > 0:
        said.append(f"Tasks without a marker were left out: {join_names(lost, MAX_NAMES)}.")
    return names, said


def _make_references(
    setup: IkSetup,
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
    seen = ~np.isnan(markers.positions).any(axis=2)
    total = seen @ weights
    references: dict[str, CoordinateReference] = {}
    driven = []
    for task in setup.coordinate_tasks:
        if task.name not in columns:
            raise FileError(setup.path, f"task {task.name!r} is for no coordinate of the model")
        column = columns[task.name]
        if column.index < 0:
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


def _read_reference(setup: IkSetup, name: str, is_angle: bool, times: Array) -> Array:
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
