"""Parameters of a skeleton and the poses of many frames at once: damped Gauss–Newton.

What is minimised, over the parameters θ and the poses q_t of F frames, is

    E = Σ_t (½ Σ_m |r_tm|² + posture) / σ²  +  ½ θᵀPθ        r = target − y(q, θ)

with P the inverse covariance of the prior of θ: θ = 0 is the skeleton as it was. The poses are kept
at their best for the θ at hand, by the solver that tracking uses, limits included; steps of θ come
from `compute_normal_equations`, whose matrix over σ², with P, is the inverse of the covariance of
θ.

Errors of skin markers are not drawn anew in each frame: skin moves in the same way whenever a limb
does. Unless σ is given, all frames together count as `INDEPENDENT_FRAMES` independent ones;
otherwise many frames would outweigh any prior, and bones would shrink to half their length to lower
errors by a millimetre.
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
from exactik.calibration._normal_equations import NormalEquations, compute_normal_equations
from exactik.calibration._scaled_skeleton import ScaledSkeleton, make_scaled_skeleton
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

POSTURE_WEIGHT = 4e-8  # less than tracking's, or it would outweigh the prior
MIN_SIGMA = 2e-4  # [m] no marker is measured better than this
# A step that promises to lower E by less has converged: it would move no parameter by more than a
# tenth of its standard deviation.
CONVERGED_REDUCTION = 3e-3
CONVERGED_RELATIVE_REDUCTION = 1e-6  # the same as a share of E
MAX_STEPS = 40
POSE_SEARCH_STEPS = (2, 5)  # steps after which better poses are looked for: scales are rough then
MAX_FINAL_POSE_SEARCHES = 3  # after convergence; each may start the steps again
WARM = Auto(tolerance=1e-6, max_iterations=60, initial_damping=1e-3, detour=False, escape=False)
ROUGH = Auto(tolerance=1e-4, max_iterations=60, detour=False, escape=False)
SIMILAR_FRAMES = 3  # frames of similar shape whose poses each frame tries
FIRST_DAMPING, MAX_DAMPING = 1e-3, 1e6  # of the diagonal; beyond the second no step helps
DAMPING_FACTOR, MIN_DAMPING = 8.0, 1e-9
WHOLE_SCALE_SD = 0.2  # how far people and animals of one kind differ in size, in log scale
INDEPENDENT_FRAMES = 8  # that all frames together count as, where σ is not given


class Prior(NamedTuple):
    """What is assumed of the parameters before the markers are looked at.

    Attributes:
        scale_sd: of the log scale of each group from that of the whole figure.
        offset_sd: of each marker's point from its old one, which grows with its bone [m], (M,).
        sigma: of the markers from a figure that is right [m]; None: estimated from the residuals.
    """

    scale_sd: float
    offset_sd: Array
    sigma: float | None

    def precision(self, scaled: ScaledSkeleton) -> Array:
        """Return P, (n, n)."""
        groups, n = len(scaled.scale_groups), scaled.parameter_count
        P = np.zeros((n, n))
        # Scales are those of the whole figure times a share of each group's own, so that a bone
        # that no marker tells of grows with the rest.
        covariance = self.scale_sd**2 * np.eye(groups) + WHOLE_SCALE_SD**2
        P[:groups, :groups] = np.linalg.inv(covariance)
        points = np.repeat(self.offset_sd[scaled.movable] ** -2.0, 3)
        P[groups:, groups:] = np.diag(points)
        return P


class FitFrames(NamedTuple):
    """The markers of the frames in use, and what poses may do to follow them.

    Attributes:
        markers: of these frames.
        limits: "hard", "soft" or "off".
        lock: bones or dofs that stay where they are.
        similar: for each frame the number of others of similar shape, (F, n).
        progress: called with what is done and to do, or None.
    """

    markers: Markers
    limits: str
    lock: tuple[str, ...]
    similar: IntArray
    progress: Progress | None = None

    def report_progress(self, span: tuple[float, float], done: float) -> None:
        """Report that a share of the work from span[0] to span[1] of the whole is done."""
        if self.progress is not None:
            self.progress(round(100 * (span[0] + (span[1] - span[0]) * min(done, 1.0))), 100)


def make_fit_problem(scaled: ScaledSkeleton, theta: Array, frames: FitFrames) -> TrackingProblem:
    """Return the problem of following the frames with the skeleton of these parameters."""
    return make_tracking_problem(
        scaled.build(theta),
        frames.markers,
        limits=frames.limits,
        lock=frames.lock,
        posture=POSTURE_WEIGHT,
    )


@dataclass(eq=False)
class FitSolution:
    """Parameters, and the poses that go with them.

    Attributes:
        scaled: which parameters there are.
        theta: parameters, (n,).
        problem: of following the frames with the skeleton of these parameters.
        solutions: poses of the frames.
        sigma: of the markers [m].
        covariance: of the parameters, (n, n).
        steps: how many were taken.
        converged: whether the last ones were as small as asked.
    """

    scaled: ScaledSkeleton
    theta: Array
    problem: TrackingProblem
    solutions: FrameSolutions
    sigma: float
    covariance: Array
    steps: int = 0
    converged: bool = False


class FitIterate(NamedTuple):
    """One iterate of a fit: parameters, the frames, their poses, and the equations of a step."""

    theta: Array
    problem: TrackingProblem
    solutions: FrameSolutions
    equations: NormalEquations

    def objective(self, sigma: float, P: Array) -> float:
        """Return E."""
        return _objective(self.solutions, sigma, P, self.theta)


def fit_parameters(
    scaled: ScaledSkeleton,
    theta: Array,
    prior: Prior,
    frames: FitFrames,
    q: Array,
    progress_span: tuple[float, float] = (0.0, 1.0),
) -> FitSolution:
    """Return the best parameters, from θ and poses q, (F, nq).

    Args:
        scaled: which parameters there are.
        theta: parameters to start from.
        prior: what is assumed of them.
        frames: what is to be followed.
        q: poses to start from, (F, nq).
        progress_span: the share of all work that this is, from and to.
    """
    P = prior.precision(scaled)
    problem = make_fit_problem(scaled, theta, frames)
    options = WARM.options(problem.frame_problem)
    solutions = solve_frames(problem, options, np.arange(len(q)), q)
    improve_poses(problem, options, solutions, frames.similar)
    equations = compute_normal_equations(scaled, theta, problem, solutions.q)
    iterate = FitIterate(theta=theta, problem=problem, solutions=solutions, equations=equations)
    damping, steps, pose_searches, converged = FIRST_DAMPING, 0, 0, False
    while steps < MAX_STEPS:
        sigma = prior.sigma or _estimate_sigma(iterate, scaled.parameter_count)
        small = CONVERGED_REDUCTION + CONVERGED_RELATIVE_REDUCTION * iterate.objective(sigma, P)
        better, predicted, damping = _try_step(
            scaled, P, sigma, frames, options, iterate, damping, small
        )
        steps += better is not None
        iterate = better or iterate
        frames.report_progress(progress_span, steps / MAX_STEPS)
        at_rest = better is None or predicted < small
        # Frames may know better poses for each other: as soon as the figure has taken shape, and
        # whenever it has come to rest.
        if at_rest or steps in POSE_SEARCH_STEPS:
            converged, pose_searches = at_rest, pose_searches + at_rest
            improved = improve_poses(iterate.problem, options, iterate.solutions, frames.similar)
            if at_rest and (improved == 0 or pose_searches > MAX_FINAL_POSE_SEARCHES):
                break
            damping = max(damping, FIRST_DAMPING)
            equations = compute_normal_equations(
                scaled, iterate.theta, iterate.problem, iterate.solutions.q
            )
            iterate = iterate._replace(equations=equations)
    sigma = prior.sigma or _estimate_sigma(iterate, scaled.parameter_count)
    frames.report_progress(progress_span, 1.0)
    return FitSolution(
        scaled=scaled,
        theta=iterate.theta,
        problem=iterate.problem,
        solutions=iterate.solutions,
        sigma=sigma,
        covariance=np.array(np.linalg.inv(iterate.equations.matrix / sigma**2 + P), dtype=float),
        steps=steps,
        converged=converged,
    )


def _try_step(
    scaled: ScaledSkeleton,
    P: Array,
    sigma: float,
    frames: FitFrames,
    options: Array,
    iterate: FitIterate,
    damping: float,
    small: float,
) -> tuple[FitIterate | None, float, float]:
    """Return the next iterate, None if none is better; its predicted reduction; the damping."""
    objective = iterate.objective(sigma, P)
    equations = iterate.equations
    matrix = equations.matrix + sigma**2 * P
    rhs = equations.rhs - sigma**2 * (P @ iterate.theta)
    predicted = np.inf
    while damping < MAX_DAMPING and predicted > small:
        step = np.linalg.solve(matrix + damping * np.diag(np.diag(matrix)), rhs)
        predicted = float(step @ rhs) / sigma**2
        theta = iterate.theta + step
        pose_step = equations.pose_step - equations.pose_sensitivity @ step
        problem = make_fit_problem(scaled, theta, frames)
        starts = iterate.problem.skeleton.integrate(iterate.solutions.q, pose_step)
        solutions = solve_frames(problem, options, np.arange(len(starts)), starts)
        if _objective(solutions, sigma, P, theta) < objective:
            next_equations = compute_normal_equations(scaled, theta, problem, solutions.q)
            next_iterate = FitIterate(
                theta=theta, problem=problem, solutions=solutions, equations=next_equations
            )
            return next_iterate, predicted, max(damping / DAMPING_FACTOR, MIN_DAMPING)
        damping *= DAMPING_FACTOR
    return None, predicted, damping


def _objective(solutions: FrameSolutions, sigma: float, P: Array, theta: Array) -> float:
    return float(solutions.cost.sum()) / sigma**2 + 0.5 * float(theta @ P @ theta)


def _estimate_sigma(iterate: FitIterate, parameter_count: int) -> float:
    """Return σ [m] from the residuals, the dofs that were fitted, and how often errors repeat."""
    problem, solutions = iterate.problem, iterate.solutions
    rows = 3 * int(problem.seen.sum())
    free = int((~problem.frame_problem.locked).sum())
    redundancy = max(rows - len(solutions.q) * free - parameter_count, rows // 10, 1)
    repeats = max(len(solutions.q) / INDEPENDENT_FRAMES, 1.0)
    return max(float(np.sqrt(2.0 * solutions.cost.sum() / redundancy * repeats)), MIN_SIGMA)


class SkeletonFit(NamedTuple):
    """A skeleton fitted to a recording.

    Attributes:
        solution: parameters and poses.
        frames: of the recording that were used, (F,).
        errors_before: of each marker in each of them with the skeleton as it was [m], (F, M).
    """

    solution: FitSolution
    frames: IntArray
    errors_before: Array


def fit_skeleton(
    skeleton: Skeleton,
    markers: Markers,
    prior: Prior,
    *,
    kind: str,
    fixed: Sequence[str],
    frames: int,
    limits: str = "hard",
    lock: Sequence[str] = (),
    progress: Progress | None = None,
) -> SkeletonFit:
    """Return the skeleton that fits the most different frames of a recording.

    First poses alone, then one scale for all bones with them, then everything.

    Args:
        skeleton: as it is.
        markers: those to use, all of which are on the skeleton.
        prior: what is assumed of the parameters; one `offset_sd` for each marker in the order of
            `match_markers`.
        kind: of scales, one of `SCALE_KINDS` or "none".
        fixed: names of the skeleton's markers that stay.
        frames: how many to use.
        limits: "hard", "soft" or "off".
        lock: bones or dofs that stay where they are.
        progress: is called with what is done and to do.
    """
    names = tuple(match_markers(skeleton, markers).values())
    chosen = choose_diverse_frames(markers, frames)
    used = replace(markers, positions=markers.positions[chosen], others={})
    fit_frames = FitFrames(
        markers=used,
        limits=limits,
        lock=tuple(lock),
        similar=find_similar_frames(align_shapes(used.positions), SIMILAR_FRAMES),
        progress=progress,
    )
    scaled = make_scaled_skeleton(skeleton, names, kind, fixed)
    uniform = scaled.with_groups("none" if kind == "none" else "global")
    uniform = uniform.with_movable(np.zeros(len(names), dtype=bool))
    problem = make_fit_problem(uniform, np.zeros(uniform.parameter_count), fit_frames)
    options = ROUGH.options(problem.frame_problem)
    solutions = find_start_poses(problem, options, fit_frames.similar)
    errors_before = np.linalg.norm(problem.residuals(solutions.q), axis=2)
    fit_frames.report_progress((0.0, 0.2), 1.0)
    theta, q = np.zeros(scaled.parameter_count), solutions.q
    if uniform.parameter_count > 0:
        uniform_fit = fit_parameters(uniform, np.zeros(1), prior, fit_frames, q, (0.2, 0.3))
        theta[: len(scaled.scale_groups)], q = uniform_fit.theta[0], uniform_fit.solutions.q
    solution = fit_parameters(scaled, theta, prior, fit_frames, q, (0.3, 1.0))
    return SkeletonFit(solution, chosen, errors_before)
