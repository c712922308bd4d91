"""NPZ files of exactik."""

from exactik.io.native._npz import (
    kind_of_npz,
    read_npz_markers,
    read_npz_motion,
    read_npz_skeleton,
    up_axis_of_npz,
    write_npz_markers,
    write_npz_motion,
    write_npz_skeleton,
)

__all__ = [
    "kind_of_npz",
    "read_npz_markers",
    "read_npz_motion",
    "read_npz_skeleton",
    "up_axis_of_npz",
    "write_npz_markers",
    "write_npz_motion",
    "write_npz_skeleton",
]
