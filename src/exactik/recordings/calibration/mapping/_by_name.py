"""What the user says of a marker, and what its name tells: a marker of the skeleton, a landmark."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import require_shape
from exactik.anatomy.marker_sets import Landmark, find_landmarks, list_landmarks, strip_prefix
from exactik.errors import UnknownNameError
from exactik.model import Skeleton, human
from exactik.model.motion import Markers
from exactik.recordings.calibration._attach import find_recorded_name
from exactik.recordings.calibration.mapping._mapping import (
    HandMapping,
    Match,
    Proposal,
    has_landmarks,
    place_on_landmark,
)
from exactik.recordings.tracking import match_markers

SET_CONFIDENCE = 0.85  # of a landmark that the marker set tells, as all names of the set agree
NAME_CONFIDENCE = 0.8  # of one that the name alone tells
CLUSTER_CONFIDENCE = 0.7  # of a name that tells the bone only


def match_by_name(proposal: Proposal) -> None:
    """Add markers that are called as those of the skeleton."""
    skeleton, reading, own_reading = proposal.skeleton, proposal.reading, proposal.own_reading
    free = {name: skeleton.markers[name] for name in proposal.list_free_markers()}
    undecided = proposal.markers.chosen(proposal.list_undecided())
    is_built_in = has_landmarks(skeleton) and skeleton.markers == human().markers
    # Another set has its markers where its own rules say, not where the figure has them.
    is_other_set = is_built_in and reading.marker_set not in (None, own_reading.marker_set)
    for name, marker in match_markers(skeleton.with_markers(free), undecided).items():
        landmark, own = reading.landmarks.get(name), own_reading.landmarks.get(marker)
        if is_built_in and name in reading.from_set and landmark != own:
            continue  # the set has another place in mind than the figure: LTOE of Plug-in Gait
        if name == marker:
            reason, confidence = "same name", 1.0
        elif strip_prefix(name) == strip_prefix(marker):
            reason, confidence = "same name after a prefix", 0.98
        else:
            reason, confidence = "same name in other case", 0.95
        proposal.matches[name] = Match(
            name,
            marker,
            skeleton.marker(marker)[0],
            reason=reason,
            confidence=confidence,
            code="same-name",
            landmark="" if own is None else own.id,
            offset_sd=own.sd if is_other_set and own is not None else None,
        )


def match_by_landmark(proposal: Proposal) -> None:
    """Add markers whose names mean a landmark, each landmark once."""
    reading, matches = proposal.reading, proposal.matches
    taken = {match.landmark for match in matches.values() if match.bone is not None}
    told = [name for name in proposal.list_undecided() if name in reading.landmarks]
    # What the set tells comes first, measured markers before computed points.
    told.sort(key=lambda n: (n in reading.computed, n not in reading.from_set))
    for name in told:
        landmark = reading.landmarks[name]
        match = _match_landmark(proposal, name, landmark)
        if match is None:
            continue
        if landmark.id in taken and not landmark.is_cluster:
            if name in reading.computed:
                match = Match(
                    name, reason=f"another marker is the {landmark.text}", code="computed"
                )
            else:
                reason = f"another marker is the {landmark.text} already"
                match = Match(name, reason=reason, code="unclear", landmark=landmark.id)
        taken.add(landmark.id)
        matches[name] = match


def _match_landmark(proposal: Proposal, name: str, landmark: Landmark) -> Match | None:
    """Return what a marker on a landmark is on this skeleton; None if it has nothing there."""
    skeleton = proposal.skeleton
    match = Match(
        name,
        reason=f"the name means the {landmark.text}",
        confidence=SET_CONFIDENCE if name in proposal.reading.from_set else NAME_CONFIDENCE,
        code="joint-centre" if landmark.kind == "joint" else "landmark",
        kind=landmark.kind,
        landmark=landmark.id,
    )
    own = _find_own_markers(proposal, name, landmark)
    if len(own) == 1 and not landmark.is_cluster:
        return match._replace(
            marker=own[0],
            bone=skeleton.marker(own[0])[0],
            reason=f"both names mean the {landmark.text}",
            offset_sd=landmark.sd if has_landmarks(skeleton) else None,
        )
    if not has_landmarks(skeleton):
        return None
    if landmark.is_cluster:
        match = match._replace(
            reason=f"the name means somewhere on the {landmark.text}", confidence=CLUSTER_CONFIDENCE
        )
    return place_on_landmark(skeleton, match, landmark)


def _find_own_markers(proposal: Proposal, name: str, landmark: Landmark) -> list[str]:
    """Return the free markers of the skeleton that are on a landmark which a name means."""
    landmarks = proposal.own_reading.landmarks
    own = [marker for marker, other in landmarks.items() if other.id == landmark.id]
    if len(own) == 0 and not has_landmarks(proposal.skeleton):  # another skeleton: less exactly
        meant = {candidate.id for candidate in find_landmarks(name)}
        own = [m for m in landmarks if meant & {c.id for c in find_landmarks(m)}]
    free = proposal.list_free_markers()
    return [marker for marker in own if marker in free]


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
