"""newton.ik on warp, on the processor: Levenberg–Marquardt in single precision, analytic Jacobian.

Arms: position, rotation and limits as objectives, 60 iterations an attempt. Markers: a position
each, 10 iterations a tracked frame and 60 a cold one. One problem a call; its strength are batches
on a GPU, which are not measured here.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.peers.adapters.with_pybullet import quaternion
from benchmarks.peers.protocol import Arm, Array, Attempts, Figure, is_reached
from benchmarks.peers.tree import Tree

TITLE, PACKAGE = "newton", "newton"
REQUIREMENTS = ("newton==1.7.*",)
ARM_ITERATIONS, TRACKED_ITERATIONS, COLD_ITERATIONS = 60, 10, 60
LIMIT_WEIGHT = 10.0  # weight; at its default of 0.1 answers leave the limits
COLD_DISTANCE = 0.05  # [m] root mean square distance above which a frame is a cold one


class _Model:
    def __init__(self, task: Arm | Figure) -> None:
        self.warp: Any = import_module("warp")
        self.warp.config.quiet = True
        newton: Any = import_module("newton")
        self.ik: Any = import_module("newton.ik")
        builder = newton.ModelBuilder()
        builder.add_urdf(str(task.urdf), floating=False)
        self.links = {label.rsplit("/", 1)[-1]: k for k, label in enumerate(builder.body_label)}
        labels = [label.rsplit("/", 1)[-1] for label in builder.joint_label]
        start = builder.joint_q_start
        self.columns = [start[labels.index(name)] for name in task.joints]
        self.model = builder.finalize(device="cpu")

    def vectors(self, values: Array, kind: Any) -> Any:
        return self.warp.array(values.astype(np.float32), dtype=kind, device="cpu")

    def solver(self, objectives: list[Any]) -> Any:
        mode = self.ik.IKJacobianType.ANALYTIC
        return self.ik.IKSolver(self.model, 1, objectives, jacobian_mode=mode)

    def run(self, solver: Any, q: Array, iterations: int) -> Array:
        theirs = np.zeros((1, self.model.joint_coord_count), dtype=np.float32)
        theirs[0, self.columns] = q
        state = self.warp.array(theirs, dtype=self.warp.float32, device="cpu")
        solver.reset()
        solver.step(state, state, iterations=iterations)
        return state.numpy()[0, self.columns].astype(float)


class _Arm(_Model, Attempts):
    def __init__(self, task: Arm) -> None:
        super().__init__(task)
        wp, link = self.warp, self.links[task.tool]
        self.place = self.ik.IKObjectivePosition(
            link, wp.vec3(), self.vectors(np.zeros((1, 3)), wp.vec3)
        )
        identity = self.vectors(np.array([[0.0, 0.0, 0.0, 1.0]]), wp.vec4)
        self.turn = self.ik.IKObjectiveRotation(link, wp.quat_identity(), identity)
        inside = self.ik.IKObjectiveJointLimit(
            self.model.joint_limit_lower, self.model.joint_limit_upper, weight=LIMIT_WEIGHT
        )
        self.ik_solver = self.solver([self.place, self.turn, inside])
        self.tree, self.task = Tree(task.urdf, task.joints, [task.tool]), task

    def attempt(self, target: Array, start: Array) -> tuple[Array, bool]:
        wp = self.warp
        self.place.set_target_position(0, wp.vec3(*target[:3, 3].tolist()))
        self.turn.set_target_rotation(0, wp.vec4(*quaternion(target[:3, :3]).tolist()))
        q = np.clip(self.run(self.ik_solver, start, ARM_ITERATIONS), *self.task.limits.T)
        return q, is_reached(self.tree.poses(q)[0], target, self.task.tolerance)


class _Markers(_Model):
    def __init__(self, task: Figure) -> None:
        super().__init__(task)
        wp = self.warp
        origin = np.zeros((1, 3))
        self.goals = [
            self.ik.IKObjectivePosition(self.links[name], wp.vec3(), self.vectors(origin, wp.vec3))
            for name in task.markers
        ]
        self.ik_solver = self.solver(self.goals)
        self.tree = Tree(task.urdf, task.joints, task.markers)

    def solve(self, places: Array, q: Array) -> Array:
        for goal, place in zip(self.goals, places, strict=True):
            goal.set_target_position(0, self.warp.vec3(*place.tolist()))
        away = self.tree.poses(q)[:, :3, 3] - places
        far = float((away**2).sum(axis=1).mean()) > COLD_DISTANCE**2
        return self.run(self.ik_solver, q, COLD_ITERATIONS if far else TRACKED_ITERATIONS)


def arm(task: Arm) -> _Arm:
    return _Arm(task)


def figure(task: Figure) -> _Markers:
    return _Markers(task)
