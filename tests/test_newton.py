"""The compiled Newton iteration: quadratic, monotone, and still where it should be."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import pytest
from models import configuration, exp_map_arm, planar_arm
from numpy.typing import ArrayLike, NDArray
from problems import menagerie, posed

from exactik import (
    Bone,
    Goal,
    Joint,
    MarkerGoal,
    OrientationGoal,
    PositionGoal,
    PostureGoal,
    Problem,
    Skeleton,
    human,
)
from exactik.kernels.evaluate import evaluate
from exactik.kernels.newton import newton, newton_step
from exactik.kernels.sums import EXACT
from exactik.kernels.work import new_work

Array = NDArray[np.float64]


class Answer(NamedTuple):
    passes: int
    q: Array
    history: Array  # NaN where nothing was written


def iterate(problem: Problem, q: ArrayLike, passes: int = 60, tolerance: float = 1e-10) -> Answer:
    """Run the kernel with scratch that holds no numbers."""
    figure = problem.skeleton
    q, work = np.array(q, dtype=float), new_work(figure.tree)
    for array in work:
        array[...] = np.nan
    history = np.full((passes + 1, 3), np.nan)
    trial, step = np.full(figure.nq, np.nan), np.full(figure.nv, np.nan)
    arrays, strength = problem.packed.arrays, problem.strength
    with np.errstate(all="ignore"):  # in plain Python numpy would warn of singular matrices
        made = newton(
            figure.tree, arrays, q, strength, passes, tolerance, history, trial, step, work
        )
    return Answer(made, q, history)


def noisy_human() -> tuple[Problem, Array]:
    """41 markers off by a centimetre and a weak pull to rest; the pose that they came from."""
    figure, rng = human(), np.random.default_rng(8)
    q = rng.uniform(-0.4, 0.4, size=figure.nq)
    places = figure.forward(q).markers + rng.normal(scale=0.01, size=(41, 3))
    goals: list[Goal] = [MarkerGoal(m, p) for m, p in zip(figure.markers, places, strict=True)]
    return Problem(figure, [*goals, PostureGoal(0.0 * q, weight=1e-3)], limits="off"), q


def test_convergence_is_quadratic_although_the_markers_are_noisy():
    """Each pass squares the error; Gauss–Newton with such a residual left only divides it."""
    problem, q = noisy_human()
    best = iterate(problem, q, tolerance=1e-13)
    assert best.history[best.passes, 0] > 5e-3  # a residual is left
    nudge = np.random.default_rng(1).normal(scale=1e-3, size=problem.skeleton.nv)
    start = problem.skeleton.integrate(best.q, nudge)

    def error(q: Array) -> float:
        return float(np.linalg.norm(problem.skeleton.difference(q, best.q)))

    errors = [error(iterate(problem, start, n, 0.0).q) for n in range(5)]
    assert 5e-3 < errors[0] < 1e-2
    for before, after in itertools.pairwise(errors):
        assert after <= 100.0 * before**2 + 1e-12, errors
    assert errors[-1] <= 1e-12
    q = start
    for _ in range(4):
        step = np.linalg.solve(problem.gauss_newton(q), -problem.gradient(q))
        q = problem.skeleton.integrate(q, step)
    assert error(q) >= 1e-5


@pytest.mark.parametrize("seed", range(8))
def test_the_cost_never_rises(seed: int):
    """From far away, over indefinite Hessians, with all goals that the kernel knows."""
    figure = menagerie()
    q, goals = posed(figure, seed)
    start = figure.integrate(q, np.random.default_rng(seed).normal(scale=2.0, size=figure.nv))
    problem = Problem(figure, goals[:-1], limits="soft")
    found = iterate(problem, start, passes=80)
    costs = found.history[: found.passes + 1, 0]
    assert np.isfinite(costs).all()
    assert (costs[1:] <= costs[:-1] * (1.0 + 1e-14)).all()
    assert costs[-1] < 0.9 * costs[0]
    assert problem.cost(found.q) == pytest.approx(costs[-1], rel=1e-12)


def test_history_holds_cost_gradient_and_damping_of_each_pass():
    """Row 0 is the start, the last row the answer, and what was not reached stays as it was."""
    problem, q = noisy_human()
    start = problem.skeleton.integrate(q, np.full(58, 0.05))
    found = iterate(problem, start)
    assert 0 < found.passes < 60
    assert found.history[0, 0] == problem.cost(start)
    assert found.history[0, 1] == np.abs(problem.gradient(start)).max()
    last = found.history[found.passes]
    assert last[0] == pytest.approx(problem.cost(found.q), rel=1e-14)
    assert last[1] <= 1e-10
    assert (found.history[: found.passes, 1] > 1e-10).all()
    assert (found.history[: found.passes + 1, 2] >= 0.0).all()
    assert np.isnan(found.history[found.passes + 1 :]).all()


def test_no_passes_look_and_do_not_touch():
    problem, q = noisy_human()
    found = iterate(problem, q, passes=0)
    assert found.passes == 0
    assert np.array_equal(found.q, q)
    assert found.history.tolist() == [[problem.cost(q), np.abs(problem.gradient(q)).max(), 0.0]]


def test_passes_are_not_exceeded():
    problem, q = noisy_human()
    start = problem.skeleton.integrate(q, np.full(58, 0.3))
    for passes in (1, 2, 3):
        found = iterate(problem, start, passes, tolerance=0.0)
        assert found.passes == passes
        assert np.isfinite(found.history).all()


def test_locked_dofs_do_not_move():
    problem, q = noisy_human()
    lock = ("pelvis.t?", "l_*", "head.ry")
    held = Problem(problem.skeleton, problem.goals, limits="off", lock=lock)
    start = problem.skeleton.integrate(q, np.full(58, 0.1))
    found = iterate(held, start)
    assert 0 < held.locked.sum() < 58
    assert np.array_equal(found.q[held.locked], start[held.locked])
    assert (found.q[~held.locked] != start[~held.locked]).all()
    assert np.abs(held.gradient(found.q)).max() <= 1e-10
    freely = iterate(problem, start)
    assert problem.cost(found.q) > freely.history[freely.passes, 0]


def test_with_everything_locked_there_is_nothing_to_do():
    problem, q = noisy_human()
    still = Problem(problem.skeleton, problem.goals, limits="off", lock="*")
    found = iterate(still, q)
    assert found.passes == 0 and np.array_equal(found.q, q)


def straight_arm(target: ArrayLike) -> Problem:
    return Problem(planar_arm(), [MarkerGoal("HAND", target)])


def test_it_stops_at_once_where_the_gradient_vanishes():
    """At a minimum, and at a saddle: a stretched arm that should reach half as far."""
    bent = planar_arm().forward([0.5, 1.0]).markers[0]
    for target, q, definite in ((bent, [0.5, 1.0], True), ((0.35, 0, 0), [0.0, 0.0], False)):
        problem = straight_arm(target)
        eigenvalues = np.linalg.eigvalsh(problem.hessian(q))
        assert bool(eigenvalues.min() > 1e-3) is definite
        found = iterate(problem, q)
        assert found.passes == 0
        assert found.q.tolist() == q


def test_next_to_a_saddle_it_leaves_downhill():
    found = iterate(straight_arm((0.35, 0, 0)), [1e-3, -2e-3])
    assert found.history[found.passes, 0] <= 1e-20


HINGE = Skeleton.build("hinge", [Bone("h", joint=Joint.revolute("z"))])


@pytest.mark.parametrize("x", [0.0, 1e-17, -1e-17, -0.1, 0.1])
def test_a_quarter_turn_away_the_curvature_vanishes_and_it_still_arrives(x: float):
    """There H is zero, next to nothing or negative, and the gradient as large as can be."""
    problem = Problem(HINGE, [PositionGoal("h", (x, 1, 0), (1, 0, 0))])
    found = iterate(problem, [0.0])
    assert found.history[found.passes, 1] <= 1e-10
    floor = 0.5 * (np.hypot(x, 1.0) - 1.0) ** 2
    assert problem.cost(found.q) == pytest.approx(floor, abs=1e-15)


@pytest.mark.skipif(not hasattr(newton, "signatures"), reason="int(inf) raises in plain Python")
def test_a_step_to_infinity_is_refused():
    """The curvature may be so small that the step overflows; no pose is taken from that."""
    problem = Problem(HINGE, [PositionGoal("h", (1e-320, 1, 0), (1, 0, 0))])
    found = iterate(problem, [0.0])
    assert np.isfinite(found.q).all()
    assert np.isfinite(found.history[: found.passes + 1]).all()
    assert problem.cost(found.q) <= 1.0


def test_a_damped_step_is_measured_by_the_strengths():
    """(H + μ diag(1/strength²)) s = −g, against dense linear algebra; locked dofs rest."""
    figure = menagerie()
    q, goals = posed(figure, 1)
    strength = {"root": 2.0, "ball*": 0.1, "quat.wy": 5.0}
    for lock in ((), ("hinge", "swing", "root.tx")):
        problem = Problem(figure, goals[:-1], strength=strength, lock=lock)
        work, step = new_work(figure.tree), np.empty(figure.nv)
        evaluate(figure.tree, problem.packed.arrays, q, EXACT, work)
        gradient, free = work.g.copy(), ~problem.locked
        smallest = newton_step(
            figure.tree, problem.packed.arrays, problem.strength, 30.0, step, work
        )
        matrix = problem.hessian(q) + 30.0 * np.diag(problem.strength**-2)
        expected = np.zeros(figure.nv)
        expected[free] = np.linalg.solve(matrix[np.ix_(free, free)], -gradient[free])
        np.testing.assert_allclose(step, expected, atol=1e-12 * np.abs(expected).max())
        eigenvalues = np.linalg.eigvalsh(matrix[np.ix_(free, free)])
        assert (smallest > 0.0) == (eigenvalues.min() > 0.0)
        assert not step[~free].any()


def test_the_metric_does_not_move_the_minimum():
    problem, q = noisy_human()
    start = problem.skeleton.integrate(q, np.full(58, 0.1))
    strong = Problem(problem.skeleton, problem.goals, limits="off", strength={"l_*": 0.1})
    one, other = iterate(problem, start), iterate(strong, start)
    np.testing.assert_allclose(one.q, other.q, atol=1e-9)


def test_quaternions_stay_at_unit_length():
    figure = menagerie()
    q, goals = posed(figure, 2)
    start = figure.integrate(q, np.full(figure.nv, 0.8))
    found = iterate(Problem(figure, goals[:-1]), start)
    assert found.passes > 1
    assert np.linalg.norm(found.q[3:7]) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("turns", [4.0, 5.5, 8.0])
def test_reparameterising_between_steps_goes_on_from_the_same_pose(turns: float):
    """Rotation vectors beyond half a turn: same cost before and after, and a shorter way home."""
    arm = exp_map_arm()
    wanted = configuration(arm, 3)
    pose = arm.forward(wanted)
    goals = [
        OrientationGoal("hand", pose.rotations[-1]),
        MarkerGoal("FINGER", pose.markers[0]),
    ]
    problem = Problem(arm, goals)
    far = wanted + 0.1
    far[:3] *= turns / np.linalg.norm(far[:3])
    near = arm.reparameterise(far)
    assert np.linalg.norm(far[:3]) > np.pi >= np.linalg.norm(near[:3])
    assert problem.cost(near) == pytest.approx(problem.cost(far), rel=1e-12)
    stepped = iterate(problem, far, passes=2).q
    again = arm.reparameterise(stepped)
    before, after = problem.cost(stepped), problem.cost(again)
    assert after == pytest.approx(before, rel=1e-10, abs=1e-25)
    final = iterate(problem, again, passes=100)
    assert final.history[0, 0] == pytest.approx(before, rel=1e-10, abs=1e-25)
    assert final.history[final.passes, 0] <= before
    assert np.linalg.norm(again[:3]) <= np.pi
