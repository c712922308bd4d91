"""Files of meshes that robots and models of OpenSim refer to: STL, OBJ, COLLADA, glTF and VTP.

STL and OBJ are read by trimesh. COLLADA is read by hand, since trimesh leaves it to pycollada,
which knows no bounds; so are VTP, which trimesh does not read, and glTF, see `io.gltf`.
Nothing is opened but what `MeshFinder` allows, files are of a bounded size, and a fault is one
sentence.
"""

from exactik.io.meshes._library import (
    MAX_MESH_BYTES,
    MAX_TEXTURE_BYTES,
    MeshLibrary,
    MeshPart,
    read_mesh_file,
    read_texture,
)
from exactik.io.meshes._parts import shade
from exactik.io.meshes._paths import MeshFinder
