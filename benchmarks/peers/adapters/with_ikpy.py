"""IKPy: its `inverse_kinematics_frame` with the whole orientation, SciPy's trf inside."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.peers.protocol import Arm, Array, Attempts, reached
from benchmarks.support.urdf import chain, link_of

TITLE, PACKAGE = "IKPy", "ikpy"
REQUIREMENTS = ("ikpy==4.2.*",)


class _Arm(Attempts):
    def __init__(self, task: Arm) -> None:
        joints = chain(task.urdf, task.tool)
        made: Any = import_module("ikpy.chain").Chain
        elements = [link_of(joints[0], "parent")]
        for joint in joints:
            elements += [joint.attrib["name"], link_of(joint, "child")]
        moving = [False, *(joint.get("type") != "fixed" for joint in joints)]
        self.chain = made.from_urdf_file(
            str(task.urdf), base_elements=elements, active_links_mask=moving
        )
        assert [link.name for link in self.chain.links[1:]] == [j.attrib["name"] for j in joints]
        self.moving, self.tolerance = np.array(moving), task.tolerance

    def attempt(self, target: Array, start: Array) -> tuple[Array, bool]:
        whole = np.zeros(len(self.moving))
        whole[self.moving] = start
        found = self.chain.inverse_kinematics_frame(
            target, initial_position=whole, orientation_mode="all"
        )
        arrived = reached(self.chain.forward_kinematics(found), target, self.tolerance)
        return found[self.moving], arrived


def arm(task: Arm) -> _Arm:
    return _Arm(task)
