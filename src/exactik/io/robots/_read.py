"""Read URDF or MJCF, whichever the root element says."""

from __future__ import annotations

import os
import warnings
from functools import partial

import numpy as np

from exactik.errors import FileWarning
from exactik.io._notes import Notes
from exactik.io._units import metres_per
from exactik.io.robots._robot import Robot
from exactik.model import Skeleton
from exactik.model.shapes import LazyShapes, Shapes
from exactik.model.visuals import LazyVisuals, Visuals

Unit = str | float | None


def read_robot(path: str, length_unit: Unit, floating: bool | None) -> Robot:
    """Read URDF or MJCF; the root element decides, whatever the file is called."""
    # `import exactik` loads this module for its types; the XML parsers only when they are needed.
    from exactik.io._xml import read_xml
    from exactik.io.robots._mjcf import read_mjcf
    from exactik.io.robots._urdf import read_urdf

    metres = _find_metres(length_unit)
    root = read_xml(path)
    readers = {"robot": read_urdf, "mujoco": read_mjcf}
    if root.tag not in readers:
        opensim = root.tag == "OpenSimDocument"
        also = "; models of OpenSim are called .osim, marker sets go behind --marker-set"
        text = "not a robot description; expected <robot> (URDF) or <mujoco> (MJCF)"
        raise root.error(text + also if opensim else text)
    with np.errstate(over="ignore", invalid="ignore"):  # bones that are not finite are refused
        return readers[root.tag](root, metres, floating)


def read_robot_skeleton(
    path: str, notes: Notes, length_unit: Unit, floating: bool | None
) -> Skeleton:
    """Return the skeleton of a robot; its meshes are read when they are looked at."""
    whole = os.path.abspath(path)
    look = LazyVisuals(partial(read_robot_visuals, whole, length_unit))
    shapes = LazyShapes(partial(read_shapes, whole, length_unit))
    skeleton = read_robot(path, length_unit, floating).skeleton
    return skeleton.with_visuals(look).with_shapes(shapes)


def read_shapes(path: str, length_unit: Unit = None) -> Shapes:
    """Return what a robot collides with, and which pairs may touch."""
    from exactik.io.robots._shapes import read_robot_shapes

    return read_robot_shapes(path, _find_metres(length_unit))


def read_robot_visuals(path: str, length_unit: Unit = None) -> Visuals:
    """Return what a robot looks like: its visuals in URDF, its geoms in MJCF."""
    from exactik.io._xml import read_xml
    from exactik.io.robots._mjcf_geoms import read_mjcf_visuals
    from exactik.io.robots._urdf_visuals import read_urdf_visuals

    root = read_xml(path)
    with np.errstate(over="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)  # the reader of the skeleton has warned
        read = read_urdf_visuals if root.tag == "robot" else read_mjcf_visuals
        return read(root, _find_metres(length_unit))


def _find_metres(length_unit: Unit) -> float:
    return 1.0 if length_unit is None or length_unit == "auto" else metres_per(length_unit)
