"""Every solver on every problem: right, or wrong in a way that is known, and always honest."""

from __future__ import annotations

import dataclasses
import itertools
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import exactik as ik
from exactik import Problem, Result
from exactik.lab.check.oracle import forward
from exactik.solvers import STATUSES, Method, resolve_method
from exactik.typing import Array
from tests.support.problems import Range
from tests.support.solver_problems import CASES, Case, case, quaternion_arm

# Slow methods get fewer steps than by default.
FEWER = {
    "newton-higham": 60,
    "projected-gradient": 1000,
    "projected-cg": 300,
    "jacobian-transpose": 300,
    "pseudo-inverse": 40,
    "damped-least-squares": 300,
    "ccd": 200,
}
DESCENTS = "projected-gradient projected-cg jacobian-transpose"
LINEAR = f"levenberg-marquardt gauss-newton pseudo-inverse damped-least-squares {DESCENTS}"

# Who may say "stalled" or "iteration-limit", whether its answer is right or not. Methods without
# exact curvature are slow where a residual is left, and those of first order on long valleys.
UNFINISHED = {
    "planar beyond reach": LINEAR,
    "planar too near": LINEAR,
    **dict.fromkeys(["planar quarter turn", "planar quarter turn back"], DESCENTS),
    **dict.fromkeys(["planar at a limit", "planar limits on the way"], DESCENTS),
    "planar limits on one side": LINEAR,
    "planar saddle on a limit": LINEAR,
    "planar a million to one": DESCENTS,
    "planar a million to one, at odds": f"{DESCENTS} ccd",
    "planar coupled weights": f"{LINEAR} ccd",
    "planar goal in Python, too far": f"{LINEAR} bfgs l-bfgs",
    "gantry a million to one": DESCENTS,
    "exp-map beyond reach": f"{LINEAR} ccd",
    "quaternion beyond reach": f"{LINEAR} newton",
    "quaternion at a limit": LINEAR,
    "Panda far pose": f"{DESCENTS} ccd",
    "Panda beyond reach": f"{LINEAR} newton",
    "human reaches": f"{DESCENTS} levenberg-marquardt",
    "human all markers": f"{DESCENTS} ccd",
    "human noisy markers": f"{LINEAR} newton ccd",
    "human tied down": LINEAR,
}
# Who may come to rest elsewhere, at such a place; only `auto` leaves saddles and goes round limits.
OTHERS = [name for name in ik.list_solvers() if name != "auto"]
ELSEWHERE = {
    **{name: dict.fromkeys(OTHERS, "saddle") for name in CASES if "saddle start" in name},
    **{name: dict.fromkeys(OTHERS, "saddle") for name in CASES if "away" in name},
    "planar limits on the way": dict.fromkeys(OTHERS, "at-limits"),
    "planar limits on one side": dict.fromkeys(ik.list_solvers(), "at-limits"),
    "planar saddle on a limit": dict.fromkeys(OTHERS, "saddle at-limits"),
    "planar locked far out": {"gauss-newton": "at-limits"},
    "exp-map beyond reach": {"jacobian-transpose": "saddle"},
    "quaternion pose": {"newton": "saddle", "ccd": "saddle local-minimum"},
    "Panda pose on limits": {"newton-higham": "at-limits"},
    "Panda beyond reach": {"newton-pcg": "out-of-reach"},
    "human tied down": {"ccd": "at-limits"},
}


def every_cell() -> pytest.MarkDecorator:
    """All problems with all solvers; "auto" on all is quick, and a quarter of the others."""
    cells = [
        pytest.param(
            name,
            solver,
            id=f"{name}: {solver}",
            marks=[] if solver == "auto" or (i + j) % 4 == 0 else [pytest.mark.full],
        )
        for i, name in enumerate(CASES)
        for j, solver in enumerate(ik.list_solvers())
    ]
    return pytest.mark.parametrize(("name", "solver"), cells)


def method(solver: str) -> Method:
    result = resolve_method(solver)
    return dataclasses.replace(result, max_iterations=FEWER.get(solver, result.max_iterations))


@cache
def answer(name: str, solver: str, history: bool = False) -> Result:
    asked = case(name)
    return ik.solve(asked.problem, q0=asked.q0, solver=method(solver), history=history)


def right(asked: Case, result: Result) -> bool:
    return result.reached if asked.best is None else abs(result.cost - asked.best) <= 1e-8


def misses(problem: Problem, q: Array) -> dict[str, tuple[float, float]]:
    """By how much each goal is missed, and may be: by numpy, from the description of the bones."""
    figure, result = problem.skeleton, {}
    positions, rotations = forward(figure, q)
    for goal in problem.goals:
        if isinstance(goal, ik.PostureGoal):
            continue
        bone, point = getattr(goal, "bone", ""), getattr(goal, "point", np.zeros(3))
        if isinstance(goal, ik.MarkerGoal):
            bone, point = figure.marker(goal.marker)
        p, R = positions[figure.bone_index(bone)], rotations[figure.bone_index(bone)]
        if isinstance(goal, Range):
            away = np.linalg.norm(p + R @ np.asarray(goal.point) - np.asarray(goal.place))
            result[goal.label] = abs(1.0 - float(away)), 1e-3
        elif isinstance(goal, ik.OrientationGoal):
            result[goal.label] = Rotation.from_matrix(goal.rotation @ R.T).magnitude(), 1e-2
        else:
            assert isinstance(goal, ik.MarkerGoal | ik.PositionGoal | ik.PoseGoal)
            target = np.asarray(goal.target, float)
            place = target[:3, 3] if isinstance(goal, ik.PoseGoal) else target
            result[goal.label] = float(np.linalg.norm(place - p - R @ np.asarray(point))), 1e-3
            if isinstance(goal, ik.PoseGoal):
                angle = Rotation.from_matrix(target[:3, :3] @ R.T).magnitude()
                result[f"{goal.label}.rotation"] = angle, 1e-2
    return result


def dof_coordinates(problem: Problem, q: Array) -> Array:
    """The coordinate of each dof, (nv,); 0 for those of quaternions."""
    plain = problem.skeleton.plain_q
    return np.where(plain >= 0, q[plain], 0.0)


def inside(problem: Problem, q: Array) -> Array:
    """The same configuration moved into the limits."""
    q, plain = problem.skeleton.normalised(q), problem.skeleton.plain_q
    limited = np.clip(dof_coordinates(problem, q), problem.lower, problem.upper)
    q[plain[plain >= 0]] = limited[plain >= 0]
    return q


def find_pushed_dofs(problem: Problem, q: Array) -> NDArray[np.bool_]:
    """Dofs that are pushed against the limit that they are on, (nv,)."""
    g, at = problem.gradient(q), dof_coordinates(problem, q)
    return ~problem.locked & ((at <= problem.lower) & (g > 0) | (at >= problem.upper) & (g < 0))


@every_cell()
def test_answers_are_right_or_fail_as_known(name: str, solver: str):
    asked, result = case(name), answer(name, solver)
    known = ELSEWHERE.get(name, {}).get(solver, "").split()
    if solver in UNFINISHED.get(name, "").split():
        known += ["stalled", "iteration-limit"]
        known += ["out-of-reach"] if asked.status == "out-of-reach" else []
    if asked.best is not None:
        assert result.cost >= asked.best - 1e-8, "better than the best"
    if not (right(asked, result) and result.status == asked.status):
        assert result.status in known, f"{result}, cost {result.cost}, best {asked.best}"


@every_cell()
def test_limits_and_locks_are_kept_to_the_bit(name: str, solver: str):
    asked, result = case(name), answer(name, solver)
    problem, at = asked.problem, dof_coordinates(asked.problem, result.q)
    assert (at >= problem.lower).all() and (at <= problem.upper).all()
    locked = problem.locked & (problem.skeleton.plain_q >= 0)
    np.testing.assert_array_equal(at[locked], dof_coordinates(problem, asked.q0)[locked])
    for _, first in problem.skeleton.quaternions:
        assert np.linalg.norm(result.q[first : first + 4]) == pytest.approx(1.0, abs=1e-14)


@every_cell()
def test_goals_are_missed_by_what_forward_kinematics_says(name: str, solver: str):
    asked, result = case(name), answer(name, solver)
    solution = misses(asked.problem, result.q)
    expected = {goal: miss for goal, (miss, _) in solution.items()}
    assert result.goal_errors == pytest.approx(expected, abs=1e-7)
    assert result.reached == all(miss <= allowed for miss, allowed in solution.values())
    assert result.cost == pytest.approx(asked.problem.cost(result.q), rel=1e-12, abs=1e-24)
    assert result.cost <= asked.problem.cost(inside(asked.problem, asked.q0)) * (1 + 1e-12)


@every_cell()
def test_the_verdict_is_true(name: str, solver: str):
    asked, result = case(name), answer(name, solver)
    problem, q, status, why = asked.problem, result.q, result.status, result.why
    assert status in STATUSES
    assert (status == "reached") == result.reached
    if result.reached:
        return
    missed = [goal for goal, (miss, allowed) in misses(problem, q).items() if miss > allowed]
    assert any(goal in why for goal in missed), why
    unfinished = "stalled before the nearest pose" in why  # but proven to be out of reach
    assert result.converged == (status not in ("stalled", "iteration-limit") and not unfinished)
    if not result.converged:
        ended = "stalled" if unfinished else status
        assert result.ended == ended
        assert result.projected_gradient > result.tolerance
        assert (result.iterations >= method(solver).max_iterations) == (ended != "stalled")
        return
    free = ~problem.locked & ~find_pushed_dofs(problem, q)
    g, H = problem.gradient(q)[free], problem.hessian(q)[np.ix_(free, free)]
    curve = np.maximum(np.abs(np.diag(H)), np.diag(problem.gauss_newton(q))[free])
    # Methods compare with the largest curvature that they saw on the way.
    assert (np.abs(g) <= 100 * result.tolerance * np.sqrt(2 * result.cost * curve) + 1e-15).all()
    curvatures = np.linalg.eigvalsh(H)
    if status == "saddle":
        assert result.certificate.descent is not None
        near = [problem.skeleton.integrate(q, t * result.certificate.descent) for t in (1e-3, 0.1)]
        assert min(map(problem.cost, near)) < result.cost
    else:
        assert curvatures.min(initial=0.0) >= -1e-6 * curvatures.max(initial=0.0)
    if status == "at-limits":
        names = np.array(problem.skeleton.dof_names)[find_pushed_dofs(problem, q)]
        assert any(f"{dof} is at its {result.active_limits[dof]} limit" in why for dof in names)
    assert status != "out-of-reach" or asked.best is not None


@every_cell()
def test_a_history_falls_and_changes_nothing(name: str, solver: str):
    plain, told = answer(name, solver), answer(name, solver, history=True)
    np.testing.assert_array_equal(told.q, plain.q)
    assert (told.cost, told.status, told.iterations) == (plain.cost, plain.status, plain.iterations)
    assert told.history is not None and plain.history is None
    costs = told.history.cost
    assert (costs[1:] <= costs[:-1] * (1 + 1e-12)).all()
    assert costs[-1] == pytest.approx(told.cost, rel=1e-11, abs=1e-24)


@pytest.mark.full
def test_auto_is_right_at_least_as_often_as_any_other():
    wins = {
        s: {name for name in CASES if right(case(name), answer(name, s))} for s in ik.list_solvers()
    }
    for solver, names in wins.items():
        ahead = ", ".join(sorted(names - wins["auto"]))
        assert len(names) <= len(wins["auto"]), f"{solver} does better than auto on {ahead}"


def test_cases_are_what_they_are_called():
    for name in (name for name in CASES if "saddle start" in name):
        asked = case(name)
        assert np.abs(asked.problem.gradient(asked.q0)).max() == 0.0
        assert np.linalg.eigvalsh(asked.problem.hessian(asked.q0))[0] < -1e-3
    for name in (name for name in CASES if "starts outside" in name):
        problem, at = case(name).problem, dof_coordinates(case(name).problem, case(name).q0)
        assert ((at < problem.lower) | (at > problem.upper)).sum() >= 2


@pytest.mark.parametrize("solver", ik.list_solvers())
def test_where_nothing_can_move_nothing_does(solver: str):
    asked, result = case("planar all locked"), answer("planar all locked", solver)
    assert result.converged and result.iterations == 0
    np.testing.assert_array_equal(result.q, asked.q0)


def test_locked_quaternions_stay_to_the_bit():
    figure, rng = quaternion_arm(), np.random.default_rng(0)
    problem = Problem(figure, [ik.MarkerGoal("FINGER", (0.1, 0.3, 0.3))], lock="upper")
    for _ in range(20):
        q0 = inside(problem, figure.integrate(figure.neutral(), rng.normal(size=7)))
        for solver in ("auto", "bfgs", "ccd"):
            result = ik.solve(problem, q0=q0, solver=solver)
            np.testing.assert_array_equal(result.q[:4], q0[:4])


@pytest.mark.full
def test_histories_have_every_step_and_end_at_the_answer():
    for name, solver in itertools.product(CASES, ik.list_solvers()):
        result = answer(name, solver, history=True)
        assert result.history is not None
        ends = result.history.cost[-1], result.history.projected_gradient[-1]
        assert ends == (result.cost, result.projected_gradient), f"{name}: {solver}"
        if result.attempts == 1 and solver != "ccd":  # whose iterations are many steps
            assert len(result.history.cost) == result.iterations + 1, f"{name}: {solver}"


def test_a_limit_that_is_hardly_pushed_makes_no_minimum():
    problem, result = case("quaternion pose").problem, answer("quaternion pose", "ccd")
    _, ways = np.linalg.eigh(problem.hessian(result.q))
    near = [problem.skeleton.integrate(result.q, t * ways[:, 0]) for t in (-0.01, 0.01)]
    lowest = min(problem.cost(inside(problem, q)) for q in near)
    assert result.status != "local-minimum" or lowest >= result.cost * (1 - 1e-9)


@pytest.mark.parametrize(("weight", "tolerance"), [(1e14, None), (1.0, 1e-10)])
def test_a_goal_in_reach_is_not_called_out_of_it(weight: float, tolerance: float | None):
    asked = case("planar a million to one")
    goals = [dataclasses.replace(goal, tolerance=tolerance) for goal in asked.problem.goals]
    goals[0] = dataclasses.replace(goals[0], weight=weight)
    for solver in ("auto", "newton", "projected-cg"):
        result = ik.solve(asked.problem.skeleton, goals, q0=asked.q0, solver=solver)
        assert result.status in ("reached", "stalled", "iteration-limit")


def test_goals_without_weight_can_be_missed_without_warning():
    goal = ik.MarkerGoal("FINGER", (0.1, 0.3, 0.3), weight=0.0)
    assert "FINGER" in ik.solve(quaternion_arm(), [goal]).why
