"""Who is in a recording: its subjects, without computed points and rigid objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from exactik._text import join_names
from exactik.anatomy.marker_sets import are_names_empty, find_computed_points
from exactik.errors import UnknownNameError, UsageError
from exactik.model import Skeleton, human
from exactik.model.motion import Markers
from exactik.recordings.labelling import find_rigid_objects, label_recording, split_subjects

ALL_SUBJECTS = "all"
"""In place of a subject's name: each of them."""
MAX_LISTED_NAMES = 6
MIN_POINTS = 10
"""Fewer points than a small marker set has are not labelled: any figure fits them."""


@dataclass(frozen=True, kw_only=True)
class SubjectMarkers:
    """The markers of one subject."""

    name: str  # of the subject, "" if the recording has only one
    markers: Markers  # on the subject
    # Name → why, of markers of the file that are on no subject: a code as of `Match`
    left_out: Mapping[str, str]
    subjects: tuple[str, ...]  # names of all subjects in the file
    notes: tuple[str, ...]  # what was left out, a sentence each
    # Share of the samples whose label is doubtful, if they were labelled by shape
    label_doubt: float | None = None


def choose_subjects(
    markers: Markers, subject: str | None, by_hand: Mapping[str, object] | None = None
) -> list[SubjectMarkers]:
    """Return the subjects of a recording that are asked for.

    Args:
        markers: the whole recording.
        subject: name of one, "all" for each; the first if None.
        by_hand: markers that are kept whatever they look like, by name.
    """
    kept = {} if by_hand is None else by_hand
    left_out: dict[str, str] = {}
    notes = []
    computed = find_computed_points(markers)  # left out by the mapping, which may need them
    measured = [name for name in markers.names if name not in computed]
    for thing in find_rigid_objects(markers.chosen(measured)):
        names = [name for name in thing.names if name not in kept]
        left_out.update(dict.fromkeys(names, "object"))
        if len(names) > 0:
            notes.append(
                f"Left out as no part of a body ({thing.reason}): "
                f"{join_names(names, MAX_LISTED_NAMES, spare=1)}. --mapping says otherwise."
            )
    on_bodies = markers.chosen([name for name in markers.names if name not in left_out])
    parts = split_subjects(on_bodies)
    names = tuple(parts)
    if names == ("",) and subject not in (None, ALL_SUBJECTS):
        raise UsageError(
            f"subject is {subject!r}, but the recording shows one subject: leave it out"
        )
    if subject not in (None, ALL_SUBJECTS, *names):
        raise UnknownNameError("subject", subject, names)
    if subject is None:
        chosen = names[:1]
    else:
        chosen = names if subject == ALL_SUBJECTS else (subject,)
    return [
        SubjectMarkers(
            name=name, markers=parts[name], left_out=left_out, subjects=names, notes=tuple(notes)
        )
        for name in chosen
    ]


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
