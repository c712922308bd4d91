"""The whole way of labelling a recording: which set, which axis is up, which point is which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from exactik.anatomy.marker_sets import read_marker_names
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
from exactik.recordings.labelling.search import Template

MIN_NAMED_SHARE = 0.5  # of the points, whose names mean landmarks, for the names to be the set


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
