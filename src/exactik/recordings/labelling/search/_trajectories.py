"""Fragments, in which a point is surely one, and trajectories, which are fragments in a row.

Where one fragment ends and another begins just where it leads, and nothing else begins or ends near
there, the two are one marker that the cameras lost or renamed. They then share a label.

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
MAX_GAP_S = 0.1  # [s] between two fragments that are joined: a path leads no farther
MAX_MISS = 0.02
"""[m] from where a fragment leads to where the next begins: markers on one bone are farther apart,
and at the rates of cameras a velocity holds within a centimetre."""
MIN_CLEARANCE = 2.5  # of the next nearest beginning or end, in shares of the miss: else it is open


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


class Trajectory(NamedTuple):
    """Fragments of one marker in the order of time."""

    pieces: tuple[Fragment, ...]  # that follow each other

    @property
    def first(self) -> int:
        """First frame."""
        return self.pieces[0].first

    @property
    def last(self) -> int:
        """Last frame, included."""
        return self.pieces[-1].last

    def point_at(self, frame: int) -> int | None:
        """Return the column of the recording that it is in a frame; None in a gap."""
        for piece in self.pieces:
            if piece.first <= frame <= piece.last:
                return piece.point
        return None

    def positions_at(self, markers: Markers, frames: IntArray) -> Array:
        """Return its positions [m], (F, 3); not a number where it is not seen."""
        positions = np.full((len(frames), 3), np.nan)
        for piece in self.pieces:
            inside = (piece.first <= frames) & (frames <= piece.last)
            positions[inside] = markers.positions[frames[inside], piece.point]
        return positions


def join_fragments(markers: Markers, fragments: list[Fragment]) -> list[Trajectory]:
    """Return the trajectories of fragments, in the order of their first fragments."""
    following = _find_followers(markers, fragments)
    is_followed = set(following.values())
    trajectories = []
    for k in range(len(fragments)):
        if k in is_followed:
            continue
        chain = [k]
        while chain[-1] in following:
            chain.append(following[chain[-1]])
        trajectories.append(Trajectory(tuple(fragments[j] for j in chain)))
    return trajectories


def _find_followers(markers: Markers, fragments: list[Fragment]) -> dict[int, int]:
    """Return the fragment that follows each, by their numbers."""
    x = markers.positions
    max_gap = max(1, round(MAX_GAP_S * markers.rate))
    order = np.argsort([fragment.first for fragment in fragments], kind="stable")
    starts = np.array([fragments[k].first for k in order])
    misses: list[tuple[float, int, int]] = []
    for k, fragment in enumerate(fragments):
        low, high = np.searchsorted(starts, [fragment.last + 1, fragment.last + 1 + max_gap])
        if low == high:
            continue
        end = x[fragment.last, fragment.point]
        before = max(fragment.first, fragment.last - 1)
        velocity = end - x[before, fragment.point]
        for j in order[low:high].tolist():
            other = fragments[j]
            led = end + velocity * (other.first - fragment.last)
            miss = float(np.linalg.norm(x[other.first, other.point] - led))
            misses.append((miss, k, j))
    return _choose_clear(sorted(misses))


def _choose_clear(misses: list[tuple[float, int, int]]) -> dict[int, int]:
    """Return pairs that miss by little, and by far less than any other pair with one of the two."""
    best_end: dict[int, list[float]] = {}
    best_start: dict[int, list[float]] = {}
    for miss, k, j in misses:
        best_end.setdefault(k, []).append(miss)
        best_start.setdefault(j, []).append(miss)
    following = {}
    for miss, k, j in misses:
        if miss > MAX_MISS:
            break
        rivals = (*best_end[k][1:2], *best_start[j][1:2])
        is_nearest = best_end[k][0] == miss == best_start[j][0]
        if is_nearest and all(rival > MIN_CLEARANCE * miss for rival in rivals):
            following[k] = j
    return following
