"""Markers that are suspected, judged by the solved pose: exchanged names, and markers far off.

The paths of the markers alone raise suspicions (`exactik.motion.find_swaps`). The pose raises its
own: two markers are far from their places on the figure, and each is near that of the other. A pose
can also follow a swap, as a wrist turns over when its two markers are exchanged; then errors at the
solved pose say little. So every suspicion is tried: some of its frames are solved again with the
names exchanged, and the verdict is whether all markers together then fit better. A swap that the
solve itself put right is reported as well.

Markers far from the figure for a while, which no swap explains, are reflections, lost or wrongly
named ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from exactik.motion import Swap, choose_even_frames, find_segments, find_swaps
from exactik.solvers import Auto
from exactik.tracking import TrackingProblem, match_markers, solve_frames
from exactik.typing import Array, BoolArray, IntArray

if TYPE_CHECKING:
    from exactik.tracking import Track

__all__ = [
    "ExaminedSwap",
    "FarMarker",
    "examine_swaps",
    "find_far_markers",
    "find_recorded_columns",
]

# Swaps. A marker may be another one if it is so far off [m], and so many times its usual error.
MIN_ERROR_M = 0.010
MIN_ERROR_RATIO = 2.5
MAX_PAIR_DISTANCE_M = 0.25  # that the places of two markers must once come near to each other
MAX_EXCHANGED_RATIO = 0.7  # share of the error that an exchange may leave
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
CHUNK_FRAMES = 4096  # whose poses are computed together, to bound memory

# Markers far off: by so much [m], so many times their usual error, and so many times what 95 % of
# all markers keep within.
FAR_ERROR_M = 0.02
FAR_ERROR_RATIO = 5.0
FAR_BEYOND_P95_RATIO = 1.5
MIN_FAR_FRAMES = 3
JOIN_FAR_FRAMES = 4  # between two parts of one
MAX_FAR_SHARE = 0.25  # of the markers: where more are far off it is the pose that is wrong


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
    by_pose = _suspect_by_pose(track)
    index = {name: track.names.index(mine) for name, mine in _match_used_markers(track).items()}
    swaps = []
    for n, swap in enumerate(find_swaps(track.markers)):
        one, other = (index.get(name) for name in swap.names)
        if one is None or other is None or n >= MAX_EXAMINED:
            swaps.append(
                ExaminedSwap(
                    names=swap.names,
                    first=swap.first,
                    last=swap.last,
                    found_by="paths",
                    distance=swap.distance,
                    error=None,
                    exchanged=None,
                    ratio=None,
                    verdict="undecided",
                )
            )
            continue
        pair = {one, other}
        same = [s for s in by_pose if {s.one, s.other} == pair and _overlaps(s, swap)]
        by_pose = [s for s in by_pose if s not in same]
        found_by = "paths and pose" if len(same) > 0 else "paths"
        examined = _examine(
            track,
            _Suspicion(first=swap.first, last=swap.last, one=one, other=other, found_by=found_by),
        )
        if (
            examined.verdict in ("unlikely", "undecided")
            and swap.last == len(track) - 1
            and swap.first > 0
        ):
            # After a single exchange it may be the names before it that are wrong.
            before = _examine(track, _Suspicion(0, swap.first - 1, one, other, found_by))
            examined = before if before.verdict == "likely" else examined
        swaps.append(examined)
    swaps += [_examine(track, suspicion) for suspicion in by_pose[:MAX_EXAMINED]]
    swaps = [s for s in swaps if s.found_by != "pose" or s.verdict == "likely"]
    return sorted(swaps, key=lambda s: (s.first, s.names))


def _place_markers(track: Track, which: IntArray) -> Array:
    """Return where the markers in use are on the figure in these frames [m, world], (n, M, 3)."""
    skeleton, point = track.skeleton, track.marker_points
    bones = [skeleton.bone_index(skeleton.marker(name)[0]) for name in track.names]
    places = np.empty((len(which), len(bones), 3))
    for begin in range(0, len(which), CHUNK_FRAMES):
        frames = which[begin : begin + CHUNK_FRAMES]
        pose = skeleton.forward(track.motion.q[frames])
        p_bone = np.broadcast_to(
            point if len(point) == 1 else point[frames], (len(frames), len(bones), 3)
        )
        turned = np.einsum("tmij,tmj->tmi", pose.rotations[:, bones], p_bone)
        places[begin : begin + CHUNK_FRAMES] = pose.positions[:, bones] + turned
    return places


def find_recorded_columns(track: Track) -> list[int]:
    """Return where the markers in use are in the recording, (M,)."""
    back = {mine: name for name, mine in _match_used_markers(track).items()}
    return [track.markers.names.index(back[name]) for name in track.names]


def _match_used_markers(track: Track) -> dict[str, str]:
    """Return recorded name → own name of the markers in use."""
    names = match_markers(track.skeleton, track.markers)
    return {name: mine for name, mine in names.items() if mine in track.names}


def _overlaps(suspicion: _Suspicion, swap: Swap) -> bool:
    return suspicion.first <= swap.last and suspicion.last >= swap.first


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
        gain[rows[both]] = np.where(crossed < MAX_EXCHANGED_RATIO * named, named - crossed, 0.0)
        for first, last in find_segments(gain > MIN_ERROR_M, join=JOIN_FRAMES):
            if last - first + 1 >= MIN_FRAMES:
                total = float(gain[first : last + 1].sum())
                candidates.append(
                    (
                        total,
                        _Suspicion(first=first, last=last, one=one, other=other, found_by="pose"),
                    )
                )
    candidates.sort(key=lambda candidate: -candidate[0])
    # A marker is taken for one other at a time: that which explains most.
    kept: list[_Suspicion] = []
    for _, new in candidates:
        pair = {new.one, new.other}
        rivals = (s for s in kept if s.first <= new.last and s.last >= new.first)
        if not any(pair & {s.one, s.other} for s in rivals):
            kept.append(new)
    return kept


def _find_near_pairs(track: Track, off: BoolArray) -> list[tuple[int, int]]:
    """Return pairs of markers that are off together and whose places come near to each other."""
    together = np.triu(off.astype(np.float32).T @ off.astype(np.float32), 1) >= MIN_FRAMES
    places = _place_markers(track, choose_even_frames(len(track), 200))
    pairs = []
    for one, other in np.argwhere(together):
        apart = np.linalg.norm(places[:, one] - places[:, other], axis=1)
        if apart.min() < MAX_PAIR_DISTANCE_M:
            pairs.append((int(one), int(other)))
    return pairs


def _examine(track: Track, what: _Suspicion) -> ExaminedSwap:
    """Return a suspicion with its verdict."""
    pair, crossed = [what.one, what.other], [what.other, what.one]
    recorded_names = {mine: name for name, mine in _match_used_markers(track).items()}
    names = recorded_names[track.names[what.one]], recorded_names[track.names[what.other]]
    swap = ExaminedSwap(
        names=names,
        first=what.first,
        last=what.last,
        found_by=what.found_by,
        distance=0.0,
        error=None,
        exchanged=None,
        ratio=None,
        verdict="undecided",
    )
    columns = [track.markers.names.index(name) for name in names]
    recorded = track.markers.positions[what.first : what.last + 1, columns]
    present = what.first + np.flatnonzero(np.isfinite(recorded).all(axis=(1, 2)))
    if len(present) == 0:
        return swap
    frames = _spread_out(present, FRAMES_MEASURED)
    places, recorded = _place_markers(track, frames), recorded[frames - what.first]
    error = float(np.linalg.norm(recorded - places[:, pair], axis=2).mean())
    exchanged = float(np.linalg.norm(recorded - places[:, crossed], axis=2).mean())
    distances = np.linalg.norm(places[:, what.one] - places[:, what.other], axis=1)
    swap = swap._replace(distance=float(np.median(distances)), error=error, exchanged=exchanged)
    solved = track.solved_positions[frames][:, crossed]
    if (solved == recorded).all(axis=(1, 2)).mean() > 0.5:
        return swap._replace(verdict="repaired")
    ratio = _compute_squares_ratio(track, what, present)
    # Outliers elsewhere can hide what the two gain; where they plainly do, that decides.
    plain = exchanged < CLEAR_EXCHANGED_RATIO * error and ratio <= 1.0
    if ratio > UNLIKELY_SQUARES_RATIO:
        return swap._replace(ratio=ratio, verdict="unlikely")
    likely = ratio < LIKELY_SQUARES_RATIO or plain
    return swap._replace(ratio=ratio, verdict="likely" if likely else "undecided")


def _spread_out(frames: IntArray, count: int) -> IntArray:
    """Return some of these frames, evenly, at most so many."""
    return frames[choose_even_frames(len(frames), count)]


def _compute_squares_ratio(track: Track, what: _Suspicion, present: IntArray) -> float:
    """Return by how much the squares of all markers change if frames are solved with both swapped.

    The median over some frames. Each is solved from its own pose, and from those before and after
    the stretch, which the swap has not touched; with the old names likewise, as its pose need not
    be the best.
    """
    frames = _spread_out(present, FRAMES_SOLVED_AGAIN)
    problem = track.problem.select(frames)
    position = problem.targets.position.copy()
    position[:, [what.one, what.other]] = position[:, [what.other, what.one]]
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


class FarMarker(NamedTuple):
    """A marker that is far from its place.

    Attributes:
        name: of the marker.
        first: frame, counted from 0.
        last: frame.
        off: median distance from its place meanwhile [m].
        most: largest.
        usual: median distance over the recording.
        left_out: whether a robust loss gave it no weight.
    """

    name: str
    first: int
    last: int
    off: float
    most: float
    usual: float
    left_out: bool

    def facts(self) -> dict[str, Any]:
        """Return the same but for the frames, in millimetres."""
        lengths = {"off_mm": self.off, "max_mm": self.most, "usual_mm": self.usual}
        rounded = {key: round(1e3 * value, 3) for key, value in lengths.items()}
        return {"name": self.name, **rounded, "left_out": self.left_out}


def find_far_markers(track: Track, swaps: Sequence[ExaminedSwap] = ()) -> list[FarMarker]:
    """Return markers that are far off for some frames, the worst first.

    Args:
        track: the solved recording.
        swaps: what likely ones among them explain is left out.
    """
    errors = track.marker_errors
    seen = np.isfinite(errors)
    usual = np.array(
        [np.median(e[s]) if s.any() else 0.0 for e, s in zip(errors.T, seen.T, strict=True)]
    )
    most = FAR_BEYOND_P95_RATIO * float(np.percentile(errors[seen], 95.0)) if seen.any() else 0.0
    far = np.nan_to_num(errors) > np.maximum(max(FAR_ERROR_M, most), FAR_ERROR_RATIO * usual)
    far[far.sum(axis=1) > np.maximum(MAX_FAR_SHARE * seen.sum(axis=1), 2)] = False
    likely = [swap for swap in swaps if swap.verdict == "likely"]
    found: list[FarMarker] = []
    for m, name in enumerate(track.names):
        for first, last in find_segments(far[:, m], join=JOIN_FAR_FRAMES):
            frames = np.arange(first, last + 1)[far[first : last + 1, m]]
            far_errors = errors[frames, m]
            off = float(np.median(far_errors))
            if len(frames) < MIN_FAR_FRAMES or _is_explained(first, last, off, likely):
                continue
            found.append(
                FarMarker(
                    name=name,
                    first=first,
                    last=last,
                    off=off,
                    most=float(far_errors.max()),
                    usual=float(usual[m]),
                    left_out=_is_left_out(track, m, frames),
                )
            )
    return sorted(found, key=lambda far: -far.off * (far.last - far.first + 1))


def _is_left_out(track: Track, m: int, which: IntArray) -> bool:
    weights = track.marker_weights
    return weights is not None and bool(
        (weights[which, m] < track.options.assessment.ignored_weight).mean() > 0.5
    )


def _is_explained(first: int, last: int, off: float, swaps: Sequence[ExaminedSwap]) -> bool:
    """Return whether a swap covers most of a stretch: it pulls on the markers around, too."""
    for swap in swaps:
        common = min(last, swap.last) - max(first, swap.first) + 1
        if common > 0.5 * (last - first + 1) and off <= 1.5 * (swap.error or swap.distance):
            return True
    return False
