"""Templates of known marker sets, of another recording's markers, and which set points fit best."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from exactik.anatomy.marker_sets import Landmark, MarkerSet, list_marker_sets, read_marker_names
from exactik.errors import UnknownNameError, UsageError
from exactik.model import Skeleton
from exactik.model.motion import Markers, turn_to_up
from exactik.recordings.calibration import calibrate
from exactik.recordings.labelling.search import (
    Template,
    choose_seed_frames,
    find_seeds,
    make_template,
    split_template,
)

OWN_SET = "own"  # what stands for the skeleton's own markers in place of a known set
LIKE_PLACE_SD = 0.025
"""[m] of a marker from where another recording of its set has it, along each axis: what one
laboratory puts on two people differs less than what two do."""
MIN_COUNT_RATIO, MAX_COUNT_RATIO = 0.6, 1.4
"""Points in a recording over labels of a set: outside, too much would have to be missing or stray
for the set to be told by shape."""
TRIAL_FRAMES = 3  # in which sets are compared: one may show a pose out of reach
UP_AXES = ("z", "y", "x")  # tried where nobody says which is up, the commonest first


class SetFit(NamedTuple):
    """How well a known set fits the points of a recording."""

    set_id: str  # of the marker set; "own" for the markers that the skeleton has
    template: Template  # its labels, or those of a part of it
    up: str  # axis of the recording that is up
    cost: float  # mean over some frames of that of the best seed, see `Seed` [m²]


def make_set_template(skeleton: Skeleton, set_id: str) -> Template:
    """Return the labels of a known marker set on a figure that has the bones of `human`."""
    sets = {marker_set.id: marker_set for marker_set in list_marker_sets()}
    if set_id == OWN_SET:
        return make_template(skeleton)
    if set_id not in sets:
        raise UnknownNameError("marker set", set_id, (OWN_SET, *sets))
    return _make_landmark_template(skeleton, _list_once(sets[set_id]))


def make_named_template(skeleton: Skeleton, names: Iterable[str]) -> Template:
    """Return the labels of a list of names, as far as they mean landmarks of the body."""
    reading = read_marker_names(names)
    told = {name: mark for name, mark in reading.landmarks.items() if name not in reading.computed}
    return _make_landmark_template(skeleton, told)


def make_template_like(skeleton: Skeleton, labelled: Markers) -> Template:
    """Return the labels of another recording that has names, where it has them.

    Args:
        skeleton: the figure, which is fitted to that recording.
        labelled: of the same set, on any subject; z up.
    """
    fit = calibrate(skeleton, labelled)
    labels = dict(zip(labelled.names, labelled.without_prefix().names, strict=True))
    names = fit.mapping.names
    placed = {labels[recorded]: fit.skeleton.marker(name) for recorded, name in names.items()}
    return make_template(
        fit.skeleton.with_markers(placed), place_sd=dict.fromkeys(placed, LIKE_PLACE_SD)
    )


def make_known_templates(skeleton: Skeleton) -> dict[str, Template]:
    """Return the labels of all known sets by id, those of the skeleton's own markers first."""
    templates = {OWN_SET: make_template(skeleton)}
    for marker_set in list_marker_sets():
        if all(mark.bone in skeleton.bone_names for mark in marker_set.landmarks.values()):
            templates[marker_set.id] = make_set_template(skeleton, marker_set.id)
    return templates


def list_fitting_sets(markers: Markers, templates: Mapping[str, Template]) -> list[SetFit]:
    """Return how well labels fit the points of a recording, the best first.

    Args:
        markers: the recording of one subject; where `up_axis` is None, all axes are tried.
        templates: labels by the id of their set; tried as a whole and in parts that are worn alone,
            if their number is about that of the points.
    """
    frames = choose_seed_frames(markers, TRIAL_FRAMES)
    count = int(np.isfinite(markers.positions[frames]).all(axis=2).sum(axis=1).max())
    axes = UP_AXES if markers.up_axis is None else (markers.up_axis,)
    turned = {up: turn_to_up(replace(markers, up_axis=up), "z") for up in axes}
    whole_and_parts = [
        (set_id, part)
        for set_id, template in templates.items()
        for part in (template, *split_template(template).values())
    ]
    near = [
        (set_id, part)
        for set_id, part in whole_and_parts
        if MIN_COUNT_RATIO <= count / len(part.names) <= MAX_COUNT_RATIO
    ]
    if len(near) == 0 and len(templates) == 1:  # it is the one that was asked for
        near = list(templates.items())
    fits = []
    for set_id, template in near:
        for up in axes:
            positions = turned[up].positions
            costs = [find_seeds(template, positions[t], int(t))[0].cost for t in frames]
            fits.append(SetFit(set_id=set_id, template=template, up=up, cost=float(np.mean(costs))))
    if len(fits) == 0:
        raise UsageError(f"no known marker set has about {count} markers, as the recording")
    return sorted(fits, key=lambda fit: fit.cost)


def _list_once(marker_set: MarkerSet) -> dict[str, Landmark]:
    """Return the markers of a set and their landmarks, of several names for one the first."""
    once: dict[str, Landmark] = {}
    taken: set[str] = set()
    for name, landmark in marker_set.landmarks.items():
        if landmark.is_cluster or landmark.id not in taken:
            once[name] = landmark
            taken.add(landmark.id)
    return once


def _make_landmark_template(skeleton: Skeleton, landmarks: Mapping[str, Landmark]) -> Template:
    placed = {name: (mark.bone, mark.point) for name, mark in landmarks.items()}
    sd = {name: mark.sd for name, mark in landmarks.items()}
    return make_template(skeleton.with_markers(placed), place_sd=sd)
