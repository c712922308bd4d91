"""What markers are called and where they are: landmarks, known sets, computed points."""

from exactik.anatomy._names import strip_prefix
from exactik.anatomy.marker_sets._marker_set import (
    MarkerSet,
    NameReading,
    SetMatch,
    are_names_empty,
    find_computed_points,
    find_unnamed,
    is_unnamed,
    list_marker_sets,
    read_marker_names,
    recognise_marker_set,
    shorten_names,
)
from exactik.anatomy.marker_sets._names import (
    Landmark,
    find_landmark,
    find_landmarks,
    is_object_name,
    is_side_open,
    list_landmark_names,
    list_landmarks,
)

__all__ = [
    "Landmark",
    "MarkerSet",
    "NameReading",
    "SetMatch",
    "are_names_empty",
    "find_computed_points",
    "find_landmark",
    "find_landmarks",
    "find_unnamed",
    "is_object_name",
    "is_side_open",
    "is_unnamed",
    "list_landmark_names",
    "list_landmarks",
    "list_marker_sets",
    "read_marker_names",
    "recognise_marker_set",
    "shorten_names",
    "strip_prefix",
]
