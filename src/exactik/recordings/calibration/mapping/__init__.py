"""Which recorded marker is which of a skeleton's: by hand, by name, by landmark, by place."""

from exactik.recordings.calibration.mapping._by_name import check_mapping
from exactik.recordings.calibration.mapping._geometry import measure_distances
from exactik.recordings.calibration.mapping._mapping import (
    HandMapping,
    MarkerMapping,
    Match,
    Proposal,
    find_landmark_point,
    has_landmarks,
)
from exactik.recordings.calibration.mapping._propose import propose_mapping
