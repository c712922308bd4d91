"""Where a landmark of the body is on a skeleton.

Landmarks have places on the built-in human alone. On one of another size they grow with its bones.
"""

from __future__ import annotations

import numpy as np

from exactik.anatomy.marker_sets import Landmark
from exactik.model import Skeleton, human
from exactik.recordings.calibration.mapping._mapping import Match, Point


def has_landmarks(skeleton: Skeleton) -> bool:
    """Whether landmarks have a place on a skeleton: it has the bones of the built-in human."""
    return skeleton.bone_names == human().bone_names


def find_landmark_point(skeleton: Skeleton, landmark: Landmark) -> Point:
    """Return the place of a landmark in its bone's frame [m], on a human of any size.

    It grows with the bone: with the offsets of the bones that follow, or, where none does, with its
    parent.
    """
    bone: str | None = landmark.bone
    while bone is not None:
        built_in, own = _offsets_below(human(), bone), _offsets_below(skeleton, bone)
        if built_in > 0.0:
            x, y, z = ((own / built_in) * np.array(landmark.point)).tolist()
            return x, y, z
        bone = skeleton.bones[skeleton.bone_index(bone)].parent
    return landmark.point


def place_on_landmark(skeleton: Skeleton, match: Match, landmark: Landmark) -> Match:
    """Return a match on a landmark at which the skeleton has no marker."""
    return match._replace(
        bone=landmark.bone,
        point=find_landmark_point(skeleton, landmark),
        kind=landmark.kind,
        offset_sd=landmark.sd,
        landmark=landmark.id,
    )


def _offsets_below(skeleton: Skeleton, bone: str) -> float:
    """Return the lengths of the offsets from a bone to those that follow, together [m]."""
    below = skeleton.rest_offsets[skeleton.parents == skeleton.bone_index(bone)]
    return float(np.linalg.norm(below, axis=1).sum())
