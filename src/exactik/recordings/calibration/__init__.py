"""A figure fitted to a subject: where markers are, how long bones are, which marker is which."""

from exactik.recordings.calibration._anthropometry import (
    BodyProportions,
    SegmentLength,
    compare_with_anthropometry,
)
from exactik.recordings.calibration._attach import (
    MarkerBone,
    attach_markers,
    distance_from_bone,
    find_marker_bones,
    to_bone_frame,
)
from exactik.recordings.calibration._calibrate import (
    CalibrateOptions,
    calibrate,
    join_trials,
    name_markers_alike,
)
from exactik.recordings.calibration._calibration import Calibration, CalibrationRecord
from exactik.recordings.calibration._undetermined import Undetermined
from exactik.recordings.calibration.mapping import (
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
    "CalibrateOptions",
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
    "distance_from_bone",
    "find_marker_bones",
    "has_landmarks",
    "join_trials",
    "measure_distances",
    "name_markers_alike",
    "propose_mapping",
    "to_bone_frame",
]
