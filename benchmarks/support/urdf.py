"""URDF for programs that want less, or more, than is in it; reads with numpy alone."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np

from benchmarks.support.arrays import Array


def find_chain(path: Path, tool: str) -> list[ET.Element]:
    """Return the joints from the root to a link, also those that do not move."""
    by_child = {
        get_link(joint, "child"): joint for joint in ET.parse(path).getroot().findall("joint")
    }
    joints: list[ET.Element] = []
    while tool in by_child:
        joints.insert(0, by_child[tool])
        tool = get_link(joints[0], "parent")
    return joints


def get_link(joint: ET.Element, end: str) -> str:
    element = joint.find(end)
    assert element is not None
    return element.attrib["link"]


def read_vector(element: ET.Element | None, key: str, default: str) -> Array:
    text = default if element is None else element.get(key, default)
    return np.array(text.split(), dtype=float)


def matrix_from_rpy(rpy: Array) -> Array:
    """Return the rotation of fixed axes: first about x by roll, then about y, then about z."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    x = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    y = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    z = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    return z @ y @ x


def rpy_from_matrix(R: Array) -> Array:
    """Return roll, pitch and yaw; where pitch is a right angle, roll is zero."""
    level = np.hypot(R[0, 0], R[1, 0])
    pitch = np.arctan2(-R[2, 0], level)
    if level < 1e-12:
        return np.array([0.0, pitch, np.arctan2(-R[0, 1], R[1, 1])])
    return np.array([np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])])


def read_origin(joint: ET.Element) -> Array:
    place, T = joint.find("origin"), np.eye(4)
    T[:3, :3] = matrix_from_rpy(read_vector(place, "rpy", "0 0 0"))
    T[:3, 3] = read_vector(place, "xyz", "0 0 0")
    return T


def make_axis_frame(joint: ET.Element) -> Array:
    """Return a rotation, (4, 4), that takes z to the axis of a joint."""
    axis, T = read_vector(joint.find("axis"), "xyz", "1 0 0"), np.eye(4)
    z = axis / np.linalg.norm(axis)
    x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
    x /= np.linalg.norm(x)
    T[:3, :3] = np.column_stack([x, np.cross(z, x), z])
    return T


def read_limits(joint: ET.Element) -> tuple[float, float]:
    limit = joint.find("limit")
    assert joint.get("type") == "revolute" and limit is not None
    return float(limit.attrib["lower"]), float(limit.attrib["upper"])


def strip_urdf(path: Path, mujoco: bool = True) -> str:
    """Return the kinematics alone: no meshes, inertia on every link; for MuJoCo, none merged."""
    root = ET.parse(path).getroot()
    for part in list(root):
        if part.tag not in ("link", "joint"):
            root.remove(part)
    for link in root.findall("link"):
        for part in list(link):
            link.remove(part)
        add_inertia(link)
    if mujoco:
        ET.SubElement(ET.SubElement(root, "mujoco"), "compiler", fusestatic="false")
    return ET.tostring(root, encoding="unicode")


def add_inertia(link: ET.Element) -> None:
    """Give a link mass and inertia, without which some programs refuse it."""
    inertial = ET.SubElement(link, "inertial")
    ET.SubElement(inertial, "mass", value="1")
    ET.SubElement(inertial, "inertia", ixx="1", iyy="1", izz="1", ixy="0", ixz="0", iyz="0")
