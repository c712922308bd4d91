"""The pose in which an MJCF wants to be seen: one of its key frames.

`<keyframe><key name="home" qpos="…"/></keyframe>` has the coordinates of all joints. Which key is
meant is told by its name; a file with one key alone means that one. Of several without such a name,
as the grasps of a hand, none is taken.
"""

from __future__ import annotations

import numpy as np

from exactik.errors import FileError
from exactik.io._xml import Element
from exactik.io.robots._mjcf_bodies import Body
from exactik.spatial import wxyz_from_matrix
from exactik.typing import Array

__all__ = ["find_home"]

# What key frames in which a robot begins are called in MuJoCo's collection of robots, and how their
# names may go on ("neutral_pose"); the first of these counts.
HOME_NAMES = ("home", "neutral", "stand", "init", "start", "rest")
WIDTHS = {"free": 7, "ball": 4, "hinge": 1, "slide": 1}  # numbers of a joint in qpos


def find_home(root: Element, bodies: list[Body], floating: bool, metres: float) -> Array | None:
    """Return the coordinates of all joints in the home pose, in the order of the bones.

    None without one, and with a warning if its numbers do not fit the joints.

    Args:
        root: the element <mujoco>.
        bodies: all of them.
        floating: as for `read_mjcf`.
        metres: length of the file's unit [m].
    """
    key = _choose_key(root)
    if key is None:
        return None
    count = sum(WIDTHS[joint.kind] for body in bodies for joint in body.joints)
    try:
        qpos = np.array(key.read_numbers("qpos", (0.0,) * count))
    except FileError as error:
        key.warn(f"the pose is not kept: {error.message}", code="home-not-kept")
        return None
    has_free_joint = any(joint.kind == "free" for body in bodies for joint in body.joints)
    parts: list[Array] = []
    first = 0
    for body in bodies:
        if floating and not has_free_joint and body.parent is None:
            parts.append(_make_base(body, metres))
        for joint in body.joints:
            part = qpos[first : first + WIDTHS[joint.kind]]
            first += WIDTHS[joint.kind]
            if joint.kind == "free":
                if floating:
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


def _make_base(body: Body, metres: float) -> Array:
    """Return the coordinates of the joint that a body without one is given, at its place."""
    if len(body.joints) > 0:  # these are placed, and what carries them is where the world is
        return np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    return np.concatenate([metres * body.p_parent_body, wxyz_from_matrix(body.R_parent_body)])


def _make_rotation(wxyz: Array) -> Array:
    """Return a quaternion; the one of no rotation for zeros, as MuJoCo has it."""
    return wxyz if wxyz.any() else np.array([1.0, 0.0, 0.0, 0.0])
