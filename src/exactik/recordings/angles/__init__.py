"""What people publish about a movement: joint angles by the ISB's recommendations, gait."""

from exactik.recordings.angles._body_segments import (
    SEGMENTS,
    BodySegments,
    find_body_segments,
    is_body,
)
from exactik.recordings.angles._definitions import (
    ANGLE_ENDS,
    ANGLE_NAMES,
    JOINTS,
    AngleName,
    JointDefinition,
    describe_angles,
)
from exactik.recordings.angles._feet import FootPaths, Walker
from exactik.recordings.angles._gait_comparison import (
    CurveDifference,
    CurvePair,
    compare_curves,
)
from exactik.recordings.angles._gait_cycles import (
    CYCLE_POINTS,
    GaitCurve,
    GaitCycle,
    GaitCycles,
    GaitParameter,
    find_gait_cycles,
)
from exactik.recordings.angles._gait_events import (
    GaitEvent,
    GaitEvents,
    find_events_of,
    find_gait_events,
)
from exactik.recordings.angles._joint_angles import JointAngles, compute_joint_angles
from exactik.recordings.angles._joint_words import (
    JointWords,
    compute_angle_rates,
    join_sides,
    name_angle_for_people,
)
from exactik.recordings.angles._normal_gait import NormalBand, NormalGait, read_normal_gait

__all__ = [
    "ANGLE_ENDS",
    "ANGLE_NAMES",
    "CYCLE_POINTS",
    "JOINTS",
    "SEGMENTS",
    "AngleName",
    "BodySegments",
    "CurveDifference",
    "CurvePair",
    "FootPaths",
    "GaitCurve",
    "GaitCycle",
    "GaitCycles",
    "GaitEvent",
    "GaitEvents",
    "GaitParameter",
    "JointAngles",
    "JointDefinition",
    "JointWords",
    "NormalBand",
    "NormalGait",
    "Walker",
    "compare_curves",
    "compute_angle_rates",
    "compute_joint_angles",
    "describe_angles",
    "find_body_segments",
    "find_events_of",
    "find_gait_cycles",
    "find_gait_events",
    "is_body",
    "join_sides",
    "name_angle_for_people",
    "read_normal_gait",
]
