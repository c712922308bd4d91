"""Which recorded marker is which of a skeleton's, or on which bone it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import require_shape
from exactik.calibration._attach import find_recorded_name
from exactik.calibration._mapping_geometry import guess_bones
from exactik.calibration._mapping_names import is_unlabelled, match_landmarks, strip_prefix
from exactik.errors import UnknownNameError, UsageError
from exactik.model import Skeleton
from exactik.motion import Markers
from exactik.tracking import match_markers

__all__ = ["HandMapping", "MarkerMapping", "Match", "propose_mapping"]

Point = tuple[float, float, float]
HandMapping = Mapping[str, "str | tuple[str, ArrayLike] | None"]


class Match(NamedTuple):
    """What a recorded marker is.

    Attributes:
        recorded: its name in the recording.
        marker: the skeleton's own marker that it is; None if it is none of them.
        bone: that it is on; None if it is not known, and the marker is not used.
        point: its place in the bone's frame [m], roughly; None for the own marker's, or if nothing
            is known but the bone.
        reason: in words.
        confidence: from 0 to 1.
        offset_sd: how far it may be from its place, one standard deviation along each axis [m];
            None: as `calibrate` is told.
    """

    recorded: str
    marker: str | None = None
    bone: str | None = None
    point: Point | None = None
    reason: str = ""
    confidence: float = 0.0
    offset_sd: float | None = None

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
    """

    skeleton: Skeleton
    matches: tuple[Match, ...]

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
        widths = [max(len(row[k]) for row in rows) for k in range(4)]
        lines = [
            "  ".join([*(row[k].ljust(widths[k]) for k in range(4)), row[4]]).rstrip()
            for row in rows
        ]
        return "\n".join(lines)


def propose_mapping(
    skeleton: Skeleton, markers: Markers, bones: HandMapping | None = None, *, geometry: bool = True
) -> MarkerMapping:
    """Propose which recorded marker is which of a skeleton's.

    By hand where it is given; else by name: the same, the same after a prefix ("Subject:LANK") or
    in other case, or another name for the same landmark ("R.ASIS" for "RFWT"); else by geometry:
    with the figure fitted to the markers that are known, an unknown one is on the bone on which it
    keeps most nearly at rest, if that is clear.

    Args:
        skeleton: the figure.
        markers: the recording, in the world of the skeleton; "up" must be the same.
        bones: recorded marker → own marker, or bone, or (bone, place in its frame [m]); None for a
            marker that is not to be used.
        geometry: whether to look at places too.
    """
    matches: dict[str, Match] = {}
    for name, choice in (bones or {}).items():
        recorded = find_recorded_name(markers, name)
        matches[recorded] = _match_by_hand(skeleton, recorded, choice)
    _match_by_name(skeleton, markers, matches)
    if geometry:
        _match_by_geometry(skeleton, markers, matches)
    for name in markers.names:
        matches.setdefault(name, Match(name, reason="no name that is known", confidence=0.0))
    mapping = MarkerMapping(skeleton, tuple(matches[name] for name in markers.names))
    _check_markers_once(mapping)
    return mapping


def _match_by_hand(
    skeleton: Skeleton, recorded: str, choice: str | tuple[str, ArrayLike] | None
) -> Match:
    if choice is None:
        return Match(recorded, reason="left out by hand", confidence=1.0)
    match = Match(recorded, reason="given by hand", confidence=1.0)
    if isinstance(choice, tuple):
        bone, point = choice
        skeleton.bone_index(bone)
        x, y, z = require_shape(f"place of marker {recorded!r}", point, 3).tolist()
        return match._replace(bone=bone, point=(x, y, z))
    if choice in skeleton.markers:
        return match._replace(marker=choice, bone=skeleton.marker(choice)[0])
    if choice not in skeleton.bone_names:
        known = (*skeleton.bone_names, *skeleton.markers)
        raise UnknownNameError("bone or marker", choice, known)
    name = strip_prefix(recorded)
    is_on_bone = name in skeleton.markers and skeleton.marker(name)[0] == choice
    return match._replace(marker=name if is_on_bone else None, bone=choice)


def _match_by_name(skeleton: Skeleton, markers: Markers, matches: dict[str, Match]) -> None:
    """Add what names tell."""

    def list_unmatched() -> tuple[list[str], list[str]]:
        taken = {match.marker for match in matches.values()}
        recorded = [name for name in markers.names if name not in matches]
        return recorded, [name for name in skeleton.markers if name not in taken]

    recorded, free = list_unmatched()
    free_only = skeleton.with_markers({name: skeleton.markers[name] for name in free})
    for name, marker in match_markers(free_only, markers.chosen(recorded)).items():
        if name == marker:
            reason, confidence = "same name", 1.0
        elif strip_prefix(name) == strip_prefix(marker):
            reason, confidence = "same name after a prefix", 0.98
        else:
            reason, confidence = "same name in other case", 0.95
        bone = skeleton.marker(marker)[0]
        matches[name] = Match(name, marker, bone, reason=reason, confidence=confidence)
    for name, (marker, landmark) in match_landmarks(*list_unmatched()).items():
        bone, reason = skeleton.marker(marker)[0], f"both names mean the {landmark}"
        matches[name] = Match(name, marker, bone, reason=reason, confidence=0.8)


def _match_by_geometry(skeleton: Skeleton, markers: Markers, matches: dict[str, Match]) -> None:
    """Add what positions tell."""
    known = [name for name in markers.names if name in matches and matches[name].bone is not None]
    unknown = [
        name
        for name in markers.names
        if name not in matches and (~np.isnan(markers.marker(name)).any(axis=1)).sum() > 1
    ]
    taken = {match.marker for match in matches.values()}
    free = [name for name in skeleton.markers if name not in taken]
    if len(free) == 0:  # a marker without a name is used only as one that the skeleton has
        unknown = [name for name in unknown if not is_unlabelled(name)]
    if len(known) < 3 or len(unknown) == 0:
        return
    mapping = MarkerMapping(skeleton, tuple(matches[name] for name in known))
    for guess in guess_bones(mapping.applied(), markers, known, unknown, skeleton, free):
        match = Match(guess.name, reason=guess.reason, confidence=0.0)
        if guess.confidence > 0.0 and not (is_unlabelled(guess.name) and guess.marker is None):
            match = match._replace(
                marker=guess.marker,
                bone=guess.bone,
                point=guess.point if guess.marker is None else None,
                confidence=guess.confidence,
            )
        matches[guess.name] = match


def _bone_middle(skeleton: Skeleton, bone: str) -> Point:
    """Return the middle between a bone's joint and its children's, in the bone's frame [m]."""
    offsets = [np.asarray(child.offset) for child in skeleton.bones if child.parent == bone]
    x, y, z = (0.5 * np.mean(offsets, axis=0)).tolist() if len(offsets) > 0 else (0.0, 0.0, 0.0)
    return x, y, z


def _check_markers_once(mapping: MarkerMapping) -> None:
    """Refuse two recorded markers that are the same one of the skeleton."""
    markers = [match.marker for match in mapping.used if match.marker is not None]
    for name in markers:
        if markers.count(name) > 1:
            recorded = [match.recorded for match in mapping.used if match.marker == name]
            raise UsageError(f"markers {recorded[0]!r} and {recorded[1]!r} cannot both be {name!r}")
