"""Write any skeleton as ASF, and any motion as AMC for it.

In the frames of `exactik.io._rest_frames`, parallel to the world at rest, a joint with axes G turns
a bone by G Q Gᵀ: what ASF calls C M C⁻¹. So C = G, and the dofs of Euler joints, hinges and sliders
are those of the file, with their limits; an oblique axis becomes z by C = G A. All other rotations
are written as three angles without limits.

In a file all children of a bone begin at its far end. Where those of the skeleton begin at
different points, helper bones "<child>_base", which do not move, lead there. Markers have no place
in the format.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote

import numpy as np

from exactik.io._files import NUMBER_FORMAT, open_atomic
from exactik.io._rest_frames import (
    RestFrames,
    compute_continuous_angles,
    compute_local_positions,
    compute_local_rotations,
    compute_rest_frames,
)
from exactik.io.acclaim._skeleton import INCH, choose_asf_unit, encode_name
from exactik.model import Joint, Skeleton
from exactik.model.motion import Motion
from exactik.spatial import euler_angles, rotation_taking_z_to
from exactik.typing import Array

MAX_DIFFERENCE = 1e-12  # [m], or of the entries of a rotation: what differs by less is equal
CHUNK_ENTRIES = 1 << 21  # entries of rotation matrices that are in memory at a time


class AsfDofs(NamedTuple):
    """How the dofs of a joint are written."""

    A: Array  # rotation from the joint's axes to those of the file, (3, 3)
    names: tuple[str, ...]  # in the order of the file, such as ("tx", "rz", "rx")
    limits: tuple[tuple[float, float], ...]  # lower and upper of each [m or rad]
    angles_are_coordinates: bool  # whether the angles are the joint's coordinates, reversed


class _AsfBone(NamedTuple):
    """A bone as the file has it, in metres and radians."""

    name: str  # in the file
    parent: str  # its name in the file
    bone: int  # index in the skeleton, −1 for a helper
    tip: Array  # its far end, (3,)
    axis: Array  # C, (3, 3)
    dofs: AsfDofs  # how its joint is written


class AsfRoot(NamedTuple):
    """The root of a file."""

    # Index in the skeleton; −1 where that has several roots, which then hang from one that does not
    # move
    bone: int
    order: str  # of its Euler angles
    angles_are_coordinates: bool  # whether the angles are coordinates of the bone, reversed


FIXED_DOFS = AsfDofs(A=np.eye(3), names=(), limits=(), angles_are_coordinates=True)


def _choose_root(skeleton: Skeleton, rest: RestFrames) -> AsfRoot:
    """Return the root of the file for a skeleton."""
    roots = np.flatnonzero(skeleton.parents < 0)
    if len(roots) > 1:
        return AsfRoot(bone=-1, order="ZYX", angles_are_coordinates=False)
    rotation = skeleton.bones[roots[0]].joint.rotation_part
    is_parallel = np.abs(rest.R_world_joint[roots[0]] - np.eye(3)).max() < MAX_DIFFERENCE
    copied = is_parallel and rotation.kind == "euler" and len(set(rotation.order)) == 3
    return AsfRoot(
        bone=int(roots[0]),
        order=rotation.order if copied else "ZYX",
        angles_are_coordinates=bool(copied),
    )


def _make_asf_bones(skeleton: Skeleton, rest: RestFrames) -> list[_AsfBone]:
    """Return the bones of the file but its root, parents first."""
    root = _choose_root(skeleton, rest).bone
    starts = np.einsum("nij,nj->ni", rest.R_world_parent, [bone.offset for bone in skeleton.bones])
    children: dict[int, list[int]] = {}
    for k, parent in enumerate(skeleton.parents.tolist()):
        children.setdefault(parent, []).append(k)
    names = {-1: "root"} | {k: encode_name(b.name) for k, b in enumerate(skeleton.bones)}
    if root >= 0:
        names[root] = "root"
    taken, end_sites, tips = set(names.values()), set(), {-1: np.zeros(3), root: np.zeros(3)}
    asf_bones = []
    for k in (int(k) - 1 for k in skeleton.tree.frame_order):
        if k == root or k in end_sites:
            continue
        below = children.get(k, [])
        tips[k] = np.zeros(3)
        if len(below) > 0 and np.ptp(starts[below], axis=0).max() < MAX_DIFFERENCE:
            tips[k] = starts[below[0]]
        if len(below) == 1 and tips[k].any() and skeleton.bones[below[0]].name in rest.end_sites:
            end_sites.add(below[0])  # on reading, it is made of the far end of its parent
        above = int(skeleton.parents[k])
        parent, gap = names[above], starts[k] - tips[above]
        if np.abs(gap).max() > MAX_DIFFERENCE:
            helper = f"{names[k]}_base"
            while helper in taken:
                helper += "_"
            taken.add(helper)
            asf_bones.append(
                _AsfBone(
                    name=helper, parent=parent, bone=-1, tip=gap, axis=np.eye(3), dofs=FIXED_DOFS
                )
            )
            parent = helper
        dofs = _choose_dofs(skeleton.bones[k].joint)
        axis = rest.R_world_joint[k] @ dofs.A if len(dofs.names) > 0 else np.eye(3)
        asf_bones.append(
            _AsfBone(name=names[k], parent=parent, bone=k, tip=tips[k], axis=axis, dofs=dofs)
        )
    return asf_bones


def _choose_dofs(joint: Joint) -> AsfDofs:
    if joint.kind in ("screw", "custom"):  # six dofs, as far as they move at all
        turns, shifts = joint.driven_axes
        names = (*(f"t{c}" for c in "xyz" if shifts), *(f"r{c}" for c in "xyz" if turns))
        limits = ((-np.inf, np.inf),) * len(names)
        return AsfDofs(A=np.eye(3), names=names, limits=limits, angles_are_coordinates=False)
    rotation, limits = joint.rotation_part, joint.limits
    count = len(joint.shift_axes) if len(joint.shift_axes) > 1 else 0
    slides = joint.dof_names[:count]
    A, angles, angles_are_coordinates = np.eye(3), (), True
    if rotation.kind == "euler" and len(set(rotation.order)) == len(rotation.order):
        angles = tuple(f"r{c}" for c in reversed(rotation.order.lower()))
    elif rotation.axis is not None:
        letter = rotation.axis_letter or "z"
        angles = (("r" if rotation.kind == "revolute" else "t") + letter,)
        if rotation.axis_letter == "":
            A = rotation_taking_z_to(rotation.axis)
    elif joint.rotates:
        angles, angles_are_coordinates = ("rx", "ry", "rz"), False
    free = ((-np.inf, np.inf),)
    # Limits along axes that are turned away, or on other angles, mean nothing any more.
    file_limits = limits[:count] if np.array_equal(A, np.eye(3)) else free * count
    file_limits += tuple(reversed(limits[count:])) if angles_are_coordinates else free * 3
    return AsfDofs(
        A=A,
        names=slides + angles,
        limits=file_limits,
        angles_are_coordinates=angles_are_coordinates,
    )


def write_asf(skeleton: Skeleton, path: str, length_unit: str | float | None = None) -> None:
    """Write a skeleton to an ASF file.

    Args:
        length_unit: "cm", "m", … or the metres in one unit of the file, which is written into it;
            by default that of the ASF file that the skeleton is from, or 1/0.45 inch.
    """
    metres = choose_asf_unit(skeleton, length_unit)
    skeleton = skeleton.without_couplings()
    rest = compute_rest_frames(skeleton)
    bones = _make_asf_bones(skeleton, rest)
    root, order, _ = _choose_root(skeleton, rest)
    title = " ".join(skeleton.name.replace("#", " ").split())
    lines = [":version 1.10", f":name {title}", ":units", "  mass 1.0"]
    lines += [f"  length {NUMBER_FORMAT % (INCH / metres)}", "  angle deg", ":documentation"]
    lines += ["  written by exactik"]
    if root >= 0 and skeleton.bones[root].name != "root":
        lines.append(f"  root-bone {quote(skeleton.bones[root].name)}")
    if any(bone.name != skeleton.bones[bone.bone].name for bone in bones if bone.bone >= 0):
        lines.append("  names percent-encoded")
    angles = " ".join(f"R{c}" for c in reversed(order))
    lines += [":root", f"  order TX TY TZ {angles}", "  axis XYZ", "  position 0 0 0"]
    lines += ["  orientation 0 0 0", ":bonedata"]
    for k, bone in enumerate(bones, start=1):
        lines += _format_bone(bone, k, metres)
    lines += [":hierarchy", "  begin"]
    children: dict[str, list[str]] = {}
    for bone in bones:
        children.setdefault(bone.parent, []).append(bone.name)
    lines += [f"    {parent} {' '.join(names)}" for parent, names in children.items()]
    with open_atomic(path) as file:
        file.write("\n".join([*lines, "  end", ""]))


def _format_bone(bone: _AsfBone, number: int, metres: float) -> list[str]:
    length = float(np.linalg.norm(bone.tip))
    direction = bone.tip / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
    axis = np.rad2deg(euler_angles("ZYX", bone.axis)[::-1])
    lines = ["  begin", f"    id {number}", f"    name {bone.name}"]
    lines.append("    direction " + " ".join(NUMBER_FORMAT % x for x in direction))
    lines.append(f"    length {NUMBER_FORMAT % (length / metres)}")
    lines.append("    axis " + " ".join(NUMBER_FORMAT % x for x in axis) + " XYZ")
    if len(bone.dofs.names) > 0:
        lines.append(f"    dof {' '.join(bone.dofs.names)}")
    if np.isfinite(bone.dofs.limits).any():
        for k, (dof, pair) in enumerate(zip(bone.dofs.names, bone.dofs.limits, strict=True)):
            low, high = np.array(pair) / (metres if dof[0] == "t" else np.pi / 180.0)
            head = "    limits" if k == 0 else "          "
            lines.append(f"{head} ({NUMBER_FORMAT % low} {NUMBER_FORMAT % high})")
    return [*lines, "  end"]


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
    bones = [bone for bone in _make_asf_bones(skeleton, rest) if len(bone.dofs.names) > 0]
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
    bones: list[_AsfBone],
    q: Array,
    metres: float,
    last_angles: Array | None,
) -> tuple[Array, Array]:
    """Return the values of these frames, and the last of the computed angles, to go on from."""
    q = np.array(q)
    root, _, root_is_copied = _choose_root(skeleton, rest)
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
