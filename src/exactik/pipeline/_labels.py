"""Points whose names say nothing, labelled by shape before anything else is asked of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from exactik.errors import UsageError
from exactik.labelling import Labelling, are_names_empty, label_recording
from exactik.model import Skeleton
from exactik.pipeline._subjects import SubjectMarkers

__all__ = ["label_unnamed_points"]


def label_unnamed_points(
    subject: SubjectMarkers, skeleton: Skeleton, mapping: Mapping[str, object] | None
) -> SubjectMarkers:
    """Return the subject with names found by shape, if those of its points say nothing.

    Args:
        subject: points and names as in the file.
        skeleton: the figure; z up.
        mapping: what points are, by hand: then nothing is labelled.
    """
    if mapping is not None or not are_names_empty(subject.markers.names):
        return subject
    try:
        labelling = label_recording(skeleton, subject.markers)
    except UsageError as error:
        note = f"Names say nothing, and the points cannot be labelled by shape: {error}."
        return replace(subject, notes=(*subject.notes, note))
    markers = replace(labelling.markers, up_axis=labelling.up)
    return replace(
        subject,
        markers=markers,
        notes=(*subject.notes, _describe(labelling)),
        labels=_list_confidences(labelling),
    )


def _list_confidences(labelling: Labelling) -> dict[str, float]:
    """Return how sure each label is, from 0 to 1; 0 where it is doubtful in any frame."""
    return {
        label: 0.0
        if labelling.find_doubtful(label).any()
        else min(fragment.confidence for fragment in labelling.fragments_of(label))
        for label in labelling.found_labels
    }


def _describe(labelling: Labelling) -> str:
    found, doubtful = len(labelling.found_labels), f"{100.0 * labelling.doubtful_share:.0f} %"
    return (
        f"Names say nothing; {found} points were labelled by shape as the marker set "
        f"{labelling.marker_set} ({labelling.up} up), {doubtful} of it doubtful. `exactik label` "
        "shows which is which; --set or --like there say what the labels are."
    )
