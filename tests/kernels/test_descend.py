"""The compiled descent: quadratic, monotone, and still where it should be."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import exactik as ik
from exactik import Goal, MarkerGoal, OrientationGoal, PostureGoal, Problem, human
from exactik.solvers import CompiledMethod, GaussNewton
from exactik.typing import Array
from tests.support.descents import EVERY_METHOD, SECOND_ORDER, descend
from tests.support.models import configuration, exp_map_arm
from tests.support.problems import make_pose_and_goals, menagerie


def noisy_human(limits: str = "off") -> tuple[Problem, Array]:
    """41 markers off by a centimetre and a weak pull to rest; the pose that they came from."""
    figure, rng = human(), np.random.default_rng(8)
    q = rng.uniform(-0.4, 0.4, size=figure.nq)
    places = figure.forward(q).markers + rng.normal(scale=0.01, size=(41, 3))
    goals: list[Goal] = [MarkerGoal(m, p) for m, p in zip(figure.markers, places, strict=True)]
    return Problem(figure, [*goals, PostureGoal(0.0 * q, weight=1e-3)], limits=limits), q


@pytest.mark.parametrize("limits", ["off", "hard"])
@pytest.mark.parametrize("method", [ik.Newton, lambda **o: ik.Auto(initial_damping=0.0, **o)])
def test_convergence_is_quadratic_although_the_markers_are_noisy(method, limits: str):
    """Each step squares the error; Gauss–Newton with such a residual left only divides it."""
    problem, q = noisy_human(limits)
    figure = problem.skeleton
    best = ik.solve(problem, q0=q, solver=method(tolerance=1e-13))
    assert best.cost > 5e-3  # a residual is left
    assert (len(best.active_limits) > 0) == (limits == "hard")
    nudge = np.random.default_rng(1).normal(scale=1e-3, size=figure.nv)
    nudge[[figure.dof_names.index(name) for name in best.active_limits]] = 0.0
    start = figure.integrate(best.q, nudge)

    def error(q: Array) -> float:
        return float(np.linalg.norm(figure.difference(q, best.q)))

    exact = {"tolerance": 0.0, "small_cost": 0.0}
    errors = [
        error(ik.solve(problem, q0=start, solver=method(max_iterations=n, **exact)).q)
        for n in range(5)
    ]
    assert 5e-3 < errors[0] < 1e-2
    for before, after in itertools.pairwise(errors):
        assert after <= 100.0 * before**2 + 1e-10, errors
    assert errors[-1] <= 1e-10
    only_first = GaussNewton(max_iterations=4, **exact)
    assert error(ik.solve(problem, q0=start, solver=only_first).q) >= 1e-5


@EVERY_METHOD
@pytest.mark.parametrize("limits", ["hard", "soft"])
def test_the_cost_never_rises_and_limits_are_kept(method: CompiledMethod, limits: str):
    """From far away, over indefinite Hessians, with all goals that the kernel knows."""
    figure = menagerie()
    for seed in range(3):
        q, goals = make_pose_and_goals(figure, seed)
        start = figure.integrate(q, np.random.default_rng(seed).normal(scale=2.0, size=figure.nv))
        problem = Problem(figure, goals[:-1], limits=limits)
        actual = ik.solve(problem, q0=start, solver=method, history=True)
        assert actual.history is not None
        costs = actual.history.cost
        assert np.isfinite(costs).all()
        assert (costs[1:] <= costs[:-1] * (1.0 + 1e-12)).all()
        begun = ik.solve(problem, q0=start, solver=type(method)(max_iterations=0))
        assert costs[-1] < 0.9 * begun.cost
        assert problem.cost(actual.q) == pytest.approx(costs[-1], rel=1e-12)
        own = np.where(figure.plain_q >= 0, actual.q[figure.plain_q], 0.0)
        assert (own >= problem.lower).all() and (own <= problem.upper).all()
        quaternions = [actual.q[k : k + 4] for _, k in figure.quaternions]
        np.testing.assert_allclose(np.linalg.norm(quaternions, axis=1), 1.0, atol=1e-15)


@SECOND_ORDER
def test_history_begins_at_the_start_and_ends_at_the_answer(solver: str):
    problem, q = noisy_human()
    start = problem.skeleton.integrate(q, np.full(58, 0.05))
    actual = ik.solve(problem, q0=start, solver=solver, history=True)
    history = actual.history
    assert history is not None
    assert history.cost[0] == problem.cost(start)
    assert history.cost[-1] == actual.cost == pytest.approx(problem.cost(actual.q), rel=1e-14)
    assert history.projected_gradient[-1] == actual.projected_gradient <= 1e-10
    assert (history.projected_gradient[:-1] > 1e-10).all()
    assert (history.control >= 0.0).all()
    assert (np.diff(history.seconds) >= 0.0).all()
    silent = ik.solve(problem, q0=start, solver=solver)
    assert np.array_equal(silent.q, actual.q) and silent.iterations == actual.iterations


@pytest.mark.parametrize("method", [ik.Auto, ik.Newton, ik.LevenbergMarquardt])
def test_history_has_an_entry_for_every_accepted_step(method: type[CompiledMethod]):
    """Also for the last ones, where the gradient falls and the cost no longer does."""
    problem, q = noisy_human()
    for seed in range(8):
        far = np.random.default_rng(seed).normal(scale=0.3, size=58)
        start = problem.skeleton.integrate(q, far)
        actual = ik.solve(problem, q0=start, solver=method(tolerance=1e-14), history=True)
        assert actual.history is not None and actual.attempts == 1
        assert 0 < actual.iterations
        assert {len(column) for column in actual.history} == {actual.iterations + 1}


@EVERY_METHOD
def test_history_holds_the_step_that_led_to_each_place(method: CompiledMethod):
    problem, q = noisy_human()
    places = []
    for n in range(4):
        stopped = type(method)(max_iterations=n)
        places.append(ik.solve(problem, q0=0.5 * q, solver=stopped, history=True))
    steps = [
        float(np.abs(problem.skeleton.difference(after.q, before.q)).max())
        for before, after in itertools.pairwise(places)
    ]
    history = places[-1].history
    assert history is not None
    if method.name == "ccd":  # an iteration is a sweep over all dofs
        assert history.step[0] == 0.0
    else:
        np.testing.assert_allclose(history.step, [0.0, *steps], rtol=1e-9)


@EVERY_METHOD
def test_no_more_iterations_than_allowed(method: CompiledMethod):
    problem, q = noisy_human()
    start = problem.skeleton.integrate(q, np.full(58, 0.3))
    for n in range(4):
        actual = ik.solve(problem, q0=start, solver=type(method)(max_iterations=n))
        assert (actual.iterations, actual.ended) == (n, "iteration-limit")
        assert (actual.cost < problem.cost(start)) == (n > 0)
        assert np.array_equal(actual.q, start) == (n == 0)


@EVERY_METHOD
def test_locked_dofs_do_not_move(method: CompiledMethod):
    problem, q = noisy_human()
    lock = ("pelvis.t?", "l_*", "head.ry")
    held = Problem(problem.skeleton, problem.goals, limits="off", lock=lock)
    start = problem.skeleton.integrate(q, np.full(58, 0.1))
    actual = ik.solve(held, q0=start, solver=method)
    assert 0 < held.locked.sum() < 58
    assert np.array_equal(actual.q[held.locked], start[held.locked])
    assert (actual.q[~held.locked] != start[~held.locked]).all()
    assert actual.cost > ik.solve(problem, q0=start).cost
    if method.name in ("auto", "newton"):
        assert actual.converged and np.abs(held.gradient(actual.q)).max() <= 1e-9
    still = ik.solve(problem.skeleton, problem.goals, q0=q, lock="*", solver=method)
    assert (still.iterations, still.ended) == (0, "converged")


@EVERY_METHOD
def test_scratch_makes_no_difference(method: CompiledMethod):
    """Whatever an earlier descent left there: all that is read has been written before."""
    figure = menagerie()
    q, goals = make_pose_and_goals(figure, 5)
    start = figure.integrate(q, np.full(figure.nv, 0.4))
    problem = Problem(figure, goals[:-1], lock="hinge")
    one = descend(problem, start, method, passes=60, scratch=np.nan)
    other = descend(problem, start, method, passes=60, scratch=1e9)
    assert one.passes > 5
    for a, b in zip(one, other, strict=True):
        assert np.array_equal(a, b)


@EVERY_METHOD
def test_a_descent_can_be_left_after_any_pass_and_taken_up_again(method: CompiledMethod):
    problem, q = noisy_human("hard")
    whole = descend(problem, 0.0 * q, method, passes=70)
    for at_once in (1, 7):
        parts = descend(problem, 0.0 * q, method, passes=70, at_once=at_once)
        for a, b in zip(whole, parts, strict=True):
            assert np.array_equal(a, b)


@EVERY_METHOD
def test_a_problem_for_python_takes_the_same_steps(method: CompiledMethod):
    """Coupled goals have full matrices, which the same kernels take as those of one chain."""
    figure = menagerie()
    q, goals = make_pose_and_goals(figure, 3)
    start = figure.integrate(q, np.full(figure.nv, 0.3))
    summed = Problem(figure, goals[:-1])
    coupled = Problem(figure, goals[:-1], weight_matrix=summed.packed.weight)
    assert summed.compiled and not coupled.compiled
    few = type(method)(max_iterations=6)
    one, other = (ik.solve(p, q0=start, solver=few, history=True) for p in (summed, coupled))
    assert one.history is not None and other.history is not None
    if method.name == "ccd":  # dofs go by another order where the matrix is that of a chain
        assert other.cost < 0.9 * other.history.cost[0]
    else:
        np.testing.assert_allclose(one.history.cost, other.history.cost, rtol=1e-6)
        np.testing.assert_allclose(one.q, other.q, atol=1e-6)


@SECOND_ORDER
def test_the_metric_does_not_move_the_minimum(solver: str):
    problem, q = noisy_human()
    start = problem.skeleton.integrate(q, np.full(58, 0.1))
    strong = Problem(problem.skeleton, problem.goals, limits="off", strength={"l_*": 0.1})
    one, other = (ik.solve(p, q0=start, solver=solver) for p in (problem, strong))
    np.testing.assert_allclose(one.q, other.q, atol=1e-8)


@pytest.mark.parametrize("turns", [4.0, 5.5, 8.0])
def test_reparameterising_between_steps_goes_on_from_the_same_pose(turns: float):
    """Rotation vectors beyond half a turn: same cost before and after, and a shorter way home."""
    arm = exp_map_arm()
    wanted = configuration(arm, 3)
    pose = arm.forward(wanted)
    goals = [OrientationGoal("hand", pose.rotations[-1]), MarkerGoal("FINGER", pose.markers[0])]
    problem = Problem(arm, goals)
    far = wanted + 0.1
    far[:3] *= turns / np.linalg.norm(far[:3])
    near = arm.reparameterise(far)
    assert np.linalg.norm(far[:3]) > np.pi >= np.linalg.norm(near[:3])
    assert problem.cost(near) == pytest.approx(problem.cost(far), rel=1e-12)
    stepped = ik.solve(problem, q0=far, solver=ik.Auto(max_iterations=2))
    again = arm.reparameterise(stepped.q)
    assert problem.cost(again) == pytest.approx(stepped.cost, rel=1e-10, abs=1e-25)
    assert np.linalg.norm(again[:3]) <= np.pi
    final = ik.solve(problem, q0=again)
    assert final.reached and final.cost <= stepped.cost
