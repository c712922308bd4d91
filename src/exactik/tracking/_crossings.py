"""Where a path changes from one solution to another, by what the change really costs.

While branches are compared a change has an estimated charge. Here every change is bridged, which
tells what it really costs. Where that is much, the solution before it is followed on beside the
path, and the one after it back, and changes at other frames are tried: earlier, later, or none at
all, where the two meet again. The most promising of these candidates are bridged, each by itself;
what costs least in sum is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from exactik.motion import find_segments
from exactik.tracking._branches import compute_jump_charges
from exactik.tracking._bridges import Bridge, PathPieces, find_jumps
from exactik.tracking._frame_solver import (
    FrameSolutions,
    TrackingRun,
    find_nearest_equivalents,
    follow_branch,
    run_in_threads,
    unwrap_path,
)
from exactik.tracking._gaps import FramePostures
from exactik.typing import Array, BoolArray, IntArray

__all__ = ["bridge_jumps"]


def bridge_jumps(
    run: TrackingRun,
    path: FrameSolutions,
    postures: FramePostures,
    curvature: Array,
    least_cost: Array,
) -> BoolArray:
    """Spread every jump of a path over some frames; return the frames that cost more for it, (T,).

    Args:
        run: problem and options.
        path: changed in place.
        postures: that frames are pulled to anyway.
        curvature: of each dof, (nv,), as a measure of pulls.
        least_cost: of the best solution that was found for each frame, (T,); lowered in place.
    """
    count, options = len(path.q), run.options.crossings
    np.minimum(least_cost, path.cost, out=least_cost)
    raised = np.zeros(count, dtype=bool)

    def bridge_chunk(first: int) -> None:
        end = min(first + options.chunk_frames, count)
        rows = slice(first, end)
        chunk = replace(run, problem=run.problem.select(np.arange(first, end)))
        bridge = Bridge(chunk, postures.between(first, end), curvature)
        raised[rows] = _bridge_chunk(bridge, path.take(rows), least_cost[rows])

    run_in_threads(run.threads, bridge_chunk, range(0, count, options.chunk_frames))
    unwrap_path(run.problem, path.q)
    cost_before, bridged = path.cost.copy(), np.zeros(count, dtype=bool)
    # What still jumps where chunks meet.
    Bridge(run, postures, curvature).apply(PathPieces.single(path, bridged))
    return raised | (bridged & (path.cost > options.raised_cost * cost_before))


class CrossedPath(NamedTuple):
    """A path with its jumps, and the same with bridges over them.

    Attributes:
        raw: with jumps.
        smooth: with bridges.
        bridged: frames that are part of a bridge, (T,).
    """

    raw: FrameSolutions
    smooth: FrameSolutions
    bridged: BoolArray


class Candidate(NamedTuple):
    """Other solutions for the frames from `first` on."""

    first: int
    solutions: FrameSolutions

    @property
    def end(self) -> int:
        """The frame after the last."""
        return self.first + len(self.solutions.q)


def _bridge_chunk(bridge: Bridge, path: FrameSolutions, least_cost: Array) -> BoolArray:
    """Do what `bridge_jumps` does for the frames of one chunk."""
    options = bridge.run.options.crossings
    crossed = CrossedPath(raw=path.copy(), smooth=path, bridged=np.zeros(len(path.q), dtype=bool))
    all_frames = PathPieces.single(path, crossed.bridged)
    bridge.apply(all_frames)
    usual_cost = float(np.median(crossed.raw.cost))
    candidates = list(_find_candidates(bridge, crossed, usual_cost, least_cost))
    _take_best_candidates(bridge, crossed, candidates, options.min_saving * usual_cost)
    unwrap_path(bridge.run.problem, path.q)
    bridge.apply(all_frames)  # seams of candidates may leave a jump
    return crossed.bridged & (path.cost > options.raised_cost * crossed.raw.cost)


def _find_candidates(
    bridge: Bridge, crossed: CrossedPath, usual_cost: float, least_cost: Array
) -> Iterator[Candidate]:
    """Yield other places for changes of solution whose bridges cost much."""
    problem, options = bridge.run.problem, bridge.run.options.crossings
    count = len(crossed.raw.q)
    margin = round(bridge.run.options.bridges.margin_seconds * problem.rate)
    longest = round(options.max_seconds * problem.rate)
    extra_cost = np.concatenate([[0.0], np.cumsum(crossed.smooth.cost - crossed.raw.cost)])
    # Frames that go by their course; a branch is not followed into them.
    on_course = np.concatenate([[-1], bridge.postures.frames, [count]])
    for t in find_jumps(problem, crossed.raw.q, options=bridge.run.options.jumps):
        low, high = max(t - margin, 0), min(t + 1 + margin, count)
        bridge_cost = extra_cost[high] - extra_cost[low]
        if not bridge_cost > options.min_cost_to_refine * usual_cost:
            continue
        if t in on_course or t + 1 in on_course:
            continue
        stop = int(on_course[np.searchsorted(on_course, t)])
        start = int(on_course[np.searchsorted(on_course, t) - 1])
        forwards = np.arange(t + 1, min(t + 1 + longest, stop))
        backwards = np.arange(t, max(t - longest, start), -1)
        for source, frames in ((t, forwards), (t + 1, backwards)):
            if len(frames) > 0:
                yield from _follow_candidates(
                    bridge.run, crossed, source, frames, usual_cost, least_cost
                )


def _follow_candidates(
    run: TrackingRun,
    crossed: CrossedPath,
    source: int,
    frames: IntArray,
    usual_cost: float,
    least_cost: Array,
) -> Iterator[Candidate]:
    """Follow the solution of frame `source` over other frames; yield parts of it."""
    problem, raw, options = run.problem, crossed.raw, run.options.crossings
    same_distance = run.options.branches.same_solution_distance
    residual = problem.residuals(raw.q[frames], frames)
    branch = follow_branch(
        problem,
        run.warm_start,
        frames,
        raw.q[source],
        path_residual=residual,
        path_cost=raw.cost[frames],
        same_distance=same_distance,
        max_loss=options.max_extra_cost * usual_cost,
    )
    count = len(branch.q)
    frames, residual = frames[:count], residual[:count]
    least_cost[frames] = np.minimum(least_cost[frames], branch.cost)
    residual_step = problem.residuals(branch.q, frames) - residual
    meets = float(np.nanmax(np.linalg.norm(residual_step[-1], axis=1))) < same_distance
    if meets and count == 1:
        return  # one of the two solutions ends here: no other frame to change at
    nearest = find_nearest_equivalents(problem, branch.q, raw.q[frames])
    dof_step = problem.skeleton.difference(nearest, raw.q[frames])
    total = np.cumsum(branch.cost - raw.cost[frames]) + compute_jump_charges(
        residual_step, dof_step, usual_cost, run.options.branches
    )
    ends = {count} if meets else set()
    bounds = [round(seconds * problem.rate) for seconds in options.window_bounds_seconds]
    for low, high in pairwise([0, *bounds, count]):
        window = total[low : min(high, count)]
        if len(window) > 0:
            ends.add(low + int(np.argmin(window)) + 1)
    for end in sorted(ends):
        order = np.argsort(frames[:end])
        yield Candidate(first=int(frames[:end].min()), solutions=branch.take(order))


def _take_best_candidates(
    bridge: Bridge, crossed: CrossedPath, candidates: list[Candidate], min_saving: float
) -> None:
    """Bridge the most promising candidates, each by itself, and take those that save most."""
    run, count = bridge.run, len(crossed.bridged)
    spans = [_find_span(run, crossed, candidate) for candidate in candidates]
    cost_now = np.array([crossed.smooth.cost[a:b].sum() for a, b in spans])
    # What a candidate could save if its bridges cost nothing.
    possible = cost_now.copy()
    for k, (candidate, (a, b)) in enumerate(zip(candidates, spans, strict=True)):
        replaced = crossed.raw.cost[candidate.first : candidate.end]
        change = (candidate.solutions.cost - replaced).sum()
        possible[k] -= crossed.raw.cost[a:b].sum() + change
    max_frames = round(run.options.crossings.candidate_effort * count)
    promising = _select_most_promising(possible, spans, min_saving, max_frames)
    if len(promising) == 0:
        return
    candidates, spans = [candidates[k] for k in promising], [spans[k] for k in promising]
    cost_now = cost_now[promising]
    starts = np.cumsum([0, *(b - a for a, b in spans)])
    raw, pieces = _lay_out_candidates(run, crossed, candidates, spans, starts)
    unbridged = bridge.apply(pieces, cost_now - min_saving)
    saved = cost_now - np.add.reduceat(pieces.solutions.cost, starts[:-1])
    saved[pieces.piece[unbridged]] = -np.inf
    taken = np.zeros(count, dtype=bool)
    for k in np.argsort(-saved, kind="stable"):
        (a, b), rows = spans[k], slice(starts[k], starts[k + 1])
        if saved[k] < min_saving or taken[a:b].any():
            continue
        taken[a:b] = True
        crossed.raw.put(slice(a, b), raw.take(rows))
        crossed.smooth.put(slice(a, b), pieces.solutions.take(rows))
        crossed.bridged[a:b] = pieces.bridged[rows]


def _lay_out_candidates(
    run: TrackingRun,
    crossed: CrossedPath,
    candidates: list[Candidate],
    spans: list[tuple[int, int]],
    starts: IntArray,
) -> tuple[FrameSolutions, PathPieces]:
    """Return the spans of candidates one behind the other, with jumps and with known bridges."""
    frames = np.concatenate([np.arange(a, b) for a, b in spans])
    piece = np.repeat(np.arange(len(candidates)), np.diff(starts))
    raw, smooth = crossed.raw.take(frames), crossed.smooth.take(frames)
    bridged = crossed.bridged[frames]
    for candidate, (a, _), start, end in zip(
        candidates, spans, starts[:-1], starts[1:], strict=True
    ):
        first = start + candidate.first - a
        stop = first + len(candidate.solutions.q)
        raw.put(slice(first, stop), candidate.solutions)
        # Bridges beyond it stay as they are.
        for low, high in find_segments(bridged[start:end]):
            if start + low <= stop and start + high >= first - 1:
                bridged[start + low : start + high + 1] = False
        rows = start + np.flatnonzero(~bridged[start:end])
        smooth.put(rows, raw.take(rows))
        for solutions in (raw, smooth):
            unwrap_path(run.problem, solutions.q[start:end])
    return raw, PathPieces(solutions=smooth, frames=frames, piece=piece, bridged=bridged)


def _select_most_promising(
    possible: Array, spans: list[tuple[int, int]], min_saving: float, max_frames: int
) -> list[int]:
    """Return which candidates may save most, in order, with at most `max_frames` in sum."""
    promising, frame_count = [], 0
    for k in np.argsort(-possible, kind="stable"):
        frame_count += spans[k][1] - spans[k][0]
        if possible[k] <= min_saving or frame_count > max_frames:
            break
        promising.append(int(k))
    return sorted(promising)


def _find_span(run: TrackingRun, crossed: CrossedPath, candidate: Candidate) -> tuple[int, int]:
    """Return the frames around a candidate, the last excluded, that end outside of bridges."""
    margin = round(run.options.bridges.margin_seconds * run.problem.rate)
    count = len(crossed.bridged)
    a, b = max(candidate.first - margin, 0), min(candidate.end + margin, count)
    free = np.flatnonzero(~crossed.bridged)
    before, after = free[free <= a], free[free >= b - 1]
    first = int(before[-1]) if len(before) > 0 else 0
    return first, int(after[0]) + 1 if len(after) > 0 else count
