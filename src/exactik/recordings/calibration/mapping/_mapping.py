"""Which recorded marker is which of a skeleton's, or on which bone it is.

Landmarks have places on the built-in human alone. On one of another size they grow with its bones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from exactik._text import align_columns, join_names
from exactik.anatomy.marker_sets import (
    Landmark,
    MarkerSet,
    NameReading,
    list_landmarks,
    strip_prefix,
)
from exactik.errors import UnknownNameError
from exactik.model import Skeleton, human
from exactik.model.motion import Markers

# Why a recorded marker is not used, by the code of its match: of one, of several.
UNUSED = {
    "by-hand": ("is left out by hand", "are left out by hand"),
    "never-seen": ("is in no frame", "are in no frame"),
    "computed": ("is computed, not measured", "are computed, not measured"),
    "object": ("is on a thing", "are on things"),
    "other-subject": ("is another subject's", "are another subject's"),
    "unnamed": ("has no name", "have no name"),
    "unknown-name": ("has a name that means nothing here", "have names that mean nothing here"),
    "unclear": ("is not clear", "are not clear"),
    "misnamed": ("is not where its name says", "are not where their names say"),
}
MAX_LISTED_NAMES = 6  # of markers in a sentence

Point = tuple[float, float, float]
"""A place in a bone's frame [m]."""
HandMapping = Mapping[str, "str | tuple[str, ArrayLike] | None"]
"""Recorded marker → own marker, bone, landmark, or (bone, place in its frame [m]); None: unused."""


class Match(NamedTuple):
    """What a recorded marker is."""

    recorded: str  # its name in the recording
    marker: str | None = None  # the skeleton's own marker that it is; None if it is none of them
    bone: str | None = None  # that it is on; None if it is not known, and the marker is not used
    # Its place in the bone's frame [m], roughly; None for the own marker's, or if nothing is known
    # but the bone
    point: Point | None = None
    reason: str = ""  # in words
    confidence: float = 0.0  # from 0 to 1
    # Why, for programs. Used: "by-hand", "same-name", "landmark" (the name means a place on the
    # skin), "joint-centre" (a place inside), "geometry" (by where it rests). Not used: "by-hand",
    # "computed", "unknown-name", "unnamed", "unclear", "misnamed", "object", "other-subject",
    # "never-seen"
    code: str = ""
    kind: str = "skin"  # "skin" for a marker on it, "joint" for a point inside
    # How far it may be from its point, one standard deviation along each axis [m]; None: as
    # `calibrate` is told
    offset_sd: float | None = None
    landmark: str = ""  # that its name means, such as "l_knee_lateral"; "" if none

    @property
    def text(self) -> str:
        """What it is taken for, in words; "" if it is not used."""
        if self.landmark != "" and self.bone is not None:
            return list_landmarks()[self.landmark].text
        return self.marker or self.bone or ""

    @property
    def has_same_name(self) -> bool:
        """Whether marker and recorded marker are called the same but for prefix and case."""
        if self.marker is None:
            return False
        return strip_prefix(self.recorded).casefold() == strip_prefix(self.marker).casefold()


@dataclass(frozen=True)
class MarkerMapping:
    """What each marker of a recording is; `print` shows it as a table.

    Attributes:
        skeleton: whose markers and bones are meant.
        matches: one for each recorded marker, in the order of the recording.
        marker_set: the known set whose names they have, None if there is none.
    """

    skeleton: Skeleton
    matches: tuple[Match, ...]
    marker_set: MarkerSet | None = None

    def __iter__(self) -> Iterator[Match]:
        return iter(self.matches)

    def __len__(self) -> int:
        """Number of recorded markers."""
        return len(self.matches)

    def __getitem__(self, recorded: str) -> Match:
        """Return what a recorded marker is."""
        for match in self.matches:
            if match.recorded == recorded:
                return match
        raise UnknownNameError("marker", recorded, [match.recorded for match in self.matches])

    @property
    def used(self) -> tuple[Match, ...]:
        """The markers whose bone is known."""
        return tuple(match for match in self.matches if match.bone is not None)

    def describe_unused(self) -> str:
        """Return why markers are not used: "2 are in no frame (C7, T10), 1 has no name (*3)"."""
        parts = []
        for code, (one, several) in UNUSED.items():
            names = [m.recorded for m in self.matches if m.bone is None and m.code == code]
            if len(names) > 0:
                listed = join_names(list(map(strip_prefix, names)), MAX_LISTED_NAMES, spare=1)
                parts.append(f"{len(names)} {one if len(names) == 1 else several} ({listed})")
        return "; ".join(parts)

    @property
    def names(self) -> dict[str, str]:
        """Recorded name → name on `applied`, of the markers in use."""
        return {match.recorded: self.name_of(match) for match in self.used}

    def name_of(self, match: Match) -> str:
        """Return what the marker is called on `applied`: as before if names agree, else anew."""
        if match.marker is not None and match.has_same_name:
            return match.marker
        short = strip_prefix(match.recorded)
        alone = [strip_prefix(used.recorded) for used in self.used].count(short) == 1
        return short if alone else match.recorded

    def applied(self) -> Skeleton:
        """Return the skeleton with its markers called as in the recording, new ones added.

        A marker of which only the bone is known is put in the middle of it.
        """
        placed = dict(self.skeleton.markers)
        for match in self.used:
            if match.marker is not None:
                placed.pop(match.marker, None)
        new: dict[str, tuple[str, ArrayLike]] = {}
        for match in self.used:
            assert match.bone is not None
            point = match.point
            if point is None and match.marker is not None:
                point = self.skeleton.marker(match.marker)[1]
            if point is None:
                point = _bone_middle(self.skeleton, match.bone)
            new[self.name_of(match)] = (match.bone, point)
        return self.skeleton.with_markers({**placed, **new})

    def __str__(self) -> str:
        """Return a table: marker, what it is, why, how sure."""
        rows = [("recorded", "marker", "bone", "sure", "why")]
        for match in self.matches:
            sure = f"{100 * match.confidence:.0f} %"
            cells = (match.recorded, match.marker or "–", match.bone or "not used", sure)
            rows.append((*cells, match.reason))
        return align_columns(rows)


def _bone_middle(skeleton: Skeleton, bone: str) -> Point:
    """Return the middle between a bone's joint and its children's, in the bone's frame [m]."""
    offsets = skeleton.rest_offsets[skeleton.parents == skeleton.bone_index(bone)]
    x, y, z = (0.5 * np.mean(offsets, axis=0)).tolist() if len(offsets) > 0 else (0.0, 0.0, 0.0)
    return x, y, z


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
