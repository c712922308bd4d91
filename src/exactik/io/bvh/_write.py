"""Any skeleton and motion as BVH.

Bones are written in the frames of `exactik.io._rest_frames`, parallel to the world at rest. Every
joint gets three rotation channels and a root six, since many programs expect no other number.
Markers and limits have no place in the format.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, NamedTuple

import numpy as np

from exactik.errors import FileError
from exactik.io._files import NUMBER_FORMAT, open_atomic
from exactik.io._rest_frames import (
    RestFrames,
    compute_continuous_angles,
    compute_local_positions,
    compute_local_rotations,
    compute_rest_frames,
)
from exactik.io._units import metres_per
from exactik.model import Skeleton
from exactik.model.motion import Motion
from exactik.typing import Array

CHUNK_ENTRIES = 1 << 21  # entries of rotation matrices that are in memory at a time
MAX_ROTATION_DIFFERENCE = 1e-13  # rotations whose entries differ by less are equal
MAX_INDENT = 32  # levels that are indented; deep chains would grow the file quadratically


class _Channels(NamedTuple):
    """How a bone is written."""

    bone: int  # its index
    has_positions: bool  # whether it has position channels
    order: str  # of the rotation channels
    copied: int  # how many of these angles are coordinates up to a sign; −1 if all are computed
    signs: Array  # of the copied angles, (copied,)


def write_bvh(motion: Motion, path: str, length_unit: str | float = "cm") -> None:
    """Write a motion with its skeleton to a BVH file.

    Args:
        motion: what to write; no frame may be missing.
        length_unit: "cm", "m", … or the metres in one unit of the file, which does not name it.
    """
    motion = motion.without_couplings()
    missing = np.flatnonzero(~np.isfinite(motion.q).all(axis=1))
    if len(missing) > 0:
        frame = motion.first_frame + int(missing[0])
        raise FileError(
            path, f"cannot be written: frame {frame} is missing, and BVH needs them all"
        )
    skeleton, metres, rest = (
        motion.skeleton,
        metres_per(length_unit),
        compute_rest_frames(motion.skeleton),
    )
    for bone in skeleton.bones:
        _check_name(bone.name, path)
    order = [int(k) - 1 for k in skeleton.tree.frame_order]
    joints = [k for k in order if skeleton.bones[k].name not in rest.end_sites]
    channels = [_choose_channels(skeleton, rest, k) for k in joints]
    line = " ".join([NUMBER_FORMAT] * sum(6 if c.has_positions else 3 for c in channels)) + "\n"
    chunk_frames = max(1, CHUNK_ENTRIES // (9 * len(skeleton.bones)))
    last_angles = None
    with open_atomic(path) as file:
        _write_hierarchy(file, skeleton, rest, channels, metres)
        file.write(f"MOTION\nFrames: {len(motion)}\nFrame Time: {1.0 / motion.rate!r}\n")
        for first in range(0, len(motion), chunk_frames):
            q = np.array(motion.q[first : first + chunk_frames])
            rows, last_angles = _make_rows(skeleton, rest, channels, q, metres, last_angles)
            file.writelines(line % tuple(row) for row in rows.tolist())


def write_bvh_skeleton(skeleton: Skeleton, path: str, length_unit: str | float = "cm") -> None:
    """Write a skeleton to a BVH file, as a motion of one frame at rest."""
    write_bvh(Motion(skeleton, skeleton.neutral()[None], 30.0), path, length_unit)


def _check_name(name: str, path: str) -> None:
    if name != name.strip() or len(name.splitlines()) > 1 or "{" in name or "}" in name:
        rule = "in BVH a name has no braces, no line ends and no blanks around it"
        raise FileError(path, f"cannot be written: bone {name!r} must be renamed, for {rule}")


def _choose_channels(skeleton: Skeleton, rest: RestFrames, k: int) -> _Channels:
    bone = skeleton.bones[k]
    has_positions = bone.parent is None or bone.joint.translates
    computed = _Channels(
        bone=k, has_positions=has_positions, order="ZYX", copied=-1, signs=np.ones(0)
    )
    rotation = bone.joint.rotation_part
    if not rotation.rotates:
        return computed._replace(copied=0)
    letters = rotation.order if rotation.kind == "euler" else ""
    letters = rotation.axis_letter.upper() if rotation.kind == "revolute" else letters
    # Angles can be copied where the axes of the joint are those of the file up to order and sign:
    # a rotation about −x is the opposite one about x.
    axes = np.rint(rest.R_world_joint[k])
    is_parallel = np.abs(rest.R_world_joint[k] - axes).max() < MAX_ROTATION_DIFFERENCE
    if not is_parallel or len(letters) == 0 or len(set(letters)) < len(letters):
        return computed
    joint_axes = axes[:, ["XYZ".index(c) for c in letters]]
    letters = "".join("XYZ"[a] for a in np.argmax(np.abs(joint_axes), axis=0))
    unused = "".join(c for c in "ZYX" if c not in letters)
    return _Channels(
        bone=k,
        has_positions=has_positions,
        order=letters + unused,
        copied=len(letters),
        signs=joint_axes.sum(axis=0),
    )


def _write_hierarchy(
    file: IO[str],
    skeleton: Skeleton,
    rest: RestFrames,
    channels: Sequence[_Channels],
    metres: float,
) -> None:
    file.write("HIERARCHY\n")
    by_bone = {c.bone: c for c in channels}
    open_bones: list[int] = []

    def close(parent: int) -> None:
        while len(open_bones) > 0 and open_bones[-1] != parent:
            open_bones.pop()
            file.write("\t" * min(len(open_bones), MAX_INDENT) + "}\n")

    for k in (int(k) - 1 for k in skeleton.tree.frame_order):
        bone = skeleton.bones[k]
        close(int(skeleton.parents[k]))
        indent = "\t" * min(len(open_bones), MAX_INDENT)
        kind = "ROOT" if bone.parent is None else "JOINT"
        head = f"{kind} {bone.name}" if k in by_bone else "End Site"
        offset = rest.R_world_parent[k] @ np.array(bone.offset) / metres
        if bone.parent is None:
            offset = np.zeros(3)  # its position is in the rows, whether they replace or add
        numbers = " ".join(NUMBER_FORMAT % x for x in offset)
        file.write(f"{indent}{head}\n{indent}{{\n{indent}\tOFFSET {numbers}\n")
        if k in by_bone:
            names = [f"{c}position" for c in "XYZ" if by_bone[k].has_positions]
            names += [f"{c}rotation" for c in by_bone[k].order]
            file.write(f"{indent}\tCHANNELS {len(names)} {' '.join(names)}\n")
        open_bones.append(k)
    close(-1)


def _make_rows(
    skeleton: Skeleton,
    rest: RestFrames,
    channels: Sequence[_Channels],
    q: Array,
    metres: float,
    last_angles: Array | None,
) -> tuple[Array, Array]:
    """Return the rows of these frames, and the last of the computed angles, to go on from."""
    computed = [c.bone for c in channels if c.copied < 0]
    angles = np.zeros((len(q), 0, 3))
    if len(computed) > 0:
        rotations = compute_local_rotations(skeleton, rest, computed, q)
        angles = compute_continuous_angles("ZYX", rotations, last_angles)
    columns = []
    for c in channels:
        if c.has_positions:
            positions = compute_local_positions(skeleton, rest, c.bone, q) / metres
            columns.append(np.broadcast_to(positions, (len(q), 3)))
        bone_angles = np.zeros((len(q), 3))
        if c.copied < 0:
            bone_angles = angles[:, computed.index(c.bone)]
        elif c.copied > 0:
            end = int(skeleton.tree.first_q[c.bone + 2])
            bone_angles[:, : c.copied] = q[:, end - c.copied : end] * c.signs
        columns.append(np.rad2deg(bone_angles))
    rows = np.concatenate(columns, axis=1)
    return rows, angles[-1]
