"""The tasks, and the loop and the clock with which all tools are measured.

Runs inside the environment of each tool, so numpy is all that it imports. An adapter is a module
`with_<name>.py` with TITLE and PACKAGE, and one or both of

    arm(task: Arm) -> object with solve(target, starts) -> q
    figure(task: Figure) -> object with solve(places, q) -> q

or `arms(task)`, `figures(task)` that give several such objects by the name of their row.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.support.arrays import Array

TOLERANCE_SHARE = (
    0.9  # of the judge's tolerance, where tools may stop: their measures differ a little
)
MAX_PASSES = 3  # of which the fastest counts; slow tools have one


@dataclass(frozen=True)
class Arm:
    """Poses for the tool of an arm.

    Attributes:
        urdf: the arm without meshes.
        tool: link to be placed.
        joints: names, in the order of coordinates.
        limits: [rad], (joints, 2).
        targets: poses of the tool, (problems, 4, 4).
        starts: coordinates that attempts begin at, (problems, attempts, joints).
        tolerance: [m] and [rad] that count as reached.
    """

    urdf: Path
    tool: str
    joints: list[str]
    limits: Array
    targets: Array
    starts: Array
    tolerance: tuple[float, float]


@dataclass(frozen=True)
class Figure:
    """Frames of markers for a figure of hinges and sliders.

    Attributes:
        urdf: the figure; every marker is a link of it.
        joints: names, in the order of coordinates; the root's three sliders and hinges first.
        markers: names of their links.
        take: name of the recording, for those who can read it.
        frames: of it that are tracked, (n,).
        places: of the markers in these [m], (n, markers, 3).
        first: coordinates that tracking begins at, (joints,).
        cold: frames that are solved each by itself, (k,).
        cold_places: of the markers in these [m], (k, markers, 3).
        starts: where these begin, (k, joints).
    """

    urdf: Path
    joints: list[str]
    markers: list[str]
    take: str
    frames: NDArray[np.int64]
    places: Array
    first: Array
    cold: NDArray[np.int64]
    cold_places: Array
    starts: Array


class ArmSolver(Protocol):
    def solve(self, target: Array, starts: Array) -> Array:
        """One answer to one problem, with as many attempts as there are rows in `starts`."""
        ...


class FigureSolver(Protocol):
    def solve(self, places: Array, q: Array) -> Array:
        """The coordinates that bring the markers to their places, from those given."""
        ...


class Attempts:
    """Attempts one after the other, until one says that it arrived."""

    def attempt(self, target: Array, start: Array) -> tuple[Array, bool]:
        raise NotImplementedError

    def solve(self, target: Array, starts: Array) -> Array:
        q = starts[0]
        for start in starts:
            q, arrived = self.attempt(target, start)
            if arrived:
                break
        return q


def save(path: Path, task: Arm | Figure) -> None:
    """Write a task for another process."""
    values: dict[str, Any] = vars(task) | {"urdf": str(task.urdf)}
    np.savez(path, **{key: np.asarray(value) for key, value in values.items()})  # pyright: ignore[reportArgumentType]


def load(path: Path) -> Arm | Figure:
    """Read what `save` wrote."""
    with np.load(path) as file:
        values: dict[str, Any] = {key: file[key] for key in file.files}
    values["urdf"] = Path(str(values["urdf"]))
    values["joints"] = values["joints"].tolist()
    if "tool" in values:
        x, turn = values["tolerance"].tolist()
        return Arm(**values | {"tool": str(values["tool"]), "tolerance": (x, turn)})
    return Figure(**values | {"markers": values["markers"].tolist(), "take": str(values["take"])})


def time_call(work: Callable[[], Array]) -> tuple[Array, float]:
    """Return the answer, and the time of the processor [ms]."""
    begin = time.process_time()
    answer = work()
    return answer, 1e3 * (time.process_time() - begin)


def is_reached(T: Array, target: Array, tolerance: tuple[float, float]) -> bool:
    """Return whether a tool may stop by its own measure; only the judge decides."""
    turn = 0.5 * (np.trace(T[:3, :3].T @ target[:3, :3]) - 1.0)
    away = T[:3, 3] - target[:3, 3]
    return bool(
        away @ away < (TOLERANCE_SHARE * tolerance[0]) ** 2
        and turn > np.cos(TOLERANCE_SHARE * tolerance[1])
    )


def answer_arm(solver: ArmSolver, task: Arm, attempts: int, budget: float) -> dict[str, Array]:
    """Solve for every pose, or as many as the budget [s] of the processor allows."""
    whole = getattr(solver, "solve_all", None)
    if whole is not None:  # it times itself
        return whole(task, attempts)
    solver.solve(task.targets[0], task.starts[0, :1])  # imports, compiles and allocates
    q, ms, spent, count = [], [], 0.0, len(task.targets)
    for i in range(count):
        answer, took = time_call(
            lambda i=i: solver.solve(task.targets[i], task.starts[i, :attempts])
        )
        q.append(np.asarray(answer, dtype=float))
        ms.append(took)
        spent += 1e-3 * took
        if spent > budget:
            break
    passes = [np.array(ms)]
    while spent < 0.1 * budget and len(passes) < MAX_PASSES:
        more = [
            time_call(lambda i=i: solver.solve(task.targets[i], task.starts[i, :attempts]))[1]
            for i in range(len(q))
        ]
        passes.append(np.array(more))
        spent += 1e-3 * float(np.sum(more))
    return {"q": np.array(q), "ms": np.array(passes)}


def answer_figure(solver: FigureSolver, task: Figure, budget: float) -> dict[str, Array]:
    """Track all frames, then solve the cold ones; each half may take half of the budget [s]."""
    whole = getattr(solver, "solve_all", None)
    if whole is not None:  # it times itself
        return whole(task)
    solver.solve(task.places[0], task.first)
    tracked, cold = _TimedAnswers(budget / 2), _TimedAnswers(budget / 2)
    q = task.first
    for places in task.places:
        q = tracked.add(lambda places=places, q=q: solver.solve(places, q))
        if tracked.seconds_left < 0:
            break
    for places, start in zip(task.cold_places, task.starts, strict=True):
        cold.add(lambda places=places, start=start: solver.solve(places, start))
        if cold.seconds_left < 0:
            break
    return {
        "q": np.array(tracked.q),
        "ms": np.array([tracked.ms]),
        "cold_q": np.array(cold.q),
        "cold_ms": np.array([cold.ms]),
    }


class _TimedAnswers:
    """Answers until the time [s] is up."""

    def __init__(self, left: float) -> None:
        self.seconds_left = left
        self.q: list[Array] = []
        self.ms: list[float] = []

    def add(self, work: Callable[[], Array]) -> Array:
        q, ms = time_call(work)
        self.q.append(np.array(q, dtype=float))
        self.ms.append(ms)
        self.seconds_left -= 1e-3 * ms
        return self.q[-1]


def run(adapter: Any, task: Arm | Figure, budget: float, folder: Path) -> None:
    """Measure a tool on a task; one file for each of its rows, and one that names them."""
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []

    def write(label: str, attempts: int, answers: dict[str, Array]) -> None:
        file = f"{len(rows)}.npz"
        np.savez(folder / file, **answers)  # pyright: ignore[reportArgumentType]
        rows.append({"label": label, "attempts": attempts, "file": file})

    if isinstance(task, Arm):
        solvers = adapter.arms(task) if hasattr(adapter, "arms") else {"": adapter.arm(task)}
        for label, solver in solvers.items():
            for attempts in getattr(solver, "ATTEMPTS", (1, task.starts.shape[1])):
                write(label, attempts, answer_arm(solver, task, attempts, budget))
    else:
        solvers = (
            adapter.figures(task) if hasattr(adapter, "figures") else {"": adapter.figure(task)}
        )
        for label, solver in solvers.items():
            write(label, 1, answer_figure(solver, task, budget))
    about = {"version": version(adapter.PACKAGE), "rows": rows}
    (folder / "rows.json").write_text(json.dumps(about), encoding="utf-8")
