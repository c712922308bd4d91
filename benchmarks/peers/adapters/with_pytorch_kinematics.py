"""PyTorch Kinematics: its damped pseudo-inverse, all attempts of a pose in one batch.

Double precision, its defaults but for 100 iterations, and an end when any attempt has arrived.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from benchmarks.peers.protocol import TOLERANCE_SHARE, Arm, Array
from benchmarks.support.urdf import find_chain, get_link

TITLE, PACKAGE = "PyTorch Kinematics", "pytorch-kinematics"
REQUIREMENTS = ("torch==2.13.0", "pytorch-kinematics==0.10.*")
ITERATIONS = 100


class _Arm:
    def __init__(self, task: Arm) -> None:
        self.torch: Any = import_module("torch")
        self.torch.set_num_threads(1)
        self.kinematics: Any = import_module("pytorch_kinematics")
        root = get_link(find_chain(task.urdf, task.tool)[0], "parent")
        chain = self.kinematics.build_serial_chain_from_urdf(
            task.urdf.read_bytes(), task.tool, root
        )
        self.chain = chain.to(dtype=self.torch.float64)
        assert self.chain.get_joint_parameter_names() == task.joints
        self.limits, self.tolerance = self.torch.tensor(task.limits), task.tolerance

    def solve(self, target: Array, starts: Array) -> Array:
        solver = self.kinematics.PseudoInverseIK(
            self.chain,
            pos_tolerance=TOLERANCE_SHARE * self.tolerance[0],
            rot_tolerance=TOLERANCE_SHARE * self.tolerance[1],
            retry_configs=self.torch.tensor(starts),
            joint_limits=self.limits,
            max_iterations=ITERATIONS,
            early_stopping_any_converged=True,
            early_stopping_no_improvement=None,
        )
        pose = self.kinematics.Transform3d(matrix=self.torch.tensor(target)[None])
        result = solver.solve(pose)
        best = int(result.converged[0].int().argmax())
        return result.solutions[0, best].numpy()


def arm(task: Arm) -> _Arm:
    return _Arm(task)
