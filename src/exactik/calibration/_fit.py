"""Parameters of a figure and the poses of many frames at once: damped Gauss–Newton.

What is made small, over the parameters θ and the poses q_t of F frames, is

    E = Σ_t (½ Σ_m |r_tm|² + tie) / σ²  +  ½ θᵀPθ        r = target − y(q, θ)

with P the inverse covariance of what is believed of θ beforehand: θ = 0 is the figure as it was.
The poses are kept at their best for the θ at hand, by the solver that tracking uses, limits
included; steps of θ come from `normal_equations`, whose matrix over σ², with P, is the inverse of
the covariance of θ.

Errors of skin markers are not drawn anew in each frame: skin moves in the same way whenever a limb
does. Unless σ is given, all frames together count as `WORTH` independent ones, or the many frames
would shout down any belief: bones of half their length, for a millimetre less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from exactik.calibration._frames import (
    align_shapes,
    choose_diverse_frames,
    find_similar_frames,
    find_start_poses,
    improve_poses,
)
from exactik.calibration._model import ScaledSkeleton, make_scaled_skeleton
from exactik.calibration._normal import NormalEquations, compute_normal_equations
from exactik.model import Skeleton
from exactik.motion import Markers
from exactik.solvers import Auto
from exactik.tracking import (
    FrameSolutions,
    TrackingProblem,
    make_tracking_problem,
    match_markers,
    solve_frames,
)
from exactik.typing import Array, IntArray

__all__ = [
    "FitFrames",
    "FitSolution",
    "Prior",
    "Progress",
    "SkeletonFit",
    "fit_parameters",
    "fit_skeleton",
    "make_fit_problem",
]

Progress = Callable[[int, int], object]

TIE = 4e-8  # weight of the posture: less than tracking's, or it would outweigh what is believed
SMALLEST_SIGMA = 2e-4  # [m] below it nothing is believed to be measured
# Of E: a step that promises less moves nothing by more than a tenth of its sd; and share of E.
SETTLED, RELATIVE = 3e-3, 1e-6
MOST_STEPS = 40
LOOKS, MOST_LOOKS = (2, 5), 3  # steps after which to look for better poses; how often at rest
WARM = Auto(tolerance=1e-6, max_iterations=60, initial_damping=1e-3, detour=False, escape=False)
ROUGH = Auto(tolerance=1e-4, max_iterations=60, detour=False, escape=False)
NEIGHBOURS = 3  # frames that look alike, whose poses each frame tries
FIRST_DAMPING, GIVE_UP = 1e-3, 1e6
SIZE_SD = 0.2  # how far whole figures differ in size, in log scale
WORTH = 8  # independent frames that all frames together count as, where σ is not given


class Prior(NamedTuple):
    """What is believed before the markers are looked at.

    Attributes:
        scale_sd: of the log scale of each group from that of the whole figure.
        offset_sd: of each marker's place from its old one, which grows with its bone [m], (M,).
        sigma: of the markers from a figure that is right [m]; None: as they turn out.
    """

    scale_sd: float
    offset_sd: Array
    sigma: float | None

    def precision(self, figure: ScaledSkeleton) -> Array:
        """Return P, (size, size)."""
        groups = len(figure.groups)
        P = np.zeros((figure.size, figure.size))
        # Groups grow alike, apart from their own share: what no marker sees grows with the rest.
        spread = self.scale_sd**2 * np.eye(groups) + SIZE_SD**2
        P[:groups, :groups] = np.linalg.inv(spread)
        places = np.repeat(self.offset_sd[figure.moves] ** -2.0, 3)
        P[groups:, groups:] = np.diag(places)
        return P


class FitFrames(NamedTuple):
    """The markers of the frames in use, and how poses may answer them.

    Attributes:
        markers: of these frames.
        limits: "hard", "soft" or "off".
        lock: bones or dofs that stay where they are.
        near: for each frame others that look alike, (F, n).
        progress: called with what is done and to do, or None.
    """

    markers: Markers
    limits: str
    lock: tuple[str, ...]
    near: IntArray
    progress: Progress | None = None


def make_fit_problem(figure: ScaledSkeleton, theta: Array, asked: FitFrames) -> TrackingProblem:
    """Return the frames as asked of the figure with these parameters."""
    skeleton = figure.build(theta)
    return make_tracking_problem(
        skeleton, asked.markers, limits=asked.limits, lock=asked.lock, posture=TIE
    )


@dataclass(eq=False)
class FitSolution:
    """Parameters, and the poses that go with them.

    Attributes:
        figure: what may change.
        theta: parameters, (size,).
        recording: the frames, asked of the figure with these parameters.
        path: poses of the frames.
        sigma: of the markers [m].
        covariance: of the parameters, (size, size).
        steps: how many were taken.
        settled: whether the last ones were as small as asked.
    """

    scaled: ScaledSkeleton
    theta: Array
    recording: TrackingProblem
    path: FrameSolutions
    sigma: float
    covariance: Array
    steps: int = 0
    converged: bool = False


def fit_parameters(
    figure: ScaledSkeleton,
    theta: Array,
    beliefs: Prior,
    asked: FitFrames,
    q: Array,
    share: tuple[float, float] = (0.0, 1.0),
) -> FitSolution:
    """Return the best parameters, from θ and poses q, (F, nq).

    Args:
        figure: what may change.
        theta: parameters to start from.
        beliefs: what is believed beforehand.
        asked: the frames.
        q: poses to start from, (F, nq).
        share: of all work that this is, from and to, for `asked.progress`.
    """
    P = beliefs.precision(figure)
    recording = make_fit_problem(figure, theta, asked)
    options = WARM.options(recording.frame_problem)
    path = solve_frames(recording, options, np.arange(len(q)), q)
    improve_poses(recording, options, path, asked.near)
    at = FitIterate(
        theta, recording, path, compute_normal_equations(figure, theta, recording, path.q)
    )
    damping, steps, looks, settled = FIRST_DAMPING, 0, 0, False
    while steps < MOST_STEPS:
        sigma = beliefs.sigma or _estimate_sigma(at, figure.size)
        nearly = SETTLED + RELATIVE * _objective(at.path, sigma, P, at.theta)
        after, promised, damping = _try_step(figure, P, sigma, asked, options, at, damping, nearly)
        steps += after is not None
        at = after or at
        _report_progress(asked, share, steps / MOST_STEPS)
        resting = after is None or promised < nearly
        # Frames may know better poses for each other: as soon as the figure has taken shape, and
        # whenever it has come to rest.
        if resting or steps in LOOKS:
            settled, looks = resting, looks + resting
            gained = improve_poses(at.recording, options, at.path, asked.near)
            if resting and (gained == 0 or looks > MOST_LOOKS):
                break
            damping = max(damping, FIRST_DAMPING)
            normal = compute_normal_equations(figure, at.theta, at.recording, at.path.q)
            at = at._replace(normal=normal)
    sigma = beliefs.sigma or _estimate_sigma(at, figure.size)
    covariance = np.array(np.linalg.inv(at.normal.matrix / sigma**2 + P), dtype=float)
    _report_progress(asked, share, 1.0)
    return FitSolution(figure, at.theta, at.recording, at.path, sigma, covariance, steps, settled)


class FitIterate(NamedTuple):
    """Where a fit stands: parameters, the frames, their poses, and the equations of a step."""

    theta: Array
    recording: TrackingProblem
    path: FrameSolutions
    normal: NormalEquations


def _try_step(
    figure: ScaledSkeleton,
    P: Array,
    sigma: float,
    asked: FitFrames,
    options: Array,
    at: FitIterate,
    damping: float,
    nearly: float,
) -> tuple[FitIterate | None, float, float]:
    """Return the next place, None if nothing is better; what it promised; the next damping."""
    value = _objective(at.path, sigma, P, at.theta)
    whole = at.normal.matrix + sigma**2 * P
    right = at.normal.right - sigma**2 * (P @ at.theta)
    promised = np.inf
    while damping < GIVE_UP and promised > nearly:
        step = np.linalg.solve(whole + damping * np.diag(np.diag(whole)), right)
        promised = float(step @ right) / sigma**2
        theta = at.theta + step
        move = at.normal.pose - at.normal.follow @ step
        recording = make_fit_problem(figure, theta, asked)
        starts = at.recording.skeleton.integrate(at.path.q, move)
        path = solve_frames(recording, options, np.arange(len(starts)), starts)
        if _objective(path, sigma, P, theta) < value:
            normal = compute_normal_equations(figure, theta, recording, path.q)
            return FitIterate(theta, recording, path, normal), promised, max(damping / 8.0, 1e-9)
        damping *= 8.0
    return None, promised, damping


def _objective(path: FrameSolutions, sigma: float, P: Array, theta: Array) -> float:
    return float(path.cost.sum()) / sigma**2 + 0.5 * float(theta @ P @ theta)


def _estimate_sigma(at: FitIterate, size: int) -> float:
    """Return σ [m], from what is left over, how much was fitted away, and how often it repeats."""
    recording, path = at.recording, at.path
    rows = 3 * int(recording.seen.sum())
    free = int((~recording.frame_problem.locked).sum())
    spare = max(rows - len(path.q) * free - size, rows // 10, 1)
    often = max(len(path.q) / WORTH, 1.0)
    return max(float(np.sqrt(2.0 * path.cost.sum() / spare * often)), SMALLEST_SIGMA)


def _report_progress(asked: FitFrames, share: tuple[float, float], done: float) -> None:
    if asked.progress is not None:
        asked.progress(round(100 * (share[0] + (share[1] - share[0]) * min(done, 1.0))), 100)


class SkeletonFit(NamedTuple):
    """A figure fitted to a recording.

    Attributes:
        fitted: parameters and poses.
        chosen: frames of the recording that were used, (F,).
        before: error of each marker in each of them with the figure as it was [m], (F, M).
    """

    solution: FitSolution
    frames: IntArray
    errors_before: Array


def fit_skeleton(
    skeleton: Skeleton,
    markers: Markers,
    beliefs: Prior,
    *,
    kind: str,
    fixed: Sequence[str],
    frames: int,
    limits: str = "hard",
    lock: Sequence[str] = (),
    progress: Progress | None = None,
) -> SkeletonFit:
    """Return the figure that fits the most different frames of a recording.

    First poses alone, then one scale for all bones with them, then everything.

    Args:
        skeleton: the figure as it is.
        markers: those to use, all of which are on the skeleton.
        beliefs: what is believed beforehand; one `offset_sd` for each marker in the order of the
            skeleton's `match_markers`.
        kind: of scales, one of `SCALES` or "none".
        fixed: names of the skeleton's markers that stay.
        frames: how many to use.
        limits: "hard", "soft" or "off".
        lock: bones or dofs that stay where they are.
        progress: is called with what is done and to do.
    """
    names = tuple(match_markers(skeleton, markers).values())
    chosen = choose_diverse_frames(markers, frames)
    used = replace(markers, positions=markers.positions[chosen], others={})
    near = find_similar_frames(align_shapes(used.positions), NEIGHBOURS)
    asked = FitFrames(used, limits, tuple(lock), near, progress)
    figure = make_scaled_skeleton(skeleton, names, kind, fixed)
    whole = figure.with_groups("none" if kind == "none" else "global")
    whole = whole.with_moves(np.zeros(len(names), dtype=bool))
    recording = make_fit_problem(whole, np.zeros(whole.size), asked)
    rough = ROUGH.options(recording.frame_problem)
    path = find_start_poses(recording, rough, near)
    before = np.linalg.norm(recording.residuals(path.q), axis=2)
    _report_progress(asked, (0.0, 0.2), 1.0)
    theta, q = np.zeros(figure.size), path.q
    if whole.size > 0:
        grown = fit_parameters(whole, np.zeros(1), beliefs, asked, q, (0.2, 0.3))
        theta[: len(figure.groups)], q = grown.theta[0], grown.path.q
    fitted = fit_parameters(figure, theta, beliefs, asked, q, (0.3, 1.0))
    return SkeletonFit(fitted, chosen, before)
