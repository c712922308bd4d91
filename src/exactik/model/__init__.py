"""The figure: bones, joints, markers, limits; forward kinematics and Jacobians."""

from exactik.model._bone import Bone
from exactik.model._coupling import Coupling
from exactik.model._jacobian import (
    Frame,
    Route,
    Rows,
    bone_jacobian,
    compute_dof_rates,
    finite_difference_jacobian,
    unit_velocity_jacobian,
)
from exactik.model._loop import Loop, name_loops
from exactik.model._pose import BoneMass, LazyMasses, Pose
from exactik.model._reroot import reroot, reroot_coordinates
from exactik.model._skeleton import Skeleton
from exactik.model.figures import dress, hand, human, octopus, quadruped
from exactik.model.joints import EULER_ORDERS, JOINT_KINDS, Joint, JointAxis, JointKind

__all__ = [
    "EULER_ORDERS",
    "JOINT_KINDS",
    "Bone",
    "BoneMass",
    "Coupling",
    "Frame",
    "Joint",
    "JointAxis",
    "JointKind",
    "LazyMasses",
    "Loop",
    "Pose",
    "Route",
    "Rows",
    "Skeleton",
    "bone_jacobian",
    "compute_dof_rates",
    "dress",
    "finite_difference_jacobian",
    "hand",
    "human",
    "name_loops",
    "octopus",
    "quadruped",
    "reroot",
    "reroot_coordinates",
    "unit_velocity_jacobian",
]
