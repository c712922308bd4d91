"""Motions for BeyondMimic (Isaac Lab) and mjlab: arrays of joints and bodies, in an .npz.

Both read the same keys by index. Isaac Lab orders bodies and joints breadth first, mjlab as
MuJoCo, depth first. Isaac Lab's velocities are those of centres of mass, mjlab's of the frames.
"""

from __future__ import annotations

import numpy as np

from exactik.io._files import open_atomic
from exactik.io.trainers._robot_motion import RobotMotion
from exactik.model.motion import Motion
from exactik.typing import Array


def write_beyondmimic(motion: Motion, path: str) -> None:
    """Write joints and bodies breadth first, with velocities of centres of mass."""
    robot = RobotMotion(motion, path).breadth_first()
    _write(robot, path, robot.centre_velocities)


def write_mjlab(motion: Motion, path: str) -> None:
    """Write joints and bodies depth first, with velocities of the bodies' frames."""
    robot = RobotMotion(motion, path)
    _write(robot, path, robot.linear_velocities)


def _write(robot: RobotMotion, path: str, linear_velocities: Array) -> None:
    arrays = {
        "joint_pos": robot.joint_positions,
        "joint_vel": robot.joint_velocities,
        "body_pos_w": robot.positions,
        "body_quat_w": robot.wxyz,
        "body_lin_vel_w": linear_velocities,
        "body_ang_vel_w": robot.angular_velocities,
    }
    single = {name: array.astype(np.float32) for name, array in arrays.items()}
    names = {"joint_names": robot.joint_names, "body_names": robot.body_names}
    texts = {name: np.array(value, dtype=np.str_) for name, value in names.items()}
    with open_atomic(path, "wb") as file:
        np.savez(file, allow_pickle=False, fps=np.array([robot.fps]), **single, **texts)
