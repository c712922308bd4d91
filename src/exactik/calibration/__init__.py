"""A figure fitted to a subject: where markers are, how long bones are, which marker is which."""

from exactik.calibration._attach import attach_markers
from exactik.calibration._calibrate import calibrate
from exactik.calibration._calibration import Calibration
from exactik.calibration._mapping import MarkerMapping, propose_mapping

__all__ = ["Calibration", "MarkerMapping", "attach_markers", "calibrate", "propose_mapping"]
