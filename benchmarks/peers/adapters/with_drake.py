"""Drake's `InverseKinematics`, solved by SNOPT.

Arms: the pose as constraints, a little inside the tolerance of the judge. Markers: a position cost
each, no constraints but the wide limits of the figure.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.peers.protocol import Arm, Array, Attempts, Figure, is_reached
from benchmarks.support.urdf import find_chain, get_link

TITLE, PACKAGE = "Drake SNOPT", "drake"
REQUIREMENTS = ("drake==1.51.*",)
TOLERANCE_SHARE = 0.5  # share of the tolerance: its answers lie at the edge of what they may


class _Plant:
    def __init__(self, task: Arm | Figure) -> None:
        self.ik: Any = import_module("pydrake.multibody.inverse_kinematics")
        self.math: Any = import_module("pydrake.math")
        self.snopt = import_module("pydrake.solvers").SnoptSolver()
        self.plant = import_module("pydrake.multibody.plant").MultibodyPlant(0.0)
        parsing: Any = import_module("pydrake.multibody.parsing")
        parsing.Parser(self.plant).AddModels(str(task.urdf))
        links = [task.tool] if isinstance(task, Arm) else task.markers
        root = self.plant.GetFrameByName(get_link(find_chain(task.urdf, links[0])[0], "parent"))
        if root.body().index() != self.plant.world_body().index():
            self.plant.WeldFrames(self.plant.world_frame(), root)
        self.plant.Finalize()
        # q_theirs[columns] = q
        self.columns = [self.plant.GetJointByName(name).position_start() for name in task.joints]
        self.context = self.plant.CreateDefaultContext()
        self.world = self.plant.world_frame()

    def to_drake(self, q: Array) -> Array:
        theirs = np.zeros(self.plant.num_positions())
        theirs[self.columns] = q
        return theirs


class _Arm(_Plant, Attempts):
    def __init__(self, task: Arm) -> None:
        super().__init__(task)
        self.task, self.tool = task, self.plant.GetFrameByName(task.tool)

    def attempt(self, target: Array, start: Array) -> tuple[Array, bool]:
        ik = self.ik.InverseKinematics(self.plant, self.context)
        near = TOLERANCE_SHARE * self.task.tolerance[0] / np.sqrt(3.0) * np.ones(3)
        x, R = target[:3, 3], self.math.RotationMatrix(target[:3, :3])
        ik.AddPositionConstraint(self.tool, np.zeros(3), self.world, x - near, x + near)
        same, bound = self.math.RotationMatrix(), TOLERANCE_SHARE * self.task.tolerance[1]
        ik.AddOrientationConstraint(self.world, R, self.tool, same, bound)
        result = self.snopt.Solve(ik.prog(), self.to_drake(start), None)
        theirs = result.GetSolution(ik.q())
        q = np.clip(theirs[self.columns], *self.task.limits.T)
        self.plant.SetPositions(self.context, self.to_drake(q))
        T = self.tool.CalcPoseInWorld(self.context).GetAsMatrix4()
        return q, is_reached(T, target, self.task.tolerance)


class _Markers(_Plant):
    def __init__(self, task: Figure) -> None:
        super().__init__(task)
        self.frames = [self.plant.GetFrameByName(name) for name in task.markers]

    def solve(self, places: Array, q: Array) -> Array:
        ik = self.ik.InverseKinematics(self.plant, self.context)
        for frame, place in zip(self.frames, places, strict=True):
            ik.AddPositionCost(self.world, place, frame, np.zeros(3), np.eye(3))
        result = self.snopt.Solve(ik.prog(), self.to_drake(q), None)
        return result.GetSolution(ik.q())[self.columns]


def arm(task: Arm) -> _Arm:
    return _Arm(task)


def figure(task: Figure) -> _Markers:
    return _Markers(task)
