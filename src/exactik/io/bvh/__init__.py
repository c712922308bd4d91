"""BVH files: a hierarchy of joints, then rows with one number per channel.

The parser is written by hand: the small libraries for BVH read what one program writes, and neither
bound a hostile file nor say in which line it is wrong. Rows go through `exactik.io._decimal`, which
is some times faster than `float` and rounds the same.
"""

from exactik.io.bvh._read import read_bvh, read_bvh_content, read_bvh_skeleton
from exactik.io.bvh._write import write_bvh, write_bvh_skeleton

__all__ = [
    "read_bvh",
    "read_bvh_content",
    "read_bvh_skeleton",
    "write_bvh",
    "write_bvh_skeleton",
]
