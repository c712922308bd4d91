"""Motions for ProtoMotions: a dictionary of tensors, in the archive that `torch.save` writes."""

from __future__ import annotations

import zipfile

import numpy as np

from exactik.io._files import open_atomic
from exactik.io.trainers._plain_pickle import Tensor, to_pickle
from exactik.io.trainers._robot_motion import RobotMotion
from exactik.model.motion import Motion

FOLDER = "motion"  # in the archive; PyTorch takes any


def write_protomotions(motion: Motion, path: str) -> None:
    """Write joints and bodies depth first, quaternions xyzw, velocities of the bodies' frames."""
    robot = RobotMotion(motion, path)
    arrays = {
        "dof_pos": robot.joint_positions,
        "dof_vel": robot.joint_velocities,
        "rigid_body_pos": robot.positions,
        "rigid_body_rot": np.roll(robot.wxyz, -1, axis=2),
        "rigid_body_vel": robot.linear_velocities,
        "rigid_body_ang_vel": robot.angular_velocities,
    }
    tensors = {name: Tensor(str(k), a.shape) for k, (name, a) in enumerate(arrays.items())}
    names = {"dof_names": list(robot.joint_names), "body_names": list(robot.body_names)}
    records = {
        "data.pkl": to_pickle({"fps": float(motion.rate), **tensors, **names}, protocol=2),
        "byteorder": b"little",
        **{
            f"data/{tensors[name].key}": array.astype("<f4").tobytes()
            for name, array in arrays.items()
        },
        "version": b"3\n",
    }
    with open_atomic(path, "wb") as file, zipfile.ZipFile(file, "w") as archive:
        for name, record in records.items():
            archive.writestr(zipfile.ZipInfo(f"{FOLDER}/{name}"), record)
