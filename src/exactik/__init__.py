"""exactik: exact second-order inverse kinematics of articulated figures."""

from exactik.check import check_derivatives
from exactik.errors import (
    CoordinateError,
    ExactikError,
    FileError,
    FileWarning,
    GoalError,
    ModelError,
    NonFiniteError,
    ShapeError,
    UnknownNameError,
)
from exactik.goals import (
    AimGoal,
    DirectionGoal,
    FrameGoal,
    Goal,
    MarkerGoal,
    OrientationGoal,
    PoseGoal,
    PositionGoal,
    PostureGoal,
    SoftLimitGoal,
)
from exactik.io import (
    Coupling,
    JointPlace,
    apply_couplings,
    load_couplings,
    load_joint_names,
    load_skeleton,
)
from exactik.model import Bone, Joint, Pose, Skeleton, human
from exactik.problem import Problem

__all__ = [
    "AimGoal",
    "Bone",
    "CoordinateError",
    "Coupling",
    "DirectionGoal",
    "ExactikError",
    "FileError",
    "FileWarning",
    "FrameGoal",
    "Goal",
    "GoalError",
    "Joint",
    "JointPlace",
    "MarkerGoal",
    "ModelError",
    "NonFiniteError",
    "OrientationGoal",
    "Pose",
    "PoseGoal",
    "PositionGoal",
    "PostureGoal",
    "Problem",
    "ShapeError",
    "Skeleton",
    "SoftLimitGoal",
    "UnknownNameError",
    "apply_couplings",
    "check_derivatives",
    "human",
    "load_couplings",
    "load_joint_names",
    "load_skeleton",
]

__version__ = "0.1.0"
