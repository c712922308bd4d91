"""Markers without names, labelled by shape before anything else is asked of them."""

from __future__ import annotations

from dataclasses import replace

from exactik.anatomy.marker_sets import are_names_empty
from exactik.model import Skeleton, human
from exactik.recordings.labelling import label_recording
from exactik.recordings.pipeline._subjects import SubjectMarkers

MIN_POINTS = 10
"""Fewer points than a small marker set has are not labelled: any figure fits them."""


def label_subject(subject: SubjectMarkers, skeleton: Skeleton) -> SubjectMarkers:
    """Return a subject under labels found by shape, if the names say nothing; else as it is.

    Args:
        subject: the markers of one person.
        skeleton: the figure; only one with the bones of `human` can be labelled by.
    """
    markers = subject.markers
    is_human = set(human().bone_names) <= set(skeleton.bone_names) and len(skeleton.markers) > 0
    if not is_human or len(markers.names) < MIN_POINTS or not are_names_empty(markers.names):
        return subject
    labelling = label_recording(skeleton, markers)
    found, doubt = len(labelling.found_labels), labelling.doubtful_share
    note = (
        f"The names of the markers say nothing: {found} were labelled by their places, {doubt:.0%} "
        "of the samples in doubt. `exactik label` shows what was decided; --mapping says otherwise."
    )
    return replace(
        subject, markers=labelling.markers, label_doubt=doubt, notes=(*subject.notes, note)
    )
