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
from exactik.goals._packing import PackedGoals, pack_goals, require_evaluable
from exactik.goals._retarget import pack_batch_targets, retarget_goals

__all__ = [
    "AimGoal",
    "DirectionGoal",
    "FrameGoal",
    "Goal",
    "MarkerGoal",
    "OrientationGoal",
    "PackedGoals",
    "PoseGoal",
    "PositionGoal",
    "PostureGoal",
    "SoftLimitGoal",
    "Term",
    "TermGoal",
    "pack_batch_targets",
    "pack_goals",
    "require_evaluable",
    "require_weight_matrix",
    "retarget_goals",
]
