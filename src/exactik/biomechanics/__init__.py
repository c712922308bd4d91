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
from exactik.biomechanics._joint_angles import JointAngles, compute_joint_angles

__all__ = [
    "ANGLE_NAMES",
    "JOINTS",
    "SEGMENTS",
    "AngleName",
    "BodySegments",
    "JointAngles",
    "JointDefinition",
    "compute_angle_rates",
    "compute_joint_angles",
    "describe_angles",
    "find_body_segments",
    "is_body",
]
