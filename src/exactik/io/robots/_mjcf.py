"""MJCF, the format of MuJoCo: nested bodies, each with any number of joints.

MuJoCo places a body in its parent by (pos, orientation) and then applies its joints in order, each
in the body's frame as it is by then; a hinge or ball turns the body about an anchor in that frame,

    shift(a) · rotation(q) · shift(−a)        slide: shift((q − ref) · axis)

and a hinge turns by q − ref. A bone has one joint, and its frame sits at the centre of that joint.
So a body becomes a chain of bones, one for each joint, and one more, without a joint, where the
body's frame is not that of the last joint, whose anchor is apart from the axis through the body's
origin. The last bone has the body's name and frame. The others have the names of their joints,
`<body>_joint<k>` for a joint without name, `<body>_<joint>` where a body is called like the joint.
In the usual case, of at most one joint through the body's origin, a body is one bone.

Coordinates are MuJoCo's: q is `qpos` and v is `qvel`, entry by entry, since both run over the
bodies in order, `ref` is built into the bones, and a free joint is the pose in the world,
translation and wxyz. With floating=False, free joints are left out and their bodies stay where the
file has them.

The pose in which an MJCF wants to be seen is one of its key frames, which have the coordinates of
all joints. Which is meant is told by its name; a file with one key alone means that one. Of several
without such a name, as the grasps of a hand, none is taken.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from exactik.errors import FileError
from exactik.io._xml import Element
from exactik.io.robots._mjcf_bodies import BodyJoint, BoneNames, MjcfBody, MjcfModel
from exactik.io.robots._mjcf_equality import add_equalities
from exactik.io.robots._mjcf_masses import find_masses
from exactik.io.robots._robot import Robot, RobotBuilder
from exactik.model import Joint
from exactik.spatial import exp_rotation, wxyz_from_matrix
from exactik.typing import Array


def read_mjcf(root: Element, metres: float, floating: bool | None) -> Robot:
    """Return the robot that the element <mujoco> describes; files it includes are read too.

    Args:
        metres: length of the file's unit [m].
        floating: None keeps free joints; True as well, and lets the bodies directly in the world
            move freely if there are none; False leaves them out.
    """
    model = MjcfModel(root)
    bodies = model.bodies
    if len(bodies) == 0:
        raise root.error("no <body> in <worldbody>; expected at least one")
    robot = RobotBuilder(root.attributes.get("model", "").strip() or Path(root.path).stem, root)
    has_free_joint = any(joint.kind == "free" for body in bodies for joint in body.joints)
    for body in bodies:
        free = [joint for joint in body.joints if joint.kind == "free"]
        if len(free) > 0 and (body.parent is not None or len(body.joints) > 1):
            raise free[0].element.error(
                "a free joint; expected it as the only joint of a body directly in the world"
            )
        bones = BodyChain(robot, model.names, body, metres)
        is_free = floating is not False if len(free) > 0 else floating and not has_free_joint
        if body.parent is None and is_free:
            bones.add_free_joint(free[0].name if len(free) > 0 else None)
        for k, joint in enumerate(body.joints, start=1):
            if joint.kind != "free":
                bones.add_joint(joint, k)
        bones.finish()
    add_equalities(robot, model, metres)
    robot.masses = find_masses(model, metres)
    robot.home = find_home(root, bodies, floating, metres)
    robot.max_speed = find_speeds(robot, model, metres)
    return robot.build()


def find_speeds(robot: RobotBuilder, model: MjcfModel, metres: float) -> dict[str, float]:
    """Return the largest speeds that actuators of speed may ask of joints, by dof [rad/s or m/s].

    A format for simulators has no other: a control is the speed of the transmission, which is the
    gear times that of the joint.
    """
    speeds: dict[str, float] = {}
    for section in model.root.find_children("actuator"):
        for element in section.find_children("velocity", "intvelocity"):
            element = model.defaults.apply_to(element, None)
            low, high = element.read_numbers("ctrlrange", (0.0, 0.0))
            fastest = max(abs(low), abs(high))
            limited = element.read_choice("ctrllimited", "auto", "auto", "true", "false")
            gear = abs(element.read_numbers("gear", (1.0,) + 5 * (0.0,), fewer=True)[0])
            joint = element.attributes.get("joint", "").strip()
            if limited == "false" or fastest == 0.0 or gear == 0.0 or joint == "":
                continue
            dof, moved = robot.find_dof(element, joint)
            speed = fastest / gear * (metres if moved.translates else 1.0)
            speeds[dof] = min(speed, speeds.get(dof, np.inf))
    return speeds


class BodyChain:
    """The bones of one body.

    Attributes:
        parent: the last bone added, or the bone of the parent body.
        p_parent_joint: from the frame of `parent` to the one in which the next joint, or the body,
            is given [m], (3,).
        R_parent_joint: likewise, (3, 3).
        remaining_joints: number of joints still to be added.
    """

    def __init__(self, robot: RobotBuilder, names: BoneNames, body: MjcfBody, metres: float):
        self.robot, self.names, self.body, self.metres = robot, names, body, metres
        self.parent = None if body.parent is None else body.parent.name
        self.p_parent_joint, self.R_parent_joint = metres * body.p_parent_body, body.R_parent_body
        self.remaining_joints = sum(joint.kind != "free" for joint in body.joints)

    def add_free_joint(self, joint: str | None) -> None:
        """Let the body move freely, by the free joint of this name or by one under all it has."""
        pose_in_file = self.p_parent_joint, self.R_parent_joint
        self.p_parent_joint, self.R_parent_joint = np.zeros(3), np.eye(3)
        self._add_bone(Joint.free(), joint or "", np.zeros(3), f"{self.body.name}_base")
        if self.parent != self.body.name:  # its other joints act where the file has the body
            self.p_parent_joint, self.R_parent_joint = pose_in_file

    def add_joint(self, joint: BodyJoint, k: int) -> None:
        """Add the bone of the k-th joint."""
        self.remaining_joints -= 1
        names = (joint.name, f"{self.body.name}_{joint.name}")
        if joint.name == "":
            names = (f"{self.body.name}_joint{k}",)
        if joint.kind == "slide":
            low, high = joint.limits
            limits = (self.metres * low, self.metres * high)
            shift = self.R_parent_joint @ (self.metres * joint.ref * joint.axis)
            self.p_parent_joint = self.p_parent_joint - shift
            self._add_bone(Joint.prismatic(joint.axis, limits), joint.name, np.zeros(3), *names)
            return
        anchor = self.metres * joint.anchor
        if joint.kind == "ball":
            if joint.limited_ball:
                text = "the limit of a ball joint is not kept: quaternions have no limits"
                joint.element.warn(text, code="limit-not-kept")
            self._add_bone(Joint.quaternion(), joint.name, anchor, *names)
            return
        # Any point of the axis may be the anchor; if the body's origin is one, it saves a bone.
        across = anchor - (joint.axis @ anchor) * joint.axis
        if self.remaining_joints == 0 and np.linalg.norm(across) <= 1e-15 * np.linalg.norm(anchor):
            anchor = np.zeros(3)
        hinge = Joint.revolute(joint.axis, joint.limits)
        post = exp_rotation(-joint.ref * joint.axis) if joint.ref != 0.0 else None
        self._add_bone(hinge, joint.name, anchor, *names, post=post)

    def finish(self) -> None:
        """Add a bone for the body, unless that of its last joint has the body's frame."""
        if self.parent != self.body.name:
            self._add_bone(Joint.fixed(), "", np.zeros(3), self.body.name)

    def _add_bone(
        self, joint: Joint, joint_name: str, anchor: Array, *names: str, post: Array | None = None
    ) -> None:
        """Add a bone at the anchor; it is the body's if no joint follows and the frames agree."""
        is_body = self.remaining_joints == 0 and not anchor.any()
        name = self.body.name if is_body else self.names.choose(*names)
        self.robot.add_bone(
            self.body.element,
            name,
            joint_name=joint_name,
            parent=self.parent,
            offset=self.p_parent_joint + self.R_parent_joint @ anchor,
            pre=self.R_parent_joint,
            joint=joint,
            post=post,
            is_body=name == self.body.name,
        )
        self.parent, self.p_parent_joint, self.R_parent_joint = name, -anchor, np.eye(3)


# What key frames in which a robot begins are called in MuJoCo's collection of robots, and how their
# names may go on ("neutral_pose"); the first of these counts.
HOME_NAMES = ("home", "neutral", "stand", "init", "start", "rest")
WIDTHS = {"free": 7, "ball": 4, "hinge": 1, "slide": 1}  # numbers of a joint in qpos


def find_home(
    root: Element, bodies: list[MjcfBody], floating: bool | None, metres: float
) -> Array | None:
    """Return the coordinates of all joints in the home pose, in the order of the bones.

    Without one, a robot with a free joint is at home where its file has it, for q = 0 is at the
    origin of the world; others have None. A warning if the numbers of a key do not fit the joints.

    Args:
        floating: as for `read_mjcf`.
        metres: length of the file's unit [m].
    """
    has_free_joint = any(joint.kind == "free" for body in bodies for joint in body.joints)
    key = _choose_key(root)
    if key is None and not (has_free_joint and floating is not False):
        return None
    qpos = np.concatenate(
        [np.zeros(0), *(_read_qpos(b, joint) for b in bodies for joint in b.joints)]
    )
    if key is not None:
        try:
            qpos = np.array(key.read_numbers("qpos", (0.0,) * len(qpos)))
        except FileError as error:
            key.warn(f"the pose is not kept: {error.message}", code="home-not-kept")
            return None
    parts: list[Array] = []
    first = 0
    for body in bodies:
        if floating and not has_free_joint and body.parent is None:
            parts.append(_make_base(body, metres))
        for joint in body.joints:
            part = qpos[first : first + WIDTHS[joint.kind]]
            first += WIDTHS[joint.kind]
            if joint.kind == "free":
                if floating is not False:
                    parts += [metres * part[:3], _make_rotation(part[3:])]
            elif joint.kind == "ball":
                parts.append(_make_rotation(part))
            else:
                parts.append(metres * part if joint.kind == "slide" else part)
    return np.concatenate(parts) if len(parts) > 0 else None


def _choose_key(root: Element) -> Element | None:
    """Return the key that is the robot's home; None if there is none or it cannot be told."""
    keys = [
        key
        for keyframe in root.find_children("keyframe")
        for key in keyframe.find_children("key")
        if "qpos" in key.attributes
    ]
    names = [key.attributes.get("name", "").strip().casefold() for key in keys]
    for home in HOME_NAMES:
        for key, name in zip(keys, names, strict=True):
            if name.startswith(home):
                return key
    return keys[0] if len(keys) == 1 else None


def _read_qpos(body: MjcfBody, joint: BodyJoint) -> Array:
    """Return the coordinates of a joint where the file has its body, in the file's unit."""
    if joint.kind == "free":
        return np.concatenate([body.p_parent_body, wxyz_from_matrix(body.R_parent_body)])
    return np.zeros(WIDTHS["ball"]) if joint.kind == "ball" else np.array([joint.ref])


def _make_base(body: MjcfBody, metres: float) -> Array:
    """Return the coordinates of the joint that a body without one is given, at its place."""
    if len(body.joints) > 0:  # these are placed, and what carries them is where the world is
        return np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    return np.concatenate([metres * body.p_parent_body, wxyz_from_matrix(body.R_parent_body)])


def _make_rotation(wxyz: Array) -> Array:
    """Return a quaternion; the one of no rotation for zeros, as MuJoCo has it."""
    return wxyz if wxyz.any() else np.array([1.0, 0.0, 0.0, 0.0])
