"""URDF: links and the joints between them, in metres and radians.

A joint places its child in its parent by `origin` (offset, then R_z(yaw) R_y(pitch) R_x(roll)), and
moves it along or about `axis`, in the child's frame: a bone's offset, `pre` and joint. Bones have
the names of the links and the order of a walk from the root, children as their joints are listed.

    fixed                            Joint.fixed
    revolute, continuous, prismatic  Joint.revolute, Joint.prismatic
    floating                         Joint.free: translation, then quaternion
    spherical                        Joint.quaternion; not in the format, but in Bullet and MuJoCo
    planar                           two shifts in the plane and a rotation about its normal, by two
                                     more bones: <link>_planar1, <link>_planar2, <link>

A revolute or prismatic joint without `lower` and `upper` is free; if one of them is absent it is 0,
as the format says, and one of 1e30 or more is none, as we write it; a velocity of 0 is none, too.
Shapes are in `_read`; inertias, but for masses and their centres, transmissions and what
simulators add are skipped.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from exactik.io._xml import Element
from exactik.io.robots._robot import NO_LIMIT, Robot, RobotBuilder, check_limits
from exactik.model import BoneMass, Coupling, Joint
from exactik.model.functions import Constant, Linear
from exactik.spatial import axis_rotation, matrix_from_wxyz, rotation_taking_z_to
from exactik.typing import Array

JOINT_TYPES = ("fixed", "revolute", "continuous", "prismatic", "floating", "planar", "spherical")


def read_urdf(root: Element, metres: float, floating: bool | None) -> Robot:
    """Return the robot that the element <robot> describes.

    Args:
        metres: length of the file's unit [m].
        floating: whether the root link moves freely.
    """
    _refuse_xacro(root)
    links = _index_by_name(root, "link")
    joints = _index_by_name(root, "joint")
    if len(links) == 0:
        raise root.error("no <link>; expected at least one")
    joints_by_parent = _group_by_parent(links, joints)
    children = {joint.child for group in joints_by_parent.values() for joint in group}
    roots = [name for name in links if name not in children]
    if len(roots) > 1:
        shown = ", ".join(roots[:10])
        raise links[roots[1]].error(
            f"{len(roots)} links have no parent: {shown}; expected one root, so a joint is missing"
        )
    robot = RobotBuilder(root.attributes.get("name", "").strip() or Path(root.path).stem, root)
    reached = set(roots)
    if len(roots) == 1:
        root_joint = Joint.free() if floating else Joint.fixed()
        robot.add_bone(links[roots[0]], roots[0], joint=root_joint)
    stack = [joint for name in roots for joint in reversed(joints_by_parent.get(name, []))]
    while len(stack) > 0:
        joint = stack.pop()
        joint.add_bones_to(robot, metres)
        reached.add(joint.child)
        stack.extend(reversed(joints_by_parent.get(joint.child, [])))
    for name, link in links.items():
        if name not in reached:
            raise link.error("the joints above this link run in a ring; expected a tree")
    for joint in joints.values():
        _add_mimic(robot, joint, joints, metres)
    robot.masses = _read_masses(links, metres)
    return robot.build()


class UrdfJoint:
    """One <joint>: its ends, its type, and how it becomes bones."""

    def __init__(self, element: Element):
        self.element = element
        self.name = element.read_required("name", "the joint's name")
        self.type = element.read_choice("type", "", *JOINT_TYPES)
        self.parent = self._read_link("parent")
        self.child = self._read_link("child")

    def _read_link(self, end: str) -> str:
        child = self.element.find_child(end)
        if child is None:
            raise self.element.error(f"no <{end}>; expected the link at this end")
        return child.read_required("link", "a link's name")

    def add_bones_to(self, robot: RobotBuilder, metres: float) -> None:
        """Add the bones of this joint and its child."""
        name, parent = self.child, self.parent
        p_parent_child, R_parent_child = read_origin(self.element)
        pose = {"offset": metres * p_parent_child, "pre": R_parent_child}
        if self.type == "planar":
            normal = self._read_axis()
            for k, axis in enumerate(_make_plane_axes(normal), start=1):
                slider = f"{name}_planar{k}"
                robot.add_bone(
                    self.element,
                    slider,
                    joint_name=self.name,
                    parent=parent,
                    joint=Joint.prismatic(axis),
                    is_body=False,
                    **pose,
                )
                parent, pose = slider, {}
            joint = Joint.revolute(normal)
        elif self.type in ("revolute", "continuous"):
            joint = Joint.revolute(self._read_axis(), self._read_limits(1.0))
        elif self.type == "prismatic":
            joint = Joint.prismatic(self._read_axis(), self._read_limits(metres))
        elif self.type == "spherical":
            joint = Joint.quaternion()
            if self._read_limits(1.0) is not None:
                text = "the limit of a ball joint is not kept: quaternions have no limits"
                self.element.warn(text, code="limit-not-kept")
        else:
            joint = Joint.free() if self.type == "floating" else Joint.fixed()
        robot.add_bone(
            self.element,
            name,
            joint_name=self.name,
            parent=parent,
            joint=joint,
            is_body=self.type != "fixed",
            **pose,
        )
        if self.type in ("revolute", "continuous", "prismatic"):
            speed = self._read_speed(metres if self.type == "prismatic" else 1.0)
            if 0.0 < speed < NO_LIMIT:
                robot.max_speed[f"{name}.{joint.dof_names[0]}"] = speed

    def _read_speed(self, factor: float) -> float:
        """Return the largest speed; 0, which many files have, and `NO_LIMIT` say nothing."""
        limit = self.element.find_child("limit")
        if limit is None:
            return 0.0
        (speed,) = limit.read_numbers("velocity", (0.0,), infinite=True)
        if speed < 0.0:
            raise limit.error(f"velocity is {speed:g}; expected a speed, which is not negative")
        return factor * speed if speed < NO_LIMIT else NO_LIMIT

    def _read_axis(self) -> Array:
        element = self.element.find_child("axis")
        if element is None:
            return np.array([1.0, 0.0, 0.0])
        axis = np.array(element.read_numbers("xyz", (1.0, 0.0, 0.0)))
        length = float(np.linalg.norm(axis))
        if not 1e-9 < length < math.inf:
            raise self.element.error(f"axis has length {length:g}; expected a direction")
        return axis / length

    def _read_limits(self, factor: float) -> tuple[float, float] | None:
        limit = self.element.find_child("limit")
        if limit is None or self.type == "continuous":
            return None
        if "lower" not in limit.attributes and "upper" not in limit.attributes:
            return None
        (low,) = limit.read_numbers("lower", (0.0,), infinite=True)
        (high,) = limit.read_numbers("upper", (0.0,), infinite=True)
        low = -math.inf if low <= -NO_LIMIT else factor * low
        high = math.inf if high >= NO_LIMIT else factor * high
        return check_limits(self.element, low, high)


def read_origin(owner: Element) -> tuple[Array, Array]:
    """Return position [unit of the file] and rotation of the <origin> of a joint or a visual."""
    origin = owner.find_child("origin")
    if origin is None:
        return np.zeros(3), np.eye(3)
    p_parent_child = np.array(origin.read_numbers("xyz", (0.0, 0.0, 0.0)))
    if "quat_xyzw" in origin.attributes:
        if "rpy" in origin.attributes:
            raise origin.error("both rpy and quat_xyzw; expected one of them")
        x, y, z, w = origin.read_numbers("quat_xyzw", (0.0, 0.0, 0.0, 1.0))
        if math.hypot(x, y, z, w) < 1e-9:
            raise origin.error("quat_xyzw is zero; expected a rotation")
        return p_parent_child, matrix_from_wxyz((w, x, y, z))
    roll, pitch, yaw = origin.read_numbers("rpy", (0.0, 0.0, 0.0))
    R_yaw_pitch = axis_rotation("z", yaw) @ axis_rotation("y", pitch)
    return p_parent_child, R_yaw_pitch @ axis_rotation("x", roll)


def _read_masses(links: dict[str, Element], metres: float) -> dict[str, BoneMass]:
    """Return the masses of links; one without <inertial> weighs nothing, as the format says."""
    masses: dict[str, BoneMass] = {}
    for name, link in links.items():
        inertial = link.find_child("inertial")
        mass = None if inertial is None else inertial.find_child("mass")
        if inertial is not None and mass is not None and mass.read_number("value", 0.0) > 0.0:
            x, y, z = (metres * read_origin(inertial)[0]).tolist()
            masses[name] = BoneMass(mass.read_number("value", 0.0), (x, y, z))
    return masses


def _index_by_name(root: Element, tag: str) -> dict[str, Element]:
    """Return the children with this tag by name."""
    by_name: dict[str, Element] = {}
    for element in root.find_children(tag):
        name = element.read_required("name", f"the {tag}'s name")
        if name in by_name:
            first = by_name[name].line
            raise element.error(f"a second {tag} of this name (the first is in line {first})")
        by_name[name] = element
    return by_name


def _group_by_parent(
    links: dict[str, Element], joints: dict[str, Element]
) -> dict[str, list[UrdfJoint]]:
    """Return the joints below each link, and check their ends."""
    by_parent: dict[str, list[UrdfJoint]] = {}
    joint_above: dict[str, str] = {}
    for element in joints.values():
        joint = UrdfJoint(element)
        for end, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in links:
                raise element.error(f"{end} link {name!r} is not defined; expected a <link>")
        child = joint.child
        if child in joint_above:
            raise element.error(
                f"link {child!r} is already the child of joint {joint_above[child]!r}; "
                "expected a tree, where a link has one parent"
            )
        joint_above[child] = joint.name
        by_parent.setdefault(joint.parent, []).append(joint)
    return by_parent


def _add_mimic(
    robot: RobotBuilder, joint: Element, joints: dict[str, Element], metres: float
) -> None:
    """Add the coupling of a joint with a <mimic>; one that follows a fixed joint is held still.

    One that follows a joint that is not there stays free, and a warning says so.
    """
    mimic = joint.find_child("mimic")
    if mimic is None:
        return
    name, other = (
        joint.read_required("name", "its name"),
        mimic.read_required("joint", "the joint to follow"),
    )
    if other not in joints:
        if name in robot.bones_of_joint:
            text = f"it mimics {other!r}, and there is no such joint: it moves by itself"
            joint.warn(text, code="coupling-not-kept")
        return
    multiplier, offset = mimic.read_number("multiplier", 1.0), mimic.read_number("offset", 0.0)
    if name not in robot.bones_of_joint:
        return
    dependent, dependent_joint = robot.find_dof(joint, name)
    y_unit = metres if dependent_joint.translates else 1.0
    coupling = Coupling(dependent, None, Constant(y_unit * offset))
    if other in robot.bones_of_joint:
        source, source_joint = robot.find_dof(joint, other)
        x_unit = metres if source_joint.translates else 1.0
        function = Linear(multiplier * y_unit / x_unit, y_unit * offset)
        coupling = Coupling(dependent, source, function)
    robot.add_coupling(joint, coupling)


def _make_plane_axes(normal: Array) -> tuple[Array, Array]:
    """Return two axes that make a right-handed frame with the normal; x, y where it is z."""
    axes = np.eye(3)
    for a in range(3):
        if np.array_equal(normal, axes[a]):
            return axes[(a + 1) % 3], axes[(a + 2) % 3]
    R = rotation_taking_z_to(normal)
    return R[:, 0], R[:, 1]


def _refuse_xacro(root: Element) -> None:
    for element in root.find_descendants():
        if element.tag.startswith("xacro:"):
            raise element.error("a xacro macro; expected the plain URDF that xacro writes")
