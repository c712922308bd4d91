"""What a set-up file of OpenSim's inverse kinematics tool asks for, solved and written.

Every frame is solved by itself to rest, so `accuracy` has no part in it, and couplers hold exactly,
whatever `constraint_weight` says.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from exactik.errors import FileError
from exactik.io import load_ik_setup, load_opensim_model
from exactik.io.opensim import IkSetup, OpenSimModel, build_skeleton
from exactik.io.tables import write_storage
from exactik.model.motion import Markers
from exactik.recordings.pipeline.opensim._tasks import (
    TaskSetup,
    read_timed_markers,
    track_tasks,
    write_coordinates,
)
from exactik.recordings.tracking import Track
from exactik.typing import Array

Progress = Callable[[int, int], object]


@dataclass(frozen=True, kw_only=True)
class SolvedSetup:
    """A set-up file that was run."""

    setup: IkSetup  # what it asks for
    model: OpenSimModel  # the model it names
    track: Track  # the motion of the frames it asks for
    times: Array  # of these frames, as the marker file has them [s], (T,)
    notes: tuple[str, ...]  # what was left out or done otherwise, a sentence each


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
        branches: whether to look for better solutions, also where a path has gone wrong; without
            it every frame is solved from the one before it, as OpenSim does.
        threads: see `track`.
        progress: is called with the number of frames done and to do.
    """
    setup = load_ik_setup(path)
    model = load_opensim_model(setup.model_path)
    skeleton = build_skeleton(model)
    markers, times = _read_frames(setup)
    tasks = TaskSetup(
        path=setup.path,
        marker_path=setup.marker_path,
        coordinate_path=setup.coordinate_path,
        marker_weights=setup.marker_weights,
        coordinate_tasks=setup.coordinate_tasks,
    )
    solved, said = track_tasks(
        tasks,
        model,
        skeleton,
        markers,
        times,
        branches=branches,
        threads=threads,
        progress=progress,
    )
    if len(model.couplers) + len(model.loops) > 0 and math.isfinite(setup.constraint_weight):
        weight = f"{setup.constraint_weight:g}"
        what = "couplers" if len(model.loops) == 0 else "couplers and loops"
        said.append(f"{what} hold exactly; constraint_weight {weight} has no part in it")
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
        path = setup.motion_path
        write_coordinates(path, "Coordinates", solved.model, times, solution.motion)
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
    markers, times = read_timed_markers(setup.marker_path)
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
