"""Figures that follow sampled motion by the three methods of the projected line-search paper.

Hands, feet, pelvis and head of a take are the goals, in the paper's unit: 0.05 units are about a
centimetre, hence 1 unit = 0.2 m. Its f has no ½ and is the sum of squared errors [unit²]; its step
τ multiplies the gradient of that f, so that it counts twice for `JacobianTranspose`.

Each method starts at its own last pose, and has so many gradients for every sample: an iteration
each. What a line search tries besides are costs without gradients; `evaluations` counts them too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from exactik.goals import PositionGoal
from exactik.model import Skeleton
from exactik.problem import Problem
from exactik.solvers import Auto, JacobianTranspose, ProjectedGradient, PseudoInverse, solve
from exactik.typing import Array, IntArray
from exactik_papers.recording import CM, Recording, Take, scale_skeleton

__all__ = [
    "AUTO",
    "FOLLOWERS",
    "LINE_SEARCH",
    "STEP",
    "STRICT",
    "SVD",
    "TOLERANCE",
    "TRANSPOSE",
    "UNIT",
    "FollowedSamples",
    "Sampled",
    "follow_samples",
    "sample_take",
]


UNIT = 0.2 * CM  # a unit of the paper [cm]
STEP = 0.005  # of its Jacobian transpose
TOLERANCE = 0.05  # [units], about a centimetre
ENDS = ("pelvis", "head", "l_hand", "r_hand", "l_foot", "r_foot")
ENDS_OF_HDM05 = ("root", "head", "lhand", "rhand", "lfoot", "rfoot")

TRANSPOSE, LINE_SEARCH = "Jacobian transpose", "projected line search"
STRICT = "projected line search, trials counted"
SVD, AUTO = "SVD, projected at the end", "auto"


@dataclass(frozen=True, eq=False)
class Sampled:
    """A figure and goals that were sampled from a take, in units.

    Attributes:
        skeleton: with the limits of the take.
        q: poses of the take at the samples, (n, nq): all goals are met there.
        targets: where the ends are, (n, 6, 3).
        problem: hard limits; its goals are at the first sample.
        free: the same without limits.
        up: axis of the world that points up.
        interval: between samples [s].
    """

    skeleton: Skeleton
    q: Array
    targets: Array
    problem: Problem
    free: Problem
    up: int
    interval: float

    def at(self, n: int, *, limits: bool = True) -> Problem:
        """Return the problem of a sample."""
        problem = self.problem if limits else self.free
        goals = dict(zip(problem.rows, self.targets[n], strict=True))
        return problem.with_targets(goals)


@dataclass(frozen=True, eq=False)
class FollowedSamples:
    """What a method made of the samples.

    Attributes:
        q: its poses, (n, nq).
        objective: sum of the squared errors of all ends [unit²], (n,).
        evaluations: of the cost, a mean over samples; NaN where the method does not say.
        ms: processor time of a sample.
    """

    q: Array
    objective: Array
    evaluations: float
    ms: float


def sample_take(recording: Recording, interval: float, *, start: float = 0.0) -> Sampled:
    """Return the workout of a recording, sampled.

    Args:
        recording: where from.
        interval: between samples [s].
        start: of the first sample [s], after the workout begins.
    """
    chosen = recording.kinds["workout"]
    take, (first, last) = chosen.take, (int(chosen.frames[0]), int(chosen.frames[-1]))
    times = np.arange(first / take.rate + start, last / take.rate, interval)
    frames = np.round(times * take.rate).astype(int)
    return of_frames(take, frames, interval)


def of_frames(take: Take, frames: IntArray, interval: float) -> Sampled:
    """Return given frames of a take."""
    skeleton, q = scale_skeleton(take.skeleton, np.array(take.q[frames]), 1.0 / UNIT)
    q = skeleton.clip(q)
    ends = ENDS if "l_hand" in {bone.name for bone in skeleton.bones} else ENDS_OF_HDM05
    index = [skeleton.bone_index(bone) for bone in ends]
    targets = skeleton.forward(q).positions[:, index]
    goals = [PositionGoal(bone, targets[0, k], name=bone) for k, bone in enumerate(ends)]
    hard = Problem(skeleton, goals, limits="hard", lock=take.lock)
    free = Problem(skeleton, goals, limits="off", lock=take.lock)
    return Sampled(skeleton, q, targets, hard, free, "xyz".index(take.up_axis), interval)


Solved = tuple[Array, int]  # a pose, and how many evaluations it took
Follower = Callable[[Sampled, int, Array, int], Solved]  # sample, start, gradients allowed


def transpose(data: Sampled, n: int, q: Array, budget: int, step: float = STEP) -> Solved:
    """Follow the gradient by a fixed step, clipped at the limits after each."""
    method = JacobianTranspose(
        step=2.0 * step, safeguard=False, max_iterations=budget, tolerance=0.0
    )
    result = solve(data.at(n), q0=q, solver=method)
    return result.q, result.evaluations


def line_search(data: Sampled, n: int, q: Array, budget: int) -> Solved:
    """Follow the projected gradient with back-tracking."""
    result = solve(data.at(n), q0=q, solver=ProjectedGradient(max_iterations=budget, tolerance=0.0))
    return result.q, result.evaluations


def strict(data: Sampled, n: int, q: Array, budget: int) -> Solved:
    """As `line_search`, with as many evaluations in all as there are gradients allowed."""
    allowed = budget
    while True:
        pose, count = line_search(data, n, q, allowed)
        if count <= budget or allowed == 1:
            return pose, count
        allowed = max(1, min(allowed - 1, allowed * budget // count))


def svd(data: Sampled, n: int, q: Array, budget: int) -> Solved:
    """Step by the pseudo-inverse as if there were no limits; project once, at the end."""
    method = PseudoInverse(safeguard=False, max_iterations=budget)
    result = solve(data.at(n, limits=False), q0=q, solver=method)
    return data.skeleton.clip(result.q), result.evaluations


def auto(data: Sampled, n: int, q: Array, budget: int) -> Solved:
    """Step by the exact Hessian inside the limits; not in the paper."""
    result = solve(data.at(n), q0=q, solver=Auto(max_iterations=budget, detour=False))
    return result.q, result.evaluations


FOLLOWERS: dict[str, Follower] = {
    TRANSPOSE: transpose,
    LINE_SEARCH: line_search,
    STRICT: strict,
    SVD: svd,
    AUTO: auto,
}


def follow_samples(data: Sampled, follower: Follower, budget: int) -> FollowedSamples:
    """Follow all samples but the first, where the figure starts as the take has it."""
    q, poses, counts = data.q[0].copy(), [data.q[0]], []
    objective = [0.0]
    began = time.thread_time()
    for n in range(1, len(data.q)):
        q, count = follower(data, n, q, budget)
        poses.append(q)
        counts.append(count)
    seconds = time.thread_time() - began
    for n in range(1, len(data.q)):
        objective.append(2.0 * data.at(n).cost(poses[n]))
    n = max(1, len(counts))
    return FollowedSamples(np.array(poses), np.array(objective), sum(counts) / n, 1e3 * seconds / n)
