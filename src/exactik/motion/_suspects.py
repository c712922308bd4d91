"""Markers that look wrong: two that exchange places, and one that stands still to the last digit.

A marker makes a *step* from each frame in which it is seen to the next. Its past tells where it
should come next: where it was, or a step further with its last speed, whichever is nearer. A *jump*
is a step that ends far from there by the marker's own measure. Two markers are swapped where both
jump at about the same time and each lands where the other's past leads, far nearer than where its
own does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from exactik.motion._markers import Markers
from exactik.typing import Array, BoolArray, IntArray

__all__ = ["FrozenMarker", "Swap", "find_frozen_markers", "find_swaps"]


GAP = 0.2  # [s] the longest gap across which a swap is looked for; in more time too much happens
LEAST_GAP = 5  # frames, where these take longer
JUMP = 0.012  # [m] less is not a jump; skin markers are seldom placed nearer to each other
UNUSUAL = 6.0  # times the marker's usual miss of its own prediction
BETTER = 0.2  # a swap leaves this share of the misses at most
STILL = 0.1, 0.5  # [s] that a frozen marker stays; the second where coordinates are coarse
LEAST_STILL = 10  # frames
COARSE = 2e-6  # [m] steps of rounded coordinates; a still marker can then repeat itself by chance
MOST_PAIRS = 1 << 24  # of jumps; where there are more, nothing is tracked
BLOCK = 1 << 18  # pairs at a time
MOVES = 0.02  # [m] that most of the other markers move meanwhile


class Swap(NamedTuple):
    """Two markers that seem to have exchanged their names.

    Attributes:
        names: of the two.
        first: first frame of the exchange, counted from 0 in `Markers.positions`.
        last: last frame before they change back, or the last frame of the recording.
        distance: how far apart the two were [m].
    """

    names: tuple[str, str]
    first: int
    last: int
    distance: float


class FrozenMarker(NamedTuple):
    """A marker that stays exactly where it is while others move.

    Attributes:
        name: of the marker.
        first: first frame at that place, counted from 0 in `Markers.positions`.
        last: last frame at that place.
    """

    name: str
    first: int
    last: int


class _Steps(NamedTuple):
    """Steps from one sight of a marker to the next, one a row."""

    marker: IntArray
    start: IntArray  #  frame it was last seen in
    end: IntArray  #    frame it is seen in again
    before: Array  #   place at `start` [m], (n, 3)
    speed: Array  #    [m a frame], (n, 3); 0 where unknown
    after: Array  #    place at `end` [m], (n, 3)

    def chosen(self, index: BoolArray | IntArray) -> _Steps:
        rows = (self.marker[index], self.start[index], self.end[index])
        return _Steps(*rows, self.before[index], self.speed[index], self.after[index])


def find_swaps(markers: Markers) -> tuple[Swap, ...]:
    """Return pairs of markers that exchange places from one sight to the next, in order of time.

    Which stretch has the right names cannot be told from the paths alone: between two exchanges of
    the same pair the middle one is reported, after a single one the rest of the recording. Three
    that rotate their names are not found, nor is anything where nearly every marker jumps all the
    time, as points without names do.
    """
    steps = _steps(markers)
    misses, jumps = _jumps(steps, len(markers.names))
    longest = max(LEAST_GAP, round(GAP * markers.rate))
    jumps &= steps.end - steps.start <= longest
    if np.count_nonzero(jumps) < 2:
        return ()
    order = np.flatnonzero(jumps)
    order = order[np.argsort(steps.end[order], kind="stable")]
    steps, misses = steps.chosen(order), misses[order]
    events = []
    for one, other in _pairs(steps, longest):
        own = misses[one] + misses[other]
        crossed = _misses(steps, one, other) + _misses(steps, other, one)
        for k in np.flatnonzero(crossed < BETTER * own):
            events.append((float(crossed[k] / own[k]), int(one[k]), int(other[k])))
    return _stretches(markers, steps, events)


def find_frozen_markers(markers: Markers) -> tuple[FrozenMarker, ...]:
    """Return markers that repeat their place exactly for long while most others move."""
    x = markers.positions
    if len(x) < LEAST_STILL:
        return ()
    same = (x[1:] == x[:-1]).all(axis=2)  # never where missing
    edges = np.diff(np.pad(same, ((1, 1), (0, 0))).astype(np.int8), axis=0)
    marker, start = np.nonzero(edges.T == 1)
    _, stop = np.nonzero(edges.T == -1)
    long = stop - start + 1 >= max(LEAST_STILL, round(STILL[0] * markers.rate))
    found = []
    for m, first, last in zip(marker[long], start[long], stop[long], strict=True):
        coarse = _resolution(x[:, m]) > COARSE
        if last - first + 1 < STILL[1] * markers.rate and coarse:
            continue
        moved = np.linalg.norm(_extent(np.delete(x[first : last + 1], m, axis=1)), axis=1)
        moved = moved[np.isfinite(moved)]
        if len(moved) > 0 and np.median(moved) > MOVES:
            found.append(FrozenMarker(markers.names[m], int(first), int(last)))
    return tuple(found)


def _steps(markers: Markers) -> _Steps:
    """Return every step of every marker, marker by marker."""
    x = markers.positions
    marker, frame = np.nonzero(np.isfinite(x).all(axis=2).T)
    place = x[frame, marker]
    same = marker[1:] == marker[:-1]
    span = np.where(same, frame[1:] - frame[:-1], 1)
    speed = (place[1:] - place[:-1]) / span[:, None]
    # The speed before a step is that of the step before it, unless it had a gap.
    known = np.zeros(len(span), dtype=bool)
    known[1:] = same[:-1] & (span[:-1] <= 2)
    last_speed = np.zeros_like(speed)
    last_speed[1:] = speed[:-1]
    last_speed[~known] = 0.0
    ends = np.arange(1, len(marker))
    steps = _Steps(marker[1:], frame[:-1], frame[ends], place[:-1], last_speed, place[1:])
    return steps.chosen(same)


def _jumps(steps: _Steps, count: int) -> tuple[Array, BoolArray]:
    """Return how far each step ends from where it should, and which of them are jumps."""
    every = np.arange(len(steps.marker))
    miss = _misses(steps, every, every)
    ends = np.searchsorted(steps.marker, np.arange(count + 1))  # they come marker by marker
    parts = [miss[ends[m] : ends[m + 1]] for m in range(count)]
    usual = np.array([np.median(part) if len(part) > 0 else 0.0 for part in parts])
    return miss, miss > np.maximum(JUMP, UNUSUAL * usual[steps.marker])


def _pairs(steps: _Steps, longest: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield pairs of jumps of different markers at about the same time, each pair once."""
    count = len(steps.end)
    late = np.searchsorted(steps.end, steps.end + longest, side="right")
    reach = late - np.arange(count) - 1
    before = np.cumsum(reach) - reach
    if before[-1] > MOST_PAIRS:
        return
    for block in np.split(np.arange(count), np.flatnonzero(np.diff(before // BLOCK)) + 1):
        one = np.repeat(block, reach[block])
        other = (
            one
            + 1
            + np.arange(len(one))
            - np.repeat(before[block] - before[block[0]], reach[block])
        )
        # Their steps overlap: neither marker is seen again before the other one is lost.
        start = np.maximum(steps.start[one], steps.start[other])
        keep = start < np.minimum(steps.end[one], steps.end[other])
        keep &= steps.marker[one] != steps.marker[other]
        yield one[keep], other[keep]


def _misses(steps: _Steps, past: IntArray, future: IntArray) -> Array:
    """Return the distance from the end of one step to where the past of another leads [m], (n,)."""
    to_go = (steps.end[future] - steps.start[past])[:, None]
    off = steps.after[future] - steps.before[past]
    stays = np.linalg.norm(off, axis=1)
    moves = np.linalg.norm(off - to_go * steps.speed[past], axis=1)
    return np.minimum(stays, moves)


def _stretches(
    markers: Markers, steps: _Steps, events: list[tuple[float, int, int]]
) -> tuple[Swap, ...]:
    """Return the exchanges as stretches of frames; a jump belongs to its best partner alone."""
    times: dict[tuple[int, int], list[tuple[int, int, float]]] = {}
    taken: set[int] = set()
    for _, one, other in sorted(events):
        if one in taken or other in taken:
            continue
        taken |= {one, other}
        a, b = sorted((one, other), key=lambda k: steps.marker[k])
        pair = (int(steps.marker[a]), int(steps.marker[b]))
        ends = sorted((int(steps.end[a]), int(steps.end[b])))
        apart = float(np.linalg.norm(steps.before[a] - steps.before[b]))
        times.setdefault(pair, []).append((ends[0], ends[1], apart))
    swaps = []
    for (a, b), moments in times.items():
        moments.sort()
        for k in range(0, len(moments), 2):
            last = moments[k + 1][0] - 1 if k + 1 < len(moments) else len(markers) - 1
            names = (markers.names[a], markers.names[b])
            swaps.append(Swap(names, moments[k][0], last, moments[k][2]))
    return tuple(sorted(swaps, key=lambda swap: (swap.first, swap.names)))


def _resolution(path: Array) -> float:
    """Return the smallest step between coordinates of a marker [m]; 0 if it never moves."""
    steps = np.abs(np.diff(path, axis=0))
    steps = steps[steps > 1e-12]
    return float(steps.min()) if len(steps) > 0 else 0.0


def _extent(x: Array) -> Array:
    """Return how far each marker gets along each axis [m], (M, 3); NaN where it is never seen."""
    seen = ~np.isnan(x[..., 0]).all(axis=0)
    out = np.full(x.shape[1:], np.nan)
    out[seen] = np.nanmax(x[:, seen], axis=0) - np.nanmin(x[:, seen], axis=0)
    return out
