"""A skeleton fitted to a subject's trials: from rough to fine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from exactik.model import Skeleton
from exactik.model.motion import Markers
from exactik.recordings.calibration.fitting._fit_parameters import (
    COLD_STARTS,
    FitFrames,
    FitSolution,
    Progress,
    fit_parameters,
    make_fit_problem,
)
from exactik.recordings.calibration.fitting._frames import (
    ChosenFrames,
    choose_diverse_frames,
)
from exactik.recordings.calibration.fitting._prior import Prior
from exactik.recordings.calibration.fitting._scaled_skeleton import make_scaled_skeleton
from exactik.recordings.tracking import (
    DEFAULT_OPTIONS,
    match_markers,
    solve_cold_start,
    solve_frames,
)
from exactik.typing import Array, IntArray

# Descents from afar. With tracking's 1e-3, of poses that are solved on, the figure begins to take a
# shape that fits others less: 7.5 instead of 7.3 mm on the rest of a take of HDM05.
FROM_AFAR = replace(DEFAULT_OPTIONS.cold_start, tolerance=1e-4)


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
    progress: Progress | None = None,
) -> SkeletonFit:
    """Return the skeleton that fits the most different frames of a subject's trials.

    First poses alone, then one scale for all bones with them, then everything.

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
    fit_frames = FitFrames(chosen.markers, limits, tuple(lock), robust, progress=progress)
    scaled = make_scaled_skeleton(skeleton, names, kind, fixed)
    uniform = make_scaled_skeleton(skeleton, names, "none" if kind == "none" else "global", names)
    before = make_fit_problem(scaled, np.zeros(scaled.parameter_count), fit_frames)
    from_afar, every = FROM_AFAR.options(before.frame_problem), np.arange(len(chosen.frames))
    q = solve_cold_start(before, from_afar, every, COLD_STARTS).q
    fit_frames.report_progress((0.0, 0.2), 1.0)
    theta = np.zeros(scaled.parameter_count)
    if uniform.parameter_count > 0:
        # Quadratic: markers that have yet to find their places are no outliers.
        first = fit_frames._replace(robust=False)
        rough = fit_parameters(uniform, np.zeros(1), prior, first, q, progress_span=(0.2, 0.4))
        theta[: len(scaled.scale_groups)], q = rough.theta[0], rough.solutions.q
    solution = fit_parameters(scaled, theta, prior, fit_frames, q, progress_span=(0.4, 1.0))
    old = solve_frames(before, from_afar, every, solution.solutions.q)
    errors_before = np.linalg.norm(before.residuals(old.q), axis=2)
    return SkeletonFit(solution=solution, prior=prior, chosen=chosen, errors_before=errors_before)
