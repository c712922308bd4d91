"""URDF: links and the joints between them, in metres and radians.

A joint places its child in its parent by `origin` (offset, then R_z(yaw) R_y(pitch) R_x(roll)), and
moves it along or about `axis`, in the child's frame: a bone's offset, `pre` and joint. Bones have
the names of the links and the order of a walk from the root, children as their joints are listed.

    fixed                            Joint.fixed
    revolute, continuous, prismatic  Joint.revolute, Joint.prismatic
    floating                         Joint.free: translation, then quaternion
    planar                           two shifts in the plane and a turn about its normal, by two
                                     more bones: <link>_planar1, <link>_planar2, <link>

A revolute or prismatic joint without `lower` and `upper` is free; if one of them is absent it is 0,
as the format says. Shapes, inertias, transmissions and what simulators add are skipped.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from exactik.io._xml import Element
from exactik.io.robots._couplings import Coupling
from exactik.io.robots._robot import Assembly, Robot, checked_limits
from exactik.model import Joint
from exactik.spatial import axis_rotation, matrix_from_wxyz, rotation_taking_z_to
from exactik.typing import Array

__all__ = ["read_urdf"]

_TYPES = ("fixed", "revolute", "continuous", "prismatic", "floating", "planar")


def read_urdf(root: Element, metres: float, floating: bool) -> Robot:
    """Return the robot that the element <robot> describes.

    Args:
        root: the element <robot>.
        metres: length of the file's unit [m].
        floating: whether the root link moves freely.
    """
    _refuse_xacro(root)
    links = _named(root, "link")
    joints = _named(root, "joint")
    if len(links) == 0:
        raise root.error("no <link>; expected at least one")
    by_parent = _by_parent(links, joints)
    carried = {joint.child for tree in by_parent.values() for joint in tree}
    roots = [name for name in links if name not in carried]
    if len(roots) > 1:
        shown = ", ".join(roots[:10])
        raise links[roots[1]].error(
            f"{len(roots)} links have no parent: {shown}; expected one root, so a joint is missing"
        )
    robot = Assembly(root.attributes.get("name", "").strip() or Path(root.path).stem, root)
    reached = set(roots)
    if len(roots) == 1:
        base = Joint.free() if floating else Joint.fixed()
        robot.add(links[roots[0]], roots[0], joint=base)
    stack = [joint for name in roots for joint in reversed(by_parent.get(name, []))]
    while len(stack) > 0:
        joint = stack.pop()
        joint.add_to(robot, metres)
        reached.add(joint.child)
        stack.extend(reversed(by_parent.get(joint.child, [])))
    for name, link in links.items():
        if name not in reached:
            raise link.error("the joints above this link run in a ring; expected a tree")
    for joint in joints.values():
        _couple(robot, joint, joints, metres)
    return robot.robot()


class _Joint:
    """One <joint>: its ends, its type, and how it becomes bones."""

    def __init__(self, element: Element):
        self.element = element
        self.name = element.read_required("name", "the joint's name")
        self.type = element.read_choice("type", "", *_TYPES)
        self.parent = self._link("parent")
        self.child = self._link("child")

    def _link(self, end: str) -> str:
        child = self.element.find_child(end)
        if child is None:
            raise self.element.error(f"no <{end}>; expected the link at this end")
        return child.read_required("link", "a link's name")

    def add_to(self, robot: Assembly, metres: float) -> None:
        """Add the bones of this joint and its child."""
        name, parent = self.child, self.parent
        offset, pre = self._origin()
        place = {"offset": metres * offset, "pre": pre}
        if self.type == "planar":
            normal = self._axis()
            for k, along in enumerate(_in_plane(normal), start=1):
                between, joint = f"{name}_planar{k}", Joint.prismatic(along)
                robot.add(
                    self.element, between, moves=self.name, parent=parent, joint=joint, **place
                )
                parent, place = between, {}
            joint = Joint.revolute(normal)
        elif self.type in ("revolute", "continuous"):
            joint = Joint.revolute(self._axis(), self._limits(1.0))
        elif self.type == "prismatic":
            joint = Joint.prismatic(self._axis(), self._limits(metres))
        else:
            joint = Joint.free() if self.type == "floating" else Joint.fixed()
        robot.add(self.element, name, moves=self.name, parent=parent, joint=joint, **place)

    def _origin(self) -> tuple[Array, Array]:
        origin = self.element.find_child("origin")
        if origin is None:
            return np.zeros(3), np.eye(3)
        offset = np.array(origin.read_numbers("xyz", (0.0, 0.0, 0.0)))
        if "quat_xyzw" in origin.attributes:
            if "rpy" in origin.attributes:
                raise origin.error("both rpy and quat_xyzw; expected one of them")
            x, y, z, w = origin.read_numbers("quat_xyzw", (0.0, 0.0, 0.0, 1.0))
            if math.hypot(x, y, z, w) < 1e-9:
                raise origin.error("quat_xyzw is zero; expected a rotation")
            return offset, matrix_from_wxyz((w, x, y, z))
        roll, pitch, yaw = origin.read_numbers("rpy", (0.0, 0.0, 0.0))
        turn = axis_rotation("z", yaw) @ axis_rotation("y", pitch) @ axis_rotation("x", roll)
        return offset, turn

    def _axis(self) -> Array:
        element = self.element.find_child("axis")
        if element is None:
            return np.array([1.0, 0.0, 0.0])
        axis = np.array(element.read_numbers("xyz", (1.0, 0.0, 0.0)))
        length = float(np.linalg.norm(axis))
        if not 1e-9 < length < math.inf:
            raise self.element.error(f"axis has length {length:g}; expected a direction")
        return axis / length

    def _limits(self, factor: float) -> tuple[float, float] | None:
        limit = self.element.find_child("limit")
        if limit is None or self.type == "continuous":
            return None
        if "lower" not in limit.attributes and "upper" not in limit.attributes:
            return None
        (low,) = limit.read_numbers("lower", (0.0,), infinite=True)
        (high,) = limit.read_numbers("upper", (0.0,), infinite=True)
        return checked_limits(self.element, factor * low, factor * high)


def _named(root: Element, tag: str) -> dict[str, Element]:
    """Return the children with this tag by name."""
    found: dict[str, Element] = {}
    for element in root.find_children(tag):
        name = element.read_required("name", f"the {tag}'s name")
        if name in found:
            first = found[name].line
            raise element.error(f"a second {tag} of this name (the first is in line {first})")
        found[name] = element
    return found


def _by_parent(links: dict[str, Element], joints: dict[str, Element]) -> dict[str, list[_Joint]]:
    """Return the joints that hang from each link, and check their ends."""
    tree: dict[str, list[_Joint]] = {}
    carrier: dict[str, str] = {}
    for element in joints.values():
        joint = _Joint(element)
        for end, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in links:
                raise element.error(f"{end} link {name!r} is not defined; expected a <link>")
        child = joint.child
        if child in carrier:
            raise element.error(
                f"link {child!r} is already the child of joint {carrier[child]!r}; "
                "expected a tree, where a link has one parent"
            )
        carrier[child] = joint.name
        tree.setdefault(joint.parent, []).append(joint)
    return tree


def _couple(robot: Assembly, joint: Element, joints: dict[str, Element], metres: float) -> None:
    """Add the coupling of a joint with a <mimic>; to follow a fixed joint is to be held."""
    mimic = joint.find_child("mimic")
    if mimic is None:
        return
    name, other = (
        joint.read_required("name", "its name"),
        mimic.read_required("joint", "the joint to follow"),
    )
    if other not in joints:
        raise joint.error(
            f"no joint {other!r} to follow (there are: {', '.join(list(joints)[:40])})"
        )
    multiplier, offset = mimic.read_number("multiplier", 1.0), mimic.read_number("offset", 0.0)
    if name not in robot.moved_by:
        return
    dependent, follower = robot.dof(joint, name)
    y_unit = metres if follower.kind == "prismatic" else 1.0
    if other not in robot.moved_by:
        robot.couple(joint, dependent, Coupling(None, 0.0, y_unit * offset))
        return
    source, leader = robot.dof(joint, other)
    x_unit = metres if leader.kind == "prismatic" else 1.0
    robot.couple(joint, dependent, Coupling(source, multiplier * y_unit / x_unit, y_unit * offset))


def _in_plane(normal: Array) -> tuple[Array, Array]:
    """Return two axes that make a right-handed frame with the normal; x, y where it is z."""
    axes = np.eye(3)
    for a in range(3):
        if np.array_equal(normal, axes[a]):
            return axes[(a + 1) % 3], axes[(a + 2) % 3]
    turn = rotation_taking_z_to(normal)
    return turn[:, 0], turn[:, 1]


def _refuse_xacro(root: Element) -> None:
    for element in root.find_descendants():
        if element.tag.startswith("xacro:"):
            raise element.error("a xacro macro; expected the plain URDF that xacro writes")
