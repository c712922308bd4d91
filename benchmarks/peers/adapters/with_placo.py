"""placo: its kinematics solver, one quadratic program a step.

Arms: up to 50 steps an attempt. Markers: a position task each and a regularisation of 3e-3, up to
100 steps a frame, until the cost falls by less than a share of 1e-4.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.peers.protocol import Arm, Array, Attempts, Figure, is_reached

TITLE, PACKAGE = "placo", "placo"
REQUIREMENTS = ("placo==0.10.*",)
STEPS, MARKER_STEPS = 50, 100
MIN_COST_DECREASE, REGULARISATION = 1e-4, 3e-3  # with 1e-3 cold frames are lost


class _Robot:
    def __init__(self, task: Arm | Figure) -> None:
        placo: Any = import_module("placo")
        self.robot = placo.RobotWrapper(str(task.urdf), int(placo.Flags.ignore_collisions))
        self.solver = placo.KinematicsSolver(self.robot)
        self.solver.mask_fbase(True)
        self.columns = [self.robot.get_joint_offset(name) for name in task.joints]

    def put(self, q: Array) -> None:
        state = np.array(self.robot.state.q)
        state[self.columns] = q
        self.robot.state.q = state
        self.robot.update_kinematics()

    def step(self) -> None:
        self.solver.solve(True)
        self.robot.update_kinematics()

    def q(self) -> Array:
        return np.array(self.robot.state.q)[self.columns]


class _Arm(_Robot, Attempts):
    def __init__(self, task: Arm) -> None:
        super().__init__(task)
        self.task = task
        self.solver.enable_joint_limits(True)
        self.goal = self.solver.add_frame_task(task.tool, np.eye(4))
        self.goal.configure("tool", "soft", 1.0, 1.0)
        self.solver.add_regularization_task(1e-6)

    def attempt(self, target: Array, start: Array) -> tuple[Array, bool]:
        self.put(start)
        self.goal.T_world_frame = target
        for _ in range(STEPS):
            now = self.robot.get_T_world_frame(self.task.tool)
            if is_reached(now, target, self.task.tolerance):
                return self.q(), True
            try:
                self.step()
            except RuntimeError:  # no solution of the quadratic program
                break
        return self.q(), False


class _Markers(_Robot):
    def __init__(self, task: Figure) -> None:
        super().__init__(task)
        self.solver.enable_joint_limits(False)
        self.names = task.markers
        self.goals = [self.solver.add_position_task(name, np.zeros(3)) for name in task.markers]
        for name, goal in zip(task.markers, self.goals, strict=True):
            goal.configure(name, "soft", 1.0)
        self.solver.add_regularization_task(REGULARISATION)

    def cost(self, places: Array) -> float:
        now = np.array([self.robot.get_T_world_frame(name)[:3, 3] for name in self.names])
        return float(((now - places) ** 2).sum())

    def solve(self, places: Array, q: Array) -> Array:
        self.put(q)
        for goal, place in zip(self.goals, places, strict=True):
            goal.target_world = place
        before = np.inf
        for _ in range(MARKER_STEPS):
            self.step()
            cost = self.cost(places)
            if cost > (1.0 - MIN_COST_DECREASE) * before:
                break
            before = cost
        return self.q()


def arm(task: Arm) -> _Arm:
    return _Arm(task)


def figure(task: Figure) -> _Markers:
    return _Markers(task)
