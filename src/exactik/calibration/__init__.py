"""A figure fitted to a subject: where markers are, how long bones are, which marker is which."""

from exactik.calibration._anthropometry import (
    BodyProportions,
    SegmentLength,
    compare_with_anthropometry,
)
from exactik.calibration._attach import attach_markers, to_bone_frame
from exactik.calibration._calibrate import calibrate
from exactik.calibration._calibration import Calibration
from exactik.calibration._marker_bones import MarkerBone, find_marker_bones
from exactik.calibration._record import CalibrationRecord
from exactik.calibration._undetermined import Undetermined
from exactik.calibration.fitting import find_mirrored_bone
from exactik.calibration.mapping import (
    HandMapping,
    MarkerMapping,
    Match,
    check_mapping,
    has_landmarks,
    measure_distances,
    propose_mapping,
)

__all__ = [
    "BodyProportions",
    "Calibration",
    "CalibrationRecord",
    "HandMapping",
    "MarkerBone",
    "MarkerMapping",
    "Match",
    "SegmentLength",
    "Undetermined",
    "attach_markers",
    "calibrate",
    "check_mapping",
    "compare_with_anthropometry",
    "find_marker_bones",
    "find_mirrored_bone",
    "has_landmarks",
    "measure_distances",
    "propose_mapping",
    "to_bone_frame",
]
