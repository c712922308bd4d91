"""A mapping that is being made: every stage of `propose_mapping` adds matches to it.

Landmarks have places on the built-in human alone. On one of another size they grow with its bones.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from exactik.anatomy.marker_sets import Landmark, NameReading
from exactik.model import Skeleton, human
from exactik.model.motion import Markers
from exactik.recordings.calibration.mapping._mapping import MarkerMapping, Match, Point


@dataclass
class Proposal:
    """What is known so far of the markers of a recording."""

    skeleton: Skeleton  # the figure
    markers: Markers  # the recording, in the world of the skeleton
    reading: NameReading  # what the recorded names mean
    own_reading: NameReading  # what the names of the skeleton's markers mean
    # Recorded name → what the marker is; those that no stage has decided are missing
    matches: dict[str, Match] = field(default_factory=dict)

    def list_undecided(self) -> list[str]:
        """Return the recorded markers that have no match yet, in the order of the recording."""
        return [name for name in self.markers.names if name not in self.matches]

    def list_free_markers(self) -> list[str]:
        """Return the skeleton's markers that no recorded one is yet."""
        taken = {match.marker for match in self.matches.values()}
        return [name for name in self.skeleton.markers if name not in taken]

    def known_mapping(self, without: frozenset[str] = frozenset()) -> MarkerMapping:
        """Return the mapping of the markers whose bone is known so far, but for some by name."""
        found = [self.matches[n] for n in self.markers.names if n in self.matches]
        known = (m for m in found if m.bone is not None and m.recorded not in without)
        return MarkerMapping(self.skeleton, tuple(known))


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
