"""glTF and GLB files."""

from exactik.io.gltf._read import (
    read_gltf_content,
    read_gltf_motion,
    read_gltf_skeleton,
    read_gltf_up_axis,
)
from exactik.io.gltf._write import write_glb, write_glb_skeleton

__all__ = [
    "read_gltf_content",
    "read_gltf_motion",
    "read_gltf_skeleton",
    "read_gltf_up_axis",
    "write_glb",
    "write_glb_skeleton",
]
