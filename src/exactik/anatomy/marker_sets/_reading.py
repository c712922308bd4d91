"""What the names of a recording mean together: one recogniser for sets and single names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from exactik.anatomy.marker_sets._bare_names import find_computed_names, is_unnamed, shorten_names
from exactik.anatomy.marker_sets._marker_set import MarkerSet, recognise_marker_set
from exactik.anatomy.marker_sets._names import (
    Landmark,
    find_landmarks,
    is_object_name,
    is_side_open,
    list_landmarks,
)
from exactik.model.motion import Markers


class NameReading(NamedTuple):
    """What names mean."""

    marker_set: MarkerSet | None  # the known set that explains them best, or None
    # Name → landmark, of the names that mean one; of computed points too
    landmarks: Mapping[str, Landmark]
    from_set: frozenset[str]  # those of `landmarks` that the set tells
    # Name → landmarks that it may mean, the likeliest first, where there are several; not in
    # `landmarks` if only the side is open
    unclear: Mapping[str, tuple[Landmark, ...]]
    # Name of a computed point → code that says why, see `find_computed_points`
    computed: Mapping[str, str]
    objects: frozenset[str]  # names of things that are no part of a body
    # Name of a marker of the set on no landmark → where it is, in words
    unplaced: Mapping[str, str]


def read_marker_names(names: Iterable[str], computed: Iterable[str] = ()) -> NameReading:
    """Return what the names of a recording mean.

    First by the known set that explains most of them, so that "LSH" is a shoulder beside "LEL" and
    a shank beside "LTH"; then by themselves. Subjects' prefixes, and a beginning that all names
    have ("Skeleton_"), do not count.

    Args:
        names: of all points of one recording.
        computed: those that the file says are computed.
    """
    names = tuple(names)
    # Where names have subjects' prefixes, one without is none of a subject's markers.
    foreign = {n for n in names if ":" not in n} if any(":" in n for n in names) else set[str]()
    short = shorten_names(names)
    match = recognise_marker_set(names)
    found_computed = find_computed_names(names)
    landmarks: dict[str, Landmark] = {}
    unplaced: dict[str, str] = {}
    own_names = {} if match is None else match.names
    for name, own in own_names.items():
        if match is None:
            continue
        if own in match.marker_set.computed:
            found_computed[name] = "marker-set"
        if own in match.marker_set.unplaced:
            unplaced[name] = match.marker_set.unplaced[own]
        landmark = match.marker_set.markers.get(own, match.marker_set.computed.get(own, ""))
        if landmark != "":
            landmarks[name] = list_landmarks()[landmark]
    found_computed |= dict.fromkeys(computed, "file-group")
    from_set = frozenset(landmarks)
    taken = {landmark.id for name, landmark in landmarks.items() if name not in found_computed}
    objects = frozenset(
        name for name, s in short.items() if name not in from_set and is_object_name(s)
    )
    unclear = {}
    for name, s in short.items():
        is_told = name in own_names or name in objects or is_unnamed(name)
        if is_told or name in foreign or found_computed.get(name) == "bone-frame":
            continue
        free = tuple(c for c in find_landmarks(s) if c.is_cluster or c.id not in taken)
        if len(free) > 0 and not is_side_open(free):
            landmarks[name] = free[0]
        if len(free) > 1:
            unclear[name] = free
    return NameReading(
        marker_set=None if match is None else match.marker_set,
        landmarks=landmarks,
        from_set=from_set,
        unclear=unclear,
        computed=found_computed,
        objects=objects,
        unplaced=unplaced,
    )


def find_computed_points(markers: Markers) -> dict[str, str]:
    """Return the computed points of a recording and why they are taken for such, by a code.

    "file-group": the file lists them as such; "marker-set": the marker set has them as such;
    "joint-centre", "mass-centre", "bone-frame", "quantity", "virtual": by their names.
    """
    return dict(read_marker_names(markers.names, markers.computed).computed)
