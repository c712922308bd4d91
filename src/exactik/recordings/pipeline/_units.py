"""Recorded markers beside their places at rest, and what this says of the unit of length."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from exactik.model import Skeleton
from exactik.model.motion import Markers, choose_even_frames
from exactik.typing import Array

MIN_SIZE, MAX_SIZE = 0.15, 8.0
"""[sizes of the skeleton] outside of which a unit cannot be right. A newborn has 0.3 of an adult,
nobody more than 1.4; poses and parts of the body change the measure by less than 2."""
UNIT_FACTORS = (1e-3, 1e-2, 1e-1, 1e1, 1e2, 1e3)
"""By which units that are mistaken for each other differ: m, dm, cm and mm."""
MAX_FRAMES = 200  # looked at, spread over the recording; the size is a median over them


class SizedRecording(NamedTuple):
    """A recording in metres."""

    markers: Markers  # the recording with its unit corrected [m]
    size: float | None  # of the figure as it was read, in sizes of the skeleton; None if unknown
    factor: float  # by which lengths were multiplied
    notes: list[str]  # what was changed


def correct_unit(markers: Markers, skeleton: Skeleton, names: Mapping[str, str]) -> SizedRecording:
    """Return a recording whose unit makes a figure of a person's size.

    A file that says metres and has millimetres in it shows a person of 1.7 km. It is taken for
    millimetres, and that is said; smaller mistakes are left to the verdict.

    Args:
        markers: the recording, as read.
        skeleton: the figure, with markers; of a person's size.
        names: recorded name → the skeleton's.
    """
    size = _measure_size(markers, skeleton, names)
    if size is None or size == 0.0 or MIN_SIZE <= size <= MAX_SIZE:
        return SizedRecording(markers, size, 1.0, [])
    factor = min(UNIT_FACTORS, key=lambda f: abs(np.log(size * f)))
    if not MIN_SIZE <= size * factor <= MAX_SIZE:
        return SizedRecording(markers, size, 1.0, [])
    note = (
        f"By its length unit ({markers.units_in_file}) the recorded figure has {size:.3g} times "
        f"the size of the skeleton: lengths were multiplied by {factor:g}. --length-unit says "
        "otherwise."
    )
    return SizedRecording(markers.scaled(factor), size, factor, [note])


def _measure_size(markers: Markers, skeleton: Skeleton, names: Mapping[str, str]) -> float | None:
    """Return the size of the recorded figure in sizes of the skeleton; None without three markers.

    By the median distance of the markers from their common median, which exchanged names do not
    change.
    """
    recorded, at_rest = pair_with_rest(markers, skeleton, names, MAX_FRAMES)
    if len(at_rest) < 3:
        return None
    seen = np.isfinite(recorded).all(axis=(1, 2))
    if not seen.any():
        many = np.isfinite(recorded).all(axis=2).sum(axis=1)
        if many.max() < 3:
            return None
        seen = many == many.max()
    ratios = []
    for frame in recorded[seen]:
        there = np.isfinite(frame).all(axis=1)
        rest = at_rest[there] - np.median(at_rest[there], axis=0)
        own = np.median(np.linalg.norm(frame[there] - np.median(frame[there], axis=0), axis=1))
        usual = np.median(np.linalg.norm(rest, axis=1))
        if usual > 0.0:
            ratios.append(own / usual)
    return float(np.median(ratios)) if len(ratios) > 0 else None


def pair_with_rest(
    markers: Markers, skeleton: Skeleton, names: Mapping[str, str], max_frames: int
) -> tuple[Array, Array]:
    """Return where known markers are in a recording, and where they are on the figure at rest.

    Args:
        skeleton: the figure, with markers.
        names: recorded name → the skeleton's, of the markers that are known.
        max_frames: of the recording, spread over it.

    Returns:
        Places in the recording, in its axes and unit, (T, M, 3), and in the neutral pose [m, world
        of the skeleton], (M, 3); in the order of the recording.
    """
    known = [name for name in markers.names if name in names]
    frames = choose_even_frames(len(markers), max_frames)
    columns = [markers.names.index(name) for name in known]
    rest = skeleton.forward(skeleton.neutral()).markers
    rows = [list(skeleton.markers).index(names[name]) for name in known]
    return markers.positions[frames][:, columns], rest[rows]
