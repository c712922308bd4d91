"""Set-up files of OpenSim's inverse kinematics tool: which model, markers, weights, times, outputs.

The tool minimises, frame by frame,

    ½ Σ_m w_m |p_m(q) − target_m|² / Σ_m w_m  +  ½ Σ_c w_c (q_c − reference_c)²

over the markers m that have a task, are on the model and are seen, and the coordinates c that have
a task. Paths in the file start at its own folder.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass

from exactik.errors import Note
from exactik.io._notes import Notes
from exactik.io.opensim._document import (
    name_of,
    read_document,
    read_flag,
    read_number,
    text_of,
)
from exactik.io.opensim._tasks import (
    CoordinateTask,
    is_setup,
    read_path,
    read_tasks,
    read_time_range,
    require_file,
    require_path,
    resolve_path,
)

__all__ = ["IkSetup", "is_ik_setup", "read_ik_setup"]

# The second is how a test of OpenSim's spells it, whose parser does not look at this tag.
TOOL_TAGS = ("InverseKinematicsTool", "InverseKinemtaticsTool", "IKTool")


@dataclass(frozen=True)
class IkSetup:
    """What an inverse kinematics tool is to do.

    Attributes:
        path: of the set-up file.
        name: of the trial, with which the names of reports begin.
        model_path: the .osim file.
        marker_path: the .trc file.
        coordinate_path: .mot or .sto with values of coordinates; None if there is none.
        marker_weights: marker → weight of its square error, of the tasks that apply.
        coordinate_tasks: those that apply.
        time_range: first and last time [s]; infinite where the markers' end decides.
        motion_path: .mot to write; None for none.
        errors_path: .sto of marker errors to write; None for none.
        locations_path: .sto of model markers to write; None for none.
        constraint_weight: of constraints; infinite if they hold exactly.
        accuracy: at which OpenSim would stop.
        notes: what is odd about the file.
    """

    path: str
    name: str
    model_path: str
    marker_path: str
    coordinate_path: str | None
    marker_weights: Mapping[str, float]
    coordinate_tasks: tuple[CoordinateTask, ...]
    time_range: tuple[float, float]
    motion_path: str | None
    errors_path: str | None
    locations_path: str | None
    constraint_weight: float
    accuracy: float
    notes: tuple[Note, ...] = ()


def is_ik_setup(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a set-up of inverse kinematics, by its first lines."""
    return is_setup(path, *TOOL_TAGS)


def read_ik_setup(path: str | os.PathLike[str], notes: Notes) -> IkSetup:
    """Return what a set-up file asks for; files that it names must exist."""
    path = os.fspath(path)
    tool = read_document(path, notes, *TOOL_TAGS).root
    name = name_of(tool)
    results = resolve_path(path, text_of(tool, "results_directory", default="./"))
    prefix = os.path.join(results, f"{name}_ik_")
    marker_weights, coordinate_tasks = read_tasks(tool, notes)
    motion = read_path(tool, "output_motion_file")
    reports = read_flag(tool, "report_errors", True)
    locates = read_flag(tool, "report_marker_locations", False)
    coordinates = read_path(tool, "coordinate_file")
    if coordinates is not None:
        require_file(tool, "coordinate_file", coordinates)
    return IkSetup(
        path=path,
        name=name,
        model_path=require_path(tool, "model_file", "the model, an .osim file"),
        marker_path=require_path(tool, "marker_file", "the markers, a .trc file"),
        coordinate_path=coordinates,
        marker_weights=marker_weights,
        coordinate_tasks=coordinate_tasks,
        time_range=read_time_range(tool),
        motion_path=motion,
        errors_path=f"{prefix}marker_errors.sto" if reports else None,
        locations_path=f"{prefix}model_marker_locations.sto" if locates else None,
        constraint_weight=read_number(tool, "constraint_weight", math.inf),
        accuracy=read_number(tool, "accuracy", 1e-5),
        notes=notes.all,
    )
