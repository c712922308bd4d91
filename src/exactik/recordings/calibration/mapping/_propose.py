"""Which recorded marker is which of a skeleton, by stages, the surest first; what is left out."""

from __future__ import annotations

from collections import Counter

import numpy as np

from exactik._arguments import require_instance
from exactik.anatomy.marker_sets import (
    NameReading,
    is_side_open,
    is_unnamed,
    read_marker_names,
    strip_prefix,
)
from exactik.errors import UsageError
from exactik.model import Skeleton
from exactik.model.motion import Markers
from exactik.recordings.calibration.mapping._by_name import (
    match_by_hand,
    match_by_landmark,
    match_by_name,
)
from exactik.recordings.calibration.mapping._by_place import (
    leave_out_implausible,
    match_by_geometry,
    settle_sides,
    settle_unclear_names,
)
from exactik.recordings.calibration.mapping._mapping import (
    HandMapping,
    MarkerMapping,
    Match,
    Proposal,
)

MIN_SHARED_NAMES = 3  # that two prefixes must share to be two subjects, not a body and its parts


def propose_mapping(
    skeleton: Skeleton,
    markers: Markers,
    bones: HandMapping | None = None,
    *,
    geometry: bool = True,
    computed: bool = False,
) -> MarkerMapping:
    """Propose which recorded marker is which of a skeleton's.

    What `bones` says counts first. Then the name decides: the same, the same after a prefix
    ("Subject:LANK") or in other case, or a name for a landmark of the body ("R.ASIS") in the marker
    set of the recording. The built-in human has places for all landmarks; other skeletons need a
    marker of their own on it. Geometry comes last: with the figure fitted to the known markers, an
    unknown one belongs to the bone on which it moves least, if that is clear and the bone is near.

    Args:
        skeleton: the figure.
        markers: the recording, in the world of the skeleton; "up" must be the same.
        bones: recorded marker → own marker, or bone, or landmark, or (bone, place in its frame
            [m]); None for a marker that is not to be used.
        geometry: whether to match unknown names by their positions.
        computed: whether to use points that software computed from markers, such as joint centres.
    """
    require_instance("skeleton", skeleton, Skeleton)
    require_instance("markers", markers, Markers)
    proposal = Proposal(
        skeleton,
        markers,
        reading=read_marker_names(markers.names, markers.computed),
        own_reading=read_marker_names(skeleton.markers),
    )
    match_by_hand(proposal, bones or {})
    _leave_out_non_markers(proposal, computed)
    _leave_out_other_subjects(proposal)
    match_by_name(proposal)
    match_by_landmark(proposal)
    leave_out_implausible(proposal)
    settle_sides(proposal)
    if geometry:
        settle_unclear_names(proposal)
        match_by_geometry(proposal)
    _leave_unknown(proposal)
    matches = tuple(proposal.matches[name] for name in markers.names)
    mapping = MarkerMapping(skeleton, matches, proposal.reading.marker_set)
    _check_markers_once(mapping)
    return mapping


def _check_markers_once(mapping: MarkerMapping) -> None:
    """Refuse two recorded markers that are the same one of the skeleton."""
    counts = Counter(match.marker for match in mapping.used if match.marker is not None)
    for name, count in counts.items():
        if count > 1:
            recorded = [match.recorded for match in mapping.used if match.marker == name]
            raise UsageError(f"markers {recorded[0]!r} and {recorded[1]!r} cannot both be {name!r}")


def _leave_out_non_markers(proposal: Proposal, computed: bool) -> None:
    """Add what is no marker of a body, or is never there; computed points only if not wanted."""
    markers, reading, matches = proposal.markers, proposal.reading, proposal.matches
    never_seen = np.asarray(markers.missing.all(axis=0))
    for k, name in enumerate(markers.names):
        if name in matches:
            continue
        if never_seen[k]:
            matches[name] = Match(name, reason="in no frame", code="never-seen")
        elif name in reading.computed and not computed:
            reason = f"computed from markers, not measured ({reading.computed[name]})"
            matches[name] = Match(name, reason=reason, code="computed")
        elif name in reading.objects:
            matches[name] = Match(name, reason="name of a thing, not of a body", code="object")


def _leave_out_other_subjects(proposal: Proposal) -> None:
    """Keep one subject where several have markers of the same names: the one with the most."""
    names = [name for name in proposal.list_undecided() if ":" in name]
    by_subject: dict[str, set[str]] = {}
    for name in names:
        by_subject.setdefault(name.rpartition(":")[0], set()).add(strip_prefix(name))
    kept = max(by_subject, key=lambda subject: len(by_subject[subject]), default="")
    for name in names:
        subject = name.rpartition(":")[0]
        if subject != kept and len(by_subject[subject] & by_subject[kept]) >= MIN_SHARED_NAMES:
            reason = f"of subject {subject}, not of {kept}"
            proposal.matches[name] = Match(name, reason=reason, code="other-subject")


def _leave_unknown(proposal: Proposal) -> None:
    """Add the markers that no stage has decided, with what is known of each."""
    for name in proposal.list_undecided():
        proposal.matches[name] = _describe_unknown(name, proposal.reading)


def _describe_unknown(name: str, reading: NameReading) -> Match:
    if is_unnamed(name):
        return Match(name, reason="has no name", code="unnamed")
    if name in reading.unplaced:
        return Match(name, reason=f"no landmark: {reading.unplaced[name]}", code="unclear")
    if name in reading.unclear and is_side_open(reading.unclear[name]):
        text = reading.unclear[name][0].text.partition(" ")[2]
        return Match(name, reason=f"the {text}, left or right is open", code="unclear")
    if name in reading.landmarks:
        text = reading.landmarks[name].text
        reason = f"the {text}, where the skeleton has no marker"
        return Match(name, reason=reason, code="unclear", landmark=reading.landmarks[name].id)
    return Match(name, reason="no name that is known", code="unknown-name")
