"""Which recorded marker is which of a skeleton's: by hand, by name, by landmark, by place."""

from exactik.calibration.mapping._by_hand import check_mapping
from exactik.calibration.mapping._geometry import measure_distances
from exactik.calibration.mapping._landmarks import has_landmarks
from exactik.calibration.mapping._mapping import HandMapping, MarkerMapping, Match
from exactik.calibration.mapping._propose import propose_mapping

__all__ = [
    "HandMapping",
    "MarkerMapping",
    "Match",
    "check_mapping",
    "has_landmarks",
    "measure_distances",
    "propose_mapping",
]
