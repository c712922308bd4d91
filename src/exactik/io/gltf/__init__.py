"""glTF and GLB files."""

from exactik.io.gltf._read import (
    has_animations,
    read_gltf_motion,
    read_gltf_skeleton,
    read_gltf_up_axis,
)
from exactik.io.gltf._write import write_glb, write_glb_skeleton

__all__ = [
    "has_animations",
    "read_gltf_motion",
    "read_gltf_skeleton",
    "read_gltf_up_axis",
    "write_glb",
    "write_glb_skeleton",
]
