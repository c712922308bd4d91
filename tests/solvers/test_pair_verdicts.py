"""Verdicts on problems with goals between two bodies, against the oracle's derivatives."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from test_limits import add_limits, optimality
from test_verdict_campaign import curves_down

import exactik as ik
from exactik.lab.check import oracle, random_coordinates, random_pair_goals, random_skeleton
from exactik.typing import Array

SLOPE = 1e-7  # relative; a method measures it over the largest curvature that it has seen
FLAT = 1e-7  # share of the cost that a turn of 1 rad or a shift of 1 m must take away


def fork(rng: np.random.Generator) -> ik.Skeleton:
    """Two straight chains of hinges on one: where saddles are found."""
    bones = [ik.Bone("stem", joint=ik.Joint.revolute("z"))]
    for side, y in (("l", 0.1), ("r", -0.1)):
        parent = "stem"
        for k in range(int(rng.integers(1, 4))):
            axis = "yz"[int(rng.integers(2))]
            limits = (-rng.uniform(0.5, 3), rng.uniform(0.5, 3)) if rng.random() < 0.6 else None
            offset = (0.0, y, 0.0) if k == 0 else (rng.uniform(0.1, 0.4), 0, 0)
            joint = ik.Joint.revolute(axis, limits=limits)
            bones.append(ik.Bone(f"{side}{k}", parent=parent, offset=offset, joint=joint))
            parent = f"{side}{k}"
    return ik.Skeleton.build("fork", bones)


def random_case(seed: int, k: int) -> tuple[ik.Problem, Array, str]:
    """Problem, start and solver."""
    rng = np.random.default_rng([seed, k])
    straight = k % 3 == 2
    skeleton = fork(rng) if straight else add_limits(rng, random_skeleton(rng))
    if len(skeleton.bones) < 2:
        return random_case(seed + 1000, k)
    q = random_coordinates(rng, skeleton)
    goals = random_pair_goals(rng, skeleton, q)
    if straight:
        left, right = (max(n for n in skeleton.bone_names if n.startswith(side)) for side in "lr")
        tips = ((0.3, 0, 0), (0.3, 0, 0))
        apart = float(rng.uniform(0.0, 1.5))
        goals = [ik.DistanceGoal(left, right, distance=apart, points=tips)]
        if rng.random() < 0.5:
            goals = [ik.PositionGoal(left, (apart, 0.0, 0.0), tips[0], relative_to=right)]
    q0 = skeleton.neutral() if straight or rng.random() < 0.5 else random_coordinates(rng, skeleton)
    solver = str(rng.choice(["auto"] * 6 + ["newton", "gauss-newton", "levenberg-marquardt"]))
    return ik.Problem(skeleton, goals), skeleton.clip(q0), solver


def disagreement(result: ik.Result) -> str:
    """What the oracle finds wrong with a verdict; nothing if it is right."""
    problem, q, status = result.problem, result.q, result.status
    if status == "reached":
        return ""
    answer = oracle.evaluate(problem.skeleton, problem.goals, q)
    judged = optimality(problem, q, answer)
    felt = np.abs(answer.gradient) > FLAT * answer.cost
    slope = float(judged.slopes[felt].max(initial=0.0))
    if not result.converged:
        return "" if judged.slopes.max() > 1e-9 else f"it is converged, {slope:.1e}"
    if slope > SLOPE:
        return f"it is not converged, {slope:.1e}"
    if status in ("out-of-reach", "stationary"):
        return ""
    free = ~problem.locked & (judged.pushes <= 1e-9)
    least = np.linalg.eigvalsh(answer.hessian[np.ix_(free, free)]).min(initial=0.0)
    falls = curves_down(problem, q, answer) and least < -FLAT * answer.cost
    return "" if falls == (status == "saddle") else f"curvature {least:.1e}"


@pytest.mark.full
@pytest.mark.parametrize(
    "count", [300, pytest.param(2000, marks=pytest.mark.slow)], ids=lambda count: f"{count}"
)
def test_verdicts_agree_with_the_oracle(count: int) -> None:
    """All of them; and every kind of verdict that such goals can have comes up."""
    wrong, seen = [], Counter()
    for k in range(count):
        problem, q0, solver = random_case(0, k)
        result = ik.solve(problem, q0=q0, solver=solver)
        seen[result.status] += 1
        if (said := disagreement(result)) != "":
            wrong.append(f"problem {k}, {solver}: {result.why!r}, but {said}")
    assert wrong == [], "\n".join(wrong)
    assert set(seen) >= {"reached", "saddle", "at-limits", "local-minimum"}, seen
