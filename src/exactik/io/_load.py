"""From a path to a model or a recording and back: which reader or writer takes which file."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from exactik._arguments import require_instance
from exactik.errors import UsageError
from exactik.io._notes import Notes
from exactik.io.formats import reader_of, writer_of
from exactik.io.robots import JointPlace, read_robot
from exactik.model import Skeleton
from exactik.model.motion import Markers, Motion

PathLike = str | os.PathLike[str]
Unit = str | float | None


def load_skeleton(
    path: PathLike, length_unit: Unit = None, floating: bool | None = None, *, strict: bool = False
) -> Skeleton:
    """Return the skeleton in a file.

    Args:
        path: a robot, as .urdf or MuJoCo's .xml or .mjcf: each link or body is a bone of the same
            name, also those that do not move; a model of OpenSim, as .osim, likewise; or a figure,
            as .asf, .bvh, .fbx, .glb, .gltf or .npz.
        length_unit: "m", "cm", "mm", "in", … or the metres in one unit of the file. URDF, MJCF and
            glTF are in metres unless this says otherwise; ASF and FBX state a unit; BVH states none
            and needs one, or "auto" for a guess that is announced.
        floating: for robots, whether the root moves freely. If None, the file decides: bodies of
            an MJCF with a free joint do, roots without a joint do not. If False, all roots are
            fixed, also those with a free joint.
        strict: whether to refuse a file that is damaged but usable.

    Raises:
        FileError: the file cannot be read or contradicts itself; the text is one line that names
            the file, the place in it and what was expected.

    Warns:
        FileWarning: a part of the file that could matter was not read, or had to be guessed.
    """
    path = os.fspath(path)
    read = reader_of(path, "skeleton").bind(length_unit=length_unit, floating=floating)
    return read(path, Notes(path, strict))


def load_motion(
    path: PathLike,
    skeleton: Skeleton | None = None,
    *,
    length_unit: Unit = None,
    up_axis: str | None = None,
    rate: float | None = None,
    positions: str = "replace",
    animation: int | str | None = None,
    smpl_model: PathLike | None = None,
    strict: bool = False,
) -> Motion:
    """Return the motion in a file.

    Args:
        path: .amc, .bvh, .fbx, .glb, .gltf, .npz (ours, or of the SMPL family), .mot or .sto.
        skeleton: whose motion it is; needed for .amc and .mot, which do not hold one. For the
            others it may be given to have the motion in its coordinates, matched by names.
        length_unit: as for `load_skeleton`.
        up_axis: "x", "y" or "z"; stored, nothing is turned.
        rate: frames a second [Hz], in place of what the file says; for glTF, whose keys have times
            of their own, the rate at which they are sampled. AMC states none: 120 Hz is assumed.
        positions: for BVH, whether position channels "replace" a joint's offset or "add" to it.
        animation: for glTF and FBX, which of several: its number or name; the first if None.
        smpl_model: for .npz of AMASS, SMPL, SMPL-H or SMPL-X, the .npz file of that model, which
            bones and skin are of; without it the bones are of average proportions.
        strict: whether to refuse a file that is damaged but usable.
    """
    path = os.fspath(path)
    if positions not in ("replace", "add"):
        raise UsageError(f"positions is {positions!r}; it must be 'replace' or 'add'")
    read = reader_of(path, "motion").bind(
        skeleton=skeleton,
        length_unit=length_unit,
        rate=rate,
        positions=positions,
        animation=animation,
        smpl_model=None if smpl_model is None else os.fspath(smpl_model),
    )
    motion: Motion = read(path, Notes(path, strict))
    return motion if up_axis is None else replace(motion, up_axis=up_axis)


def load_markers(
    path: PathLike,
    *,
    axes: str | None = None,
    length_unit: Unit = None,
    up_axis: str | None = None,
    rate: float | None = None,
    zeros_are_missing: bool = True,
    strict: bool = False,
) -> Markers:
    """Return the markers in a file, in metres; missing ones are not a number.

    Args:
        path: .c3d, .trc, .tsv (Qualisys) or .npz.
        axes: permutes the axes, see `Markers.turned`; nothing is turned without it.
        length_unit: in place of what the file says.
        up_axis: "x", "y" or "z" in the file; stored, nothing is turned.
        rate: frames a second [Hz], in place of what the file says.
        zeros_are_missing: whether a marker exactly at (0, 0, 0) is taken for a missing one.
        strict: whether to refuse a file that is damaged but usable.
    """
    path = os.fspath(path)
    read = reader_of(path, "markers").bind(
        length_unit=length_unit, rate=rate, zeros_are_missing=zeros_are_missing
    )
    markers: Markers = read(path, Notes(path, strict))
    if up_axis is not None:
        markers = replace(markers, up_axis=up_axis)
    return markers if axes is None else markers.turned(axes)


def load_joint_names(path: PathLike, floating: bool | None = None) -> dict[str, JointPlace]:
    """Return where the joints of a robot's file are in its skeleton, by their names in the file.

    `q[load_joint_names(path)["elbow"].q]` is the coordinate of the joint "elbow". Joints that do
    not move, or follow others, are left out.

    Args:
        path: the file.
        floating: as given to `load_skeleton`; it shifts the indices.
    """
    return read_robot(os.fspath(path), None, floating).joints


def save_skeleton(skeleton: Skeleton, path: PathLike, **options: Any) -> None:
    """Write a skeleton to .asf, .bvh, .glb, .npz, .urdf, .xml or .mjcf; whole or not at all.

    Args:
        skeleton: what to write.
        path: where.
        options: `length_unit` for formats that state none (BVH: "cm" by default); `markers` for GLB
            and URDF: whether to write them too; `up_axis` for GLB and NPZ: "x", "y" or "z";
            `metadata` for NPZ: what else is to be kept, by name, as JSON has it.
    """
    path = os.fspath(path)
    require_instance("skeleton", skeleton, Skeleton)
    writer_of(path, "skeleton").bind_all(options)(skeleton, path)


def save_motion(motion: Motion, path: PathLike, **options: Any) -> None:
    """Write a motion to .bvh, .amc, .glb, .npz, .mot or .csv; whole or not at all.

    Of a robot also for its trainers: .unitree.csv, .beyondmimic.npz, .mjlab.npz, .gmr.pkl,
    .mimickit.pkl, .motion (ProtoMotions).

    Args:
        motion: what to write.
        path: where; AMC needs the skeleton in an .asf beside it, see `save_skeleton`.
        options: `length_unit` for formats that state none (BVH: "cm" by default); `angles` for
            MOT and CSV: "clinical", "joints" or "both" (default); `in_degrees` for MOT: True by
            default; `rotations` for CSV: "coordinates" (default), "wxyz" or "swing-twist"; for GLB
            `markers`, whether to write them too, and `up_axis`, in place of the motion's.
    """
    path = os.fspath(path)
    require_instance("motion", motion, Motion)
    writer_of(path, "motion").bind_all(options)(motion, path)


def save_markers(markers: Markers, path: PathLike, **options: Any) -> None:
    """Write markers to .c3d, .trc, .csv or .npz; whole or not at all.

    Args:
        markers: what to write.
        path: where.
        options: `length_unit`, "mm" by default for C3D and TRC, "m" for CSV.
    """
    path = os.fspath(path)
    require_instance("markers", markers, Markers)
    writer_of(path, "markers").bind_all(options)(markers, path)
