"""A skeleton fitted to a subject's trials: from rough to fine, and from few frames to all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

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
from exactik.recordings.calibration.fitting._frames import (
    ChosenFrames,
    choose_diverse_frames,
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
    match_markers,
)
from exactik.typing import Array, IntArray

# Descents from afar. With tracking's 1e-3, of poses that are solved on, the figure begins to take a
# shape that fits others less: 7.5 instead of 7.3 mm on the rest of a take of HDM05.
FROM_AFAR = replace(DEFAULT_OPTIONS.cold_start, tolerance=1e-4)
# Every fifth frame, and so many at least, are fitted before the others: steps take a fifth of the
# time, and poses of a figure of the right size are quick to find.
FEW_STRIDE, LEAST_FEW = 5, 30
LOOSE, ROUGH = 3.0, 30.0  # times as much as usual may be left to gain, of few frames and one scale
NEIGHBOUR_ROUNDS = 2  # of poses that spread from frame to frame


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
    from_afar, rows = FROM_AFAR.options(before.frame_problem), _choose_few(len(chosen.frames))
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


def _choose_few(count: int) -> IntArray:
    """Return the frames to begin with."""
    return np.arange(0, count, max(min(FEW_STRIDE, count // LEAST_FEW), 1))


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
