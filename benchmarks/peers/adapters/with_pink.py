"""Pink on Pinocchio: a quadratic program (daqp) for every step.

Arms: 50 steps an attempt, its default limits on joints but none on speed. Markers: up to 100 steps
a frame, until the cost falls by less than a share of 1e-4.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.peers.protocol import Arm, Array, Attempts, Figure, is_reached

TITLE, PACKAGE = "Pink", "pin-pink"
REQUIREMENTS = ("pin-pink==4.4.*", "daqp==0.10.*")
STEPS, MARKER_STEPS = 50, 100
DAMPING, MARKER_DAMPING, MARKER_LM_DAMPING = 1e-2, 1e-3, 0.1
MIN_COST_DECREASE = 1e-4


class _Model:
    def __init__(self, task: Arm | Figure) -> None:
        self.pin: Any = import_module("pinocchio")
        self.pink: Any = import_module("pink")
        self.model = self.pin.buildModelFromUrdf(str(task.urdf))
        self.columns = [task.joints.index(name) for name in list(self.model.names)[1:]]

    def configuration(self, q: Array) -> Any:
        return self.pink.Configuration(self.model, self.model.createData(), q[self.columns])

    def to_task(self, configuration: Any) -> Array:
        q = np.empty(self.model.nq)
        q[self.columns] = configuration.q
        return q


class _Arm(_Model, Attempts):
    def __init__(self, task: Arm) -> None:
        super().__init__(task)
        self.tool, self.tolerance = task.tool, task.tolerance
        self.goal = self.pink.FrameTask(task.tool, 1.0, 1.0, lm_damping=DAMPING)
        self.limits = [self.pink.limits.ConfigurationLimit(self.model)]

    def attempt(self, target: Array, start: Array) -> tuple[Array, bool]:
        self.goal.set_target(self.pin.SE3(target))
        configuration = self.configuration(start)
        for _ in range(STEPS):
            place = configuration.get_transform_frame_to_world(self.tool)
            if is_reached(place.homogeneous, target, self.tolerance):
                return self.to_task(configuration), True
            velocity = self.pink.solve_ik(
                configuration, [self.goal], 1.0, "daqp", limits=self.limits, safety_break=False
            )
            configuration.integrate_inplace(velocity, 1.0)
        return self.to_task(configuration), False


class _Markers(_Model):
    def __init__(self, task: Figure) -> None:
        super().__init__(task)
        self.goals = [
            self.pink.FrameTask(name, 1.0, 0.0, lm_damping=MARKER_LM_DAMPING)
            for name in task.markers
        ]
        self.frames = [self.model.getFrameId(name) for name in task.markers]

    def solve(self, places: Array, q: Array) -> Array:
        configuration, before = self.configuration(q), np.inf
        for _ in range(MARKER_STEPS):
            now = [configuration.data.oMf[k] for k in self.frames]
            # Turned as the markers are: errors of whole poses would mix in the rotation.
            for goal, pose, place in zip(self.goals, now, places, strict=True):
                goal.set_target(self.pin.SE3(pose.rotation, place))
            velocity = self.pink.solve_ik(
                configuration,
                self.goals,
                1.0,
                "daqp",
                damping=MARKER_DAMPING,
                limits=[],
                safety_break=False,
            )
            configuration.integrate_inplace(velocity, 1.0)
            there = np.array([configuration.data.oMf[k].translation for k in self.frames])
            cost = float(((there - places) ** 2).sum())
            if cost > (1.0 - MIN_COST_DECREASE) * before:
                break
            before = cost
        return self.to_task(configuration)


def arm(task: Arm) -> _Arm:
    return _Arm(task)


def figure(task: Figure) -> _Markers:
    return _Markers(task)
