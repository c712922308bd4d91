"""Recordings: marker positions and joint coordinates over time."""

from exactik.model.motion._analog import Analog, ForcePlate, LazySamples, compute_plate_axes
from exactik.model.motion._markers import Markers, PlateReactions, Series, sample_reactions
from exactik.model.motion._motion import Motion
from exactik.model.motion._segments import (
    Segment,
    axes_matrix,
    check_rate,
    check_up_axis,
    choose_even_frames,
    cut_into_segments,
    cyclic_axes,
    find_segments,
    heading_axes,
    mark_segments,
    turn_skeleton,
    turn_to_up,
)
from exactik.model.motion._suspects import FrozenMarker, Swap, find_frozen_markers, find_swaps

__all__ = [
    "Analog",
    "ForcePlate",
    "FrozenMarker",
    "LazySamples",
    "Markers",
    "Motion",
    "PlateReactions",
    "Segment",
    "Series",
    "Swap",
    "axes_matrix",
    "check_rate",
    "check_up_axis",
    "choose_even_frames",
    "compute_plate_axes",
    "cut_into_segments",
    "cyclic_axes",
    "find_frozen_markers",
    "find_segments",
    "find_swaps",
    "heading_axes",
    "mark_segments",
    "sample_reactions",
    "turn_skeleton",
    "turn_to_up",
]
