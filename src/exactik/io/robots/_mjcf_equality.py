"""Equalities in MJCF: one coordinate is a polynomial of another, or a loop is closed.

MuJoCo measures both from the pose that the file describes, where they are y₀ and x₀,

    y − y₀ = Σ c_k (x − x₀)^k,  k = 0 … 4

and a coupling is in powers of x itself. An equality between fixed tendons, whose lengths are sums
a q₁ + b q₂ + … of coordinates, says the same of these; it becomes a coupling where it has two
coordinates in all, or one, and is linear in the one that it drives. Others of tendons (of more
coordinates) are not kept, and a warning says so.
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial import Polynomial

from exactik.errors import ExactikError
from exactik.io._xml import Element
from exactik.io.robots._mjcf_bodies import MjcfBody, MjcfModel
from exactik.io.robots._robot import RobotBuilder
from exactik.model import Coupling, Loop
from exactik.model.functions import Constant, CoordinateFunction, Linear
from exactik.model.functions import Polynomial as PolynomialFunction
from exactik.spatial import matrix_from_wxyz
from exactik.typing import Array

LINEAR_POLYCOEF = (0.0, 1.0, 0.0, 0.0, 0.0)  # MuJoCo's default


def add_equalities(robot: RobotBuilder, model: MjcfModel, metres: float) -> None:
    """Add couplings and loops of all active equalities to a robot whose bones are complete."""
    refs = {joint.name: joint.ref for body in model.bodies for joint in body.joints}
    tendons = _read_tendons(model.root)
    dropped: dict[str, list[Element]] = {}
    for section in model.root.find_children("equality"):
        for element in section.children:
            element = model.defaults.apply_to(element, None, "equality")
            if element.read_choice("active", "true", "true", "false") != "true":
                continue
            loop = read_loop(model, element, metres) if element.tag in LOOP_TAGS else None
            if loop is not None:
                robot.loops.append(loop)
            elif element.tag == "joint":
                _add_joint_equality(robot, element, refs, metres)
            elif element.tag != "tendon" or not _add_tendon_equality(
                robot, element, tendons, refs, metres
            ):
                dropped.setdefault(element.tag, []).append(element)
    if len(dropped) > 0:
        kinds = ", ".join(f"{len(elements)} {tag}" for tag, elements in dropped.items())
        next(iter(dropped.values()))[0].warn(
            f"not kept of <equality>: {kinds}; the robot moves as if they were not active",
            code="equality-not-kept",
        )


def _read_tendons(root: Element) -> dict[str, list[tuple[str, float]]]:
    """Return the joints and coefficients of the fixed tendons, by name."""
    tendons: dict[str, list[tuple[str, float]]] = {}
    for section in root.find_children("tendon"):
        for tendon in section.find_children("fixed"):
            tendons[tendon.attributes.get("name", "").strip()] = [
                (
                    part.read_required("joint", "a joint of the tendon"),
                    part.read_number("coef", 0.0),
                )
                for part in tendon.find_children("joint")
            ]
    return tendons


def _add_joint_equality(
    robot: RobotBuilder, element: Element, refs: dict[str, float], metres: float
) -> None:
    c = element.read_numbers("polycoef", LINEAR_POLYCOEF, fewer=True)
    joint1 = element.read_required("joint1", "the name of the joint that follows")
    joint2 = element.attributes.get("joint2", "").strip()
    if joint2 == "":
        _add_coupling(
            robot, element, joint1, None, Polynomial([refs.get(joint1, 0.0) + c[0]]), metres
        )
        return
    shifted = Polynomial([-refs.get(joint2, 0.0), 1.0])
    y = refs.get(joint1, 0.0) + Polynomial(c)(shifted)
    _add_coupling(robot, element, joint1, joint2, y, metres)


def _add_tendon_equality(
    robot: RobotBuilder,
    element: Element,
    tendons: dict[str, list[tuple[str, float]]],
    refs: dict[str, float],
    metres: float,
) -> bool:
    """Add the coupling of two joints that an equality of tendons says; return whether it is one."""
    c = element.read_numbers("polycoef", LINEAR_POLYCOEF, fewer=True)
    first = tendons.get(element.attributes.get("tendon1", "").strip())
    second = tendons.get(element.attributes.get("tendon2", "").strip(), [])
    if first is None or ("tendon2" in element.attributes and len(second) == 0):
        return False
    for joint, _ in (*first, *second):
        if joint not in refs:
            raise element.error(f"no joint is named {joint!r}")
    if len(first) == 1 and len(second) <= 1:
        ((driven, a),) = first
        if a == 0.0:
            return False
        if len(second) == 0:
            _add_coupling(
                robot, element, driven, None, Polynomial([refs[driven] + c[0] / a]), metres
            )
            return True
        ((driver, b),) = second
        length = Polynomial([-b * refs[driver], b])
        y = refs[driven] + Polynomial(c)(length) / a
    elif len(first) == 2 and len(second) == 0:
        (driven, a), (driver, b) = first
        if a == 0.0:
            return False
        y = Polynomial([refs[driven] + (c[0] + b * refs[driver]) / a, -b / a])
    else:
        return False
    _add_coupling(robot, element, driven, driver, y, metres)
    return True


def _add_coupling(
    robot: RobotBuilder,
    element: Element,
    driven: str,
    driver: str | None,
    y: Polynomial,
    metres: float,
) -> None:
    """Add y(x) in units of the file as a coupling of two joints in metres; no driver: held."""
    name, joint = robot.find_dof(element, driven)
    y_unit = metres if joint.translates else 1.0
    if driver is None:
        held = Constant(y_unit * float(y.coef[0]))
        robot.add_coupling(element, Coupling(name, None, held))
        return
    source, source_joint = robot.find_dof(element, driver)
    x_unit = metres if source_joint.translates else 1.0
    powers = x_unit ** np.arange(len(y.coef))
    scaled = np.trim_zeros(np.asarray(y.coef, float) * y_unit / powers, "b").tolist()
    scaled += [0.0] * (2 - len(scaled))
    function: CoordinateFunction = Linear(scaled[1], scaled[0])
    if len(scaled) > 2:
        function = PolynomialFunction(tuple(scaled))
    robot.add_coupling(element, Coupling(name, source, function))


# --- equalities of MJCF that close loops: connect holds two points together, weld two frames
#
# Of two bodies, or of the frames of two sites. What an element does not state follows from where
# the file has the bodies: a connect states a point of its first body, and a weld one of its second,
# and the other body has the same point where they are in the file.


LOOP_TAGS = ("connect", "weld")
Place = tuple[MjcfBody | None, Array, Array]  # a body, None for the world, and p, R in its frame


def read_loop(model: MjcfModel, element: Element, metres: float) -> Loop | None:
    """Return the loop that a connect or weld closes; None if it holds the world to itself.

    Args:
        model: the file.
        element: with its defaults filled in.
        metres: length of the file's unit [m].
    """
    if "site1" in element.attributes or "site2" in element.attributes:
        ends = [_find_site(model, element, key) for key in ("site1", "site2")]
    else:
        bodies = [_find_body(model, element, key) for key in ("body1", "body2")]
        make = _place_weld if element.tag == "weld" else _place_connect
        ends = make(element, *bodies)
    if ends[0][0] is None:
        ends.reverse()
    (one, p_one, R_one), (other, p_other, R_other) = ends
    if one is None:
        return None
    try:
        return Loop(
            one.name,
            None if other is None else other.name,
            kind="weld" if element.tag == "weld" else "point",
            points=(metres * p_one, metres * p_other),
            rotation=R_other @ R_one.T if element.tag == "weld" else None,
            name=element.attributes.get("name", "").strip(),
        )
    except ExactikError as error:
        raise element.error(str(error)) from error


def _place_connect(element: Element, one: MjcfBody | None, other: MjcfBody | None) -> list[Place]:
    anchor = np.array(element.read_numbers("anchor", (0.0, 0.0, 0.0)))
    p_world_one, R_world_one = _locate(one)
    p_world_other, R_world_other = _locate(other)
    there = R_world_other.T @ (p_world_one + R_world_one @ anchor - p_world_other)
    return [(one, anchor, np.eye(3)), (other, there, np.eye(3))]


def _place_weld(element: Element, one: MjcfBody | None, other: MjcfBody | None) -> list[Place]:
    anchor = np.array(element.read_numbers("anchor", (0.0, 0.0, 0.0)))
    relpose = np.array(element.read_numbers("relpose", (0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0)))
    if relpose[3:].any():  # MuJoCo takes its place for that of the anchor
        p_one_anchor = relpose[:3]
        R_one_other = matrix_from_wxyz(relpose[3:] / np.linalg.norm(relpose[3:]))
    else:
        p_world_one, R_world_one = _locate(one)
        p_world_other, R_world_other = _locate(other)
        R_one_other = R_world_one.T @ R_world_other
        p_one_anchor = R_world_one.T @ (p_world_other - p_world_one) + R_one_other @ anchor
    return [(one, p_one_anchor, R_one_other), (other, anchor, np.eye(3))]


def _find_body(model: MjcfModel, element: Element, key: str) -> MjcfBody | None:
    """Return the body that an attribute names; None for the world, which it need not name."""
    name = element.attributes.get(key, "").strip()
    if key == "body1" and name == "":
        raise element.error("no body1, nor site1 and site2; expected what it holds")
    if name in ("", "world"):
        return None
    for body in model.bodies:
        if body.name == name:
            return body
    raise element.error(f"no body is named {name[:60]!r}")


def _find_site(model: MjcfModel, element: Element, key: str) -> Place:
    name = element.read_required(key, "the name of a site, as the other end has one")
    if name not in model.sites:
        raise element.error(f"no site is named {name[:60]!r}")
    site, scope = model.sites[name]
    site = model.defaults.apply_to(site, scope.default_class)
    return scope.body, *model.compute_pose(site, scope)


def _locate(body: MjcfBody | None) -> tuple[Array, Array]:
    """Return where a body is in the world, as the file has it."""
    p, R = np.zeros(3), np.eye(3)
    while body is not None:
        p, R = body.p_parent_body + body.R_parent_body @ p, body.R_parent_body @ R
        body = body.parent
    return p, R
