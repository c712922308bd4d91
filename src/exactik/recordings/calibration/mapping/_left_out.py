"""Recorded points that are not used, and why: no markers of this body, or nothing tells of them."""

from __future__ import annotations

import numpy as np

from exactik.anatomy.marker_sets import NameReading, is_side_open, is_unnamed, strip_prefix
from exactik.recordings.calibration.mapping._mapping import Match
from exactik.recordings.calibration.mapping._proposal import Proposal

MIN_SHARED_NAMES = 3  # that two prefixes must share to be two subjects, not a body and its parts


def leave_out_non_markers(proposal: Proposal, computed: bool) -> None:
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


def leave_out_other_subjects(proposal: Proposal) -> None:
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


def leave_unknown(proposal: Proposal) -> None:
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
