"""What the user says of a recorded marker."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import require_shape
from exactik.anatomy.marker_sets import list_landmarks, strip_prefix
from exactik.errors import UnknownNameError
from exactik.model import Skeleton
from exactik.model.motion import Markers
from exactik.recordings.calibration._attach import find_recorded_name
from exactik.recordings.calibration.mapping._landmarks import has_landmarks, place_on_landmark
from exactik.recordings.calibration.mapping._mapping import HandMapping, Match
from exactik.recordings.calibration.mapping._proposal import Proposal


def match_by_hand(proposal: Proposal, by_hand: HandMapping) -> None:
    """Add what is given by hand; the recorded names may lack their prefix."""
    markers = proposal.markers
    never_seen = np.asarray(markers.missing.all(axis=0))
    for name, choice in by_hand.items():
        recorded = find_recorded_name(markers, name)
        match = _match_choice(proposal.skeleton, recorded, choice)
        if match.bone is not None and never_seen[markers.names.index(recorded)]:
            match = Match(recorded, reason="given by hand, but in no frame", code="never-seen")
        proposal.matches[recorded] = match


def check_mapping(skeleton: Skeleton, markers: Markers, by_hand: HandMapping) -> None:
    """Raise if a mapping names a marker, bone or landmark that there is not."""
    for name, choice in by_hand.items():
        _match_choice(skeleton, find_recorded_name(markers, name), choice)


def _match_choice(
    skeleton: Skeleton, recorded: str, choice: str | tuple[str, ArrayLike] | None
) -> Match:
    if choice is None:
        return Match(recorded, reason="left out by hand", confidence=1.0, code="by-hand")
    match = Match(recorded, reason="given by hand", confidence=1.0, code="by-hand")
    if isinstance(choice, tuple):
        bone, point = choice
        skeleton.bone_index(bone)
        x, y, z = require_shape(f"place of marker {recorded!r}", point, 3).tolist()
        return match._replace(bone=bone, point=(x, y, z))
    if choice in skeleton.markers:
        return match._replace(marker=choice, bone=skeleton.marker(choice)[0])
    if choice not in skeleton.bone_names:
        if has_landmarks(skeleton) and choice in list_landmarks():
            return place_on_landmark(skeleton, match, list_landmarks()[choice])
        known = (*skeleton.bone_names, *skeleton.markers)
        raise UnknownNameError("bone or marker", choice, known)
    name = strip_prefix(recorded)
    is_on_bone = name in skeleton.markers and skeleton.marker(name)[0] == choice
    return match._replace(marker=name if is_on_bone else None, bone=choice)
