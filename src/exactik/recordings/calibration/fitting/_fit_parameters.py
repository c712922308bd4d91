"""Parameters of a skeleton and the poses of many frames at once: damped Gauss–Newton.

What is minimised, over the parameters θ and the poses q_t of F frames, is

    E = Σ_t (½ Σ_m w_tm |r_tm|² + posture) / σ²  +  ½ θᵀPθ        r = target − y(q, θ)

with P the inverse covariance of the prior of θ: θ = 0 is the skeleton as it was. The poses are kept
at their best for the θ at hand, by the solver that tracking uses, limits included; steps of θ come
from `compute_normal_equations`, whose matrix over σ², with P, is the inverse of the covariance of
θ. The weights w are those of a robust loss (`_robust`), or 1.

Errors of skin markers are not drawn anew in each frame: skin moves in the same way whenever a limb
does. Unless σ is given, all frames together count as `INDEPENDENT_FRAMES` independent ones;
otherwise many frames would outweigh any prior, and bones would shrink to half their length to lower
errors by a millimetre.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from exactik.model.motion import Markers
from exactik.recordings.calibration.fitting._normal_equations import (
    NormalEquations,
    compute_normal_equations,
)
from exactik.recordings.calibration.fitting._prior import Prior
from exactik.recordings.calibration.fitting._robust import WEIGHT_TOLERANCE, compute_robust_weights
from exactik.recordings.calibration.fitting._scaled_skeleton import ScaledSkeleton
from exactik.recordings.tracking import (
    DEFAULT_OPTIONS,
    FrameSolutions,
    TrackingProblem,
    make_tracking_problem,
    solve_cold_start,
    solve_frames,
)
from exactik.typing import Array

Progress = Callable[[int, int], object]

POSTURE_WEIGHT = 4e-8  # less than tracking's, or it would outweigh the prior
MIN_SIGMA = 2e-4  # [m] no marker is measured better than this
# A step that promises to lower E by less has converged: it would move no parameter by more than a
# tenth of its standard deviation.
CONVERGED_REDUCTION = 3e-3
CONVERGED_RELATIVE_REDUCTION = 1e-6  # the same as a share of E
MAX_STEPS = 40
MAX_RESTARTS = 3  # of the steps after convergence, with better poses or other robust weights
# Of every frame, before the fit and at rest. From the neutral pose alone three frames in fifty
# of a recording stayed in a wrong pose, 51 mm off instead of 6; twelve take twice as long for no
# less error on other frames.
COLD_STARTS = 6
BETTER_COST_RATIO = 0.99  # below which another pose replaces the one that a frame has
WARM = replace(DEFAULT_OPTIONS.warm_start, tolerance=1e-6)  # steps take poses to be at their best
FIRST_DAMPING, MAX_DAMPING = 1e-3, 1e6  # of the diagonal; beyond the second no step helps
DAMPING_FACTOR, MIN_DAMPING = 8.0, 1e-9
INDEPENDENT_FRAMES = 8  # that all frames together count as, where σ is not given


class FitFrames(NamedTuple):
    """The markers of the frames in use, and what poses may do to follow them."""

    markers: Markers  # of these frames
    limits: str  # "hard", "soft" or "off"
    lock: tuple[str, ...]  # bones or dofs that stay where they are
    robust: bool  # whether markers that are far off count less
    # That markers have in the frames, (F, M), or None where all have the same
    weights: Array | None = None
    progress: Progress | None = None  # called with what is done and to do, or None

    def report_progress(self, span: tuple[float, float], done: float) -> None:
        """Report that a share of the work from span[0] to span[1] of the whole is done."""
        if self.progress is not None:
            self.progress(round(100 * (span[0] + (span[1] - span[0]) * min(done, 1.0))), 100)


def make_fit_problem(scaled: ScaledSkeleton, theta: Array, frames: FitFrames) -> TrackingProblem:
    """Return the problem of following the frames with the skeleton of these parameters."""
    problem = make_tracking_problem(
        scaled.build(theta),
        frames.markers,
        limits=frames.limits,
        lock=frames.lock,
        posture=POSTURE_WEIGHT,
    )
    return problem if frames.weights is None else problem.with_targets(confidence=frames.weights)


@dataclass(eq=False)
class FitSolution:
    """Parameters, and the poses that go with them."""

    scaled: ScaledSkeleton  # which parameters there are
    theta: Array  # parameters, (n,)
    problem: TrackingProblem  # of following the frames with the skeleton of these parameters
    solutions: FrameSolutions  # poses of the frames
    sigma: float  # of the markers [m]
    covariance: Array  # of the parameters, (n, n)
    weights: Array  # that the markers have in the frames, 0 to 1, (F, M)
    steps: int  # how many were taken
    converged: bool  # whether the last ones were as small as asked


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
    *,
    progress_span: tuple[float, float],
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
    options = WARM.options(make_fit_problem(scaled, theta, frames).frame_problem)
    frames, iterate, _ = renew(scaled, theta, frames, options, q, search=False)
    damping, steps, restarts, converged = FIRST_DAMPING, 0, 0, False
    while steps < MAX_STEPS:
        sigma = prior.sigma or _estimate_sigma(iterate, scaled.parameter_count)
        small = CONVERGED_REDUCTION + CONVERGED_RELATIVE_REDUCTION * iterate.objective(sigma, P)
        better, predicted, damping = _try_step(
            scaled, P, sigma, frames, options, iterate, damping, small
        )
        steps += better is not None
        iterate = better or iterate
        frames.report_progress(progress_span, steps / MAX_STEPS)
        converged = better is None or predicted < small
        # With the figure at rest, better poses may be found, and outliers stand out better.
        if converged:
            frames, iterate, changed = renew(
                scaled, iterate.theta, frames, options, iterate.solutions.q, search=True
            )
            if not changed or restarts == MAX_RESTARTS:
                break
            restarts += 1
            damping = min(damping, FIRST_DAMPING)
    sigma = prior.sigma or _estimate_sigma(iterate, scaled.parameter_count)
    frames.report_progress(progress_span, 1.0)
    return FitSolution(
        scaled=scaled,
        theta=iterate.theta,
        problem=iterate.problem,
        solutions=iterate.solutions,
        sigma=sigma,
        covariance=np.array(np.linalg.inv(iterate.equations.matrix / sigma**2 + P), dtype=float),
        weights=_weights_of(iterate.problem),
        steps=steps,
        converged=converged,
    )


def renew(
    scaled: ScaledSkeleton,
    theta: Array,
    frames: FitFrames,
    options: Array,
    q: Array,
    *,
    search: bool,
) -> tuple[FitFrames, FitIterate, bool]:
    """Return frames with new robust weights and their iterate at θ, and whether anything changed.

    Args:
        scaled: which parameters there are.
        theta: parameters.
        frames: with the weights that they have.
        options: of the descents.
        q: poses to start from, (F, nq).
        search: whether to look for better poses from cold starts.
    """
    problem, every, changed = make_fit_problem(scaled, theta, frames), np.arange(len(q)), False
    solutions = solve_frames(problem, options, every, q)
    if search:
        anew = solve_cold_start(problem, options, every, COLD_STARTS)
        better = np.flatnonzero(anew.cost < BETTER_COST_RATIO * solutions.cost)
        solutions.put(better, anew.take(better))
        changed = len(better) > 0
    if frames.robust:
        distances = np.linalg.norm(problem.residuals(solutions.q), axis=2)
        weights = compute_robust_weights(distances)
        change = np.abs(weights - _weights_of(problem))[problem.seen]
        changed |= change.size > 0 and float(change.mean()) > WEIGHT_TOLERANCE
        frames = frames._replace(weights=weights)
        problem = make_fit_problem(scaled, theta, frames)
        solutions = solve_frames(problem, options, every, solutions.q)
    equations = compute_normal_equations(scaled, theta, problem, solutions.q)
    return frames, FitIterate(theta, problem, solutions, equations), changed


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
            better = FitIterate(theta, problem, solutions, next_equations)
            return better, predicted, max(damping / DAMPING_FACTOR, MIN_DAMPING)
        damping *= DAMPING_FACTOR
    return None, predicted, damping


def _objective(solutions: FrameSolutions, sigma: float, P: Array, theta: Array) -> float:
    return float(solutions.cost.sum()) / sigma**2 + 0.5 * float(theta @ P @ theta)


def _weights_of(problem: TrackingProblem) -> Array:
    """Return the weight of each marker in each frame, 0 where it is missing, (F, M)."""
    confidence = problem.targets.confidence
    seen = problem.seen.astype(float)
    return seen * confidence if len(confidence) > 0 else seen


def _estimate_sigma(iterate: FitIterate, parameter_count: int) -> float:
    """Return σ [m] from the residuals, the dofs that were fitted, and how often errors repeat."""
    problem, solutions = iterate.problem, iterate.solutions
    rows = 3.0 * float(_weights_of(problem).sum())
    free = int((~problem.frame_problem.locked).sum())
    redundancy = max(rows - len(solutions.q) * free - parameter_count, rows / 10.0, 1.0)
    repeats = max(len(solutions.q) / INDEPENDENT_FRAMES, 1.0)
    return max(float(np.sqrt(2.0 * solutions.cost.sum() / redundancy * repeats)), MIN_SIGMA)
