"""Which markers belong to which person: by the prefixes of their names, else by places.

Two prefixes under which the same names occur are two subjects ("A:LANK", "B:LANK"), and so are
names that a file has twice ("LANK", "LANK#2") where the two are bodies apart. Points whose names
say nothing are told apart by space alone: on one body every marker has others within reach.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from exactik.anatomy import is_side_word
from exactik.anatomy.marker_sets import are_names_empty
from exactik.model.motion import Markers, choose_even_frames
from exactik.recordings.labelling._objects import MAX_FRAMES, measure_pair_distances
from exactik.typing import Array

MIN_SHARED_NAMES = 3
"""Names that two prefixes must have in common to be two subjects: rigid bodies of one subject may
share one or two ("Foot_1", "Leg_1")."""
MIN_SUBJECT_MARKERS = 6
"""Fewer are an object or stray points: no body is recorded with less than one or two a limb."""
MAX_REACH = 0.75
"""[m] from each marker of a body to the next on it, at most: twice a thigh without a marker between
hip and knee fits below, two people an arm's length apart stay above."""
# Of a distance over time: stray frames of a wrong point do not join two people.
REACH_QUANTILE = 0.9
_DOUBLED = re.compile(r"(.+)#(\d+)")
_SEPARATORS = ":_.-"


def split_subjects(markers: Markers) -> dict[str, Markers]:
    """Return the markers of each subject, by name: its prefix, or "1", "2" … where there is none.

    A single subject has the name "". Of several, points that belong to none (no prefix, out of
    reach of all or within reach of two) are in no entry. "NAME#2" becomes "NAME" where the other of
    that name is another subject's.
    """
    groups = _split_by_prefix(markers.names)
    if groups is None:
        groups = _split_by_place(markers)
    if groups is None:
        return {"": markers}
    groups = _add_points_in_reach(markers, groups)
    return {
        subject: _remove_counts(markers.chosen([markers.names[k] for k in sorted(columns)]))
        for subject, columns in groups.items()
    }


def _split_by_prefix(names: Sequence[str]) -> dict[str, list[int]] | None:
    """Return the columns of each prefix, if there are two or more that share names."""
    for separator in _SEPARATORS:
        columns: dict[str, list[int]] = {}
        for k, name in enumerate(names):
            prefix, found, rest = name.partition(separator)
            if found and rest and prefix and not is_side_word(prefix):
                columns.setdefault(prefix, []).append(k)
        bare = {
            prefix: {names[k].partition(separator)[2].casefold() for k in members}
            for prefix, members in columns.items()
        }
        # A prefix that shares names with none is no subject: an object, or a part of the body.
        subjects = {
            prefix: columns[prefix]
            for prefix in columns
            if len(columns[prefix]) >= MIN_SUBJECT_MARKERS
            and any(
                other != prefix
                and len(columns[other]) >= MIN_SUBJECT_MARKERS
                and len(bare[prefix] & bare[other]) >= MIN_SHARED_NAMES
                for other in columns
            )
        }
        if len(subjects) >= 2:
            return subjects
    return None


def _split_by_place(markers: Markers) -> dict[str, list[int]] | None:
    """Return the columns of bodies that are apart, if names do not say that all are of one."""
    doubled = [_DOUBLED.fullmatch(name) for name in markers.names]
    is_doubled = sum(match is not None for match in doubled) >= MIN_SHARED_NAMES
    if not is_doubled and not are_names_empty(markers.names):
        return None
    bodies = [body for body in _find_bodies(markers) if len(body) >= MIN_SUBJECT_MARKERS]
    if len(bodies) < 2:
        return None
    # In the order of the file: the first marker of the first subject comes first.
    bodies.sort(key=min)
    return {str(number): body for number, body in enumerate(bodies, start=1)}


def _remove_counts(markers: Markers) -> Markers:
    """Return the same without "#2" after names that are unique without it."""
    bare = [match[1] if (match := _DOUBLED.fullmatch(name)) else name for name in markers.names]
    names = dict(zip(markers.names, bare, strict=True))
    return markers.renamed({old: new for old, new in names.items() if bare.count(new) == 1})


def _find_bodies(markers: Markers) -> list[list[int]]:
    """Return groups of columns each of which is within reach of another of its group."""
    distances = _measure_reach(markers)
    seen = np.flatnonzero(np.isfinite(markers.positions[..., 0]).any(axis=0))
    group = {int(k): int(k) for k in seen}

    def find_root(k: int) -> int:
        while group[k] != k:
            k = group[k]
        return k

    for a, b in np.argwhere(np.triu(distances <= MAX_REACH, 1)):
        group[find_root(int(a))] = find_root(int(b))
    bodies: dict[int, list[int]] = {}
    for k in group:
        bodies.setdefault(find_root(k), []).append(k)
    return list(bodies.values())


def _measure_reach(markers: Markers) -> Array:
    """Return how far markers get from each other, apart from stray frames [m], (M, M)."""
    frames = choose_even_frames(len(markers), MAX_FRAMES)
    with np.errstate(invalid="ignore"):
        return measure_pair_distances(markers.positions[frames], REACH_QUANTILE).quantile


def _add_points_in_reach(markers: Markers, groups: dict[str, list[int]]) -> dict[str, list[int]]:
    """Return the groups with the points of no group that are within reach of one of them only."""
    taken = {k for columns in groups.values() for k in columns}
    free = [k for k in range(len(markers.names)) if k not in taken]
    if len(free) == 0:
        return groups
    distances = _measure_reach(markers)
    full = {subject: list(columns) for subject, columns in groups.items()}
    for k in free:
        near = [s for s, columns in groups.items() if (distances[k, columns] <= MAX_REACH).any()]
        if len(near) == 1:
            full[near[0]].append(k)
    return full
