"""Equalities between joints in MJCF: one coordinate is a polynomial of another.

MuJoCo measures both from the pose that the file describes, where they are y₀ and x₀,

    y − y₀ = Σ c_k (x − x₀)^k,  k = 0 … 4

and a coupling is in powers of x itself. Other equalities (connect, weld, tendon) close loops, which
a tree cannot have, and are skipped.
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial import Polynomial

from exactik.io._xml import Element
from exactik.io.robots._couplings import Coupling
from exactik.io.robots._mjcf_bodies import Body
from exactik.io.robots._mjcf_settings import DefaultClasses
from exactik.io.robots._robot import RobotBuilder

__all__ = ["add_couplings"]


def add_couplings(
    robot: RobotBuilder, root: Element, defaults: DefaultClasses, bodies: list[Body], metres: float
) -> None:
    """Add the couplings of all active <equality> joints to a robot whose bones are complete."""
    refs = {joint.name: joint.ref for body in bodies for joint in body.joints}
    for section in root.find_children("equality"):
        for element in section.find_children("joint"):
            element = defaults.apply_to(element, None, "equality")
            if element.read_choice("active", "true", "true", "false") == "true":
                _add_equality(robot, element, refs, metres)


def _add_equality(
    robot: RobotBuilder, element: Element, refs: dict[str, float], metres: float
) -> None:
    c = element.read_numbers("polycoef", (0.0, 1.0, 0.0, 0.0, 0.0), fewer=True)
    joint1 = element.read_required("joint1", "the name of the joint that follows")
    dependent, dependent_joint = robot.find_dof(element, joint1)
    y_unit = metres if dependent_joint.translates else 1.0
    joint2 = element.attributes.get("joint2", "").strip()
    if joint2 == "":
        offset = y_unit * (refs[joint1] + c[0])
        coupling = Coupling(source=None, multiplier=0.0, offset=offset)
        robot.add_coupling(element, dependent, coupling)
        return
    source, source_joint = robot.find_dof(element, joint2)
    x_unit = metres if source_joint.translates else 1.0
    y = refs[joint1] + Polynomial(c)(Polynomial([-refs[joint2], 1.0]))
    coefficients = np.zeros(5)
    coefficients[: len(y.coef)] = y.coef
    scaled = (coefficients * y_unit / x_unit ** np.arange(5)).tolist()
    while len(scaled) > 2 and scaled[-1] == 0.0:
        scaled.pop()
    offset, multiplier, *higher = scaled
    coupling = Coupling(source=source, multiplier=multiplier, offset=offset, higher=tuple(higher))
    robot.add_coupling(element, dependent, coupling)
