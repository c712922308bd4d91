"""C3D files."""

from exactik.io.c3d._read import read_c3d
from exactik.io.c3d._write import write_c3d

__all__ = [
    "read_c3d",
    "write_c3d",
]
