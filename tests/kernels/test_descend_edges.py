"""The compiled descent where it is hard: saddles, no curvature, infinities, other units."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pytest
from numpy.typing import ArrayLike

import exactik as ik
from exactik import Bone, Joint, MarkerGoal, PositionGoal, Problem, Skeleton, human
from exactik.compile import Kernel
from exactik.kernels.descent.acceptance import accept_trial
from exactik.kernels.descent.descend import run_descent
from exactik.kernels.descent.options import INITIAL_TRUST_RADIUS
from exactik.kernels.descent.state import (
    COST,
    DAMPING,
    FOR_STEP,
    PREDICTED_REDUCTION,
    PURPOSE,
    STALLED,
    STATUS,
    STEP_NORM,
    new_descent_state,
)
from exactik.solvers import CompiledMethod
from exactik.typing import Array
from tests.support.descents import EVERY_METHOD, SECOND_ORDER, descend
from tests.support.models import planar_arm
from tests.support.problems import make_pose_and_goals, menagerie

HINGE = Skeleton.build("hinge", [Bone("h", joint=Joint.revolute("z"))])


def straight_arm(target: ArrayLike) -> Problem:
    return Problem(planar_arm(), [MarkerGoal("HAND", target)])


# --- the first step, against dense linear algebra


def first_step(
    method: CompiledMethod, lock: tuple[str, ...]
) -> tuple[Problem, Array, Array, Array]:
    """A problem with strengths, a place, the first step from it, and the state."""
    figure = menagerie()
    q, goals = make_pose_and_goals(figure, 1)
    strength = {"root": 2.0, "ball*": 0.1, "quat.wy": 5.0}
    problem = Problem(figure, goals[:-1], strength=strength, lock=lock, limits="off")
    actual = descend(problem, q, method, passes=1)
    assert np.array_equal(actual.q, q)
    return problem, q, actual.step, actual.state


@pytest.mark.parametrize("lock", [(), ("hinge", "swing", "root.tx")], ids=["free", "locked"])
@pytest.mark.parametrize(
    "method",
    [ik.Auto(metric="kind"), ik.Auto(metric="dof"), ik.Newton(), ik.LevenbergMarquardt()],
    ids=["auto", "auto by dofs", "newton", "levenberg-marquardt"],
)
def test_a_damped_step_is_measured_by_the_strengths(method: CompiledMethod, lock: tuple[str, ...]):
    """(curvature + μD) s = −g, where D falls with the square of a strength; locked dofs rest."""
    problem, q, step, state = first_step(method, lock)
    exact = method.name != "levenberg-marquardt"
    H, free = problem.hessian(q) if exact else problem.gauss_newton(q), ~problem.locked
    D, curvature = problem.strength**-2, np.abs(np.diag(H))
    if isinstance(method, ik.Auto) and method.metric == "kind":
        turns = problem.box.is_rotation != 0.0
        curvature = np.where(turns, curvature[turns].max(), curvature[~turns].max())
    if method.name != "newton":
        D *= curvature
        D = np.maximum(D, 1e-3 * D.max()) if exact else np.where(D > 0.0, D, 1.0)
    matrix = (H + state[DAMPING] * np.diag(D))[np.ix_(free, free)]
    expected = np.zeros(len(free))
    expected[free] = np.linalg.solve(matrix, -problem.gradient(q)[free])
    np.testing.assert_allclose(step, expected, atol=1e-10 * np.abs(expected).max())
    assert np.linalg.eigvalsh(matrix)[0] > 0.0
    assert not step[~free].any()
    if method.name == "newton":
        size = math.sqrt(float(step @ (D * step)))
        assert state[STEP_NORM] == pytest.approx(size, rel=1e-12)
        assert size <= 1.1 * method.options(problem)[INITIAL_TRUST_RADIUS]


@pytest.mark.parametrize(("root", "metric"), [("free", "kind"), ("fixed", "dof")])
def test_damping_is_by_kind_where_the_root_moves(root: str, metric: Literal["kind", "dof"]):
    figure = menagerie() if root == "free" else planar_arm()
    problem = Problem(figure, [MarkerGoal(next(iter(figure.markers)), (0.1, 0.2, 0.3))])
    chosen, expected = ik.Auto().options(problem), ik.Auto(metric=metric).options(problem)
    assert np.array_equal(chosen, expected)
    other = ik.Auto(metric="dof" if metric == "kind" else "kind").options(problem)
    assert not np.array_equal(chosen, other)
    with pytest.raises(ik.UsageError, match="must be 'auto', 'kind' or 'dof'"):
        ik.Auto(metric="root")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("metric", "cost_left", "factor"),
    [("kind", 0.6, 1 / 3), ("kind", 0.4, 0.1), ("dof", 0.6, 0.1), ("dof", 0.4, 0.1)],
)
def test_damping_by_kind_falls_gently_unless_a_step_halves_the_cost(
    metric: Literal["kind", "dof"], cost_left: float, factor: float
):
    problem = straight_arm((0.35, 0, 0))
    descent = new_descent_state(problem.skeleton.tree, 2)
    descent.state[[PURPOSE, COST, PREDICTED_REDUCTION]] = FOR_STEP, 1.0, 1.0 - cost_left
    descent.state[DAMPING] = 0.7
    options = ik.Auto(metric=metric).options(problem)
    assert accept_trial(problem.box, options, cost_left, np.zeros(2), descent)
    assert descent.state[DAMPING] == pytest.approx(0.7 * factor, rel=1e-12)


def test_a_gradient_step_grows_with_the_square_of_the_strength():
    problem, q, step, _ = first_step(ik.ProjectedGradient(), ("hinge",))
    np.testing.assert_allclose(step, -(problem.strength**2) * problem.gradient(q), rtol=1e-13)


# --- saddles


@EVERY_METHOD
def test_it_stops_at_once_at_a_minimum(method: CompiledMethod):
    bent = planar_arm().forward([0.5, 1.0]).markers[0]
    actual = ik.solve(straight_arm(bent), q0=[0.5, 1.0], solver=method)
    assert (actual.iterations, actual.evaluations, actual.ended) == (0, 1, "converged")
    assert actual.q.tolist() == [0.5, 1.0]


def test_at_a_saddle_newton_rests_and_says_so_and_auto_leaves_it():
    """A stretched arm that should reach half as far."""
    problem = straight_arm((0.35, 0, 0))
    assert np.linalg.eigvalsh(problem.hessian([0.0, 0.0]))[0] < -1e-3
    for method in (ik.Newton(), ik.Auto(escape=False)):
        actual = ik.solve(problem, q0=[0.0, 0.0], solver=method)
        assert (actual.iterations, actual.status) == (0, "saddle")
    actual = ik.solve(problem, q0=[0.0, 0.0])
    assert actual.reached and actual.cost <= 1e-18


@pytest.mark.parametrize("start", [(0.0, 0.0), (0.0, np.pi), (0.0, -np.pi), (np.pi, 0.0)])
@pytest.mark.parametrize("goal", [1.0, 2.0])
def test_auto_leaves_saddles_that_look_flat_to_single_dofs(start: tuple[float, float], goal: float):
    # Straight at its goal or folded upon its root, the diagonal of the Hessian of two links is 0.
    first = ik.Bone("first", joint=ik.Joint.revolute("z"))
    second = ik.Bone("second", parent="first", offset=(1, 0, 0), joint=ik.Joint.revolute("z"))
    chain = ik.Skeleton.build("two links", [first, second])
    result = ik.solve(chain, [ik.PositionGoal("second", (goal, 0, 0), point=(1, 0, 0))], q0=start)
    assert result.reached, result.why


def test_leaving_a_saddle_is_an_iteration_like_others():
    actual = ik.solve(straight_arm((0.35, 0, 0)), q0=[0.0, 0.0], solver=ik.Auto(max_iterations=0))
    assert (actual.iterations, actual.q.tolist()) == (0, [0.0, 0.0])


@EVERY_METHOD
def test_next_to_a_saddle_it_leaves_downhill(method: CompiledMethod):
    assert ik.solve(straight_arm((0.35, 0, 0)), q0=[1e-3, -2e-3], solver=method).reached


# --- curvature that vanishes, and numbers that are none


@EVERY_METHOD
@pytest.mark.parametrize("x", [0.0, 1e-17, -1e-17, -0.1, 0.1])
def test_a_quarter_turn_away_the_curvature_vanishes_and_it_still_arrives(
    x: float, method: CompiledMethod
):
    """There H is zero, next to nothing or negative, and the gradient as large as can be."""
    problem = Problem(HINGE, [PositionGoal("h", (x, 1, 0), (1, 0, 0))])
    actual = ik.solve(problem, q0=[0.0], solver=method)
    assert actual.converged
    assert problem.cost(actual.q) == pytest.approx(0.5 * (math.hypot(x, 1.0) - 1.0) ** 2, abs=1e-12)
    assert np.abs(actual.q).max() <= 2.0 * np.pi


@pytest.mark.skipif(not isinstance(run_descent, Kernel), reason="int(inf) raises in plain Python")
@EVERY_METHOD
def test_a_step_to_infinity_is_refused(method: CompiledMethod):
    """The curvature may be so small that the step overflows; no pose is taken from that."""
    problem = Problem(HINGE, [PositionGoal("h", (1e-320, 1, 0), (1, 0, 0))])
    actual = ik.solve(problem, q0=[0.0], solver=method, history=True)
    assert actual.history is not None
    assert np.isfinite(actual.q).all() and np.isfinite(actual.history.cost).all()
    assert problem.cost(actual.q) <= 1.0


@EVERY_METHOD
def test_where_the_cost_is_no_number_it_stops_at_once(method: CompiledMethod):
    problem, q = straight_arm((0.35, 0, 0)), [0.3, np.nan]
    actual = descend(problem, q, method)
    assert actual.passes == 1
    assert actual.state[STATUS] == STALLED
    assert np.array_equal(actual.q, q, equal_nan=True)


# --- units, and options at their ends


@EVERY_METHOD
def test_the_unit_of_the_cost_makes_no_difference(method: CompiledMethod):
    """Weights times a power of two: the very same steps, but for methods whose step has a unit."""
    if method.name == "projected-gradient":
        pytest.skip("its first step is a multiple of the gradient")
    figure, rng = human(), np.random.default_rng(3)
    places = figure.forward(rng.uniform(-0.6, 0.6, size=figure.nq)).markers
    places += rng.normal(scale=0.01, size=places.shape)
    counts = set()
    for unit in (1.0, 2.0**60, 2.0**-60):
        pairs = zip(figure.markers, places, strict=True)
        goals = [MarkerGoal(marker, place, weight=unit) for marker, place in pairs]
        actual = descend(Problem(figure, goals, limits="off"), figure.neutral(), method, passes=60)
        counts.add((actual.passes, actual.state[COST] / unit, *actual.q))
    assert len(counts) == 1


EXTREMES: dict[str, CompiledMethod] = {
    "no damping": ik.Auto(initial_damping=0.0),
    "no damping, Fletcher's rule": ik.LevenbergMarquardt(initial_damping=0.0),
    "no radius": ik.Newton(initial_radius=0.0),
    "any radius": ik.Newton(initial_radius=1e300),
    "no length": ik.ProjectedGradient(initial_step=0.0),
    "no step": ik.ProjectedGradient(max_step=0.0),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_every_descent_ends(name: str):
    """Also where the first step is as long as can be, or none at all; redundant figure or not."""
    for problem, q in ((straight_arm((-0.3, 0.2, 0)), [0.3, 0.1]), (two_hands(), np.zeros(58))):
        assert descend(problem, q, EXTREMES[name], passes=20_000).passes < 20_000


def two_hands() -> Problem:
    """A human that is asked for next to nothing."""
    goals = [PositionGoal("l_hand", (0.5, 0.4, 1.2)), PositionGoal("r_hand", (0.3, 0.1, 0.2))]
    return Problem(human(), goals)


@SECOND_ORDER
def test_what_costs_nothing_stays_where_it_is(solver: str):
    """Dofs that no goal asks for have neither slope nor curvature."""
    problem = two_hands()
    actual = ik.solve(problem, solver=solver)
    assert actual.reached
    asked = problem.jacobian(actual.q).any(axis=0)
    assert 0 < asked.sum() < 58
    assert np.abs(actual.q[~asked]).max() <= 1e-9
