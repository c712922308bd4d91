"""Parameters of a skeleton and the poses of many frames at once: damped Gauss–Newton.

What is minimised, over the parameters θ and the poses q_t of F frames, is

    E = Σ_t (½ Σ_m w_tm |r_tm|² + posture) / σ²  +  ½ θᵀPθ        r = target − y(q, θ)

with P the inverse covariance of the prior of θ: θ = 0 is the skeleton as it was. Steps of θ come
from `compute_fit_equations`, whose matrix over σ², with P, is the inverse of the covariance of θ;
they are damped along P, in standard deviations of the prior. After each step every pose has a few
iterations of the solver that tracking uses, limits included, and what is left to gain there is in
the next equations. The weights w are those of a robust loss, or 1.

Errors of skin markers are not drawn anew in each frame: skin moves in the same way whenever a limb
does. Unless σ is given, all frames together count as `INDEPENDENT_FRAMES` independent ones;
otherwise many frames would outweigh any prior, and bones would shrink to half their length to lower
errors by a millimetre.

As in tracking, a marker pulls as the distance up to c and no harder beyond it (Huber), c being so
many standard deviations of the markers. Unlike there, a marker much farther off hardly counts at
all: poses of one frame recover when an outlier is gone, bones of the wrong length stay.

    w(r) = 1                   r ≤ c
           c / r               c < r ≤ g c
           (c / r)(g c / r)²   beyond

The weights are held during a step and are set anew after it, once steps gain little.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from exactik.model.motion import Markers
from exactik.recordings.calibration.fitting._poses import compute_fit_equations, solve_poses
from exactik.recordings.calibration.fitting._prior import Prior
from exactik.recordings.calibration.fitting._scaled_skeleton import ScaledSkeleton
from exactik.recordings.tracking import (
    DEFAULT_OPTIONS,
    FrameSolutions,
    TrackingProblem,
    make_tracking_problem,
)
from exactik.typing import Array, IntArray

Progress = Callable[[int, int], object]

POSTURE_WEIGHT = 4e-8  # less than tracking's, or it would outweigh the prior
MIN_SIGMA = 2e-4  # [m] no marker is measured better than this
# A step that promises to lower E by less has converged: it would move no parameter by more than a
# tenth of its standard deviation.
CONVERGED_REDUCTION = 3e-3
CONVERGED_RELATIVE_REDUCTION = 1e-6  # the same as a share of E
MAX_STEPS = 40
REWEIGHTING_REDUCTION = 30.0  # of E, promised by a step from which on weights follow the residuals
WARM = replace(DEFAULT_OPTIONS.warm_start, tolerance=1e-6)
# Of each pose after a step. With two, poses lag behind and steps of the parameters are refused;
# with twelve, steps are as many.
BRIEF = replace(WARM, max_iterations=6)
FIRST_DAMPING, MIN_DAMPING, MAX_DAMPING = 0.1, 1e-6, 1e6  # of P; beyond the last no step helps
LEAST_RAISED_DAMPING = 1e-4  # that a refused step is damped by, before it is raised
DAMPING_GROWTH = 4.0  # at the first refusal, doubled at each one in a row
LARGEST_DAMPING_FALL = 5.0  # after a step that was as good as promised
INDEPENDENT_FRAMES = 8  # that all frames together count as, where σ is not given
# [standard deviations along each axis] c. Of markers without outliers 0.6 % are farther off.
HUBER_WIDTH = 3.5
GROSS_RATIO = 2.0  # g: a swapped pair or a spike is far beyond it, skin that slides is not
MEDIAN_DISTANCE = 1.538  # [standard deviations along each axis] of a normal distribution in space
MIN_WIDTH = 1e-3  # [m] of c, so that a figure that fits perfectly does not fall out with rounding
# Largest mean change of the weights at which they are taken to be settled. With 5e-3 the sum of the
# loss came out 0.1 to 0.4 % higher on some recordings, with 2e-2 1 to 5 %.
WEIGHT_TOLERANCE = 1.5e-3


class FitFrames(NamedTuple):
    """The markers of the frames in use, and what poses may do to follow them."""

    markers: Markers
    limits: str  # "hard", "soft" or "off"
    lock: tuple[str, ...]  # bones or dofs that stay where they are
    robust: bool  # whether markers that are far off count less
    weights: Array | None = None  # of markers in frames, (F, M); None where all have the same
    progress: Progress | None = None  # called with what is done and to do
    threads: int = 1

    def report_progress(self, span: tuple[float, float], done: float) -> None:
        """Report that a share of the work from span[0] to span[1] of the whole is done."""
        if self.progress is not None:
            self.progress(round(100 * (span[0] + (span[1] - span[0]) * min(done, 1.0))), 100)

    def take(self, rows: IntArray) -> FitFrames:
        """Return some of the frames."""
        markers = replace(self.markers, positions=self.markers.positions[rows])
        return self._replace(markers=markers, weights=None)


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


def resize(scaled: ScaledSkeleton, theta: Array, problem: TrackingProblem) -> TrackingProblem:
    """Return a fit's problem with the figure of other parameters; its skeleton is what it was."""
    return problem.with_figure(scaled.build_tree(theta), scaled.scaled_points(theta))


@dataclass(eq=False)
class FitSolution:
    """Parameters, and the poses that go with them."""

    scaled: ScaledSkeleton  # which parameters there are
    prior: Prior  # what was assumed of them
    theta: Array  # their values, (n,)
    problem: TrackingProblem  # of following the frames with the figure of these values
    solutions: FrameSolutions  # poses of the frames
    steps: int = 0  # how many were taken
    converged: bool = False  # whether the last ones were as small as asked

    @property
    def weights(self) -> Array:
        """Those that the markers have in the frames, 0 to 1, 0 where one is missing, (F, M)."""
        confidence, seen = self.problem.targets.confidence, self.problem.seen.astype(float)
        return seen * confidence if len(confidence) > 0 else seen

    @cached_property
    def sigma(self) -> float:
        """Of the markers [m]: given, or by the residuals."""
        return self.prior.sigma or self._estimate_sigma()

    @cached_property
    def covariance(self) -> Array:
        """Of the parameters, (n, n)."""
        equations = compute_fit_equations(self.scaled, self.theta, self.problem, self.solutions.q)
        P = self.prior.precision(self.scaled)
        return np.array(np.linalg.inv(equations.matrix / self.sigma**2 + P), dtype=float)

    def objective(self, sigma: float, P: Array) -> float:
        """Return E."""
        prior_cost = 0.5 * float(self.theta @ P @ self.theta)
        return float(self.solutions.cost.sum()) / sigma**2 + prior_cost

    def _estimate_sigma(self) -> float:
        """Return σ [m] by the residuals, the dofs that were fitted, and how often errors repeat."""
        rows, frames = 3.0 * float(self.weights.sum()), len(self.solutions.q)
        free = int((~self.problem.frame_problem.locked).sum())
        redundancy = max(rows - frames * free - self.scaled.parameter_count, rows / 10.0, 1.0)
        repeats = max(frames / INDEPENDENT_FRAMES, 1.0)
        cost = float(self.solutions.cost.sum())
        return max(float(np.sqrt(2.0 * cost / redundancy * repeats)), MIN_SIGMA)


def fit_parameters(
    scaled: ScaledSkeleton, theta: Array, prior: Prior, frames: FitFrames, q: Array
) -> FitSolution:
    """Return the best parameters, from θ and poses q, (F, nq).

    Args:
        scaled: which parameters there are.
        theta: parameters to start from.
        prior: what is assumed of them.
        frames: what is to be followed.
        q: poses to start from, (F, nq).
    """
    problem = resize(scaled, theta, make_fit_problem(scaled, np.zeros(len(theta)), frames))
    poses = solve_poses(problem, BRIEF.options(problem.frame_problem), q, frames.threads)
    return continue_fit(FitSolution(scaled, prior, theta, problem, poses), frames)


def continue_fit(
    at: FitSolution,
    frames: FitFrames,
    *,
    progress_span: tuple[float, float] = (0.0, 1.0),
    looseness: float = 1.0,
) -> FitSolution:
    """Return the best parameters, from others and their poses.

    Args:
        at: where to start.
        frames: how to follow them; their weights are those of `at`.
        progress_span: the share of all work that this is, from and to.
        looseness: times as much as usual may be left to gain, or change in the weights.
    """
    at, P = replace(at, steps=0, converged=False), at.prior.precision(at.scaled)
    options = BRIEF.options(at.problem.frame_problem)
    if frames.robust:
        at = _reweigh(at, options, frames.threads, WEIGHT_TOLERANCE) or at
    damping = FIRST_DAMPING
    while at.steps < MAX_STEPS and not at.converged:
        E = at.objective(at.sigma, P)
        small = looseness * (CONVERGED_REDUCTION + CONVERGED_RELATIVE_REDUCTION * E)
        step, promised, damping = _try_step(at, P, damping, small, options, frames.threads)
        steps, at, weighed = at.steps + 1, step or at, None
        converged = step is None or promised < small
        if frames.robust and (converged or promised < REWEIGHTING_REDUCTION):
            weighed = _reweigh(at, options, frames.threads, looseness * WEIGHT_TOLERANCE)
        at = replace(weighed or at, steps=steps, converged=converged and weighed is None)
        frames.report_progress(progress_span, steps / MAX_STEPS)
    frames.report_progress(progress_span, 1.0)
    return at


def finish(solution: FitSolution, frames: FitFrames) -> FitSolution:
    """Return the same with the skeleton of its parameters, its poses at their best."""
    problem = make_fit_problem(
        solution.scaled, solution.theta, frames._replace(weights=solution.weights)
    )
    options = WARM.options(problem.frame_problem)
    solutions = solve_poses(problem, options, solution.solutions.q, frames.threads)
    return replace(solution, problem=problem, solutions=solutions)


def _try_step(
    at: FitSolution, P: Array, damping: float, small: float, options: Array, threads: int
) -> tuple[FitSolution | None, float, float]:
    """Return the next iterate, None if none is better; its promised reduction; the damping."""
    sigma, E = at.sigma, at.objective(at.sigma, P)
    equations = compute_fit_equations(
        at.scaled, at.theta, at.problem, at.solutions.q, threads=threads
    )
    matrix = equations.matrix / sigma**2 + P
    rhs = equations.rhs / sigma**2 - P @ at.theta
    promised, growth = np.inf, DAMPING_GROWTH
    while damping < MAX_DAMPING:
        step = np.linalg.solve(matrix + damping * P, rhs)
        promised = float(step @ rhs - 0.5 * step @ matrix @ step)
        promised += 0.5 * equations.pose_reduction / sigma**2
        if promised < 0.5 * small:
            break
        problem = resize(at.scaled, at.theta + step, at.problem)
        solutions = solve_poses(problem, options, at.solutions.q, threads)
        better = replace(at, theta=at.theta + step, problem=problem, solutions=solutions)
        gain = E - better.objective(sigma, P)
        if gain > 0.0:
            fall = max(
                1.0 / LARGEST_DAMPING_FALL, 1.0 - (2.0 * min(gain / promised, 1.0) - 1.0) ** 3
            )
            return better, promised, max(damping * fall, MIN_DAMPING)
        damping = max(damping, LEAST_RAISED_DAMPING) * growth
        growth *= 2.0
    return None, promised, damping


def _reweigh(at: FitSolution, options: Array, threads: int, tolerance: float) -> FitSolution | None:
    """Return the same with robust weights of its residuals; None if these have settled."""
    distances = np.linalg.norm(at.problem.residuals(at.solutions.q), axis=2)
    weights = compute_robust_weights(distances)
    change = np.abs(weights - at.weights)[at.problem.seen]
    if change.size == 0 or float(change.mean()) < tolerance:
        return None
    problem = at.problem.with_targets(confidence=weights)
    solutions = solve_poses(problem, options, at.solutions.q, threads)
    return replace(at, problem=problem, solutions=solutions)


def compute_robust_weights(distances: Array) -> Array:
    """Return the weight of each marker in each frame by its distance [m], (F, M); 0 if missing."""
    seen = ~np.isnan(distances)
    if not seen.any():
        return np.zeros(distances.shape)
    width = HUBER_WIDTH * float(np.median(distances[seen])) / MEDIAN_DISTANCE
    ratio = np.where(seen, distances, 0.0) / max(width, MIN_WIDTH)
    weight = 1.0 / np.maximum(ratio, 1.0)
    weight *= np.minimum(GROSS_RATIO / np.maximum(ratio, 1e-12), 1.0) ** 2
    return np.where(seen, weight, 0.0)
