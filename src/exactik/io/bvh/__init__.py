"""BVH files: a hierarchy of joints, then rows with one number per channel.

The parser is written by hand: the small libraries for BVH read what one program writes, and neither
bound a hostile file nor say in which line it is wrong.
"""

from exactik.io.bvh._read import infer_rate, read_bvh, read_bvh_content, read_bvh_skeleton
from exactik.io.bvh._write import write_bvh, write_bvh_skeleton
