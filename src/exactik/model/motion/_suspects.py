"""Markers that look wrong: two that exchange places, and one that stands still to the last digit.

A marker makes a *step* from each frame in which it is seen to the next. Its past predicts where it
comes next: where it was, or a step further at its last velocity, whichever is nearer. A *jump* is a
step that ends far from there by the marker's own measure. Two markers are swapped where both
jump at about the same time and each lands where the other's past leads, far nearer than where its
own does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from exactik.model.motion._markers import Markers
from exactik.typing import Array, BoolArray, IntArray

MAX_SWAP_GAP_S = 0.2  # [s] across which a swap is looked for; in more time too much happens
MIN_SWAP_GAP_FRAMES = 5  # the same at low rates, where these take longer
MIN_JUMP = 0.012  # [m] less is not a jump; skin markers are seldom placed nearer to each other
MIN_JUMP_RATIO = 6.0  # of a jump to the marker's median error of its own prediction
MAX_SWAP_ERROR_RATIO = 0.2  # of the errors after a swap to those before
MIN_FROZEN_S = 0.1  # [s] that a frozen marker stays
MIN_FROZEN_COARSE_S = 0.5  # [s] where coordinates are rounded: it can then repeat itself by chance
MIN_FROZEN_FRAMES = 10
COARSE_RESOLUTION = 2e-6  # [m] above which coordinates count as rounded
MIN_OTHERS_MOTION = 0.02  # [m] median way of the other markers while one is frozen
MAX_PAIRS = 1 << 24  # of jumps; where there are more, markers have no tracks and none is looked at
PAIRS_PER_BLOCK = 1 << 18  # bounds the memory


class Swap(NamedTuple):
    """Two markers that seem to have exchanged their names."""

    names: tuple[str, str]  # of the two
    first: int  # first frame of the exchange, counted from 0 in `Markers.positions`
    last: int  # last frame before they change back, or the last frame of the recording
    distance: float  # how far apart the two were [m]


class FrozenMarker(NamedTuple):
    """A marker that stays exactly where it is while others move."""

    name: str  # of the marker
    first: int  # first frame at that place, counted from 0 in `Markers.positions`
    last: int  # last frame at that place


class _Steps(NamedTuple):
    """Steps from one sight of a marker to the next, one a row."""

    marker: IntArray
    start: IntArray  #  frame it was last seen in
    end: IntArray  #    frame it is seen in again
    before: Array  #   position at `start` [m], (n, 3)
    velocity: Array  # before `start` [m a frame], (n, 3); 0 where unknown
    after: Array  #    position at `end` [m], (n, 3)

    def select(self, index: BoolArray | IntArray) -> _Steps:
        return _Steps._make(column[index] for column in self)


def find_swaps(markers: Markers) -> tuple[Swap, ...]:
    """Return pairs of markers that exchange places from one sight to the next, in order of time.

    Which stretch has the right names cannot be told from the paths alone: between two exchanges of
    the same pair the middle one is reported, after a single one the rest of the recording. Three
    that rotate their names are not found, nor is anything where nearly every marker jumps all the
    time, as points without names do.
    """
    max_gap = max(MIN_SWAP_GAP_FRAMES, round(MAX_SWAP_GAP_S * markers.rate))
    parts: list[tuple[_Steps, Array]] = []
    for m in range(len(markers.names)):  # marker by marker: all steps of an hour take gigabytes
        steps = _find_steps(markers.positions[:, m], m)
        errors, is_jump = _find_jumps(steps)
        is_jump &= steps.end - steps.start <= max_gap
        parts.append((steps.select(is_jump), errors[is_jump]))
    if sum(len(errors) for _, errors in parts) < 2:
        return ()
    steps = _Steps._make(map(np.concatenate, zip(*(steps for steps, _ in parts), strict=True)))
    errors = np.concatenate([errors for _, errors in parts])
    order = np.argsort(steps.end, kind="stable")
    steps, errors = steps.select(order), errors[order]
    events = []
    for one, other in _iterate_pairs(steps, max_gap):
        kept = errors[one] + errors[other]
        swapped = _prediction_errors(steps, one, other) + _prediction_errors(steps, other, one)
        for k in np.flatnonzero(swapped < MAX_SWAP_ERROR_RATIO * kept):
            events.append((float(swapped[k] / kept[k]), int(one[k]), int(other[k])))
    return _make_swaps(markers, steps, events)


def find_frozen_markers(markers: Markers) -> tuple[FrozenMarker, ...]:
    """Return markers that repeat their place exactly for long while most others move."""
    x = markers.positions
    if len(x) < MIN_FROZEN_FRAMES:
        return ()
    same = (x[1:] == x[:-1]).all(axis=2)  # never where missing
    edges = np.diff(np.pad(same, ((1, 1), (0, 0))).astype(np.int8), axis=0)
    marker, start = np.nonzero(edges.T == 1)
    _, stop = np.nonzero(edges.T == -1)
    long = stop - start + 1 >= max(MIN_FROZEN_FRAMES, round(MIN_FROZEN_S * markers.rate))
    frozen = []
    for m, first, last in zip(marker[long], start[long], stop[long], strict=True):
        is_coarse = _find_resolution(x[:, m]) > COARSE_RESOLUTION
        if is_coarse and last - first + 1 < MIN_FROZEN_COARSE_S * markers.rate:
            continue
        others = np.delete(x[first : last + 1], m, axis=1)
        extents = np.linalg.norm(_compute_extents(others), axis=1)
        extents = extents[np.isfinite(extents)]
        if len(extents) > 0 and np.median(extents) > MIN_OTHERS_MOTION:
            frozen.append(FrozenMarker(markers.names[m], int(first), int(last)))
    return tuple(frozen)


def _find_steps(path: Array, marker: int) -> _Steps:
    """Return every step of a marker, by its path (T, 3)."""
    frame = np.flatnonzero(np.isfinite(path).all(axis=1))
    position = path[frame]
    span = frame[1:] - frame[:-1]
    velocity = (position[1:] - position[:-1]) / span[:, None]
    # The velocity before a step is that of the step before it, unless it had a gap.
    is_known = np.zeros(len(span), dtype=bool)
    is_known[1:] = span[:-1] <= 2
    velocity_before = np.zeros_like(velocity)
    velocity_before[1:] = velocity[:-1]
    velocity_before[~is_known] = 0.0
    return _Steps(
        marker=np.full(len(span), marker),
        start=frame[:-1],
        end=frame[1:],
        before=position[:-1],
        velocity=velocity_before,
        after=position[1:],
    )


def _find_jumps(steps: _Steps) -> tuple[Array, BoolArray]:
    """Return how far each step of a marker ends from where it should, and which are jumps."""
    every = np.arange(len(steps.marker))
    errors = _prediction_errors(steps, every, every)
    median = float(np.median(errors)) if len(errors) > 0 else 0.0
    return errors, errors > max(MIN_JUMP, MIN_JUMP_RATIO * median)


def _iterate_pairs(steps: _Steps, max_gap: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield pairs of jumps of different markers at about the same time, each pair once."""
    count = len(steps.end)
    stop = np.searchsorted(steps.end, steps.end + max_gap, side="right")
    partners = stop - np.arange(count) - 1  # later jumps within the gap, for each jump
    pairs_before = np.cumsum(partners) - partners
    if pairs_before[-1] > MAX_PAIRS:
        return
    cuts = np.flatnonzero(np.diff(pairs_before // PAIRS_PER_BLOCK)) + 1
    for block in np.split(np.arange(count), cuts):
        one = np.repeat(block, partners[block])
        first_pair = np.repeat(pairs_before[block] - pairs_before[block[0]], partners[block])
        other = one + 1 + np.arange(len(one)) - first_pair
        # Their steps overlap: neither marker is seen again before the other one is lost.
        start = np.maximum(steps.start[one], steps.start[other])
        keep = start < np.minimum(steps.end[one], steps.end[other])
        keep &= steps.marker[one] != steps.marker[other]
        yield one[keep], other[keep]


def _prediction_errors(steps: _Steps, past: IntArray, future: IntArray) -> Array:
    """Return the distance from the end of one step to where the past of another leads [m], (n,)."""
    frames = (steps.end[future] - steps.start[past])[:, None]
    displacement = steps.after[future] - steps.before[past]
    at_rest = np.linalg.norm(displacement, axis=1)
    at_velocity = np.linalg.norm(displacement - frames * steps.velocity[past], axis=1)
    return np.minimum(at_rest, at_velocity)


def _make_swaps(
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
        distance = float(np.linalg.norm(steps.before[a] - steps.before[b]))
        times.setdefault(pair, []).append((ends[0], ends[1], distance))
    swaps = []
    for (a, b), moments in times.items():
        moments.sort()
        for k in range(0, len(moments), 2):
            last = moments[k + 1][0] - 1 if k + 1 < len(moments) else len(markers) - 1
            first, _, distance = moments[k]
            names = (markers.names[a], markers.names[b])
            swaps.append(Swap(names=names, first=first, last=last, distance=distance))
    return tuple(sorted(swaps, key=lambda swap: (swap.first, swap.names)))


def _find_resolution(path: Array) -> float:
    """Return the smallest step between coordinates of a marker [m]; 0 if it never moves."""
    steps = np.abs(np.diff(path, axis=0))
    steps = steps[steps > 1e-12]
    return float(steps.min()) if len(steps) > 0 else 0.0


def _compute_extents(x: Array) -> Array:
    """Return how far each marker gets along each axis [m], (M, 3); NaN where it is never seen."""
    seen = ~np.isnan(x[..., 0]).all(axis=0)
    out = np.full(x.shape[1:], np.nan)
    out[seen] = np.nanmax(x[:, seen], axis=0) - np.nanmin(x[:, seen], axis=0)
    return out
