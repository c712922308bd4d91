"""URDF and MJCF written: any joint as hinges and sliders, and what that loses."""

from exactik.io.robots.writing._mjcf import write_mjcf
from exactik.io.robots.writing._tree import compute_joint_values, make_urdf_tree
from exactik.io.robots.writing._write import find_robot_losses, write_urdf
