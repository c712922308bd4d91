"""A skeleton fitted to a subject's trials: on which frames, from rough to fine, from few to all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from exactik.errors import UsageError
from exactik.model import Skeleton
from exactik.model.motion import Markers
from exactik.recordings.calibration.fitting._fit_parameters import (
    FitFrames,
    FitSolution,
    Progress,
    continue_fit,
    finish,
    make_fit_problem,
    resize,
)
from exactik.recordings.calibration.fitting._poses import (
    BETTER_COST_RATIO,
    improve_from_neighbours,
    replace_poses,
    solve_between,
    solve_from_nothing,
    solve_poses,
)
from exactik.recordings.calibration.fitting._prior import Prior
from exactik.recordings.calibration.fitting._scaled_skeleton import (
    ScaledSkeleton,
    make_scaled_skeleton,
)
from exactik.recordings.tracking import (
    DEFAULT_OPTIONS,
    FrameSolutions,
    TrackingProblem,
    find_spikes,
    match_markers,
)
from exactik.spatial import fit_rigid_transforms
from exactik.typing import Array, IntArray

# Descents from afar. With tracking's 1e-3, of poses that are solved on, the figure begins to take a
# shape that fits others less: 7.5 instead of 7.3 mm on the rest of a take of HDM05.
FROM_AFAR = replace(DEFAULT_OPTIONS.cold_start, tolerance=1e-4)
# Every fifth frame, and so many at least, are fitted before the others: steps take a fifth of the
# time, and poses of a figure of the right size are quick to find.
FEW_STRIDE, LEAST_FEW = 5, 30
LOOSE, ROUGH = 3.0, 30.0  # times as much as usual may be left to gain, of few frames and one scale
NEIGHBOUR_ROUNDS = 2  # of poses that spread from frame to frame
MAX_CANDIDATES = 2400  # frames among which to choose: every pair of shapes is compared
MIN_SEEN_SHARE = 0.7  # of the most markers that any frame of the trial has, which a frame must have
# Of all frames, the share that is given to the trials in equal parts, whatever they show: a static
# is one pose, but only it may have the markers of the inner knees and ankles.
EQUAL_SHARE = 0.5
SPIKE_REACH = 2  # frames before and after that `find_spikes` looks at


class SkeletonFit(NamedTuple):
    """A skeleton fitted to recordings."""

    solution: FitSolution  # parameters and poses
    prior: Prior  # what was assumed of the parameters
    chosen: ChosenFrames  # the frames that were used
    errors_before: Array  # of each marker in each of them with the skeleton as it was [m], (F, M)

    @property
    def frames(self) -> IntArray:
        """Number of each frame in its trial, (F,)."""
        return self.chosen.frames


def fit_skeleton(
    skeleton: Skeleton,
    trials: Sequence[Markers],
    prior: Prior,
    *,
    kind: str,
    fixed: Sequence[str],
    frames: int,
    robust: bool,
    limits: str = "hard",
    lock: Sequence[str] = (),
    threads: int = 1,
    progress: Progress | None = None,
) -> SkeletonFit:
    """Return the skeleton that fits the most different frames of a subject's trials.

    First poses of some frames from nothing, then one scale for all bones with them, then all
    parameters; poses from nothing again, and the fit once more if they are better. From these
    frames poses spread to all others, and the fit is done with all.

    Args:
        skeleton: as it is.
        trials: the markers to use, all of which are on the skeleton, under one name in all trials.
        prior: what is assumed of the parameters; one `offset_sd` for each marker in the order of
            `match_markers` of all trials joined.
        kind: of scales, one of `SCALE_KINDS` or "none".
        fixed: names of the skeleton's markers that stay.
        frames: how many to use.
        robust: whether markers that are far off count less.
        limits: "hard", "soft" or "off".
        lock: bones or dofs that stay where they are.
        threads: how many; the result does not depend on it.
        progress: is called with what is done and to do.
    """
    chosen = choose_diverse_frames(trials, frames)
    names = tuple(match_markers(skeleton, chosen.markers).values())
    asked = FitFrames(chosen.markers, limits, tuple(lock), robust, None, progress, threads)
    scaled = make_scaled_skeleton(skeleton, names, kind, fixed)
    before = make_fit_problem(scaled, np.zeros(scaled.parameter_count), asked)
    from_afar, count = FROM_AFAR.options(before.frame_problem), len(chosen.frames)
    rows = np.arange(0, count, max(min(FEW_STRIDE, count // LEAST_FEW), 1))  # to begin with
    fit = _fit_few(scaled, prior, before.select(rows), asked)
    if len(rows) < len(chosen.frames):
        every = resize(scaled, fit.theta, before)
        poses = solve_between(every, from_afar, rows, fit.solutions.q, threads)
        _spread_poses(every, poses, threads)
        fit = replace(fit, problem=every, solutions=poses)
        fit = continue_fit(fit, asked, progress_span=(0.5, 0.8))
    if _spread_poses(fit.problem, fit.solutions, threads):
        fit = continue_fit(fit, asked, progress_span=(0.8, 1.0))
    asked.report_progress((0.8, 1.0), 1.0)
    solution = finish(fit, asked)
    old = solve_poses(before, from_afar, solution.solutions.q, threads)
    errors_before = np.linalg.norm(before.residuals(old.q), axis=2)
    return SkeletonFit(solution=solution, prior=prior, chosen=chosen, errors_before=errors_before)


def _fit_few(
    scaled: ScaledSkeleton, prior: Prior, problem: TrackingProblem, asked: FitFrames
) -> FitSolution:
    """Return a fit to frames of which nothing is known."""
    theta, names = np.zeros(scaled.parameter_count), scaled.marker_names
    from_afar, threads = FROM_AFAR.options(problem.frame_problem), asked.threads
    poses = solve_from_nothing(problem, from_afar, threads)
    asked.report_progress((0.0, 0.1), 1.0)
    if len(scaled.scale_groups) > 0:
        uniform = make_scaled_skeleton(scaled.skeleton, names, "global", names)
        # Quadratic: markers that have yet to find their places are no outliers.
        first = asked._replace(robust=False)
        rough = continue_fit(
            FitSolution(uniform, prior, np.zeros(1), problem, poses),
            first,
            progress_span=(0.1, 0.2),
            looseness=ROUGH,
        )
        theta[: len(scaled.scale_groups)], poses = rough.theta[0], rough.solutions
    fit = FitSolution(scaled, prior, theta, resize(scaled, theta, problem), poses)
    fit = continue_fit(fit, asked, progress_span=(0.2, 0.4), looseness=LOOSE)
    anew = solve_from_nothing(fit.problem, from_afar, threads)
    if replace_poses(fit.solutions, anew, BETTER_COST_RATIO):
        fit = continue_fit(fit, asked, progress_span=(0.4, 0.5), looseness=LOOSE)
    return fit


def _spread_poses(problem: TrackingProblem, poses: FrameSolutions, threads: int) -> bool:
    """Replace poses by better ones from frame to frame; whether there were any."""
    from_afar, changed = FROM_AFAR.options(problem.frame_problem), False
    for _ in range(NEIGHBOUR_ROUNDS):
        if not improve_from_neighbours(problem, from_afar, poses, threads):
            break
        changed = True
    return changed


def align_shapes(positions: Array) -> Array:
    """Return the markers of each frame, aligned rigidly with one of the frames.

    Args:
        positions: [m], (F, M, 3), not a number where missing.

    Returns:
        The same [m], (F, M, 3), with the mean of the other frames where a marker is missing.
    """
    seen = ~np.isnan(positions[:, :, 0])
    filled = np.where(seen[..., None], positions, 0.0)
    first = int(np.argmax(seen.sum(axis=1)))
    reference, weight, shapes = filled[first], seen & seen[first], filled
    for _ in range(2):  # to that frame, then to the mean shape
        target = np.broadcast_to(reference, filled.shape)
        rigid = fit_rigid_transforms(filled, target, weight.astype(float))
        centred = filled - rigid.source_center[:, None]
        shapes = np.einsum("fij,fmj->fmi", rigid.rotation, centred) + rigid.target_center[:, None]
        counts = np.maximum(seen.sum(axis=0), 1)[:, None]
        reference, weight = np.where(seen[..., None], shapes, 0.0).sum(axis=0) / counts, seen
    return np.where(seen[..., None], shapes, reference)


class ChosenFrames(NamedTuple):
    """Frames to calibrate on, of one trial or several."""

    # Of these frames, one after the other, of all trials: missing where a trial has not got a
    # marker
    markers: Markers
    trials: IntArray  # number of the trial of each frame, (F,)
    frames: IntArray  # its number in that trial, (F,)

    def take(self, rows: IntArray) -> ChosenFrames:
        """Return some of them."""
        markers = replace(self.markers, positions=self.markers.positions[rows])
        return ChosenFrames(markers, self.trials[rows], self.frames[rows])


def choose_diverse_frames(trials: Sequence[Markers], count: int) -> ChosenFrames:
    """Return the frames whose poses differ most, trial by trial in the order of time.

    From the frame with the most ordinary shape on, the one farthest from all that are chosen is
    added, so that rare poses come in and the many that are alike do not. Of several trials each
    has an equal part of half of the frames.
    """
    candidates = _join_candidates(trials)
    size = len(candidates.frames)
    if size <= count:
        return candidates
    shapes = align_shapes(candidates.markers.positions)
    from_median = ((shapes - np.median(shapes, axis=0)) ** 2).sum(axis=(1, 2))
    chosen = [int(np.argmin(from_median))]
    nearest = _NearestShapes(shapes)
    equal_part = int(EQUAL_SHARE * count) // len(trials) if len(trials) > 1 else 0
    pools = [np.flatnonzero(candidates.trials == k) for k in range(len(trials))]
    parts = [(pool, min(equal_part, len(pool))) for pool in pools]
    for pool, part in [*parts, (np.arange(size), count)]:
        while len(chosen) < count and np.isin(pool, chosen).sum() < part:
            nearest.add(chosen[-1])
            chosen.append(int(pool[np.argmax(nearest.distances[pool])]))
    return candidates.take(np.sort(chosen))


class _NearestShapes:
    """How far each shape is from the nearest of those chosen.

    Mean distances of markers fulfil the triangle inequality: a shape that is no more than half as
    far from its nearest as that is from a new one cannot be nearer to the new one.
    """

    def __init__(self, shapes: Array):
        """Take all shapes, (F, M, 3); none is chosen yet."""
        self.distances = np.full(len(shapes), np.inf)
        self._shapes = np.ascontiguousarray(np.moveaxis(shapes, 2, 0))
        self._nearest = np.zeros(len(shapes), dtype=np.int64)

    def add(self, new: int) -> None:
        """Choose a shape; its own distance becomes −1, so that it is never the farthest."""
        chosen = np.unique(self._nearest)
        apart = np.zeros(len(self.distances))
        apart[chosen] = self._measure(chosen, new)
        rows = np.flatnonzero(2.0 * self.distances > apart[self._nearest])
        distances = self._measure(rows, new)
        nearer = distances < self.distances[rows]
        self.distances[rows[nearer]] = distances[nearer]
        self._nearest[rows[nearer]] = new
        self.distances[new] = -1.0

    def _measure(self, rows: IntArray, reference: int) -> Array:
        """Return the mean distance of the markers of some shapes from those of one [m]."""
        squares = ((axis[rows] - axis[reference]) ** 2 for axis in self._shapes)
        return np.sqrt(sum(squares)).mean(axis=1)


def _join_candidates(trials: Sequence[Markers]) -> ChosenFrames:
    """Return the frames to choose from: of every trial those with most markers, without spikes."""
    names = tuple(dict.fromkeys(name for trial in trials for name in trial.names))
    positions, numbers, frames = [], [], []
    for k, trial in enumerate(trials):
        seen = (~trial.missing).sum(axis=1)
        enough = np.flatnonzero(seen >= max(MIN_SEEN_SHARE * seen.max(initial=0), 3))
        rows = enough[:: max(-(-len(enough) * len(trials) // MAX_CANDIDATES), 1)]
        without_spikes = _positions_without_spikes(trial, rows)
        usable = (~np.isnan(without_spikes).any(axis=2)).sum(axis=1) >= 3
        rows, without_spikes = rows[usable], without_spikes[usable]
        of_trial = np.full((len(rows), len(names), 3), np.nan)
        of_trial[:, [names.index(name) for name in trial.names]] = without_spikes
        positions.append(of_trial)
        numbers.append(np.full(len(rows), k))
        frames.append(rows)
    joined = Markers(np.concatenate(positions), names, trials[0].rate)
    if len(joined) == 0:
        raise UsageError(
            f"no frame has three of the {len(names)} markers that are known on the figure; "
            "calibration needs them"
        )
    return ChosenFrames(joined, np.concatenate(numbers), np.concatenate(frames))


def _positions_without_spikes(trial: Markers, rows: IntArray) -> Array:
    """Return the positions of some frames, missing where a marker jumps out of its path and back.

    Only what is around these frames is looked at: a recording may last an hour.
    """
    if len(trial) <= 2 * SPIKE_REACH:
        return trial.positions[rows]
    around = np.arange(-SPIKE_REACH, SPIKE_REACH + 1)
    inside = np.clip(rows, SPIKE_REACH, len(trial) - 1 - SPIKE_REACH)
    if len(rows) * len(around) < len(trial):
        windows = trial.positions[(inside[:, None] + around).ravel()]
        spikes = find_spikes(windows, trial.rate)[SPIKE_REACH :: len(around)]
    else:
        spikes = find_spikes(trial.positions, trial.rate)[rows]
    spikes &= (inside == rows)[:, None]
    return np.where(spikes[..., None], np.nan, trial.positions[rows])
