"""Where a path changes from one solution to another: at its true price.

While solutions are compared a change has an estimated charge. Here every change is bridged, which
tells what it really costs. Where that is much, the solution before it is followed on beside the
path, and the one after it back, and changes at other frames are tried: earlier, later, or none at
all, where the two meet again. The most hopeful of these tries are bridged, each by itself; what
costs least in sum is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from exactik.kernels.tree.equivalent_coordinates import unwrap_coordinates
from exactik.motion import find_segments
from exactik.tracking._branches import NEAR, charges
from exactik.tracking._bridges import MARGIN, Pieces, bridge
from exactik.tracking._gaps import Postures
from exactik.tracking._jumps import find_jumps
from exactik.tracking._passes import (
    FrameSolutions,
    follow_branch,
    nearest_equivalents,
    run_in_threads,
)
from exactik.tracking._recording import TrackingProblem
from exactik.typing import Array, BoolArray, IntArray

__all__ = ["bridge_jumps"]


PART = 4096  # frames that are bridged by themselves, on any thread
DEAR = 3.0  # price of a bridge, in the cost of a usual frame, from which others are tried
LONGEST = 3.0  # [s] that solutions are followed beside the path
LOSS = 40.0  # frames' worth of cost that they may lose on the way
PLACES = (0.03, 0.1, 0.3, 1.0)  # [s] bounds of the places tried, one between each two
RAISED = 1.1  # cost of a frame, of what it was, above which continuity has a price
EFFORT = 0.25  # frames of tries that are bridged in a round, over the frames there are
LEAST = 0.2  # in the cost of a usual frame, that a try has to save


class Course(NamedTuple):
    """A path with its jumps, and the same with bridges over them.

    Attributes:
        raw: with jumps.
        bridged: without.
        touched: frames that are part of a bridge, (T,).
    """

    raw: FrameSolutions
    bridged: FrameSolutions
    touched: BoolArray


class Try(NamedTuple):
    """Other solutions for the frames from `first` on."""

    first: int
    path: FrameSolutions


def bridge_jumps(
    recording: TrackingProblem,
    options: Array,
    path: FrameSolutions,
    postures: Postures,
    curvature: Array,
    least: Array,
    threads: int = 1,
) -> BoolArray:
    """Spread every jump of a path over some frames; return the frames that cost more for it, (T,).

    Args:
        recording: what the frames ask.
        options: of descents.
        path: changed in place.
        postures: that frames are pulled to anyway.
        curvature: of each dof, (nv,), as a measure of pulls.
        least: cost of the best solution that was found for each frame, (T,); lowered in place.
        threads: how many.
    """
    count = len(path.q)
    np.minimum(least, path.cost, out=least)
    raised = np.zeros(count, dtype=bool)

    def bridge_part(first: int) -> None:
        end = min(first + PART, count)
        some, own = recording.select(np.arange(first, end)), slice(first, end)
        piece = FrameSolutions(path.q[own], path.outcomes[own])
        held = postures.between(first, end)
        raised[own] = _bridge_part(some, options, piece, held, curvature, least[own])

    run_in_threads(threads, bridge_part, range(0, count, PART))
    _unwound(recording, path.q)
    before, touched = path.cost.copy(), np.zeros(count, dtype=bool)
    rows = Pieces(path, np.arange(count), np.zeros(count, np.int64), touched)
    bridge(recording, options, rows, postures, curvature)  # what jumps where parts meet
    return raised | (touched & (path.cost > RAISED * before))


def _bridge_part(
    recording: TrackingProblem,
    options: Array,
    path: FrameSolutions,
    postures: Postures,
    curvature: Array,
    least: Array,
) -> BoolArray:
    """As `bridge_jumps`, of some frames by themselves."""
    count = len(path.q)
    course = Course(path.copy(), path, np.zeros(count, dtype=bool))
    rows = Pieces(path, np.arange(count), np.zeros(count, np.int64), course.touched)
    bridge(recording, options, rows, postures, curvature)
    usual = float(np.median(course.raw.cost))
    tries = list(_tries(recording, options, course, postures, usual, least))
    _take(recording, options, course, postures, curvature, tries, LEAST * usual)
    _unwound(recording, path.q)
    bridge(recording, options, rows, postures, curvature)  # should seams of tries leave a jump
    return course.touched & (path.cost > RAISED * course.raw.cost)


def _unwound(recording: TrackingProblem, q: Array) -> None:
    box = recording.frame_problem.box
    unwrap_coordinates(recording.skeleton.tree, box.lower, box.upper, q)


def _tries(
    recording: TrackingProblem,
    options: Array,
    course: Course,
    postures: Postures,
    usual: float,
    least: Array,
) -> Iterator[Try]:
    """Yield other places for changes that are dear."""
    raw, count = course.raw, len(course.raw.q)
    margin, longest = (round(s * recording.rate) for s in (MARGIN, LONGEST))
    above = np.concatenate([[0.0], np.cumsum(course.bridged.cost - raw.cost)])
    loose = np.concatenate([[-1], postures.frames, [count]])  # which go by their course there
    for t in find_jumps(recording, raw.q):
        low, high = max(t - margin, 0), min(t + 1 + margin, count)
        dear = above[high] - above[low] > DEAR * usual
        if not dear or t in loose or t + 1 in loose:
            continue
        stop = int(loose[np.searchsorted(loose, t)])
        start = int(loose[np.searchsorted(loose, t) - 1])
        ways = (
            (t, np.arange(t + 1, min(t + 1 + longest, stop))),
            (t + 1, np.arange(t, max(t - longest, start), -1)),
        )
        for own, which in ways:
            if len(which) > 0:
                yield from _beside(recording, options, course, own, which, usual, least)


def _beside(
    recording: TrackingProblem,
    options: Array,
    course: Course,
    own: int,
    which: IntArray,
    usual: float,
    least: Array,
) -> Iterator[Try]:
    """Follow the solution of frame `own` over the frames `which`; yield parts of it."""
    raw = course.raw
    residual = recording.residuals(raw.q[which], which)
    bounds = residual, raw.cost[which], NEAR, LOSS * usual
    strand = follow_branch(recording, options, which, raw.q[own], *bounds)
    n = len(strand.q)
    which, residual = which[:n], residual[:n]
    least[which] = np.minimum(least[which], strand.cost)
    away = recording.residuals(strand.q, which) - residual
    meets = float(np.nanmax(np.linalg.norm(away[-1], axis=1))) < NEAR
    if meets and n == 1:
        return  # one of the two solutions ends here: there is no other place
    same = nearest_equivalents(recording, strand.q, raw.q[which])
    turn = recording.skeleton.difference(same, raw.q[which])
    total = np.cumsum(strand.cost - raw.cost[which]) + charges(away, turn, usual)
    ends = {n} if meets else set()
    edges = [0, *(round(s * recording.rate) for s in PLACES), n]
    for low, high in pairwise(edges):
        part = total[low : min(high, n)]
        if len(part) > 0:
            ends.add(low + int(np.argmin(part)) + 1)
    for end in sorted(ends):
        order = np.argsort(which[:end])
        yield Try(int(which[:end].min()), FrameSolutions(strand.q[order], strand.outcomes[order]))


def _take(
    recording: TrackingProblem,
    options: Array,
    course: Course,
    postures: Postures,
    curvature: Array,
    tries: list[Try],
    least: float,
) -> None:
    """Bridge the most hopeful tries, each by itself, and take those that save most."""
    new = np.zeros(len(course.touched), dtype=bool)
    spans = [_span(recording, course, each) for each in tries]
    # Even if its bridges were for nothing, a try must cost less than what there is.
    now = np.array([course.bridged.cost[a:b].sum() for a, b in spans])
    hope = now.copy()
    for k, (each, (a, b)) in enumerate(zip(tries, spans, strict=True)):
        own = slice(each.first, each.first + len(each.path.q))
        hope[k] -= course.raw.cost[a:b].sum() + (each.path.cost - course.raw.cost[own]).sum()
    kept = _most_hopeful(hope, spans, least, round(EFFORT * len(new)))
    if len(kept) == 0:
        return
    tries, spans, now = [tries[k] for k in kept], [spans[k] for k in kept], now[kept]
    starts = np.cumsum([0, *(b - a for a, b in spans)])
    which = np.concatenate([np.arange(a, b) for a, b in spans])
    piece = np.repeat(np.arange(len(tries)), np.diff(starts))
    raw = FrameSolutions(course.raw.q[which], course.raw.outcomes[which])
    bridged = FrameSolutions(course.bridged.q[which], course.bridged.outcomes[which])
    touched = course.touched[which]
    for each, (a, _), start, end in zip(tries, spans, starts[:-1], starts[1:], strict=True):
        first = start + each.first - a
        own = slice(first, first + len(each.path.q))
        raw.q[own], raw.outcomes[own] = each.path
        # Bridges beyond it stay as they are.
        for low, high in find_segments(touched[start:end]):
            if start + low <= own.stop and start + high >= own.start - 1:
                touched[start + low : start + high + 1] = False
        fresh = start + np.flatnonzero(~touched[start:end])
        bridged.q[fresh], bridged.outcomes[fresh] = raw.q[fresh], raw.outcomes[fresh]
        for path in (raw, bridged):
            _unwound(recording, path.q[start:end])
    rows = Pieces(bridged, which, piece, touched)
    left = bridge(recording, options, rows, postures, curvature, now - least)
    saved = now - np.add.reduceat(rows.path.cost, starts[:-1])
    saved[piece[left]] = -np.inf
    for k in np.argsort(-saved, kind="stable"):
        (a, b), own = spans[k], slice(starts[k], starts[k + 1])
        if saved[k] < least or new[a:b].any():
            continue
        new[a:b] = True
        for old, other in ((course.raw, raw), (course.bridged, rows.path)):
            old.q[a:b], old.outcomes[a:b] = other.q[own], other.outcomes[own]
        course.touched[a:b] = rows.touched[own]


def _most_hopeful(
    hope: Array, spans: list[tuple[int, int]], least: float, frames: int
) -> list[int]:
    """Return the tries that may save most, in order, as many as have so many frames in sum."""
    kept, sum_ = [], 0
    for k in np.argsort(-hope, kind="stable"):
        sum_ += spans[k][1] - spans[k][0]
        if hope[k] <= least or sum_ > frames:
            break
        kept.append(int(k))
    return sorted(kept)


def _span(recording: TrackingProblem, course: Course, each: Try) -> tuple[int, int]:
    """Return the frames around a try, the last excluded, that begin and end outside of bridges."""
    margin, count = round(MARGIN * recording.rate), len(course.touched)
    a, b = max(each.first - margin, 0), min(each.first + len(each.path.q) + margin, count)
    still = np.flatnonzero(~course.touched)
    before, after = still[still <= a], still[still >= b - 1]
    return (int(before[-1]) if len(before) > 0 else 0), (
        int(after[0]) + 1 if len(after) > 0 else count
    )
