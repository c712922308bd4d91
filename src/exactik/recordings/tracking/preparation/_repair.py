"""Gross outliers, told by a first pass that does not believe them: left out, or exchanged back.

Least squares bends a limb towards a sample that is thrown far away, and a figure that bends hides
it. So where the paths of the markers or a plain first pass raise a suspicion, a second first pass
is made with a loss that far markers hardly pull on. What is far from its place there, and not
usually so, is left out; two markers that are each at the other's place are exchanged back. What
remains is solved as if nothing had been wrong, and shows in the next round what was left out for
nothing, or not yet. Where nothing is suspected nothing changes, not a bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from exactik._threads import run_in_threads
from exactik.kernels.descent.results import FRAME_RESULT_SIZE
from exactik.model.motion import Swap, find_segments
from exactik.recordings.tracking._first_pass import first_pass
from exactik.recordings.tracking._frame_solver import (
    FrameSolutions,
    TrackingRun,
    follow_frames,
    solve_frames,
)
from exactik.recordings.tracking._options import TrackingOptions
from exactik.recordings.tracking._problem import LOSS_KINDS, TrackingProblem, split_into_chunks
from exactik.recordings.tracking.preparation._fill import fill_gaps
from exactik.recordings.tracking.preparation._outliers import (
    MEDIAN_DISTANCE,
    MIN_LOSS_NOISE,
    Outliers,
    PreparedMarkers,
    estimate_initial_noise,
    exchange_names,
    remove_outliers,
)
from exactik.typing import Array, BoolArray, IntArray

MIN_OUTLIER_M = 0.05
"""[m] from its place, from which a sample may be an outlier: skin moves by less."""
OUTLIER_RATIO, OUTLIER_RATIO_OF_ALL = 5.0, 4.0
"""Times the usual error of its marker, and of all markers, that it is off by at least: where the
figure does not fit, being far is no sign."""
MAX_RARE_SHARE = 0.3
"""Of the frames, up to which those suspected are solved again alone: the others tell the noise."""
SUSPICION_SHARE = 0.5
"""Of MIN_OUTLIER_M, from which a plain pass is suspected: the figure went half of the way."""
MAX_OUTLIER_SHARE = 0.5
"""Of the markers in a frame: where more are far off it is the pose that is wrong."""
MAX_SPIKE_SHARE = 0.75
"""Of the markers in a frame that stand out from their neighbours in time, up to which they are
outliers and not the frame: where a third is thrown away, 0.4 do."""
MAX_CROSSED_SHARE = 0.3
"""Of their distances from their own places, that two exchanged markers are from each other's."""
MAX_PREDICTION_SECONDS = 0.25
"""[s] for which frames beside a stretch tell where a marker should be."""
MIN_SUDDEN_SHARE = 0.5
"""Of the distance of a stretch from its places, by which a marker jumps at one of its ends."""
MAX_ROUNDS = 4
"""Of leaving out and solving again; by the third hardly a sample changes."""
MAX_BRIDGED_SECONDS = 0.05
"""[s] of samples left out that are bridged straight: at 100 m/s² the middle is 3 cm off, at what
people do most of the time less than a millimetre."""
MIN_EXCHANGED_FRAMES = 3
"""In which two markers are at each other's place: less is chance."""


def repair_outliers(
    run: TrackingRun, prepared: PreparedMarkers, q: Array, starts: int
) -> tuple[PreparedMarkers, FrameSolutions] | None:
    """Return the markers without gross outliers and their first pass; None if there are none.

    Args:
        run: what the stages share.
        prepared: markers as recorded.
        q: poses of the plain first pass, (T, nq).
        starts: how many poses to try at a cold start.
    """
    recorded = prepared.recorded
    cleaned, by_paths = _restore_full_frames(recorded, *remove_outliers(recorded, run.options))
    suspicious = by_paths.spikes | find_gross_outliers(recorded, q, SUSPICION_SHARE)
    swaps, suspected = list(by_paths.swaps), np.asarray(suspicious.any(axis=1))
    for swap in swaps:
        suspected[swap.first : swap.last + 1] = True
    if not suspected.any():
        return None
    repaired = _exchange(recorded, swaps)
    sigma, robust_paths = _solve_robustly(run, cleaned, q, suspected, starts)
    q = _choose_better(repaired, q, *robust_paths)
    far = _find_outliers(repaired, q, by_paths.spikes)
    exchanged = _find_exchanged(repaired, q, far)
    if len(exchanged) > 0:
        swaps += exchanged
        repaired = _exchange(repaired, exchanged)
        far = _find_outliers(repaired, q, by_paths.spikes)
    if len(swaps) == 0 and not far.any():
        return None
    for rounds in range(1, MAX_ROUNDS + 1):
        left, filled = _leave_out(repaired, far, sigma, run.options)
        path = _solve_again(replace(run, problem=filled), q)
        still_far = _find_outliers(repaired, path.q, by_paths.spikes)
        if rounds == MAX_ROUNDS or (far == still_far).all():
            outliers = Outliers(swaps=tuple(swaps), spikes=far)
            return PreparedMarkers(recorded=left, problem=filled, outliers=outliers), path
        far, q = still_far, path.q
    return None


def _restore_full_frames(
    recorded: TrackingProblem, cleaned: TrackingProblem, by_paths: Outliers
) -> tuple[TrackingProblem, Outliers]:
    """Return both with the spikes of frames in which nearly every marker is one."""
    spikes = by_paths.spikes
    jumps = spikes.sum(axis=1) > MAX_SPIKE_SHARE * recorded.seen.sum(axis=1)
    if not jumps.any():
        return cleaned, by_paths
    position = np.where(jumps[:, None, None], recorded.targets.position, cleaned.targets.position)
    return cleaned.with_targets(position=position), by_paths._replace(
        spikes=spikes & ~jumps[:, None]
    )


def _exchange(problem: TrackingProblem, swaps: Sequence[Swap]) -> TrackingProblem:
    position = problem.targets.position.copy()
    for swap in swaps:
        exchange_names(position, problem.names, swap)
    return problem.with_targets(position=position)


def _solve_again(run: TrackingRun, q: Array) -> FrameSolutions:
    """Return solutions of all frames, each from its pose of a path, (T, nq)."""
    path = FrameSolutions(q=q.copy(), outcomes=np.zeros((len(q), FRAME_RESULT_SIZE)))

    def solve_chunk(frames: IntArray) -> None:
        path.put(frames, solve_frames(run.problem, run.warm_start, frames, q[frames]))

    run_in_threads(run.threads, solve_chunk, split_into_chunks(len(q)))
    return path


def _leave_out(
    problem: TrackingProblem, far: BoolArray, sigma: float, options: TrackingOptions
) -> tuple[TrackingProblem, TrackingProblem]:
    """Return the problem without some samples, and the same with its gaps filled in.

    What is left out for a moment is bridged straight, from the sample before to that after it.
    """
    position = np.where(far[:, :, None], np.nan, problem.targets.position)
    bridged, times = position.copy(), np.arange(len(position))
    for m in np.flatnonzero(far.any(axis=0)):
        seen = np.isfinite(position[:, m, 0])
        for first, last in find_segments(~seen):
            is_inside = first > 0 and last < len(position) - 1
            if is_inside and last - first + 1 <= MAX_BRIDGED_SECONDS * problem.rate:
                ends, gap = [first - 1, last + 1], slice(first, last + 1)
                for i in range(3):
                    bridged[gap, m, i] = np.interp(times[gap], ends, position[ends, m, i])
    filled = fill_gaps(problem.with_targets(position=bridged), sigma, options)
    return problem.with_targets(position=position), filled


def _choose_better(problem: TrackingProblem, *paths: Array) -> Array:
    """Return of each frame the pose that fits best if far markers hardly count, (T, nq)."""
    costs = [
        np.nansum(np.minimum(_measure_distances(problem, q), MIN_OUTLIER_M) ** 2, axis=1)
        for q in paths
    ]
    return np.choose(np.argmin(costs, axis=0)[:, None], paths)


def _find_outliers(problem: TrackingProblem, q: Array, spikes: BoolArray) -> BoolArray:
    """Return gross outliers at poses q, (T, nq), and spikes in paths half as far from the figure.

    A figure that has few markers to go by bends half of the way to a sample that is thrown away;
    the path of the marker does not.
    """
    distance = _measure_distances(problem, q)
    is_off = find_far_samples(distance, SUSPICION_SHARE, most=1.0)
    return find_gross_outliers(problem, q) | (spikes & is_off)


def find_gross_outliers(problem: TrackingProblem, q: Array, share: float = 1.0) -> BoolArray:
    """Return which samples are far from their places at poses q, (T, nq), all of a sudden, (T, M).

    What goes away smoothly is skin, or a figure that does not fit, and has its say. `share` is of
    the distances from which samples are far.
    """
    distance, position = _measure_distances(problem, q), problem.targets.position
    far, rather_far = (find_far_samples(distance, share * x) for x in (1.0, SUSPICION_SHARE))
    span = max(round(MAX_PREDICTION_SECONDS * problem.rate), 2)
    for m in np.flatnonzero(far.any(axis=0)):
        near = np.flatnonzero(np.isfinite(distance[:, m]) & ~rather_far[:, m])
        for first, last in find_segments(rather_far[:, m] | far[:, m]):
            if not far[first : last + 1, m].any():
                continue
            far[first : last + 1, m] = True  # the same fault, which the figure has begun to follow
            off = MIN_SUDDEN_SHARE * float(np.median(distance[first : last + 1, m]))
            k = int(np.searchsorted(near, first))
            before, after = near[max(k - 2, 0) : k][::-1], near[k : k + 2]
            jumps = [
                _measure_jump(position[:, m], end, beside) > off
                for end, beside in ((first, before), (last, after))
                if len(beside) > 0 and abs(int(beside[0]) - end) <= span
            ]
            if len(jumps) > 0 and not any(jumps):
                far[first : last + 1, m] = False
    return far


def _measure_jump(path: Array, frame: int, beside: IntArray) -> float:
    """Return how far a marker, (T, 3), is in a frame from where the nearest frames lead to [m].

    They lead on at their speed or stay where they are, whichever is nearer.
    """
    step = path[frame] - path[beside[0]]
    jump = float(np.linalg.norm(step))
    if len(beside) > 1:
        velocity = (path[beside[0]] - path[beside[1]]) / float(beside[0] - beside[1])
        ahead = velocity * float(frame - beside[0])
        jump = min(jump, float(np.linalg.norm(step - ahead)))
    return jump


def find_far_samples(
    distance: Array, share: float = 1.0, most: float = MAX_OUTLIER_SHARE
) -> BoolArray:
    """Return which samples are far from their places, (T, M), of all distances [m].

    At most a share of the markers in a frame.
    """
    seen = np.isfinite(distance)
    if not seen.any():
        return seen
    columns = zip(distance.T, seen.T, strict=True)
    usual = np.array([np.median(d[s]) if s.any() else 0.0 for d, s in columns])
    least = max(share * MIN_OUTLIER_M, OUTLIER_RATIO_OF_ALL * float(np.median(distance[seen])))
    far = np.nan_to_num(distance) > np.maximum(least, OUTLIER_RATIO * usual)
    far[far.sum(axis=1) > most * seen.sum(axis=1)] = False
    return far


def _solve_robustly(
    run: TrackingRun, cleaned: TrackingProblem, q: Array, suspected: BoolArray, starts: int
) -> tuple[float, list[Array]]:
    """Return the noise [m] and paths, (T, nq), solved so that far markers hardly count.

    Where few frames are suspected they alone are solved again, from before and from after.
    """
    options, is_rare = run.options, suspected.mean() < MAX_RARE_SHARE
    if is_rare:
        usual = float(np.nanmedian(_measure_distances(cleaned, q)[~suspected]))
        sigma = max(usual / MEDIAN_DISTANCE, 1e-6)
    else:
        sigma = estimate_initial_noise(cleaned, run.cold_start)
    width = options.tukey_width * max(sigma, MIN_LOSS_NOISE)
    loss = np.array([LOSS_KINDS["tukey"], width, 1.0])
    problem = cleaned if is_rare else fill_gaps(cleaned, sigma, options)
    problem = problem.with_targets(loss=loss, robust_weight=np.ones(cleaned.seen.shape))
    if not is_rare:
        robust = replace(run, problem=problem, on_gpu=False)
        return sigma, [first_pass(robust, starts, lambda frames: None).q]
    forward, backward = q.copy(), q.copy()
    for first, last in find_segments(suspected):
        frames = np.arange(first, last + 1)
        for path, order in ((forward, frames), (backward, frames[::-1])):
            beside = first - 1 if path is forward else last + 1
            start = q[min(max(beside, 0), len(q) - 1)]
            path[order] = follow_frames(problem, run.warm_start, order, start).q
    return sigma, [forward, backward]


def _measure_distances(problem: TrackingProblem, q: Array) -> Array:
    """Return how far markers that count are from their places [m], (T, M); NaN where missing."""
    distance = np.empty((len(q), len(problem.names)))
    for frames in split_into_chunks(len(q)):
        distance[frames] = np.linalg.norm(problem.residuals(q[frames], frames), axis=2)
    distance[:, ~problem.counts] = np.nan
    return distance


def _find_exchanged(problem: TrackingProblem, q: Array, far: BoolArray) -> list[Swap]:
    """Return stretches in which two far markers are each at the place of the other."""
    rows = np.flatnonzero(far.sum(axis=1) > 1)
    off = far[rows].astype(np.float32)
    together = np.triu(off.T @ off, 1) >= MIN_EXCHANGED_FRAMES
    position = problem.targets.position[rows]
    places = position - problem.residuals(np.ascontiguousarray(q[rows]), rows)
    swaps: list[Swap] = []
    for one, other in np.argwhere(together):
        own = np.linalg.norm(position[:, [one, other]] - places[:, [one, other]], axis=2)
        crossed = np.linalg.norm(position[:, [one, other]] - places[:, [other, one]], axis=2)
        is_exchanged = np.zeros(len(q), dtype=bool)
        is_exchanged[rows] = (
            far[rows, one] & far[rows, other] & (crossed < MAX_CROSSED_SHARE * own).all(axis=1)
        )
        names = (problem.names[one], problem.names[other])
        for first, last in find_segments(is_exchanged):
            if last - first + 1 >= MIN_EXCHANGED_FRAMES:
                apart = float(np.median(own[np.searchsorted(rows, np.arange(first, last + 1))]))
                swaps.append(Swap(names=names, first=first, last=last, distance=apart))
    return swaps
