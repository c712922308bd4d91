"""PyBullet's `calculateInverseKinematics`, 200 iterations, from the state that the body is put in.

Without limits, which cost it nearly all of its answers (1 instead of 50 % reach): an answer outside
them counts as a miss, and another attempt is made.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.peers.protocol import Arm, Array, Attempts, is_reached
from benchmarks.peers.tree import Tree

TITLE, PACKAGE = "PyBullet", "pybullet"
REQUIREMENTS = ("pybullet==3.2.*", "numpy")
ITERATIONS, RESIDUAL = 200, 1e-5


def quaternion(R: Array) -> Array:
    """The unit quaternion xyzw of a rotation: the largest column of 4 q qᵀ."""
    xx, yy, zz = np.diag(R)
    Q = np.array(
        [
            [1 + xx - yy - zz, R[1, 0] + R[0, 1], R[2, 0] + R[0, 2], R[2, 1] - R[1, 2]],
            [R[1, 0] + R[0, 1], 1 - xx + yy - zz, R[2, 1] + R[1, 2], R[0, 2] - R[2, 0]],
            [R[2, 0] + R[0, 2], R[2, 1] + R[1, 2], 1 - xx - yy + zz, R[1, 0] - R[0, 1]],
            [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], 1 + xx + yy + zz],
        ]
    )
    q = Q[np.argmax(np.diag(Q))]
    return q / np.linalg.norm(q)


class _Arm(Attempts):
    def __init__(self, task: Arm) -> None:
        self.bullet: Any = import_module("pybullet")
        self.bullet.connect(self.bullet.DIRECT)
        self.body = self.bullet.loadURDF(str(task.urdf), useFixedBase=True)
        facts = [
            self.bullet.getJointInfo(self.body, k)
            for k in range(self.bullet.getNumJoints(self.body))
        ]
        index = {fact[1].decode(): fact[0] for fact in facts}
        self.joints = [index[name] for name in task.joints]
        (self.link,) = (fact[0] for fact in facts if fact[12].decode() == task.tool)
        self.tree, self.task = Tree(task.urdf, task.joints, [task.tool]), task

    def attempt(self, target: Array, start: Array) -> tuple[Array, bool]:
        for joint, value in zip(self.joints, start, strict=True):
            self.bullet.resetJointState(self.body, joint, value)
        lower, upper = self.task.limits.T
        result = self.bullet.calculateInverseKinematics(
            self.body,
            self.link,
            target[:3, 3].tolist(),
            quaternion(target[:3, :3]).tolist(),
            maxNumIterations=ITERATIONS,
            residualThreshold=RESIDUAL,
        )
        q = np.array(result)
        inside = bool((q >= lower).all() and (q <= upper).all())
        return q, inside and is_reached(self.tree.poses(q)[0], target, self.task.tolerance)


def arm(task: Arm) -> _Arm:
    return _Arm(task)
