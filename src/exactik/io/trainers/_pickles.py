"""Pickles that GMR and MimicKit read: dictionaries of plain values."""

from __future__ import annotations

import numpy as np

from exactik.errors import FileError
from exactik.io._files import open_atomic
from exactik.io.trainers._plain_pickle import to_pickle
from exactik.io.trainers._robot_motion import HINGES, RobotMotion
from exactik.model.motion import Motion
from exactik.spatial import log_rotation
from exactik.typing import Array

CLAMP = 0  # of MimicKit's LoopMode: a motion ends where it ends


def write_gmr(motion: Motion, path: str) -> None:
    """Write root, joints depth first, and bodies as the root sees them, as GMR saves them."""
    robot = RobotMotion(motion, path)
    R_root_world = np.swapaxes(robot.rotations[:, :1], 2, 3)
    local = R_root_world @ (robot.positions - robot.positions[:, :1])[..., None]
    contents = {
        "fps": robot.fps,
        "root_pos": robot.positions[:, 0],
        "root_rot": np.roll(robot.wxyz[:, 0], -1, axis=1),  # xyzw
        "dof_pos": robot.joint_positions,
        "local_body_pos": local[..., 0],
        "link_body_list": list(robot.body_names),
        "joint_names": list(robot.joint_names),
    }
    with open_atomic(path, "wb") as file:
        file.write(to_pickle(contents))


def write_mimickit(motion: Motion, path: str) -> None:
    """Write frames of root place, root rotation vector, and joints depth first.

    A body with one hinge has its angle, a body with three hinges or a ball the rotation vector of
    all of them, as MimicKit makes one joint of them.
    """
    robot = RobotMotion(motion, path)
    columns = [robot.positions[:, 0], log_rotation(robot.rotations[:, 0])]
    names: list[str] = []
    for b, body in enumerate(robot.bodies):
        if len(body.joints) == 0:
            continue
        bones = [robot.skeleton.bones[k] for k in body.joints]
        kinds, dofs = {bone.joint.kind for bone in bones}, sum(bone.joint.nv for bone in bones)
        name = robot.body_names[b]
        if dofs == 1 and kinds == set(HINGES):
            at = [bone.name for bone in robot.skeleton.bones].index(bones[0].name)
            dof = robot.skeleton.dof_bones.tolist().index(at)
            columns.append(robot.motion.q[:, [robot.skeleton.plain_q[dof]]])
            names.append(bones[0].joint_name or name)
        elif dofs == 3 and not any(bone.joint.translates for bone in bones):
            columns.append(_find_rotation_vectors(robot, b))
            names += [f"{name}.{axis}" for axis in "xyz"]
        else:
            text = f"body {name!r} has {dofs} dofs; expected one hinge, three hinges or a ball"
            raise FileError(path, f"{text}, of which MimicKit makes its joints")
    contents = {
        "loop_mode": CLAMP,
        "fps": robot.fps,
        "frames": np.concatenate(columns, axis=1).tolist(),
        "joint_names": names,
        "body_names": list(robot.body_names),
    }
    with open_atomic(path, "wb") as file:
        file.write(to_pickle(contents))


def _find_rotation_vectors(robot: RobotMotion, b: int) -> Array:
    """Return how a body is turned from its rest, in its own frame there [rad], (T, 3)."""
    body = robot.bodies[b]
    skeleton, parent = robot.skeleton, robot.bodies[robot.bodies[b].parent].bone
    rest = skeleton.forward(skeleton.neutral()).rotations
    R_rest_parent = rest[body.bone].T @ rest[parent]
    R_parent_body = np.swapaxes(robot.pose.rotations[:, parent], 1, 2) @ robot.rotations[:, b]
    return log_rotation(R_rest_parent @ R_parent_body)
