"""glTF and GLB files: skeletons from nodes and skins, motions from animations.

Read and written by hand rather than with trimesh or pygltflib. These load meshes and materials that
nobody asked for, trust the sizes that a file states, and leave animations, rest poses and the
question of which nodes are bones to the caller; what remains of the format is JSON and arrays. Here
all reading is bounded by the size of the file, an error names the place in the JSON, and there is
nothing to install.
"""

from exactik.io.gltf._document import Document, Opener
from exactik.io.gltf._json import JsonObject
from exactik.io.gltf._nodes import make_rotation_to_y_up
from exactik.io.gltf._read import (
    read_gltf_content,
    read_gltf_motion,
    read_gltf_skeleton,
    read_gltf_up_axis,
)
from exactik.io.gltf._surfaces import read_gltf_visuals
from exactik.io.gltf._write import GlbBuilder, encode_posable_glb, write_glb, write_glb_skeleton
from exactik.io.gltf._write_surfaces import make_bone_mesh, make_marker_mesh, make_octahedron
