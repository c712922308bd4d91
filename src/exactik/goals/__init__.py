"""Goals: what a pose is asked to do."""

from exactik.goals._balance import CenterOfMassGoal
from exactik.goals._collisions import Collisions, ShapePair
from exactik.goals._coordinates import PostureGoal, SoftLimitGoal
from exactik.goals._custom import FrameGoal
from exactik.goals._direction import AimGoal, DirectionGoal
from exactik.goals._geometry import require_direction, require_rotation
from exactik.goals._goal import (
    DEFAULT_POSITION_TOLERANCE,
    CoordinateTerm,
    Goal,
    GoalPart,
    Term,
    TermGoal,
    require_weight_matrix,
)
from exactik.goals._orientation import OrientationGoal, PoseGoal
from exactik.goals._packing import PackedGoals, as_goals, pack_goals
from exactik.goals._places import DistanceGoal, LineGoal, PlaneGoal
from exactik.goals._position import MarkerGoal, PositionGoal
from exactik.goals._retarget import (
    NewTargets,
    check_new_targets,
    pack_batch_targets,
    retarget_goals,
    retarget_packed,
)

__all__ = [
    "DEFAULT_POSITION_TOLERANCE",
    "AimGoal",
    "CenterOfMassGoal",
    "Collisions",
    "CoordinateTerm",
    "DirectionGoal",
    "DistanceGoal",
    "FrameGoal",
    "Goal",
    "GoalPart",
    "LineGoal",
    "MarkerGoal",
    "NewTargets",
    "OrientationGoal",
    "PackedGoals",
    "PlaneGoal",
    "PoseGoal",
    "PositionGoal",
    "PostureGoal",
    "ShapePair",
    "SoftLimitGoal",
    "Term",
    "TermGoal",
    "as_goals",
    "check_new_targets",
    "pack_batch_targets",
    "pack_goals",
    "require_direction",
    "require_rotation",
    "require_weight_matrix",
    "retarget_goals",
    "retarget_packed",
]
