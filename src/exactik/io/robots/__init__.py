"""Robots: URDF and MJCF.

Read by hand rather than with yourdfpy or MuJoCo. The first loads meshes and resolves paths that a
hostile file chooses; the second is a large dependency that gives a compiled model without the lines
of its file. Kinematics alone is a small part of both formats. Here XML is read by defusedxml within
bounds, an error names file, line and element, and the coordinates of the joints agree with MuJoCo's
qpos and qvel, which is an oracle in the tests.
"""

from exactik.io.robots._mjcf_masses import measure_mesh
from exactik.io.robots._names import find_robot, list_robots
from exactik.io.robots._read import read_robot, read_robot_skeleton
from exactik.io.robots._robot import NO_LIMIT, JointPlace, Robot
