"""Rows of numbers, as in Unitree's retargeted LAFAN1: root, then joints.

A row a frame: place of the root [m], its quaternion xyzw, joints [rad or m] depth first. The layout
has no header; names stand in a first line that begins with #, which readers of NumPy skip.
"""

from __future__ import annotations

import numpy as np

from exactik.io._files import open_atomic
from exactik.io.trainers._robot_motion import RobotMotion
from exactik.model.motion import Motion

ROOT_COLUMNS = ("x", "y", "z", "qx", "qy", "qz", "qw")


def write_unitree_csv(motion: Motion, path: str) -> None:
    """Write the root's pose and the joints, a row a frame."""
    robot = RobotMotion(motion, path)
    root = robot.body_names[0]
    names = [*(f"{root}.{column}" for column in ROOT_COLUMNS), *robot.joint_names]
    xyzw = np.roll(robot.wxyz[:, 0], -1, axis=1)
    rows = np.concatenate([robot.positions[:, 0], xyzw, robot.joint_positions], axis=1)
    with open_atomic(path) as file:
        file.write(f"# {motion.rate:g} Hz: {','.join(names)}\n")
        np.savetxt(file, rows, fmt="%.9g", delimiter=",")
