"""What people publish about a movement: joint angles by the ISB's recommendations, gait."""

from exactik.biomechanics._angle_rates import compute_angle_rates
from exactik.biomechanics._body_segments import (
    SEGMENTS,
    BodySegments,
    find_body_segments,
    is_body,
)
from exactik.biomechanics._definitions import (
    ANGLE_NAMES,
    JOINTS,
    AngleName,
    JointDefinition,
    describe_angles,
)
from exactik.biomechanics._gait_cycles import (
    CYCLE_POINTS,
    GaitCurve,
    GaitCycle,
    GaitCycles,
    GaitParameter,
    find_gait_cycles,
)
from exactik.biomechanics._gait_events import GaitEvent, GaitEvents, find_gait_events
from exactik.biomechanics._joint_angles import JointAngles, compute_joint_angles

__all__ = [
    "ANGLE_NAMES",
    "CYCLE_POINTS",
    "JOINTS",
    "SEGMENTS",
    "AngleName",
    "BodySegments",
    "GaitCurve",
    "GaitCycle",
    "GaitCycles",
    "GaitEvent",
    "GaitEvents",
    "GaitParameter",
    "JointAngles",
    "JointDefinition",
    "compute_angle_rates",
    "compute_joint_angles",
    "describe_angles",
    "find_body_segments",
    "find_gait_cycles",
    "find_gait_events",
    "is_body",
]
