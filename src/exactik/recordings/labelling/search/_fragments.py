"""Fragments: stretches of frames in which a recorded point is surely one and the same marker.

A point without a name often becomes another marker after a gap or where two come near each other,
so that its path is cut at gaps and at jumps. A cut too many does no harm: every fragment is
labelled by itself, and fragments of one label are joined again.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from exactik.model.motion import Markers, find_segments
from exactik.typing import Array, IntArray

MIN_JUMP = 0.04
"""[m] by which a point must miss where its velocity leads from one frame to the next, to be cut."""
MIN_JUMP_RATIO = 12.0  # of the median miss of the point's own path, so that fast ones are not cut
FAR_JUMP = 0.3
"""[m] from where on it is cut in any case. Nearer, another point must have come closer to where it
should be: then the two may have changed places."""


MAX_COPY_DISTANCE = 1e-4  # [m] between two points that are one: less than any camera resolves


class Fragment(NamedTuple):
    """A stretch of a point's path."""

    point: int  # column of the recording
    first: int  # frame, counted from 0 in `Markers.positions`
    last: int  # frame, included


def cut_into_fragments(markers: Markers) -> list[Fragment]:
    """Return the fragments of all points, point by point in the order of time."""
    fragments, seen = [], ~markers.missing
    for point in range(len(markers.names)):
        for first, last in find_segments(seen[:, point]):
            cuts = first + _find_jumps(markers.positions[first : last + 1], point)
            bounds = [first, *cuts.tolist(), last + 1]
            for start, end in pairwise(bounds):
                fragments.append(Fragment(point=point, first=start, last=end - 1))
    return fragments


def find_copies(markers: Markers) -> dict[str, str]:
    """Return points that are where another one is whenever they are seen: name → the other's.

    Of the two, the one that is seen in more frames is no copy, else the first.
    """
    x, seen = markers.positions, ~markers.missing
    copies: dict[str, str] = {}
    for a in range(len(markers.names)):
        for b in range(a + 1, len(markers.names)):
            both = seen[:, a] & seen[:, b]
            # One frame tells most pairs apart; only the rest are looked at as a whole.
            if not both.any() or markers.names[a] in copies or markers.names[b] in copies:
                continue
            k = int(np.argmax(both))
            if np.abs(x[k, a] - x[k, b]).max() > MAX_COPY_DISTANCE:
                continue
            if np.linalg.norm(x[both, a] - x[both, b], axis=1).max() <= MAX_COPY_DISTANCE:
                original, copy = (b, a) if seen[:, b].sum() > seen[:, a].sum() else (a, b)
                if not (seen[:, copy] & ~seen[:, original]).any():
                    copies[markers.names[copy]] = markers.names[original]
    return copies


def _find_jumps(positions: Array, point: int) -> IntArray:
    """Return the frames in which a point without gaps does not continue its path.

    Args:
        positions: of all points [m], (n, M, 3).
        point: which of them.
    """
    path = positions[:, point]
    if len(path) < 3:
        return np.empty(0, dtype=int)
    step = np.diff(path, axis=0)
    velocity = np.vstack([step[:1], step[:-1]])
    miss = np.minimum(np.linalg.norm(step - velocity, axis=1), np.linalg.norm(step, axis=1))
    limit = max(MIN_JUMP, MIN_JUMP_RATIO * float(np.median(miss)))
    jumps = np.flatnonzero(miss > limit) + 1
    expected = path[jumps - 1] + velocity[jumps - 1]
    distance = np.linalg.norm(positions[jumps] - expected[:, None], axis=2)
    distance[:, point] = np.inf
    nearest_other = np.nan_to_num(distance, nan=np.inf).min(axis=1)
    misses = miss[jumps - 1]
    return jumps[(misses > FAR_JUMP) | (nearest_other < misses)]
