"""Motions as trainers read them: pickles, archives of arrays and of tensors, and rows of numbers.

Pickles of GMR and MimicKit are dictionaries of plain values, ProtoMotions has one of tensors.
BeyondMimic and mjlab read the same keys of an .npz by index. Isaac Lab orders bodies and joints
breadth first, mjlab as MuJoCo, depth first. Isaac Lab's velocities are those of centres of mass,
mjlab's of the frames. Unitree has a row a frame: place of the root [m], its quaternion xyzw,
joints [rad or m] depth first. The layout has no header; names stand in a first line that begins
with #, which readers of NumPy skip.

No pickle names a class of ours. The opcodes are those of protocol 3, which every Python 3 reads,
and of 2 without arrays. Arrays go by the name that they had before NumPy 2, which old and new
releases know; tensors as `torch.save` has them, whose bytes are records of their own.
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from exactik.errors import FileError
from exactik.io._files import open_atomic
from exactik.io.trainers._robot_motion import HINGES, RobotMotion
from exactik.model.motion import Motion
from exactik.spatial import log_rotation
from exactik.typing import Array

CLAMP = 0  # of MimicKit's LoopMode: a motion ends where it ends
FOLDER = "motion"  # in the archive; PyTorch takes any
ROOT_COLUMNS = ("x", "y", "z", "qx", "qy", "qz", "qw")
PROTOCOL, STOP = b"\x80", b"."
MARK, NONE, TRUE, FALSE = b"(", b"N", b"\x88", b"\x89"
FLOAT, INT, TEXT, BYTES = b"G", b"J", b"X", b"B"
DICT, SET_ITEMS, LIST, APPENDS, TUPLE = b"}", b"u", b"]", b"e", b"t"
GLOBAL, CALL, BUILD, PERSISTENT = b"c", b"R", b"b", b"Q"


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
        file.write(_to_pickle(contents))


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
        file.write(_to_pickle(contents))


def _find_rotation_vectors(robot: RobotMotion, b: int) -> Array:
    """Return how a body is turned from its rest, in its own frame there [rad], (T, 3)."""
    body = robot.bodies[b]
    skeleton, parent = robot.skeleton, robot.bodies[robot.bodies[b].parent].bone
    rest = skeleton.forward(skeleton.neutral()).rotations
    R_rest_parent = rest[body.bone].T @ rest[parent]
    R_parent_body = np.swapaxes(robot.pose.rotations[:, parent], 1, 2) @ robot.rotations[:, b]
    return log_rotation(R_rest_parent @ R_parent_body)


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
        "data.pkl": _to_pickle({"fps": float(motion.rate), **tensors, **names}, protocol=2),
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


class Tensor(NamedTuple):
    """An array of single precision as PyTorch keeps it."""

    key: str  # name of the record with its bytes
    shape: tuple[int, ...]  # of the array


def _to_pickle(value: Any, protocol: int = 3) -> bytes:
    """Return the pickle of a dictionary of numbers, texts, lists, arrays and tensors.

    Args:
        value: the dictionary.
        protocol: that the pickle claims; PyTorch expects 2, which has no arrays.
    """
    return PROTOCOL + bytes([protocol]) + _encode(value) + STOP


def _encode(value: Any) -> bytes:
    if value is None:
        return NONE
    if isinstance(value, bool):
        return TRUE if value else FALSE
    if isinstance(value, int):
        return INT + struct.pack("<i", value)
    if isinstance(value, float):
        return FLOAT + struct.pack(">d", value)
    if isinstance(value, str):
        text = value.encode("utf-8", "surrogatepass")
        return TEXT + struct.pack("<I", len(text)) + text
    if isinstance(value, bytes):
        return BYTES + struct.pack("<I", len(value)) + value
    if isinstance(value, np.ndarray):
        return _encode_array(np.ascontiguousarray(value, dtype="<f8"))
    if isinstance(value, Tensor):
        return _encode_tensor(value)
    if isinstance(value, Mapping):
        items = b"".join(_encode(part) for item in value.items() for part in item)
        return DICT + MARK + items + SET_ITEMS
    if isinstance(value, tuple):
        return MARK + b"".join(map(_encode, value)) + TUPLE
    if isinstance(value, Sequence):
        return LIST + MARK + b"".join(map(_encode, value)) + APPENDS
    raise TypeError(f"{type(value).__name__} is no plain value")


def _name(module: str, name: str) -> bytes:
    return GLOBAL + f"{module}\n{name}\n".encode("ascii")


def _encode_array(array: Array) -> bytes:
    """Return what makes an array again: an empty one, then its shape, its type and its bytes."""
    arguments = MARK + _name("numpy", "ndarray") + _encode((0,)) + _encode(b"b") + TUPLE
    empty = _name("numpy.core.multiarray", "_reconstruct") + arguments + CALL
    kind = _name("numpy", "dtype") + _encode(("f8", False, True)) + CALL
    kind += _encode((3, "<", None, None, None, -1, -1, 0)) + BUILD
    state = MARK + _encode(1) + _encode(array.shape) + kind + FALSE + _encode(array.tobytes())
    return empty + state + TUPLE + BUILD


def _encode_tensor(tensor: Tensor) -> bytes:
    """Return what makes a tensor again: the record with its numbers, first one, shape, strides."""
    count = int(np.prod(tensor.shape))
    strides = tuple(int(np.prod(tensor.shape[k + 1 :])) for k in range(len(tensor.shape)))
    storage = MARK + _encode("storage") + _name("torch", "FloatStorage")
    storage += _encode(tensor.key) + _encode("cpu") + _encode(count) + TUPLE + PERSISTENT
    hooks = _name("collections", "OrderedDict") + _encode(()) + CALL
    arguments = MARK + storage + _encode(0) + _encode(tensor.shape) + _encode(strides)
    arguments += FALSE + hooks + TUPLE
    return _name("torch._utils", "_rebuild_tensor_v2") + arguments + CALL
