"""Which recorded marker is which of a skeleton's, stage by stage: the surest tell first."""

from __future__ import annotations

from collections import Counter

from exactik._arguments import require_instance
from exactik.anatomy.marker_sets import read_marker_names
from exactik.errors import UsageError
from exactik.model import Skeleton
from exactik.model.motion import Markers
from exactik.recordings.calibration.mapping._by_hand import match_by_hand
from exactik.recordings.calibration.mapping._by_name import match_by_landmark, match_by_name
from exactik.recordings.calibration.mapping._by_place import (
    leave_out_implausible,
    match_by_geometry,
    settle_sides,
    settle_unclear_names,
)
from exactik.recordings.calibration.mapping._left_out import (
    leave_out_non_markers,
    leave_out_other_subjects,
    leave_unknown,
)
from exactik.recordings.calibration.mapping._mapping import HandMapping, MarkerMapping
from exactik.recordings.calibration.mapping._proposal import Proposal


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
