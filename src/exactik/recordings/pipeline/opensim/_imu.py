"""Inertial sensors on a model of OpenSim: the pose in which its frames are turned as they are.

OpenSim's cost, ½ Σ w θ² / Σ w over the sensors, θ the angle between a sensor and its frame.
Coordinates that shift are held at their defaults, since no sensor tells of them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from exactik._text import join_names
from exactik.errors import FileError
from exactik.goals import OrientationGoal, PostureGoal
from exactik.io import load_imu_setup, load_opensim_model, load_orientations
from exactik.io.opensim import FramePlace, ImuSetup, OpenSimModel, OrientationTable, build_skeleton
from exactik.io.opensim.scaling import default_pose
from exactik.io.tables import list_coordinate_columns, write_storage
from exactik.model import Skeleton
from exactik.model.motion import Motion
from exactik.problem import Problem
from exactik.recordings.pipeline.opensim._tasks import write_coordinates
from exactik.solvers import Auto, Solver
from exactik.typing import Array

IMU_TOLERANCE = 1e-8
"""Relative projected gradient to which frames are solved, as for markers."""
IMU_POSTURE = 1e-9
"""[share of a sensor's weight] of the default pose; settles what no sensor determines. A factor of
ten either way changes no digit that is written."""
STARTS = 8
"""For the first frame, and any after a gap: orientations have few minima beside the right one."""
MAX_NAMES = 6  # of sensors in a sentence


@dataclass(frozen=True, kw_only=True)
class SolvedOrientations:
    """Orientations of sensors that were followed."""

    setup: ImuSetup  # what was asked for
    model: OpenSimModel  # the model that it names
    motion: Motion  # of the frames asked for
    times: Array  # of these frames [s], (T,)
    names: tuple[str, ...]  # of the sensors in use
    errors: Array  # angle between each sensor and its frame [rad], (T, n)
    notes: tuple[str, ...]  # what was left out, a sentence each


def solve_imu_setup(path: str | os.PathLike[str]) -> SolvedOrientations:
    """Solve what a set-up file of OpenSense's inverse kinematics asks for; write nothing."""
    setup = load_imu_setup(path)
    model = load_opensim_model(setup.model_path)
    skeleton = build_skeleton(model)
    table = _cut(setup, load_orientations(setup.orientations_path))
    places = {body.name: FramePlace(body.name, np.zeros(3), np.eye(3)) for body in model.bodies}
    places |= model.frames
    names = tuple(name for name in table.names if name in places)
    if len(names) == 0:
        listed = join_names(table.names, MAX_NAMES)
        raise FileError(setup.path, f"no sensor is called as a frame of the model: {listed}")
    rotations = setup.R_opensim_sensors @ table.rotations
    targets = {
        name: rotations[:, table.names.index(name)] @ places[name].rotation.T for name in names
    }
    q = _solve_frames(setup, model, skeleton, places, targets)
    pose = skeleton.forward(q)
    errors = np.stack(
        [
            _angle_between(pose.rotations[:, skeleton.bone_index(places[name].body)], target)
            for name, target in targets.items()
        ],
        axis=1,
    )
    unused = [name for name in table.names if name not in names]
    notes = [note.as_sentence() for note in setup.notes]
    said = [f"Sensors without a frame were left out: {join_names(unused, MAX_NAMES)}."]
    steps = np.diff(table.times)
    rate = 1.0 / float(np.median(steps)) if len(steps) > 0 else 100.0
    return SolvedOrientations(
        setup=setup,
        model=model,
        motion=Motion(skeleton, q, rate, up_axis="y", start_time=float(table.times[0])),
        times=table.times,
        names=names,
        errors=errors,
        notes=(*notes, *(said if len(unused) > 0 else ())),
    )


def write_imu_results(solved: SolvedOrientations) -> list[tuple[str, str]]:
    """Write the files that the set-up asks for; return their paths and what they are."""
    setup = solved.setup
    write_coordinates(setup.motion_path, "Coordinates", solved.model, solved.times, solved.motion)
    written = [(setup.motion_path, "coordinates")]
    if setup.errors_path is not None:
        names = solved.names
        write_storage(setup.errors_path, "OrientationErrors", solved.times, names, solved.errors)
        written.append((setup.errors_path, "orientation errors"))
    return written


def _cut(setup: ImuSetup, table: OrientationTable) -> OrientationTable:
    first, last = setup.time_range
    inside = (table.times >= first) & (table.times <= last)
    if not inside.any():
        raise FileError(
            setup.path,
            f"time_range is {first:g} to {last:g} s, and no row of "
            f"{os.path.basename(setup.orientations_path)} is in it",
        )
    return table._replace(rotations=table.rotations[inside], times=table.times[inside])


def _solve_frames(
    setup: ImuSetup,
    model: OpenSimModel,
    skeleton: Skeleton,
    places: dict[str, FramePlace],
    targets: dict[str, Array],
) -> Array:
    """Return the poses, (T, nq), each from the one before it."""
    columns = {column.dof: column for column in list_coordinate_columns(skeleton)}
    lock = [dof for dof in skeleton.dof_names if not columns[dof].is_angle]
    default = default_pose(model, skeleton)
    weights = {name: setup.weights.get(name, 1.0) for name in targets}
    posture = PostureGoal(default, weight=IMU_POSTURE * sum(weights.values()))
    solvers: dict[tuple[str, ...], tuple[Solver, Solver]] = {}
    frames = len(next(iter(targets.values())))
    q = np.empty((frames, skeleton.nq))
    for t in range(frames):
        seen = tuple(name for name in targets if np.isfinite(targets[name][t]).all())
        if seen not in solvers:
            goals = [
                OrientationGoal(
                    places[name].body, targets[name][t], weight=weights[name], name=name
                )
                for name in seen
            ]
            # Locked dofs stay where a solve starts.
            problem = Problem(skeleton.opened, [*goals, posture], lock=lock)
            method = Auto(tolerance=IMU_TOLERANCE)
            solvers[seen] = (
                Solver(problem, solver=method, starts=STARTS),
                Solver(problem, solver=method),
            )
        cold, warm = solvers[seen]
        now = {name: targets[name][t] for name in seen}
        q[t] = cold.solve(default, now) if t == 0 else warm.solve(q[t - 1], now)
    return q


def _angle_between(first: Array, second: Array) -> Array:
    """Return the angle between rotations [rad], (T,)."""
    trace = np.einsum("tij,tij->t", first, second)
    return np.arccos(np.clip(0.5 * (trace - 1.0), -1.0, 1.0))
