"""Any motion as AMC, for the ASF file that `_asf_write` makes of its skeleton."""

from __future__ import annotations

import numpy as np

from exactik.io._coordinates import continuous_angles
from exactik.io._files import writing
from exactik.io._rest_frames import (
    NUMBER,
    RestFrames,
    compute_local_positions,
    compute_local_rotations,
    compute_rest_frames,
)
from exactik.io.acclaim._asf_write import AsfBone, asf_bones, choose_asf_unit, root_order
from exactik.model import Skeleton
from exactik.motion import Motion
from exactik.typing import Array

__all__ = ["write_amc"]


_CHUNK = 1 << 21  # entries of rotation matrices that are in memory at a time


def write_amc(motion: Motion, path: str, length_unit: str | float | None = None) -> None:
    """Write a motion to an AMC file; write its skeleton to an ASF file for others to read it.

    Missing frames are left out, which their numbers show. The rate is in a comment, for the format
    has no other place for it.

    Args:
        motion: what to write.
        path: the file.
        length_unit: must be the same as for the ASF file, and is by default.
    """
    skeleton, rest = motion.skeleton, compute_rest_frames(motion.skeleton)
    metres = choose_asf_unit(skeleton, length_unit)
    bones = [bone for bone in asf_bones(skeleton, rest) if len(bone.dofs) > 0]
    line = "%d\nroot" + f" {NUMBER}" * 6 + "\n"
    for bone in bones:
        line += bone.name.replace("%", "%%") + f" {NUMBER}" * len(bone.dofs) + "\n"
    present = np.flatnonzero(np.isfinite(motion.q).all(axis=1))
    step, last = max(1, _CHUNK // (9 * len(skeleton.bones))), None
    with writing(path) as file:
        file.write(f"# {motion.rate!r} frames a second\n:FULLY-SPECIFIED\n:DEGREES\n")
        for first in range(0, len(present), step):
            frames = present[first : first + step]
            rows, last = _rows(skeleton, rest, bones, motion.q[frames], metres, last)
            numbers = motion.first_frame + frames
            pairs = zip(numbers.tolist(), rows.tolist(), strict=True)
            file.writelines(line % (number, *row) for number, row in pairs)


def _rows(
    skeleton: Skeleton,
    rest: RestFrames,
    bones: list[AsfBone],
    q: Array,
    metres: float,
    last: Array | None,
) -> tuple[Array, Array]:
    """Return the values of these frames, and the last of the computed angles, to go on from."""
    q = np.array(q)
    root, _, root_is_own = root_order(skeleton, rest)
    computed = [bone.bone for bone in bones if not bone.own]
    axes = [bone.axis for bone in bones if not bone.own]
    if root >= 0 and not root_is_own:
        computed, axes = [root, *computed], [np.eye(3), *axes]
    angles = np.zeros((len(q), 0, 3))
    if len(computed) > 0:
        C = np.array(axes)
        turns = np.swapaxes(C, -1, -2) @ compute_local_rotations(skeleton, rest, computed, q) @ C
        angles = continuous_angles("ZYX", turns, last)
    columns = [np.zeros((len(q), 6))]
    if root >= 0:
        columns[0][:, :3] = compute_local_positions(skeleton, rest, root, q) / metres
        end = int(skeleton.tree.first_q[root + 2])
        turns = q[:, end - 3 : end] if root_is_own else angles[:, 0]
        columns[0][:, 3:] = np.rad2deg(turns[:, ::-1])
    for bone in bones:
        slides = ["xyz".index(dof[1]) for dof in bone.dofs if dof[0] == "t"]
        if len(slides) > 0:
            start = rest.R_world_parent[bone.bone] @ np.array(skeleton.bones[bone.bone].offset)
            way = (compute_local_positions(skeleton, rest, bone.bone, q) - start) @ bone.axis
            columns.append(way[:, slides] / metres)
        count = len(bone.dofs) - len(slides)
        if count > 0:
            end = int(skeleton.tree.first_q[bone.bone + 2])
            turns = q[:, end - count : end]
            if not bone.own:
                turns = angles[:, computed.index(bone.bone)]
            columns.append(np.rad2deg(turns[:, ::-1]))
    return np.concatenate(columns, axis=1), angles[-1]
