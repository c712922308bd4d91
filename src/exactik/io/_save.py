"""From a model or a recording to a path: which writer makes which file."""

from __future__ import annotations

import os
from typing import Any

from exactik._arguments import require_instance
from exactik.io.formats import writer_of
from exactik.model import Skeleton
from exactik.motion import Markers, Motion

__all__ = ["save_markers", "save_motion", "save_skeleton"]

PathLike = str | os.PathLike[str]


def save_skeleton(skeleton: Skeleton, path: PathLike, **options: Any) -> None:
    """Write a skeleton to .asf, .bvh, .glb, .npz or .urdf; whole or not at all.

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
