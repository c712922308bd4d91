"""Pairs of markers that may have exchanged their names, each with what was found out about it.

The paths of the markers alone raise suspicions (`exactik.model.motion.find_swaps`). The pose raises
its own: two markers are far from their places on the figure, and each is near that of the other. A
pose can also follow a swap, as a wrist turns over when its two markers are exchanged; then errors
at the solved pose say little. So every suspicion is tried: some of its frames are solved again with
the names exchanged, and what decides is whether all markers together then fit better. A swap that
the solve itself put right is listed as well.

Those are likely too that are seen in the paths, and nearer to the usual distances from the markers
around if exchanged (`fits_better_exchanged`, by which a robust solve exchanges them back).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from exactik.model.motion import Swap, choose_even_frames, find_segments, find_swaps
from exactik.recordings.diagnosis._finding import Finding
from exactik.recordings.diagnosis._words import CLEARLY_NEARER
from exactik.recordings.tracking import TrackingProblem, fits_better_exchanged, solve_frames
from exactik.solvers import Auto
from exactik.typing import Array, BoolArray, IntArray

if TYPE_CHECKING:
    from exactik.recordings.tracking import Track

# A marker may be another one if it is so far off [m], and so many times its usual error.
MIN_ERROR_M = 0.010
MIN_ERROR_RATIO = 2.5
MAX_PAIR_DISTANCE_M = 0.25  # that the places of two markers must once come near to each other
PAIR_FRAMES = 200  # by which that is judged
MIN_FRAMES = 3  # of a suspicion
JOIN_FRAMES = 4  # between two parts of one suspicion
FRAMES_SOLVED_AGAIN = 5  # of each suspicion
# Sum of squares with the names exchanged, over that before, below and above which it is decided.
LIKELY_SQUARES_RATIO = 0.8
UNLIKELY_SQUARES_RATIO = 1.25
CLEAR_EXCHANGED_RATIO = 0.4  # share of the error of the two that is left where it plainly helps
MAX_EXAMINED = 200  # suspicions; more are a sign of something else
SOLVER = Auto(metric="dof", tolerance=1e-3, max_iterations=60, detour=False, escape=False)
FRAMES_MEASURED = 500  # of each suspicion, at most


class _Suspicion(NamedTuple):
    """Two markers in use that may be exchanged, by their columns."""

    first: int
    last: int
    one: int
    other: int
    found_by: str

    @property
    def pair(self) -> list[int]:
        return [self.one, self.other]

    def overlaps(self, other: _Suspicion) -> bool:
        return self.first <= other.last and self.last >= other.first


def examine_swaps(track: Track) -> list[Finding]:
    """Return suspected swaps of the recording and of the pose, in order of time.

    Their names are those in the recording. Details: "found_by" is "paths", "pose" or "paths and
    pose"; "distance_mm" how far apart the two are; "error_mm" their mean distance from their
    places, "exchanged_mm" from each other's, None if that was not looked at; "squares_ratio" the
    sum of squares of all markers after solving again with the names exchanged, over that before,
    None if this was not tried; "verdict" is "likely", "unlikely", "undecided", or "repaired" if the
    solve took them exchanged.
    """
    by_pose = _suspect_by_pose(track)
    columns = {name: track.names.index(mine) for mine, name in track.recorded_names.items()}
    swaps = []
    for n, swap in enumerate(find_swaps(track.markers)):
        one, other = (columns.get(name) for name in swap.names)
        if one is None or other is None or n >= MAX_EXAMINED:
            found = _make_finding(track, swap.names, swap.first, swap.last, "paths")
            swaps.append(_with_details(found, distance_mm=1e3 * swap.distance))
            continue
        suspicion = _Suspicion(swap.first, swap.last, one, other, "paths")
        same = [s for s in by_pose if {*s.pair} == {one, other} and s.overlaps(suspicion)]
        by_pose = [s for s in by_pose if s not in same]
        if len(same) > 0:
            suspicion = suspicion._replace(found_by="paths and pose")
        swaps.append(_examine_path(track, suspicion))
    listed = [(swap.names, swap.first) for swap in swaps]
    for done in track.swaps:  # by the pose alone
        names = tuple(track.recorded_names[name] for name in done.names)
        if not any({*pair} == {*names} and done.first <= at <= done.last for pair, at in listed):
            one, other = (track.names.index(name) for name in done.names)
            swaps.append(_examine(track, _Suspicion(done.first, done.last, one, other, "pose")))
    examined = [_examine(track, suspicion) for suspicion in by_pose[:MAX_EXAMINED]]
    swaps += [swap for swap in examined if swap.details["verdict"] == "likely"]
    return sorted(swaps, key=lambda swap: (swap.first, swap.names))


def _examine_path(track: Track, suspicion: _Suspicion) -> Finding:
    """Return a suspicion that the paths raise."""
    found = _examine(track, suspicion)
    if (
        found.details["verdict"] in ("unlikely", "undecided")
        and suspicion.last == len(track) - 1
        and suspicion.first > 0
    ):
        # After a single exchange it may be the names before it that are wrong.
        earlier = suspicion._replace(first=0, last=suspicion.first - 1)
        before = _examine(track, earlier)
        found = before if before.details["verdict"] == "likely" else found
    if found.details["verdict"] == "repaired":
        return found
    names = (track.names[suspicion.one], track.names[suspicion.other])
    swap = Swap(names=names, first=suspicion.first, last=suspicion.last, distance=0.0)
    if not fits_better_exchanged(track.problem, track.solved_positions, swap, track.options):
        return found
    found = _with_details(found, verdict="likely")
    if 0 < suspicion.first < suspicion.last - suspicion.first and found.last == len(track) - 1:
        # After a single exchange the names before it or those after it are wrong: the fewer.
        return replace(found, frames=(0, suspicion.first - 1))
    return found


def measure_exchange(measured: Array, places: Array) -> tuple[float, float]:
    """Return the mean distance of two markers from their places [m], and from each other's.

    Args:
        measured: where they were recorded [m], (n, 2, 3), not a number where missing.
        places: where the figure has them [m], (n, 2, 3).
    """
    own = np.linalg.norm(measured - places, axis=2)
    others = np.linalg.norm(measured - places[:, ::-1], axis=2)
    return float(np.nanmean(own)), float(np.nanmean(others))


def _make_finding(
    track: Track, names: tuple[str, str], first: int, last: int, found_by: str
) -> Finding:
    """Return a suspicion of which nothing else is known yet."""
    return Finding(
        kind="swap",
        severity="look",
        value=float(last - first + 1),
        unit="frames",
        frames=(first, last),
        names=names,
        details={
            "distance_mm": 0.0,
            "error_mm": None,
            "exchanged_mm": None,
            "squares_ratio": None,
            "found_by": found_by,
            "verdict": "undecided",
        },
    )


def _with_details(found: Finding, **details: Any) -> Finding:
    return replace(found, details={**found.details, **details})


def _place_markers(track: Track, frames: IntArray) -> Array:
    """Return where the markers in use are on the figure in these frames [m, world], (n, M, 3)."""
    problem, nowhere = track.problem.select(frames), np.zeros((len(frames), len(track.names), 3))
    return -problem.with_targets(position=nowhere).residuals(np.array(track.motion.q[frames]))


def _suspect_by_pose(track: Track) -> list[_Suspicion]:
    """Return stretches in which two markers are nearer to each other's places, best first."""
    errors = track.marker_errors
    seen = np.isfinite(errors)
    if not seen.any():
        return []
    # Markers that are exchanged from the first frame to the last have large errors as a habit.
    common = float(np.median(errors[seen]))
    usual = [np.median(e[s]) if s.any() else 0.0 for e, s in zip(errors.T, seen.T, strict=True)]
    usual = np.minimum(usual, common)
    off = np.nan_to_num(errors) > np.maximum(MIN_ERROR_M, MIN_ERROR_RATIO * usual)
    rows = np.flatnonzero(off.sum(axis=1) > 1)
    if len(rows) < MIN_FRAMES:
        return []
    places, recorded = _place_markers(track, rows), track.solved_positions[rows]
    candidates: list[tuple[float, _Suspicion]] = []
    for one, other in _find_near_pairs(track, off):
        both = np.flatnonzero(off[rows, one] & off[rows, other])
        named = errors[rows[both], one] + errors[rows[both], other]
        crossed = np.linalg.norm(recorded[both, one] - places[both, other], axis=1)
        crossed += np.linalg.norm(recorded[both, other] - places[both, one], axis=1)
        gain = np.zeros(len(track))
        gain[rows[both]] = np.where(crossed < CLEARLY_NEARER * named, named - crossed, 0.0)
        for first, last in find_segments(gain > MIN_ERROR_M, join=JOIN_FRAMES):
            if last - first + 1 >= MIN_FRAMES:
                total = float(gain[first : last + 1].sum())
                candidates.append((total, _Suspicion(first, last, one, other, "pose")))
    candidates.sort(key=lambda candidate: -candidate[0])
    # A marker is taken for one other at a time: that which explains most.
    kept: list[_Suspicion] = []
    for _, new in candidates:
        if not any({*new.pair} & {*s.pair} for s in kept if s.overlaps(new)):
            kept.append(new)
    return kept


def _find_near_pairs(track: Track, off: BoolArray) -> list[tuple[int, int]]:
    """Return pairs of markers that are off together and whose places come near to each other."""
    together = np.triu(off.astype(np.float32).T @ off.astype(np.float32), 1) >= MIN_FRAMES
    places = _place_markers(track, choose_even_frames(len(track), PAIR_FRAMES))
    pairs = []
    for one, other in np.argwhere(together):
        apart = np.linalg.norm(places[:, one] - places[:, other], axis=1)
        if apart.min() < MAX_PAIR_DISTANCE_M:
            pairs.append((int(one), int(other)))
    return pairs


def _examine(track: Track, what: _Suspicion) -> Finding:
    """Return a suspicion with what came of it."""
    one, other = (track.recorded_names[track.names[m]] for m in what.pair)
    found = _make_finding(track, (one, other), what.first, what.last, what.found_by)
    columns = [track.markers.names.index(name) for name in (one, other)]
    recorded = track.markers.positions[what.first : what.last + 1, columns]
    present = what.first + np.flatnonzero(np.isfinite(recorded).all(axis=(1, 2)))
    if len(present) == 0:
        return found
    frames = present[choose_even_frames(len(present), FRAMES_MEASURED)]
    places, recorded = _place_markers(track, frames)[:, what.pair], recorded[frames - what.first]
    error, exchanged = measure_exchange(recorded, places)
    apart = float(np.median(np.linalg.norm(places[:, 0] - places[:, 1], axis=1)))
    found = _with_details(
        found, distance_mm=1e3 * apart, error_mm=1e3 * error, exchanged_mm=1e3 * exchanged
    )
    solved = track.solved_positions[frames][:, what.pair[::-1]]
    if (solved == recorded).all(axis=(1, 2)).mean() > 0.5:
        return _with_details(found, verdict="repaired")
    ratio = _compute_squares_ratio(track, what, present)
    # Outliers elsewhere can hide what the two gain; where they plainly do, that decides.
    is_plain = exchanged < CLEAR_EXCHANGED_RATIO * error and ratio <= 1.0
    if ratio > UNLIKELY_SQUARES_RATIO:
        return _with_details(found, squares_ratio=ratio, verdict="unlikely")
    is_likely = ratio < LIKELY_SQUARES_RATIO or is_plain
    return _with_details(found, squares_ratio=ratio, verdict="likely" if is_likely else "undecided")


def _compute_squares_ratio(track: Track, what: _Suspicion, present: IntArray) -> float:
    """Return by how much the squares of all markers change if frames are solved with both swapped.

    The median over some frames. Each is solved from its own pose, and from those before and after
    the stretch, which the swap has not touched; with the old names likewise, as its pose need not
    be the best.
    """
    frames = present[choose_even_frames(len(present), FRAMES_SOLVED_AGAIN)]
    problem = track.problem.select(frames)
    position = problem.targets.position.copy()
    position[:, what.pair] = position[:, what.pair[::-1]]
    before = np.nansum(track.marker_errors[frames] ** 2, axis=1)
    outside = [max(what.first - 1, 0), min(what.last + 1, len(track) - 1)]
    starts = [track.motion.q[frames]]
    starts += [np.repeat(track.motion.q[t : t + 1], len(frames), axis=0) for t in outside]
    named = np.minimum(before, _least_squares_sum(problem, starts))
    exchanged = _least_squares_sum(problem.with_targets(position=position), starts)
    return float(np.median(exchanged / np.maximum(named, 1e-12)))


def _least_squares_sum(problem: TrackingProblem, starts: list[Array]) -> Array:
    """Return the least sum of squares of all markers [m²] that each frame comes to, (n,)."""
    options, frames = SOLVER.options(problem.frame_problem), np.arange(len(problem))
    sums = []
    for start in starts:
        q = solve_frames(problem, options, frames, start).q
        sums.append(np.nansum(problem.residuals(q) ** 2, axis=(1, 2)))
    return np.min(sums, axis=0)
