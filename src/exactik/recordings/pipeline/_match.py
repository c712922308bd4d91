"""What the markers of a recording are, without solving it: the way of `exactik match`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from exactik.model import Skeleton
from exactik.model.motion import Markers
from exactik.recordings.calibration import (
    HandMapping,
    MarkerMapping,
    measure_distances,
    propose_mapping,
)
from exactik.recordings.pipeline._prepare import shows_joints
from exactik.recordings.pipeline._subjects import choose_subjects
from exactik.recordings.pipeline._units import correct_unit
from exactik.recordings.pipeline._up_axis import align_up_axis, find_upright


@dataclass(frozen=True, kw_only=True)
class MatchedRecording:
    """What the markers of one subject are."""

    subject: str  # name, "" if the recording has one subject
    mapping: MarkerMapping  # what each marker is taken for
    # Recorded name → how far it is from where the figure of the subject's size has it, or from the
    # nearest bone if it is not used [m]; empty if too few markers are known
    distances: Mapping[str, float]
    left_out: Mapping[str, str]  # name → code, of markers of the file that are on no subject
    notes: tuple[str, ...]  # what was assumed and done, a sentence each


def match_recording(
    markers: Markers,
    skeleton: Skeleton,
    *,
    skeleton_up: str | None = "z",
    mapping: HandMapping | None = None,
    computed: bool = False,
    subject: str | None = None,
    is_up_given: bool = False,
) -> list[MatchedRecording]:
    """Return what the markers of each subject are, as `solve_recording` would take them.

    Args:
        markers: the recording, in axes and under names of the file.
        skeleton_up: which axis is up for it; None if nobody knows.
        mapping: what recorded markers are, by hand, see `propose_mapping`.
        computed: whether to use points that software computed from markers.
        subject: which one, "all" for each; the first if None.
        is_up_given: whether `markers.up_axis` is the user's word.
    """
    matched = []
    for part in choose_subjects(markers, subject, mapping):
        by_name = propose_mapping(
            skeleton, part.markers, mapping, geometry=False, computed=computed
        )
        figure, names = by_name.applied(), by_name.names
        sized = correct_unit(part.markers, figure, names)
        upright = find_upright(sized.markers, figure, skeleton_up, names)
        aligned = align_up_axis(sized.markers, skeleton_up, upright, is_given=is_up_given)
        turned = aligned.markers
        proposed = propose_mapping(
            skeleton, turned, mapping, geometry=shows_joints(turned), computed=computed
        )
        matched.append(
            MatchedRecording(
                subject=part.name,
                mapping=proposed,
                distances=measure_distances(proposed, turned),
                left_out=part.left_out,
                notes=(*part.notes, *sized.notes, *aligned.notes),
            )
        )
    return matched
