"""The Robotics Toolbox: its Levenberg–Marquardt in C++, damped as Chan proposed.

It takes the first start from us and draws its own restarts, as many as the others have.
"""

from __future__ import annotations

from benchmarks.peers.protocol import Arm, Array
from benchmarks.support.robot_peers import Toolbox

TITLE, PACKAGE = "Robotics Toolbox", "roboticstoolbox-python"
REQUIREMENTS = ("roboticstoolbox-python==1.5.*",)


def arm(task: Arm) -> _Toolbox:
    return _Toolbox(task)


class _Toolbox:
    def __init__(self, task: Arm) -> None:
        self.toolbox = Toolbox(task.urdf, task.tool)
        assert self.toolbox.joints == task.joints

    def solve(self, target: Array, starts: Array) -> Array:
        return self.toolbox.solve(target[None], starts)
