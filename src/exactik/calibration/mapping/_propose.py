"""Which recorded marker is which of a skeleton's, stage by stage: the surest tell first."""

from __future__ import annotations

from collections import Counter

from exactik._arguments import require_instance
from exactik.calibration.mapping._by_hand import match_by_hand
from exactik.calibration.mapping._by_name import match_by_landmark, match_by_name
from exactik.calibration.mapping._by_place import (
    leave_out_implausible,
    match_by_geometry,
    settle_sides,
    settle_unclear_names,
)
from exactik.calibration.mapping._left_out import (
    leave_out_non_markers,
    leave_out_other_subjects,
    leave_unknown,
)
from exactik.calibration.mapping._mapping import HandMapping, MarkerMapping
from exactik.calibration.mapping._proposal import Proposal
from exactik.errors import UsageError
from exactik.marker_sets import read_marker_names
from exactik.model import Skeleton
from exactik.motion import Markers

__all__ = ["propose_mapping"]


def propose_mapping(
    skeleton: Skeleton,
    markers: Markers,
    bones: HandMapping | None = None,
    *,
    geometry: bool = True,
    computed: bool = False,
) -> MarkerMapping:
    """Propose which recorded marker is which of a skeleton's.

    By hand where it is given; else by name: the same, the same after a prefix ("Subject:LANK") or
    in other case, or a name for a landmark of the body ("R.ASIS"), as the marker set of the
    recording has it. On the built-in human a landmark has a place even if the figure has no marker
    there; other skeletons are asked for a marker of their own on it. Else by geometry: with the
    figure fitted to the markers that are known, an unknown one is on the bone on which it keeps
    most nearly at rest, if that is clear and the bone is near.

    Args:
        skeleton: the figure.
        markers: the recording, in the world of the skeleton; "up" must be the same.
        bones: recorded marker → own marker, or bone, or landmark, or (bone, place in its frame
            [m]); None for a marker that is not to be used.
        geometry: whether to look at places too.
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
    leave_out_non_markers(proposal, computed)
    leave_out_other_subjects(proposal)
    match_by_name(proposal)
    match_by_landmark(proposal)
    leave_out_implausible(proposal)
    settle_sides(proposal)
    if geometry:
        settle_unclear_names(proposal)
        match_by_geometry(proposal)
    leave_unknown(proposal)
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
