"""BVH files."""

from exactik.io.bvh._read import has_motion, read_bvh, read_bvh_skeleton
from exactik.io.bvh._write import write_bvh, write_bvh_skeleton

__all__ = [
    "has_motion",
    "read_bvh",
    "read_bvh_skeleton",
    "write_bvh",
    "write_bvh_skeleton",
]
