"""What places tell: names that cannot be true or are not clear, markers without a known name."""

from __future__ import annotations

import numpy as np

from exactik.anatomy.marker_sets import Landmark, is_side_open, is_unnamed, list_landmarks
from exactik.recordings.calibration.mapping._geometry import (
    MIN_MARKERS_TO_FIT,
    choose_by_place,
    guess_bones,
)
from exactik.recordings.calibration.mapping._mapping import Match
from exactik.recordings.calibration.mapping._name_checks import (
    find_implausible_names,
    find_open_side,
)
from exactik.recordings.calibration.mapping._proposal import (
    Proposal,
    find_landmark_point,
    has_landmarks,
    place_on_landmark,
)

PLACE_CONFIDENCE = 0.6  # of a name that may mean several landmarks, settled by where the marker is


def leave_out_implausible(proposal: Proposal) -> None:
    """Leave out markers whose names cannot be true, as they are too far from the others."""
    matches = proposal.matches
    for name, beyond in find_implausible_names(proposal.known_mapping(), proposal.markers).items():
        match = matches[name]
        what = list_landmarks()[match.landmark].text if match.landmark != "" else match.bone
        reason = f"called as the {what}, but {1e3 * beyond:.0f} mm too far from other markers"
        matches[name] = Match(name, reason=reason, code="unclear", landmark=match.landmark)


def settle_sides(proposal: Proposal) -> None:
    """Add markers whose names do not tell the side, by the side that they are nearer to."""
    unclear = proposal.reading.unclear
    names = [
        name
        for name, candidates in unclear.items()
        if name not in proposal.matches and is_side_open(candidates)
    ]
    if len(names) == 0 or not has_landmarks(proposal.skeleton):
        return
    mapping = proposal.known_mapping()
    sides = {m.recorded: list_landmarks()[m.landmark].side for m in mapping.used if m.landmark}
    side = find_open_side(mapping, proposal.markers, names, sides)
    taken = {match.landmark for match in mapping.used}
    for name in names if side is not None else ():
        landmark = next(c for c in unclear[name] if c.side == side)
        if landmark.id in taken and not landmark.is_cluster:
            continue
        taken.add(landmark.id)
        proposal.matches[name] = _match_by_place(proposal, name, landmark)


def settle_unclear_names(proposal: Proposal) -> None:
    """Decide by place between the landmarks that a name may mean."""
    skeleton, unclear, matches = proposal.skeleton, proposal.reading.unclear, proposal.matches
    if not has_landmarks(skeleton):
        return
    taken = {match.landmark for name, match in matches.items() if name not in unclear}
    choices = {
        name: [c for c in unclear[name] if c.is_cluster or c.id not in taken]
        for name in proposal.markers.names
        if name in unclear
        and (name not in matches or matches[name].code in ("landmark", "unclear"))
    }
    choices = {name: candidates for name, candidates in choices.items() if len(candidates) > 0}
    mapping = proposal.known_mapping(without=frozenset(choices))
    if len(choices) == 0 or len(mapping.used) < MIN_MARKERS_TO_FIT:
        return
    places = {
        name: [(c.bone, find_landmark_point(skeleton, c)) for c in candidates]
        for name, candidates in choices.items()
    }
    for name, choice in choose_by_place(mapping, proposal.markers, places).items():
        if choice is None:
            texts = " or ".join(dict.fromkeys(c.text for c in choices[name]))
            matches[name] = Match(name, reason=f"may be the {texts}", code="unclear")
        else:
            matches[name] = _match_by_place(proposal, name, choices[name][choice])


def match_by_geometry(proposal: Proposal) -> None:
    """Add markers that rest on a bone, whatever they are called."""
    markers, mapping = proposal.markers, proposal.known_mapping()
    unknown = [
        name
        for name in proposal.list_undecided()
        if (~np.isnan(markers.marker(name)).any(axis=1)).sum() > 1
    ]
    free = proposal.list_free_markers()
    if len(free) == 0:  # a marker without a name is used only as one that the skeleton has
        unknown = [name for name in unknown if not is_unnamed(name)]
    if len(mapping.used) < MIN_MARKERS_TO_FIT or len(unknown) == 0:
        return
    for guess in guess_bones(mapping, markers, unknown, free):
        match = Match(guess.name, reason=guess.reason, confidence=0.0, code="unclear")
        if guess.confidence > 0.0 and not (is_unnamed(guess.name) and guess.marker is None):
            match = match._replace(
                marker=guess.marker,
                bone=guess.bone,
                point=guess.point if guess.marker is None else None,
                confidence=guess.confidence,
                code="geometry",
            )
        proposal.matches[guess.name] = match


def _match_by_place(proposal: Proposal, name: str, landmark: Landmark) -> Match:
    """Return the match of a marker whose name may mean several landmarks, of which this is one."""
    reason = f"the name and its place mean the {landmark.text}"
    match = Match(name, reason=reason, confidence=PLACE_CONFIDENCE, code="landmark")
    return place_on_landmark(proposal.skeleton, match, landmark)
