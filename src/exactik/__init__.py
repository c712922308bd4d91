"""exactik: exact second-order inverse kinematics of articulated figures."""

from exactik.check import check_derivatives
from exactik.errors import (
    CoordinateError,
    ExactikError,
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
from exactik.model import Bone, Joint, Pose, Skeleton, human
from exactik.problem import Problem

__all__ = [
    "AimGoal",
    "Bone",
    "CoordinateError",
    "DirectionGoal",
    "ExactikError",
    "FrameGoal",
    "Goal",
    "GoalError",
    "Joint",
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
    "check_derivatives",
    "human",
]

__version__ = "0.1.0"
