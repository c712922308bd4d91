"""All that is in a recording, labelled: by subjects; which set, which axis is up, which points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from exactik._text import join_names
from exactik.anatomy.marker_sets import find_computed_points, read_marker_names, strip_prefix
from exactik.model import Skeleton
from exactik.model.motion import Markers, turn_to_up
from exactik.recordings.labelling._known_sets import (
    list_fitting_sets,
    make_known_templates,
    make_named_template,
    make_set_template,
    make_template_like,
)
from exactik.recordings.labelling._label import label_markers
from exactik.recordings.labelling._labelling import Labelling
from exactik.recordings.labelling._objects import RigidObject, find_rigid_objects
from exactik.recordings.labelling._subjects import split_subjects
from exactik.recordings.labelling.search import Template

MAX_NAMES = 8  # of points in a sentence
MIN_MIRROR_MARGIN = 10.0
"""Difference of log probabilities below which left and right are not told apart: on recordings of
people who walk or stand it is above 40."""
MIN_NAMED_SHARE = 0.5  # of the points, whose names mean landmarks, for the names to be the set


@dataclass(frozen=True, eq=False, repr=False)
class LabelledSubjects:
    """The labels of all subjects of a recording; `print` shows them as tables."""

    recording: Markers  # as it was given
    subjects: Mapping[str, Labelling]  # by name, "" for a single one
    objects: tuple[RigidObject, ...]  # things that are on no body; they get no label
    computed: Mapping[str, str]  # points that software made, by name and code; they get no label

    @property
    def needs_look(self) -> bool:
        """Whether a label is doubtful, a point has none, or left and right are not clear."""
        return any(
            labelling.doubtful_share > 0.0
            or labelling.mirror_margin < MIN_MIRROR_MARGIN
            or any(fragment.code == "unlabelled" for fragment in labelling.fragments)
            for labelling in self.subjects.values()
        )

    @property
    def left_out(self) -> tuple[str, ...]:
        """Points of the recording that no subject has: things, and what is on none."""
        taken = {name for one in self.subjects.values() for name in one.recording.names}
        return tuple(name for name in self.recording.names if name not in taken)

    @cached_property
    def markers(self) -> Markers:
        """The recording with labels as names, "SUBJECT:LABEL" of several; the others after them."""
        positions, names = [], []
        for subject, labelling in self.subjects.items():
            labelled = labelling.markers
            bare = [strip_prefix(name) for name in labelled.names]
            names += [f"{subject}:{name}" for name in bare] if subject != "" else labelled.names
            positions.append(labelled.positions)
        rest = [name for name in self.left_out if name not in names]
        positions.append(self.recording.chosen(rest).positions)
        return replace(
            self.recording, positions=np.concatenate(positions, axis=1), names=(*names, *rest)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all decisions as plain data."""
        return {
            "subjects": {name: one.to_dict() for name, one in self.subjects.items()},
            "objects": [thing._asdict() for thing in self.objects],
            "computed": dict(self.computed),
            "left_out": list(self.left_out),
            "needs_look": self.needs_look,
        }

    def __str__(self) -> str:
        """Return a table for each subject, and what got no label."""
        parts = []
        for name, labelling in self.subjects.items():
            title = [] if name == "" else [f"Subject {name}"]
            parts.append("\n".join([*title, str(labelling), *_describe(labelling)]))
        for thing in self.objects:
            names = join_names(thing.names, MAX_NAMES)
            parts.append(f"Left out, no part of a body ({thing.reason}): {names}.")
        if len(self.computed) > 0:
            names = join_names(tuple(self.computed), MAX_NAMES)
            parts.append(f"Left out, computed by software: {names}.")
        return "\n\n".join(parts)


def label_subjects(
    skeleton: Skeleton,
    markers: Markers,
    *,
    known: Sequence[str] = (),
    marker_set: str | None = None,
    like: Markers | None = None,
) -> LabelledSubjects:
    """Label the points of all subjects of a recording; arguments as for `label_recording`."""
    objects = tuple(find_rigid_objects(markers))
    computed = find_computed_points(markers)
    left_out = {name for thing in objects for name in thing.names} | set(computed)
    kept = [name for name in markers.names if name not in left_out or name in known]
    subjects = {}
    for name, own in split_subjects(markers.chosen(kept)).items():
        of_subject = [point for point in known if point in own.names]
        subjects[name] = label_recording(
            skeleton, own, known=of_subject, marker_set=marker_set, like=like
        )
    return LabelledSubjects(
        recording=markers, subjects=subjects, objects=objects, computed=computed
    )


def _describe(labelling: Labelling) -> list[str]:
    """Return sentences about what the table does not show."""
    data, lines = labelling.to_dict(), []
    if labelling.next_set != "":
        lines.append(
            f"Marker set {labelling.marker_set}, as it fits best; next {labelling.next_set}. "
            "--marker-set or --like say which it is."
        )
    if labelling.mirror_margin < MIN_MIRROR_MARGIN:
        lines.append("Left and right may be exchanged: the mirror image fits nearly as well.")
    if len(data["missing_labels"]) > 0:
        lines.append(f"Found nowhere: {join_names(data['missing_labels'], MAX_NAMES)}.")
    if len(data["unlabelled"]) > 0:
        lines.append(
            f"No label, or not in all frames: {join_names(data['unlabelled'], MAX_NAMES)}."
        )
    if len(data["copies"]) > 0:
        lines.append(f"Copies of other points, left out: {join_names(data['copies'], MAX_NAMES)}.")
    for name, own in data["wrong_names"].items():
        lines.append(f"Wrongly named: {name} is {own}.")
    return lines


def label_recording(
    skeleton: Skeleton,
    markers: Markers,
    *,
    known: Sequence[str] = (),
    marker_set: str | None = None,
    like: Markers | None = None,
) -> Labelling:
    """Label the points of one subject, in any axes; see `label_markers`.

    The labels are those of another recording or of a known set if one is given, else the names that
    the points have if these mean something (which shows wrong ones), else the known set that fits
    the number and the places of the points best. Where nobody says which axis is up, all are tried.

    Args:
        skeleton: a figure that has the bones of `human`; z up.
        markers: the recording of one subject.
        known: points whose names are right as they are.
        marker_set: id of a known set, or "own" for the skeleton's own markers.
        like: a recording of the same set that has names, z up.
    """
    templates = _list_templates(skeleton, markers, marker_set, like)
    fits = list_fitting_sets(markers, templates)
    best = fits[0]
    turned = turn_to_up(replace(markers, up_axis=best.up), "z")
    labelling = label_markers(skeleton, turned, known=known, marker_set=best.template)
    rivals = tuple(fit for fit in fits[1:] if fit.set_id != best.set_id)
    return replace(
        labelling,
        recording=markers,
        marker_set=best.set_id,
        up=best.up,
        next_set=rivals[0].set_id if len(rivals) > 0 else "",
    )


def _list_templates(
    skeleton: Skeleton, markers: Markers, marker_set: str | None, like: Markers | None
) -> Mapping[str, Template]:
    if like is not None:
        return {"like": make_template_like(skeleton, like)}
    if marker_set is not None:
        return {marker_set: make_set_template(skeleton, marker_set)}
    reading = read_marker_names(markers.names, markers.computed)
    told = [name for name in reading.landmarks if name not in reading.computed]
    if len(told) >= max(MIN_NAMED_SHARE * len(markers.names), 4):
        return {"names": make_named_template(skeleton, markers.names)}
    return make_known_templates(skeleton)
