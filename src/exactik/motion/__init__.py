"""Recordings: marker positions and joint coordinates over time."""

from exactik.motion._axes import axes_matrix, cyclic_axes, turn_skeleton, turn_to_up
from exactik.motion._markers import Markers, Series
from exactik.motion._motion import Motion
from exactik.motion._segments import Segment, cut_into_segments, find_segments
from exactik.motion._suspects import FrozenMarker, Swap, frozen_markers, suspected_swaps

__all__ = [
    "FrozenMarker",
    "Markers",
    "Motion",
    "Segment",
    "Series",
    "Swap",
    "axes_matrix",
    "cut_into_segments",
    "cyclic_axes",
    "find_segments",
    "frozen_markers",
    "suspected_swaps",
    "turn_skeleton",
    "turn_to_up",
]
