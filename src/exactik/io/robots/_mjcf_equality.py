"""Equalities between joints in MJCF: one coordinate is a polynomial of another.

MuJoCo measures both from the pose in which the file draws the robot, where they are y₀ and x₀,

    y − y₀ = Σ c_k (x − x₀)^k,  k = 0 … 4

and a coupling is in powers of x itself. Other equalities (connect, weld, tendon) close loops. They
are no business of a tree and are skipped.
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial import Polynomial

from exactik.io._xml import Element
from exactik.io.robots._couplings import Coupling
from exactik.io.robots._mjcf_bodies import Body
from exactik.io.robots._mjcf_settings import Defaults
from exactik.io.robots._robot import Assembly

__all__ = ["add_couplings"]


def add_couplings(
    robot: Assembly, root: Element, defaults: Defaults, bodies: list[Body], metres: float
) -> None:
    """Add the couplings of all active <equality> joints to a robot whose bones are complete."""
    refs = {joint.name: joint.ref for body in bodies for joint in body.joints}
    for section in root.find_children("equality"):
        for element in section.find_children("joint"):
            element = defaults.merged(element, None, "equality")
            if element.read_choice("active", "true", "true", "false") == "true":
                _couple(robot, element, refs, metres)


def _couple(robot: Assembly, element: Element, refs: dict[str, float], metres: float) -> None:
    c = element.read_numbers("polycoef", (0.0, 1.0, 0.0, 0.0, 0.0), fewer=True)
    first = element.read_required("joint1", "the name of the joint that follows")
    dependent, follower = robot.dof(element, first)
    y_unit = metres if follower.kind == "prismatic" else 1.0
    second = element.attributes.get("joint2", "").strip()
    if second == "":
        robot.couple(element, dependent, Coupling(None, 0.0, y_unit * (refs[first] + c[0])))
        return
    source, leader = robot.dof(element, second)
    x_unit = metres if leader.kind == "prismatic" else 1.0
    y = refs[first] + Polynomial(c)(Polynomial([-refs[second], 1.0]))
    powers = np.zeros(5)
    powers[: len(y.coef)] = y.coef
    scaled = (powers * y_unit / x_unit ** np.arange(5)).tolist()
    while len(scaled) > 2 and scaled[-1] == 0.0:
        scaled.pop()
    offset, multiplier, *higher = scaled
    robot.couple(element, dependent, Coupling(source, multiplier, offset, tuple(higher)))
