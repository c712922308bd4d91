"""IKPy: its `inverse_kinematics_frame` with the whole orientation, SciPy's trf inside."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.peers.protocol import Arm, Array, Attempts, is_reached
from benchmarks.support.urdf import find_chain, get_link

TITLE, PACKAGE = "IKPy", "ikpy"
REQUIREMENTS = ("ikpy==4.2.*",)


class _Arm(Attempts):
    def __init__(self, task: Arm) -> None:
        joints = find_chain(task.urdf, task.tool)
        chain_class: Any = import_module("ikpy.chain").Chain
        elements = [get_link(joints[0], "parent")]
        for joint in joints:
            elements += [joint.attrib["name"], get_link(joint, "child")]
        moving = [False, *(joint.get("type") != "fixed" for joint in joints)]
        self.chain = chain_class.from_urdf_file(
            str(task.urdf), base_elements=elements, active_links_mask=moving
        )
        assert [link.name for link in self.chain.links[1:]] == [j.attrib["name"] for j in joints]
        self.moving, self.tolerance = np.array(moving), task.tolerance

    def attempt(self, target: Array, start: Array) -> tuple[Array, bool]:
        whole = np.zeros(len(self.moving))
        whole[self.moving] = start
        result = self.chain.inverse_kinematics_frame(
            target, initial_position=whole, orientation_mode="all"
        )
        arrived = is_reached(self.chain.forward_kinematics(result), target, self.tolerance)
        return result[self.moving], arrived


def arm(task: Arm) -> _Arm:
    return _Arm(task)
