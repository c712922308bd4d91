"""Robots: URDF and MJCF."""

from exactik.io.robots._couplings import Coupling, apply_couplings
from exactik.io.robots._read import read_robot, read_robot_skeleton
from exactik.io.robots._robot import JointPlace, Robot

__all__ = [
    "Coupling",
    "JointPlace",
    "Robot",
    "apply_couplings",
    "read_robot",
    "read_robot_skeleton",
]
