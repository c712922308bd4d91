"""A skeleton fitted to a subject's trials: from rough to fine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from exactik.calibration.fitting._fit_parameters import (
    WARM,
    FitFrames,
    FitSolution,
    Progress,
    fit_parameters,
    make_fit_problem,
)
from exactik.calibration.fitting._frames import (
    ChosenFrames,
    align_shapes,
    choose_diverse_frames,
    find_nearest_frames,
    find_similar_frames,
)
from exactik.calibration.fitting._prior import Prior
from exactik.calibration.fitting._scaled_skeleton import make_scaled_skeleton
from exactik.model import Skeleton
from exactik.motion import Markers
from exactik.tracking import (
    DEFAULT_OPTIONS,
    align_to_markers,
    find_start_poses,
    match_markers,
    solve_frames,
)
from exactik.typing import Array, IntArray

__all__ = ["SkeletonFit", "fit_skeleton"]

# Frames on which the figure takes shape, before all are used: where it has its shape, one or two
# steps with all of them are enough. Fewer do not show every joint move.
COARSE_FRAMES = 40
# Descents from afar. With tracking's 1e-3, of poses that are solved on, the figure begins to take a
# shape that fits others less: 7.5 instead of 7.3 mm on the rest of a take of HDM05.
FROM_AFAR = replace(DEFAULT_OPTIONS.cold_start, tolerance=1e-4)
SIMILAR_FRAMES = 3  # frames of similar shape whose poses each frame tries


class SkeletonFit(NamedTuple):
    """A skeleton fitted to recordings.

    Attributes:
        solution: parameters and poses.
        prior: what was assumed of the parameters.
        chosen: the frames that were used.
        errors_before: of each marker in each of them with the skeleton as it was [m], (F, M).
    """

    solution: FitSolution
    prior: Prior
    chosen: ChosenFrames
    errors_before: Array

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
    progress: Progress | None = None,
) -> SkeletonFit:
    """Return the skeleton that fits the most different frames of a subject's trials.

    First poses alone, then one scale for all bones with them, then everything, on a few frames;
    then everything on all of them.

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
        progress: is called with what is done and to do.
    """
    chosen = choose_diverse_frames(trials, frames)
    names = tuple(match_markers(skeleton, chosen.markers).values())
    few = chosen.take(_choose_coarse_frames(chosen))

    def make_frames(of: ChosenFrames) -> FitFrames:
        return FitFrames(
            markers=of.markers,
            limits=limits,
            lock=tuple(lock),
            similar=find_similar_frames(align_shapes(of.markers.positions), SIMILAR_FRAMES),
            robust=robust,
            progress=progress,
        )

    few_frames = make_frames(few)
    scaled = make_scaled_skeleton(skeleton, names, kind, fixed)
    uniform = scaled.with_groups("none" if kind == "none" else "global")
    uniform = uniform.with_movable(np.zeros(len(names), dtype=bool))
    problem = make_fit_problem(uniform, np.zeros(uniform.parameter_count), few_frames)
    from_afar = FROM_AFAR.options(problem.frame_problem)
    q = find_start_poses(problem, from_afar, few_frames.similar).q
    few_frames.report_progress((0.0, 0.2), 1.0)
    theta = np.zeros(scaled.parameter_count)
    if uniform.parameter_count > 0:
        # Quadratic: markers that have yet to find their places are no outliers.
        first = few_frames._replace(robust=False)
        rough = fit_parameters(
            uniform,
            np.zeros(1),
            prior,
            first,
            q,
            progress_span=(0.2, 0.3),
        )
        theta[: len(scaled.scale_groups)], q = rough.theta[0], rough.solutions.q
    solution = fit_parameters(
        scaled,
        theta,
        prior,
        few_frames,
        q,
        progress_span=(0.3, 0.7),
    )
    if len(few.frames) < len(chosen.frames):
        all_frames = make_frames(chosen)
        q = _spread_poses(solution, chosen, few, all_frames)
        solution = fit_parameters(
            scaled, solution.theta, prior, all_frames, q, progress_span=(0.7, 1.0)
        )
    before = make_fit_problem(scaled, np.zeros(scaled.parameter_count), make_frames(chosen))
    old = solve_frames(before, from_afar, np.arange(len(chosen.frames)), solution.solutions.q)
    errors_before = np.linalg.norm(before.residuals(old.q), axis=2)
    return SkeletonFit(solution=solution, prior=prior, chosen=chosen, errors_before=errors_before)


def _choose_coarse_frames(chosen: ChosenFrames) -> IntArray:
    """Return rows of the frames that differ most, (n,), sorted."""
    trials = np.unique(chosen.trials)
    rows = [np.flatnonzero(chosen.trials == k) for k in trials]
    by_trial = [chosen.take(r).markers for r in rows]
    few = choose_diverse_frames(by_trial, COARSE_FRAMES)
    return np.sort([rows[k][frame] for k, frame in zip(few.trials, few.frames, strict=True)])


def _spread_poses(
    solution: FitSolution, chosen: ChosenFrames, few: ChosenFrames, frames: FitFrames
) -> Array:
    """Return poses of all frames, each from that of the frame most like it, (F, nq)."""
    where = {key: k for k, key in enumerate(zip(few.trials, few.frames, strict=True))}
    keys = list(zip(chosen.trials, chosen.frames, strict=True))
    solved = np.array([k for k, key in enumerate(keys) if key in where])
    nearest = find_nearest_frames(align_shapes(chosen.markers.positions), solved)
    q = solution.solutions.q[[where[keys[k]] for k in nearest]]
    problem = make_fit_problem(solution.scaled, solution.theta, frames)
    every = np.arange(len(keys))
    starts = align_to_markers(problem, q, every)
    return solve_frames(problem, WARM.options(problem.frame_problem), every, starts).q
