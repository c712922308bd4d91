"""Verdicts against independent judges, on random problems that can be solved and that cannot.

The judges are the oracle's forward kinematics and derivatives, and many starts from all over the
limits for what is called out of reach.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import product

import numpy as np
import pytest
from numpy.typing import ArrayLike
from test_limits import optimality, random_figure, random_goals, targets_at

import exactik as ik
from exactik.lab.check import oracle, random_coordinates
from exactik.solvers import STATUSES
from exactik.typing import Array

OTHERS = ["newton", "gauss-newton", "levenberg-marquardt", "bfgs"]


def straight_chain(rng: np.random.Generator) -> ik.Skeleton:
    """Two to five hinges across a straight line, where saddles are found."""
    bones = [
        ik.Bone(
            f"s{k}",
            parent=f"s{k - 1}" if k > 0 else None,
            offset=(rng.uniform(0.1, 0.4) if k > 0 else 0.0, 0, 0),
            joint=ik.Joint.revolute(
                "yz"[int(rng.integers(2))],
                limits=(-rng.uniform(0.5, 3), rng.uniform(0.5, 3)) if rng.random() < 0.6 else None,
            ),
        )
        for k in range(int(rng.integers(2, 6)))
    ]
    return ik.Skeleton.build("straight", bones, {"TIP": (bones[-1].name, (0.2, 0, 0))})


def random_case(seed: int, k: int) -> tuple[ik.Problem, Array, str]:
    """Problem, start and solver: half of the problems can be solved, some only outside limits."""
    rng = np.random.default_rng([seed, k])
    straight = k % 5 == 4
    skeleton, lock = (straight_chain(rng), ()) if straight else random_figure(rng, k)
    goals = random_goals(rng, skeleton)
    goals = goals if rng.random() < 0.6 else goals[:1]
    problem = ik.Problem(skeleton, goals, lock=lock)
    q = random_coordinates(rng, skeleton)
    if rng.random() < 0.4:
        q = skeleton.clip(q)
    shift = rng.choice([0.0, 0.0, 0.1, 1.0]) * rng.normal(size=(1, 3))
    targets = {name: value[0] for name, value in targets_at(problem, q[None], shift).items()}
    solver = str(rng.choice(["auto"] * 6 + OTHERS))
    q0 = skeleton.neutral() if rng.random() < 0.5 else random_coordinates(rng, skeleton)
    if straight and rng.random() < 0.5:
        targets["TIP"] = np.array([rng.uniform(-1.5, 1.5), 0.0, 0.0])
        q0, solver = skeleton.neutral(), str(rng.choice(["auto", *OTHERS]))
    return problem.with_targets(targets), q0, solver


def bone_and_point(skeleton: ik.Skeleton, goal: ik.Goal) -> tuple[str, ArrayLike]:
    """Where a goal looks."""
    if isinstance(goal, ik.MarkerGoal):
        return skeleton.marker(goal.marker)
    assert isinstance(goal, ik.PoseGoal | ik.OrientationGoal | ik.DirectionGoal)
    return goal.bone, (0.0, 0.0, 0.0)


def angle(a: Array, b: Array) -> float:
    """The angle between two vectors [rad]."""
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    return 2.0 * float(np.arctan2(np.linalg.norm(a - b), np.linalg.norm(a + b)))


def turn(a: Array, b: Array) -> float:
    """The angle of the rotation from one frame to the other [rad]."""
    gap = float(np.linalg.norm(a - b))  # 2√2 sin(angle/2)
    return 2.0 * float(np.arctan2(gap, np.sqrt(max(8.0 - gap * gap, 0.0))))


def independent_misses(problem: ik.Problem, q: Array) -> dict[str, tuple[float, float]]:
    """Miss and tolerance of each goal, by the oracle's forward kinematics."""
    skeleton, result = problem.skeleton, {}
    positions, rotations = oracle.forward(skeleton, q)
    for name, goal in zip(problem.rows, problem.goals, strict=True):
        if isinstance(goal, ik.PostureGoal):
            continue
        bone, point = bone_and_point(skeleton, goal)
        k = skeleton.bone_index(bone)
        place, R = positions[k] + rotations[k] @ np.asarray(point), rotations[k]
        match goal:
            case ik.MarkerGoal():
                result[name] = float(np.linalg.norm(goal.target - place)), 1e-3
            case ik.PoseGoal():
                target = np.asarray(goal.target)
                result[name] = float(np.linalg.norm(target[:3, 3] - place)), 1e-3
                result[f"{name}.rotation"] = turn(target[:3, :3], R), 1e-2
            case ik.DirectionGoal():
                result[name] = angle(np.asarray(goal.target), R @ np.asarray(goal.axis)), 1e-2
            case ik.OrientationGoal(kind="log"):
                result[name] = turn(goal.rotation, R), 1e-2
            case ik.OrientationGoal():
                result[name] = max(angle(goal.rotation[:, a], R[:, a]) for a in range(3)), 1e-2
    return result


def curves_down(problem: ik.Problem, q: Array, answer: oracle.OracleAnswer) -> bool:
    """Whether the oracle's Hessian is negative along a way that the limits leave open."""
    skeleton = problem.skeleton
    own = np.where(skeleton.plain_q >= 0, q[skeleton.plain_q], 0.0)
    free = ~problem.locked & (optimality(problem, q, answer).pushes <= 1e-9)
    touched = free & ((own <= problem.lower) | (own >= problem.upper))
    inwards = np.where(own <= problem.lower, 1.0, -1.0)
    largest = np.abs(np.linalg.eigvalsh(answer.hessian[np.ix_(free, free)])).max(initial=0.0)
    # Dofs that move no goal make no difference.
    felt = np.abs(answer.hessian[:, free]).max(axis=1, initial=0.0) > 1e-12 * largest
    members = np.flatnonzero(touched & felt)
    assert len(members) <= 12
    # A way down inside the cone is an eigenvector of some face of it, inside that face.
    for pattern in product((False, True), repeat=len(members)):
        moving = np.append(np.flatnonzero(free & ~touched), members[list(pattern)]).astype(int)
        values, vectors = np.linalg.eigh(answer.hessian[np.ix_(moving, moving)])
        bounded = np.isin(moving, members)
        for sense in (1.0, -1.0):
            allowed = (sense * vectors * inwards[moving][:, None])[bounded] > 0.0
            if (allowed.all(axis=0) & (values < -1e-8 * largest)).any():
                return True
    return False


def alone(problem: ik.Problem, name: str, place_only: bool = True) -> ik.Problem:
    """The problem of one goal alone, or of its place, with the same limits and locks."""
    goal = dict(zip(problem.rows, problem.goals, strict=True))[name]
    if isinstance(goal, ik.PoseGoal) and place_only:
        goal = ik.PositionGoal(goal.bone, np.asarray(goal.target)[:3, 3], goal.point)
    names = zip(problem.skeleton.dof_names, problem.locked, strict=True)
    return ik.Problem(problem.skeleton, [goal], lock=[dof for dof, locked in names if locked])


def disagreement(result: ik.Result) -> str:
    """What an independent judge finds wrong with a verdict; nothing if it is right."""
    problem, q, status = result.problem, result.q, result.status
    misses = independent_misses(problem, q)
    for name, (miss, _) in misses.items():
        if abs(result.goal_errors[name] - miss) > 1e-9 + 1e-9 * miss:
            return f"{name} is missed by {miss}, not {result.goal_errors[name]}"
    if all(miss <= tolerance for miss, tolerance in misses.values()) != (status == "reached"):
        return f"misses are {misses}"
    if status == "reached":
        return ""
    answer = oracle.evaluate(problem.skeleton, problem.goals, q, lock=problem.locked)
    judged = optimality(problem, q, answer)
    slope = float(judged.slopes.max())
    if not result.converged and status != "out-of-reach":
        return "" if slope > 1e-9 else f"it is converged, {slope:.1e}"
    if slope > 1e-8 and result.converged:
        return f"it is not converged, {slope:.1e}"
    if result.converged and curves_down(problem, q, answer) != (status == "saddle"):
        return "curvature"
    if status == "out-of-reach":
        far = (
            r"out of reach: (.+) is (\S+) m (?:beyond full stretch|away, and no free dof moves it)"
            r"(?:, many times its reach: targets are in metres)?"
            r"(?:; stalled before the nearest pose, .*)?"
        )
        turned = re.fullmatch(r"out of reach: (.+) is (\S+)° off, and no free dof .*", result.why)
        if turned is not None:
            name = turned[1].removesuffix(".rotation")
            whole = alone(problem, name, place_only=False)
            best = [*ik.solve(whole, q0=q, starts=100, seed=11).goal_errors.values()][-1]
            enough = np.degrees(best) >= 0.995 * float(turned[2])
            return "" if enough else f"{turned[1]} gets as near as {best} rad"
        named = re.fullmatch(far, result.why)
        assert named is not None, result.why
        best = next(
            iter(ik.solve(alone(problem, named[1]), q0=q, starts=100, seed=11).goal_errors.values())
        )
        return "" if best >= 0.995 * float(named[2]) else f"{named[1]} gets as near as {best}"
    if status == "at-limits":
        named = re.findall(r"(?::|,) (\S+) is at its (lower|upper) limit", result.why)
        assert len(named) > 0, result.why
        for dof, side in named:
            i = problem.skeleton.dof_names.index(dof)
            own = q[problem.skeleton.plain_q[i]]
            limit, sign = (problem.lower, 1) if side == "lower" else (problem.upper, -1)
            if own != limit[i] or sign * answer.gradient[i] <= 0.0:
                return f"{dof} is not pushed against its {side} limit"
    return ""


@pytest.mark.full
@pytest.mark.parametrize(
    "count", [300, pytest.param(2000, marks=pytest.mark.slow)], ids=lambda count: f"{count}"
)
def test_verdicts_agree_with_independent_judges(count: int) -> None:
    """All of them; and every kind of verdict comes up."""
    wrong, seen = [], Counter()
    for k in range(count):
        problem, q0, solver = random_case(0, k)
        result = ik.solve(problem, q0=q0, solver=solver)
        seen[result.status] += 1
        solution = disagreement(result)
        if solution != "":
            wrong.append(f"problem {k}, {solver}: {result.why!r}, but {solution}")
    assert wrong == [], "\n".join(wrong)
    assert set(seen) >= {*STATUSES} - {"time-limit", "stationary", "loop-open"}, seen
