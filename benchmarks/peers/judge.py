"""The judge of what is reached: forward kinematics of a URDF in plain numpy, for all tools alike.

It shares no code with any of the tools, exactik included.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.support.urdf import get_link, read_origin, read_vector
from exactik.typing import Array

POSITION_TOLERANCE, ROTATION_TOLERANCE = 1e-3, 1e-2  # [m], [rad] that count as reached
LIMIT_ROUNDING = (
    1e-6  # [rad] past a limit that are no violation: some tools answer in single precision
)


class Judge:
    """A robot or a figure as its URDF describes it.

    Attributes:
        joints: names of those that move, in the order of the file.
        limits: [rad] or [m], (joints, 2); a continuous joint has none.
        skip: number of coordinates of a floating root, which none of these has.
    """

    def __init__(self, path: Path) -> None:
        elements = ET.parse(path).getroot().findall("joint")
        self._above = {get_link(joint, "child"): joint for joint in elements}
        self._origin = {joint.attrib["name"]: read_origin(joint) for joint in elements}
        moving = [joint for joint in elements if joint.get("type") != "fixed"]
        self.joints = [joint.attrib["name"] for joint in moving]
        self.skip = 0
        self.limits = np.array([_read_limits(joint) for joint in moving])

    def forward(self, q: Array, links: Sequence[str]) -> Array:
        """Return the poses of links in the frame of the root, (links, 4, 4)."""
        value = dict(zip(self.joints, q, strict=True))
        known: dict[str, Array] = {}

        def pose(link: str) -> Array:
            if link not in known:
                joint = self._above.get(link)
                if joint is None:
                    return np.eye(4)
                name = joint.attrib["name"]
                moved = _compute_joint_transform(joint, value.get(name, 0.0))
                known[link] = pose(get_link(joint, "parent")) @ self._origin[name] @ moved
            return known[link]

        return np.array([pose(link) for link in links])

    def compute_error(self, q: Array, tool: str, target: Array) -> tuple[float, float]:
        """Return the position error [m] and the rotation error [rad] of a tool."""
        T = self.forward(q, [tool])[0]
        turn = T[:3, :3].T @ target[:3, :3]
        skew = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
        # From sine and cosine: the cosine alone is flat at small angles.
        angle = np.arctan2(0.5 * np.linalg.norm(skew), 0.5 * (np.trace(turn) - 1.0))
        return float(np.linalg.norm(T[:3, 3] - target[:3, 3])), float(angle)

    def is_reached(self, q: Array, tool: str, target: Array) -> bool:
        """Return whether the tool is where it should be, whatever the limits."""
        position, rotation = self.compute_error(q, tool, target)
        return position < POSITION_TOLERANCE and rotation < ROTATION_TOLERANCE

    def is_inside(self, q: Array) -> bool:
        """Return whether all joints are within their limits."""
        lower, upper = self.limits.T
        return bool((q >= lower - LIMIT_ROUNDING).all() and (q <= upper + LIMIT_ROUNDING).all())


def _compute_joint_transform(joint: ET.Element, value: float) -> Array:
    """Return the motion of a joint: a turn about its axis (Rodrigues), or a shift along it."""
    T = np.eye(4)
    if joint.get("type") == "fixed":
        return T
    axis = read_vector(joint.find("axis"), "xyz", "1 0 0")
    axis = axis / np.linalg.norm(axis)
    if joint.get("type") == "prismatic":
        T[:3, 3] = value * axis
        return T
    x, y, z = axis
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    T[:3, :3] += np.sin(value) * K + (1.0 - np.cos(value)) * K @ K
    return T


def _read_limits(joint: ET.Element) -> tuple[float, float]:
    limit = joint.find("limit")
    if joint.get("type") == "continuous" or limit is None:
        return -np.inf, np.inf
    return float(limit.attrib["lower"]), float(limit.attrib["upper"])
