"""Trajectories: fragments that surely follow each other, whatever points they belong to.

Where one fragment ends and another begins just where it leads, and nothing else begins or ends near
there, the two are one marker that the cameras lost or renamed. They then share a label.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.model.motion import Markers
from exactik.recordings.labelling.search._fragments import Fragment
from exactik.typing import Array, IntArray

MAX_GAP_S = 0.1  # [s] between two fragments that are joined: a path leads no farther
MAX_MISS = 0.02
"""[m] from where a fragment leads to where the next begins: markers on one bone are farther apart,
and at the rates of cameras a velocity holds within a centimetre."""
MIN_CLEARANCE = 2.5  # of the next nearest beginning or end, in shares of the miss: else it is open


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
