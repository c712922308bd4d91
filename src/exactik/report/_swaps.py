"""Markers that exchanged their names, judged by the solved pose.

The paths of the markers alone raise suspicions (`exactik.motion.find_swaps`). The pose raises
its own: two markers are far from their places on the figure, and each is near that of the other.
A pose can also follow a swap, as a wrist turns over when its two markers are exchanged; then errors
at the solved pose say little. So every suspicion is tried: some of its frames are solved again with
the names exchanged, and the verdict is whether all markers together then fit better. A swap that
the solve itself put right is told as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from exactik.motion import find_segments, find_swaps
from exactik.solvers import Auto
from exactik.tracking import TrackingProblem, match_markers, solve_frames
from exactik.typing import Array, BoolArray, IntArray

if TYPE_CHECKING:
    from exactik.tracking import Track

__all__ = ["ExaminedSwap", "examine_swaps", "find_recorded_columns"]


MIN_ERROR_M, MIN_ERROR_RATIO = (
    0.010,
    2.5,
)  # [m] and times its usual error: a marker that may be another one
MAX_PAIR_DISTANCE_M = 0.25  # [m] that the places of two markers must once come near to each other
MAX_EXCHANGED_RATIO = 0.7  # share of the error that an exchange may leave
MIN_FRAMES, JOIN_FRAMES = 3, 4  # frames of a stretch, and between two parts of one
FRAMES_SOLVED_AGAIN = 5  # frames of each stretch that are solved again
LIKELY_SQUARES_RATIO, UNLIKELY_SQUARES_RATIO = (
    0.8,
    1.25,
)  # times the sum of squares, with the names exchanged
CLEAR_EXCHANGED_RATIO = (
    0.4  # share of the error of the two that an exchange leaves where it plainly helps
)
MAX_EXAMINED = 200  # suspicions that are tried; more are a sign of something else
SOLVER = Auto(tolerance=1e-3, max_iterations=60, detour=False, escape=False)


class ExaminedSwap(NamedTuple):
    """Two markers that may have exchanged their names.

    Attributes:
        names: of the two, as the recording has them.
        first: frame, counted from 0.
        last: frame.
        found_by: "paths", "pose" or "paths and pose".
        distance: how far apart the two are [m].
        error: mean distance of the two from their places [m]; None if this was not looked at.
        exchanged: the same to each other's places.
        ratio: sum of squares of all markers after solving again with the names exchanged, over that
            before; None if this was not tried.
        verdict: "likely", "unlikely" or "undecided"; "repaired" if the solve took them exchanged.
    """

    names: tuple[str, str]
    first: int
    last: int
    found_by: str
    distance: float
    error: float | None
    exchanged: float | None
    ratio: float | None
    verdict: str


class _Suspicion(NamedTuple):
    first: int
    last: int
    one: int
    other: int
    found_by: str


def examine_swaps(track: Track) -> list[ExaminedSwap]:
    """Return suspected swaps of the recording and of the pose, with a verdict, in order of time."""
    found = _suspect_by_pose(track)
    own = {name: track.names.index(mine) for name, mine in _match_used_markers(track).items()}
    judged = []
    for n, swap in enumerate(find_swaps(track.markers)):
        one, other = (own.get(name) for name in swap.names)
        if one is None or other is None or n >= MAX_EXAMINED:
            rest = (swap.distance, None, None, None, "undecided")
            judged.append(ExaminedSwap(swap.names, swap.first, swap.last, "paths", *rest))
            continue
        pair = {one, other}
        same = [s for s in found if {s.one, s.other} == pair and _overlaps(s, swap)]
        found = [s for s in found if s not in same]
        how = "paths and pose" if len(same) > 0 else "paths"
        best = _examine(track, _Suspicion(swap.first, swap.last, one, other, how))
        if (
            best.verdict in ("unlikely", "undecided")
            and swap.last == len(track) - 1
            and swap.first > 0
        ):
            # After a single exchange it may be the names before it that are wrong.
            before = _examine(track, _Suspicion(0, swap.first - 1, one, other, how))
            best = before if before.verdict == "likely" else best
        judged.append(best)
    judged += [_examine(track, suspicion) for suspicion in found[:MAX_EXAMINED]]
    judged = [s for s in judged if s.found_by != "pose" or s.verdict == "likely"]
    return sorted(judged, key=lambda s: (s.first, s.names))


def _place_markers(track: Track, which: IntArray) -> Array:
    """Return where the markers in use are on the figure in these frames [m, world], (n, M, 3)."""
    skeleton, point = track.skeleton, track.problem.targets.point
    bones = [skeleton.bone_index(skeleton.marker(name)[0]) for name in track.names]
    out = np.empty((len(which), len(bones), 3))
    for at in range(0, len(which), 4096):
        own = which[at : at + 4096]
        pose = skeleton.forward(track.motion.q[own])
        points = np.broadcast_to(
            point if len(point) == 1 else point[own], (len(own), len(bones), 3)
        )
        turned = np.einsum("tmij,tmj->tmi", pose.rotations[:, bones], points)
        out[at : at + 4096] = pose.positions[:, bones] + turned
    return out


def find_recorded_columns(track: Track) -> list[int]:
    """Return where the markers in use are in the recording, (M,)."""
    back = {mine: name for name, mine in _match_used_markers(track).items()}
    return [track.markers.names.index(back[name]) for name in track.names]


def _match_used_markers(track: Track) -> dict[str, str]:
    """Return recorded name → own name of the markers in use."""
    names = match_markers(track.skeleton, track.markers)
    return {name: mine for name, mine in names.items() if mine in track.names}


def _overlaps(one: _Suspicion, swap: tuple[object, int, int, float]) -> bool:
    return one.first <= swap[2] and one.last >= swap[1]


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
    off[track.bridged] = False  # no solutions, but on the way from one to another
    rows = np.flatnonzero(off.sum(axis=1) > 1)
    if len(rows) < MIN_FRAMES:
        return []
    places, recorded = _place_markers(track, rows), track.problem.targets.position[rows]
    found: list[tuple[float, _Suspicion]] = []
    for one, other in _find_near_pairs(track, off):
        both = np.flatnonzero(off[rows, one] & off[rows, other])
        own = errors[rows[both], one] + errors[rows[both], other]
        crossed = np.linalg.norm(recorded[both, one] - places[both, other], axis=1)
        crossed += np.linalg.norm(recorded[both, other] - places[both, one], axis=1)
        gain = np.zeros(len(track))
        gain[rows[both]] = np.where(crossed < MAX_EXCHANGED_RATIO * own, own - crossed, 0.0)
        for first, last in find_segments(gain > MIN_ERROR_M, join=JOIN_FRAMES):
            if last - first + 1 >= MIN_FRAMES:
                total = float(gain[first : last + 1].sum())
                found.append((total, _Suspicion(first, last, one, other, "pose")))
    found.sort(key=lambda each: -each[0])
    # A marker is taken for one other at a time: that which explains most.
    kept: list[_Suspicion] = []
    for _, new in found:
        pair = {new.one, new.other}
        rivals = (s for s in kept if s.first <= new.last and s.last >= new.first)
        if not any(pair & {s.one, s.other} for s in rivals):
            kept.append(new)
    return kept


def _find_near_pairs(track: Track, off: BoolArray) -> list[tuple[int, int]]:
    """Return pairs of markers that are off together and whose places come near to each other."""
    together = np.triu(off.astype(np.float32).T @ off.astype(np.float32), 1) >= MIN_FRAMES
    some = np.unique(np.linspace(0, len(track) - 1, min(len(track), 200)).astype(np.int64))
    places = _place_markers(track, some)
    pairs = []
    for one, other in np.argwhere(together):
        apart = np.linalg.norm(places[:, one] - places[:, other], axis=1)
        if apart.min() < MAX_PAIR_DISTANCE_M:
            pairs.append((int(one), int(other)))
    return pairs


def _examine(track: Track, what: _Suspicion) -> ExaminedSwap:
    pair, crossed = [what.one, what.other], [what.other, what.one]
    back = {mine: name for name, mine in _match_used_markers(track).items()}
    names = back[track.names[what.one]], back[track.names[what.other]]
    index = [track.markers.names.index(name) for name in names]
    recorded = track.markers.positions[what.first : what.last + 1, index]
    there = what.first + np.flatnonzero(np.isfinite(recorded).all(axis=(1, 2)))
    head = (names, what.first, what.last, what.found_by)
    if len(there) == 0:
        return ExaminedSwap(*head, 0.0, None, None, None, "undecided")
    some = there[np.unique(np.linspace(0, len(there) - 1, min(len(there), 500)).astype(np.int64))]
    places, recorded = _place_markers(track, some), recorded[some - what.first]
    own = float(np.linalg.norm(recorded - places[:, pair], axis=2).mean())
    cross = float(np.linalg.norm(recorded - places[:, crossed], axis=2).mean())
    apart = float(np.median(np.linalg.norm(places[:, what.one] - places[:, what.other], axis=1)))
    solved = track.problem.targets.position[some][:, crossed]
    if (solved == recorded).all(axis=(1, 2)).mean() > 0.5:
        return ExaminedSwap(*head, apart, own, cross, None, "repaired")
    ratio = _compute_squares_ratio(track, what, there)
    # Outliers elsewhere can hide what the two gain; where they plainly do, that decides.
    plain = cross < CLEAR_EXCHANGED_RATIO * own and ratio <= 1.0
    likely = "likely" if ratio < LIKELY_SQUARES_RATIO or plain else "undecided"
    return ExaminedSwap(
        *head, apart, own, cross, ratio, "unlikely" if ratio > UNLIKELY_SQUARES_RATIO else likely
    )


def _compute_squares_ratio(track: Track, what: _Suspicion, there: IntArray) -> float:
    """Return by how much the squares of all markers change if frames are solved with both swapped.

    The median over some frames. Each is solved from its own pose, and from those before and after
    the stretch, which the swap has not touched; with the old names likewise, as its pose need not
    be the best.
    """
    which = there[
        np.unique(np.linspace(0, len(there) - 1, min(len(there), FRAMES_SOLVED_AGAIN)).astype(int))
    ]
    recording = track.problem.select(which)
    place = recording.targets.position.copy()
    place[:, [what.one, what.other]] = place[:, [what.other, what.one]]
    before = np.nansum(track.marker_errors[which] ** 2, axis=1)
    outside = [max(what.first - 1, 0), min(what.last + 1, len(track) - 1)]
    starts = [track.motion.q[which]]
    starts += [np.repeat(track.motion.q[t : t + 1], len(which), axis=0) for t in outside]
    named = np.minimum(before, _least_squares_sum(recording, starts))
    exchanged = _least_squares_sum(recording.with_targets(position=place), starts)
    return float(np.median(exchanged / np.maximum(named, 1e-12)))


def _least_squares_sum(recording: TrackingProblem, starts: list[Array]) -> Array:
    """Return the least sum of squares of all markers [m²] that each frame comes to, (n,)."""
    options, every = SOLVER.options(recording.frame_problem), np.arange(len(recording))
    sums = []
    for start in starts:
        q = solve_frames(recording, options, every, start).q
        sums.append(np.nansum(recording.residuals(q) ** 2, axis=(1, 2)))
    return np.min(sums, axis=0)
