"""URDF written: any joint as hinges and sliders, and what that loses."""

from exactik.io.robots.writing._tree import (
    UrdfTree,
    WrittenJoint,
    compute_joint_values,
    make_urdf_tree,
)
from exactik.io.robots.writing._write import find_urdf_losses, write_urdf
