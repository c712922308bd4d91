"""From markers to motion."""

from exactik.mocap._attach import attach_markers
from exactik.mocap._attention import Attention
from exactik.mocap._calibrate import calibrate
from exactik.mocap._calibration import Calibration
from exactik.mocap._mapping import MarkerMapping, propose_mapping
from exactik.mocap._track import track
from exactik.mocap._tracked import Track

__all__ = [
    "Attention",
    "Calibration",
    "MarkerMapping",
    "Track",
    "attach_markers",
    "calibrate",
    "propose_mapping",
    "track",
]
