"""TRAC-IK (pytracik): two solvers race on two threads, with random restarts, for up to 50 ms.

Its restarts are its own and cannot be switched off, so there is no row of one attempt. Processor
time counts both of its threads.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from benchmarks.peers.protocol import SURE, Arm, Array
from benchmarks.support.urdf import chain, link_of

TITLE, PACKAGE = "TRAC-IK", "pytracik"
REQUIREMENTS = ("pytracik==0.0.3", "numpy")
TIMEOUT = 0.05  # [s]


class _TracIk:
    ATTEMPTS = (30,)

    def __init__(self, task: Arm) -> None:
        made: Any = import_module("trac_ik").TracIK
        joints = chain(task.urdf, task.tool)
        moving = [joint.attrib["name"] for joint in joints if joint.get("type") != "fixed"]
        assert moving == task.joints
        base, epsilon = link_of(joints[0], "parent"), 0.5 * SURE * min(task.tolerance)
        self.solver = made(base, task.tool, str(task.urdf), TIMEOUT, epsilon, "Speed")

    def solve(self, target: Array, starts: Array) -> Array:
        found = self.solver.ik(target[:3, 3], target[:3, :3], seed_jnt_values=starts[0])
        return starts[0] if found is None else found


def arm(task: Arm) -> _TracIk:
    return _TracIk(task)
