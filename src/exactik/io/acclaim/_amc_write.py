"""Write any motion as AMC, for the ASF file that `write_asf` makes of its skeleton."""

from __future__ import annotations

import numpy as np

from exactik.io._files import NUMBER_FORMAT, open_atomic
from exactik.io._rest_frames import (
    RestFrames,
    compute_continuous_angles,
    compute_local_positions,
    compute_local_rotations,
    compute_rest_frames,
)
from exactik.io.acclaim._asf_write import AsfBone, choose_root, make_asf_bones
from exactik.io.acclaim._skeleton import choose_asf_unit
from exactik.model import Skeleton
from exactik.model.motion import Motion
from exactik.typing import Array

CHUNK_ENTRIES = 1 << 21  # entries of rotation matrices that are in memory at a time


def write_amc(motion: Motion, path: str, length_unit: str | float | None = None) -> None:
    """Write a motion to an AMC file; write its skeleton to an ASF file for others to read it.

    Missing frames are left out, which their numbers show. The rate is in a comment, for the format
    has no other place for it.

    Args:
        length_unit: must be the same as for the ASF file, and is by default.
    """
    motion = motion.without_couplings()
    skeleton, rest = motion.skeleton, compute_rest_frames(motion.skeleton)
    metres = choose_asf_unit(skeleton, length_unit)
    bones = [bone for bone in make_asf_bones(skeleton, rest) if len(bone.dofs.names) > 0]
    template = "%d\nroot" + f" {NUMBER_FORMAT}" * 6 + "\n"
    for bone in bones:
        template += bone.name.replace("%", "%%") + f" {NUMBER_FORMAT}" * len(bone.dofs.names) + "\n"
    present = np.flatnonzero(np.isfinite(motion.q).all(axis=1))
    chunk_frames = max(1, CHUNK_ENTRIES // (9 * len(skeleton.bones)))
    last_angles = None
    with open_atomic(path) as file:
        file.write(f"# {motion.rate!r} frames a second\n:FULLY-SPECIFIED\n:DEGREES\n")
        for first in range(0, len(present), chunk_frames):
            frames = present[first : first + chunk_frames]
            rows, last_angles = _make_rows(
                skeleton, rest, bones, motion.q[frames], metres, last_angles
            )
            numbers = motion.first_frame + frames
            pairs = zip(numbers.tolist(), rows.tolist(), strict=True)
            file.writelines(template % (number, *row) for number, row in pairs)


def _make_rows(
    skeleton: Skeleton,
    rest: RestFrames,
    bones: list[AsfBone],
    q: Array,
    metres: float,
    last_angles: Array | None,
) -> tuple[Array, Array]:
    """Return the values of these frames, and the last of the computed angles, to go on from."""
    q = np.array(q)
    root, _, root_is_copied = choose_root(skeleton, rest)
    computed = [bone.bone for bone in bones if not bone.dofs.angles_are_coordinates]
    axes = [bone.axis for bone in bones if not bone.dofs.angles_are_coordinates]
    if root >= 0 and not root_is_copied:
        computed, axes = [root, *computed], [np.eye(3), *axes]
    angles = np.zeros((len(q), 0, 3))
    if len(computed) > 0:
        C = np.array(axes)
        M = np.swapaxes(C, -1, -2) @ compute_local_rotations(skeleton, rest, computed, q) @ C
        angles = compute_continuous_angles("ZYX", M, last_angles)
    columns = [np.zeros((len(q), 6))]
    if root >= 0:
        columns[0][:, :3] = compute_local_positions(skeleton, rest, root, q) / metres
        end = int(skeleton.tree.first_q[root + 2])
        root_angles = q[:, end - 3 : end] if root_is_copied else angles[:, 0]
        columns[0][:, 3:] = np.rad2deg(root_angles[:, ::-1])
    for bone in bones:
        slides = ["xyz".index(dof[1]) for dof in bone.dofs.names if dof[0] == "t"]
        if len(slides) > 0:
            start = rest.R_world_parent[bone.bone] @ np.array(skeleton.bones[bone.bone].offset)
            shift = (compute_local_positions(skeleton, rest, bone.bone, q) - start) @ bone.axis
            columns.append(shift[:, slides] / metres)
        count = len(bone.dofs.names) - len(slides)
        if count > 0:
            end = int(skeleton.tree.first_q[bone.bone + 2])
            bone_angles = q[:, end - count : end]
            if not bone.dofs.angles_are_coordinates:
                bone_angles = angles[:, computed.index(bone.bone)]
            columns.append(np.rad2deg(bone_angles[:, ::-1]))
    return np.concatenate(columns, axis=1), angles[-1]
