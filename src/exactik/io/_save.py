"""From a model or a recording to a path: which writer makes which file."""

from __future__ import annotations

import os
from typing import Any

from exactik.io._load import reader_for
from exactik.model import Skeleton
from exactik.motion import Markers, Motion

__all__ = ["save_markers", "save_motion", "save_skeleton"]

PathLike = str | os.PathLike[str]

# One line per kind of file, "module:function"; writers are imported when they are needed.
SKELETONS = {
    ".asf": "exactik.io.acclaim:write_asf",
    ".bvh": "exactik.io.bvh:write_bvh_skeleton",
    ".glb": "exactik.io.gltf:write_glb_skeleton",
    ".npz": "exactik.io.native:write_npz_skeleton",
}
MOTIONS = {
    ".amc": "exactik.io.acclaim:write_amc",
    ".bvh": "exactik.io.bvh:write_bvh",
    ".glb": "exactik.io.gltf:write_glb",
    ".npz": "exactik.io.native:write_npz_motion",
    ".mot": "exactik.io.tables:write_mot",
    ".csv": "exactik.io.tables:write_csv_motion",
}
MARKERS = {
    ".c3d": "exactik.io.c3d:write_c3d",
    ".trc": "exactik.io.tables:write_trc",
    ".csv": "exactik.io.tables:write_csv_markers",
    ".npz": "exactik.io.native:write_npz_markers",
}


def save_skeleton(skeleton: Skeleton, path: PathLike, **options: Any) -> None:
    """Write a skeleton to .asf, .bvh, .glb or .npz; the file is written whole or not at all."""
    path = os.fspath(path)
    reader_for(path, SKELETONS, "writer of skeletons")(skeleton, path, **options)


def save_motion(motion: Motion, path: PathLike, **options: Any) -> None:
    """Write a motion to .bvh, .amc, .glb, .npz, .mot or .csv; whole or not at all.

    Args:
        motion: what to write.
        path: where; AMC needs the skeleton in an .asf beside it, see `save_skeleton`.
        options: `length_unit` for formats that state none (BVH: "cm" by default).
    """
    path = os.fspath(path)
    reader_for(path, MOTIONS, "writer of motions")(motion, path, **options)


def save_markers(markers: Markers, path: PathLike, **options: Any) -> None:
    """Write markers to .c3d, .trc, .csv or .npz; whole or not at all.

    Args:
        markers: what to write.
        path: where.
        options: `length_unit`, "mm" by default for C3D and TRC, "m" for CSV.
    """
    path = os.fspath(path)
    reader_for(path, MARKERS, "writer of markers")(markers, path, **options)
