"""Exactik, from the project's own environment.

Arms: its defaults; goals weighted 1 for metres and 0.1 for radians, and as many starts as the
others have. Markers: its defaults without limits, the thumbs locked; "a call a frame" is used as
the others are, "track" takes the whole recording at once, which looks ahead, and does not smooth.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import exactik as ik
from benchmarks.peers.protocol import Arm, Array, Figure
from benchmarks.peers.tasks import find_free_dofs
from benchmarks.support.hdm05 import LOCK, find_take_folder, load_take
from exactik.io import load_joint_names

TITLE, PACKAGE = "exactik", "exactik"
PASSES = 5
COLD_STARTS = 24  # for each cold frame
WEIGHTS = (1.0, 0.1)
TOLERANCE = 1e-4  # relative gradient, as `track` has it


def arms(task: Arm) -> dict[str, _Calls]:
    return {
        "one call each": _Calls(task),
        "one batch": _Batch(task),
        "one call each, no detour": _Single(task),
    }


class _Calls:
    DETOUR = True

    def __init__(self, task: Arm) -> None:
        skeleton = ik.load_skeleton(task.urdf)
        goal = ik.PoseGoal(task.tool, task.targets[0], weight=WEIGHTS, name="tool")
        self.problem = ik.Problem(skeleton, [goal])
        places = load_joint_names(task.urdf)
        self.columns = [places[name].q for name in task.joints]  # q_ours[columns] = q_theirs
        self.solver = ik.Auto(detour=self.DETOUR)

    def to_skeleton(self, q: Array) -> Array:
        ours = np.empty_like(q)
        ours[..., self.columns] = q
        return ours

    def solve(self, target: Array, starts: Array) -> Array:
        problem = self.problem.with_targets({"tool": target})
        q0, count = self.to_skeleton(starts[0]), len(starts)
        return ik.solve(problem, q0=q0, solver=self.solver, starts=count).q[self.columns]


class _Single(_Calls):
    DETOUR = False
    ATTEMPTS = (1,)


class _Batch(_Calls):
    def solve_all(self, task: Arm, attempts: int) -> dict[str, Array]:
        """Milliseconds are of the clock, so that of each problem the least of the passes counts."""
        q0, targets = self.to_skeleton(task.starts[:, 0]), {"tool": task.targets}
        runs = [
            ik.solve_batch(self.problem, targets, q0=q0, starts=attempts, threads=1)
            for _ in range(1 + PASSES)
        ]
        ms = 1e3 * np.min([run.seconds for run in runs[1:]], axis=0)
        return {"q": runs[-1].q[:, self.columns], "ms": ms[None]}


def figures(task: Figure) -> dict[str, _Frames]:
    return {
        "a call a frame": _Frames(task),
        "track, no branches": _Track(task, branches=False, starts=1),
        "track": _Track(task, branches=True, starts=COLD_STARTS),
    }


class _Frames:
    """A call for every frame; cold ones from the pose that all are given."""

    def __init__(self, task: Figure) -> None:
        folder = find_take_folder(task.take)
        assert folder is not None
        self.take = load_take(folder, task.take)
        skeleton = self.take.skeleton
        self.free = find_free_dofs(skeleton)
        self.names = task.markers
        goals = [ik.MarkerGoal(name, (0, 0, 0), name=name) for name in task.markers]
        self.problem = ik.Problem(skeleton, goals, limits="off", lock=LOCK)
        self.solver = ik.Auto(tolerance=TOLERANCE)

    def to_skeleton(self, q: Array) -> Array:
        ours = np.array(self.take.skeleton.neutral())
        ours[self.free] = q
        return ours

    def solve(self, places: Array, q: Array) -> Array:
        problem = self.problem.with_targets(dict(zip(self.names, places, strict=True)))
        return ik.solve(problem, q0=self.to_skeleton(q), solver=self.solver).q[self.free]


class _Track(_Frames):
    """The whole recording in one call, and the cold frames as recordings of one frame."""

    def __init__(self, task: Figure, branches: bool, starts: int) -> None:
        super().__init__(task)
        # Smoothing would leave the minimum of each frame, by which the others are judged.
        self.options: dict[str, Any] = {
            "limits": "off",
            "lock": LOCK,
            "starts": starts,
            "branches": branches,
            "smooth": None,
        }

    def track(self, first: int, count: int) -> tuple[Array, float]:
        """Frames that follow each other, and milliseconds for each of them."""
        take = self.take.between(first, first + count)
        begin = time.process_time()
        result = ik.track(take.skeleton, take.markers, **self.options)
        ms = 1e3 * (time.process_time() - begin) / count
        return np.array(result.motion.q)[:, self.free], ms

    def solve_all(self, task: Figure) -> dict[str, Array]:
        first, count = int(task.frames[0]), len(task.frames)
        self.track(first, 10)  # compiles
        runs = [self.track(first, count) for _ in range(PASSES)]
        ms = np.full((1, count), min(ms for _, ms in runs))  # it does not say what each took
        alone = [self.track(int(t), 1) for t in task.cold]
        cold_q, cold_ms = np.concatenate([q for q, _ in alone]), np.array([[ms for _, ms in alone]])
        return {"q": runs[-1][0], "ms": ms, "cold_q": cold_q, "cold_ms": cold_ms}
