"""TRAC-IK (pytracik): two solvers race on two threads, with random restarts, for up to 50 ms.

Its restarts are its own and cannot be switched off, so there is no row of one attempt. Processor
time counts both of its threads.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from benchmarks.peers.protocol import TOLERANCE_SHARE, Arm, Array
from benchmarks.support.urdf import find_chain, get_link

TITLE, PACKAGE = "TRAC-IK", "pytracik"
REQUIREMENTS = ("pytracik==0.0.3", "numpy")
TIMEOUT_S = 0.05


class _TracIk:
    ATTEMPTS = (30,)

    def __init__(self, task: Arm) -> None:
        solver_class: Any = import_module("trac_ik").TracIK
        joints = find_chain(task.urdf, task.tool)
        moving = [joint.attrib["name"] for joint in joints if joint.get("type") != "fixed"]
        assert moving == task.joints
        base, epsilon = get_link(joints[0], "parent"), 0.5 * TOLERANCE_SHARE * min(task.tolerance)
        self.solver = solver_class(base, task.tool, str(task.urdf), TIMEOUT_S, epsilon, "Speed")

    def solve(self, target: Array, starts: Array) -> Array:
        result = self.solver.ik(target[:3, 3], target[:3, :3], seed_jnt_values=starts[0])
        return starts[0] if result is None else result


def arm(task: Arm) -> _TracIk:
    return _TracIk(task)
