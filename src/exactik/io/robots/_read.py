"""Read URDF or MJCF, whichever the root element says."""

from __future__ import annotations

import numpy as np

from exactik.io._notes import Notes
from exactik.io._units import metres_per
from exactik.io.robots._robot import Robot
from exactik.model import Skeleton

__all__ = ["read_robot", "read_robot_skeleton"]

Unit = str | float | None


def read_robot(path: str, length_unit: Unit, floating: bool) -> Robot:
    """Read URDF or MJCF; the root element decides, whatever the file is called."""
    # `import exactik` loads this module for its types; the XML parsers only when they are needed.
    from exactik.io._xml import read_xml
    from exactik.io.robots._mjcf import read_mjcf
    from exactik.io.robots._urdf import read_urdf

    metres = 1.0 if length_unit is None or length_unit == "auto" else metres_per(length_unit)
    root = read_xml(path)
    readers = {"robot": read_urdf, "mujoco": read_mjcf}
    if root.tag not in readers:
        raise root.error("not a robot description; expected <robot> (URDF) or <mujoco> (MJCF)")
    with np.errstate(over="ignore", invalid="ignore"):  # bones that are not finite are refused
        return readers[root.tag](root, metres, floating)


def read_robot_skeleton(path: str, notes: Notes, length_unit: Unit, floating: bool) -> Skeleton:
    """Return the skeleton of a robot."""
    return read_robot(path, length_unit, floating).skeleton
