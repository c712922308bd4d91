"""Goals: what a pose is asked to do."""

from exactik.goals._custom import FrameGoal
from exactik.goals._frame_goals import (
    AimGoal,
    DirectionGoal,
    MarkerGoal,
    OrientationGoal,
    PoseGoal,
    PositionGoal,
    Term,
    TermGoal,
)
from exactik.goals._goal import Goal, require_weight_matrix
from exactik.goals._joint_goals import PostureGoal, SoftLimitGoal

__all__ = [
    "AimGoal",
    "DirectionGoal",
    "FrameGoal",
    "Goal",
    "MarkerGoal",
    "OrientationGoal",
    "PoseGoal",
    "PositionGoal",
    "PostureGoal",
    "SoftLimitGoal",
    "Term",
    "TermGoal",
    "require_weight_matrix",
]
