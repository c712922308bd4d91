"""Files of meshes that robots and models of OpenSim refer to: STL, OBJ, COLLADA, glTF and VTP.

Read by hand rather than with trimesh, for the reasons that `io.gltf` and `io.robots` give: here
nothing is opened but what `MeshFinder` allows, all reading is bounded by the size of the file, a
fault is one sentence, and there is nothing to install. trimesh is a judge in the tests.
"""

from exactik.io.meshes._library import MeshLibrary
from exactik.io.meshes._paths import MeshFinder
from exactik.io.meshes._read import MESH_SUFFIXES, MeshPart, read_mesh_file

__all__ = ["MESH_SUFFIXES", "MeshFinder", "MeshLibrary", "MeshPart", "read_mesh_file"]
