"""Jacobian transpose, pseudo-inverse and damped least squares: steps, clamps, limits, failures."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import ArrayLike

import exactik as ik
from exactik.errors import NonFiniteError, ShapeError
from exactik.solvers import (
    DampedLeastSquares,
    Descent,
    History,
    Iterate,
    JacobianTranspose,
    PseudoInverse,
    View,
    _descend,
    descend,
    list_solvers,
    resolve_method,
)
from exactik.solvers.methods import (
    SAFE_STEP_SHARE,
    JacobianMethod,
    JacobianStepper,
    invert_by_qr,
    invert_by_svd,
    solve_damped,
)
from exactik.typing import Array
from tests.support.models import chain_of, configuration, exp_map_arm, gantry, planar_arm
from tests.support.problems import make_pose_and_goals, menagerie

KINDS = (JacobianTranspose, PseudoInverse, DampedLeastSquares)
PLAIN: dict[str, JacobianMethod] = {
    "transpose": JacobianTranspose(),
    "svd": PseudoInverse(),
    "qr": PseudoInverse(factorisation="qr"),
    "damped": DampedLeastSquares(),
}
CLAMPS: dict[str, Any] = {
    "max_step": 0.1,
    "max_displacement": 0.1,
    "max_shortfall": 0.2,
    "max_deviation": 0.02,
}
EVERY: dict[str, JacobianMethod] = {
    **PLAIN,
    "fixed": JacobianTranspose(step=1.0),
    "undamped": DampedLeastSquares(damping=1e-12),
    **{
        f"{kind.name} {clamp}": kind(**{clamp: value})
        for kind in KINDS
        for clamp, value in CLAMPS.items()
    },
}
each_plain = pytest.mark.parametrize("method", PLAIN.values(), ids=PLAIN)
each_method = pytest.mark.parametrize("method", EVERY.values(), ids=EVERY)
each_kind = pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])


class Run(NamedTuple):
    """A descent, its history, and all coordinates that were evaluated, also those refused."""

    descent: Descent
    history: History
    seen: list[Array]


def run_and_check(problem: ik.Problem, method: JacobianMethod, q: Array) -> Run:
    """Run a method, and check at every place what must hold everywhere."""
    seen: list[Array] = []

    class Watcher(View):
        def at(self, q: Array) -> Iterate:
            seen.append(q.copy())
            return super().at(q)

    with patch.object(_descend, "View", Watcher):
        descent = descend(problem, method, q, record=True)
    skeleton, places = problem.skeleton, np.array(seen)
    plain = skeleton.plain_q
    own = places[:, plain[plain >= 0]]
    assert (own >= problem.lower[plain >= 0]).all()
    assert (own <= problem.upper[plain >= 0]).all()
    steps = skeleton.difference(places, places[0])
    assert np.abs(steps[:, problem.locked]).max(initial=0.0) == 0.0
    for _, at in skeleton.quaternions:
        np.testing.assert_allclose(np.linalg.norm(places[:, at : at + 4], axis=1), 1, atol=1e-12)
    history = descent.history
    assert history is not None
    assert len(history.cost) == descent.iterations + 1 <= method.max_iterations + 1
    assert problem.cost(descent.q) == pytest.approx(descent.cost, rel=1e-6, abs=1e-20)
    if method.safeguard:
        # Where costs differ by rounding only, the slope decides.
        assert (np.diff(history.cost) <= 3e-14 * history.cost[:-1]).all()
    return Run(descent, history, seen)


def stepper_of(method: JacobianMethod, problem: ik.Problem) -> JacobianStepper:
    stepper = method.stepper(View(problem))
    assert isinstance(stepper, JacobianStepper)
    return stepper


def direction_of(method: JacobianMethod, problem: ik.Problem, q: ArrayLike) -> Array:
    """The whole step that a method asks for at q."""
    stepper = stepper_of(method, problem)
    d = stepper.compute_step(stepper.view.at(np.array(q, dtype=float)))
    assert d is not None
    return d


def reach(skeleton: ik.Skeleton, marker: str, target: ArrayLike, **options: Any) -> ik.Problem:
    return ik.Problem(skeleton, [ik.MarkerGoal(marker, target)], **options)


def rails(*limits: tuple[float, float]) -> ik.Skeleton:
    """Sliders along x, one on the other; the marker is where their shifts add up to."""
    bones = [
        ik.Bone(
            f"s{k}",
            parent=f"s{k - 1}" if k > 0 else None,
            joint=ik.Joint.prismatic("x", limits=pair),
        )
        for k, pair in enumerate(limits)
    ]
    return ik.Skeleton.build("rails", bones, {"TIP": (bones[-1].name, (0, 0, 0))})


@cache
def snake(limit: float = 0.5) -> ik.Skeleton:
    """Seven hinges with limits, 1 m long."""
    link = (0.0, 0.0, 1 / 7)
    bones = [
        ik.Bone(
            f"b{k}",
            parent=f"b{k - 1}" if k > 0 else None,
            offset=link if k > 0 else (0, 0, 0),
            joint=ik.Joint.revolute("xyx"[k % 3], limits=(-limit, limit)),
        )
        for k in range(7)
    ]
    return ik.Skeleton.build("snake", bones, {"TIP": ("b6", link)})


@cache
def posing_human() -> tuple[ik.Problem, Array]:
    """Ten markers of the human, where a pose inside the limits has them."""
    human = ik.human()
    rng = np.random.default_rng(3)
    q = human.clip(human.integrate(human.neutral(), rng.uniform(-0.4, 0.4, size=human.nv)))
    places = dict(zip(human.markers, human.forward(q).markers, strict=True))
    names = list(human.markers)[:: len(human.markers) // 10][:10]
    return ik.Problem(human, [ik.MarkerGoal(n, places[n]) for n in names]), human.neutral()


# --- every method and every option where the answer is known


@each_method
def test_reaches_with_a_planar_arm(method: JacobianMethod):
    run = run_and_check(reach(planar_arm(), "HAND", (0.3, 0.4, 0)), method, np.array([0.1, 0.2]))
    assert run.descent.ended == "converged"
    assert run.descent.cost < 1e-17


@each_plain
def test_leaves_a_singular_start(method: JacobianMethod):
    """A straight arm moves its hand sideways only."""
    problem = reach(planar_arm(), "HAND", (0.3, 0.4, 0))
    assert np.linalg.matrix_rank(problem.jacobian((0, 0))) == 1
    run = run_and_check(problem, method, np.zeros(2))
    assert run.descent.ended == "converged"
    assert run.descent.cost < 1e-17


@each_method
def test_stretches_towards_what_is_out_of_reach(method: JacobianMethod):
    """The arm ends straight, a singular pose. J⁺ is unbounded there; steps by it do not settle."""
    wild = isinstance(method, PseudoInverse) or method == EVERY["undamped"]
    method = replace(method, max_iterations=150) if wild else method
    run = run_and_check(reach(planar_arm(), "HAND", (1, 1, 0)), method, np.array([0.1, 0.2]))
    best = 0.5 * (np.sqrt(2) - 0.7) ** 2
    assert run.descent.cost == pytest.approx(best, rel=0.25 if wild else 1e-9)
    assert run.descent.projected_gradient < (0.7 if wild else 2e-6)
    if wild:
        assert run.descent.ended != "converged"
    else:
        np.testing.assert_allclose(run.descent.q, (np.pi / 4, 0), atol=1e-4)


@each_method
def test_moves_a_gantry(method: JacobianMethod):
    run = run_and_check(reach(gantry(), "HOOK", (1.5, 0.5, -2)), method, np.zeros(3))
    np.testing.assert_allclose(run.descent.q, (1.5, 0.5, -1.9), atol=1e-7)
    assert run.descent.ended == "converged"


@each_method
def test_stops_a_gantry_at_its_limits(method: JacobianMethod):
    run = run_and_check(reach(gantry(), "HOOK", (3, 0.5, -4)), method, np.zeros(3))
    assert run.descent.ended == "converged"
    np.testing.assert_allclose(run.descent.q, (2, 0.5, -3), atol=1e-4)
    assert (run.descent.q[[0, 2]] == (2, -3)).all()


@each_method
def test_turns_exponential_maps(method: JacobianMethod):
    arm = exp_map_arm()
    pose = arm.forward(0.5 * configuration(arm, 1))
    target = np.eye(4)
    target[:3, :3], target[:3, 3] = pose.rotations[-1], pose.positions[-1]
    problem = ik.Problem(arm, [ik.PoseGoal("hand", target)])
    slow = isinstance(method, JacobianTranspose)
    method = replace(method, max_iterations=500) if slow else method
    run = run_and_check(problem, method, arm.neutral() + 0.1)
    assert run.descent.cost < (0.05 if slow else 1e-17) * run.history.cost[0]


@each_plain
@pytest.mark.parametrize("limits", ["hard", "soft"])
def test_goals_and_joints_of_every_kind(method: JacobianMethod, limits: str):
    figure = menagerie()
    q, goals = make_pose_and_goals(figure, 2)
    run = run_and_check(ik.Problem(figure, goals, limits=limits, lock="shift"), method, q)
    assert run.descent.ended == "converged"
    assert run.descent.iterations < 200
    assert run.descent.cost < 0.6 * run.history.cost[0]


@each_method
def test_turns_quaternions(method: JacobianMethod):
    arm = chain_of([ik.Joint.quaternion()] * 3)
    target = arm.forward(configuration(arm, 1)).markers[0]
    run = run_and_check(reach(arm, "TIP", target), method, arm.neutral())
    assert run.descent.ended == "converged"
    assert run.descent.cost < 1e-11
    assert len(run.descent.q) == arm.nq > arm.nv


@each_method
def test_bends_a_snake_inside_its_limits(method: JacobianMethod):
    """A target that it cannot reach is missed by as little as another solver of bounds can do."""
    from scipy.optimize import least_squares

    problem = reach(snake(), "TIP", (0.5, 0.3, 0.2))
    run = run_and_check(problem, method, np.full(7, 0.05))
    assert run.descent.ended == "converged"
    assert np.count_nonzero(np.abs(run.descent.q) == 0.5) >= 2
    better = least_squares(
        problem.residual,
        0.999 * run.descent.q,
        jac=lambda q: -problem.jacobian(q),
        bounds=(-0.5, 0.5),
        xtol=1e-14,
        ftol=1e-14,
        max_nfev=20,
    )
    assert run.descent.cost <= better.cost * (1 + 1e-6)


@each_plain
def test_poses_a_human_by_ten_markers(method: JacobianMethod):
    problem, start = posing_human()
    run = run_and_check(problem, method, start)
    slow = isinstance(method, JacobianTranspose)
    assert run.descent.cost < (1e-3 if slow else 1e-7) * run.history.cost[0]


@each_kind
@pytest.mark.parametrize("clamp", CLAMPS)
def test_poses_a_human_with_every_clamp(kind: type[JacobianMethod], clamp: str):
    problem, start = posing_human()
    run = run_and_check(problem, kind(**{clamp: CLAMPS[clamp]}, max_iterations=200), start)
    assert run.descent.cost < 0.02 * run.history.cost[0]


# --- limits, locks, strengths, starts


@each_plain
def test_a_locked_joint_stays(method: JacobianMethod):
    arm = planar_arm()
    problem = reach(arm, "HAND", (0.3, 0.4, 0), lock="lower")
    run = run_and_check(problem, method, np.array([0.1, 0.7]))
    assert run.descent.q[1] == 0.7
    hand = arm.forward(run.descent.q).markers[0]
    away = 0.5 - np.linalg.norm(hand)
    assert run.descent.cost == pytest.approx(0.5 * away**2, rel=1e-6)


@each_plain
def test_nothing_moves_where_all_is_locked(method: JacobianMethod):
    run = run_and_check(
        reach(planar_arm(), "HAND", (0.3, 0.4, 0), lock="*"), method, np.array([0.1, 0.2])
    )
    assert (run.descent.ended, run.descent.iterations) == ("converged", 0)


@each_plain
def test_an_infeasible_start_is_brought_inside_first(method: JacobianMethod):
    run = run_and_check(reach(gantry(), "HOOK", (1.5, 0.5, -2)), method, np.array([-7.0, 4.0, 1.0]))
    np.testing.assert_array_equal(run.seen[0], (0, 1, 0))
    np.testing.assert_allclose(run.descent.q, (1.5, 0.5, -1.9), atol=1e-7)


@each_plain
def test_weak_dofs_move_less(method: JacobianMethod):
    """Two sliders share a shift as the squares of their strengths."""
    free = (-np.inf, np.inf)
    problem = reach(rails(free, free), "TIP", (0.3, 0, 0), strength={"s1": 0.2})
    run = run_and_check(problem, method, np.zeros(2))
    assert run.descent.ended == "converged"
    assert run.descent.q[1] == pytest.approx(0.04 * run.descent.q[0], rel=1e-9)
    assert run.descent.q.sum() == pytest.approx(0.3, abs=1e-8)


@pytest.mark.parametrize("method", [PseudoInverse(max_step=None), PseudoInverse(max_step=1)])
def test_others_make_up_for_a_dof_on_its_limit_within_the_step(method: PseudoInverse):
    problem = reach(rails((-0.1, 0.1), (-5, 5), (-5, 5)), "TIP", (0.9, 0, 0))
    run = run_and_check(problem, method, np.zeros(3))
    assert run.descent.iterations == 1
    np.testing.assert_allclose(run.descent.q, (0.1, 0.4, 0.4), atol=1e-15)


@pytest.mark.parametrize("kind", [PseudoInverse, DampedLeastSquares])
def test_every_step_goes_downhill_wherever_the_limits_are(kind: type[JacobianMethod]):
    """Putting dofs on their limits may point uphill; then the safe step is taken."""
    rng, uphill = np.random.default_rng(5), 0
    for _ in range(150):
        problem = reach(snake(), "TIP", rng.normal(scale=0.5, size=3))
        stepper = stepper_of(kind(), problem)
        q = np.clip(rng.normal(scale=0.5, size=7), -0.5, 0.5)
        place = stepper.view.at(q)
        e, J = stepper.view.rows(place)
        both = [
            float(place.gradient @ stepper.solve_in_limits(place, J, e, x)[0])
            for x in (True, False)
        ]
        assert both[1] < 0
        uphill += both[0] > SAFE_STEP_SHARE * both[1]
        d = stepper.compute_step(place)
        assert d is not None
        assert place.gradient @ d < 0
        assert stepper.step(place) is not None
    assert uphill > 0


@each_plain
def test_weights_that_couple_goals(method: JacobianMethod):
    """W½ is then a full matrix; the optimum is the same as by the normal equations."""
    cart = rails((-9, 9))
    goals = [ik.MarkerGoal("TIP", (1, 0, 0)), ik.MarkerGoal("TIP", (-0.5, 0.4, 0))]
    a = np.random.default_rng(2).normal(size=(6, 6))
    W = a @ a.T + 0.1 * np.eye(6)
    problem = ik.Problem(cart, goals, weight_matrix=W)
    run = run_and_check(problem, method, np.zeros(1))
    J, r = problem.jacobian([0.0]), problem.residual([0.0])
    np.testing.assert_allclose(run.descent.q, np.linalg.solve(J.T @ W @ J, J.T @ W @ r), atol=1e-9)


# --- Jacobian transpose


def test_the_length_of_buss_minimises_the_linear_model():
    rng = np.random.default_rng(0)
    J, e = rng.normal(size=(6, 9)), rng.normal(size=6)
    stepper = stepper_of(JacobianTranspose(), reach(planar_arm(), "HAND", (1, 0, 0)))
    y = stepper.solve(J, e, np.ones(9, bool))
    slope = J.T @ e
    np.testing.assert_allclose(y / slope, y[0] / slope[0], rtol=1e-12)
    assert (e - J @ y) @ (J @ y) == pytest.approx(0, abs=1e-12)
    assert stepper.unit == pytest.approx(y[0] / slope[0])
    assert not stepper.solve(J, np.zeros(6), np.ones(9, bool)).any()


@cache
def near_a_minimum() -> tuple[ik.Problem, Array, float]:
    """An arm that cannot reach, a start near its minimum, and 2/λ_max there."""
    problem = reach(planar_arm(), "HAND", (1, 1, 0))
    best = np.array([np.pi / 4, 0.0])
    values, vectors = np.linalg.eigh(problem.hessian(best))
    assert values[0] > 0
    return problem, best + 0.02 * vectors.sum(axis=1), 2.0 / float(values[-1])


@pytest.mark.parametrize(("share", "settles"), [(0.95, True), (1.15, False)])
def test_a_fixed_step_is_stable_below_the_bound_only(share: float, settles: bool):
    problem, start, bound = near_a_minimum()
    method = JacobianTranspose(step=share * bound, safeguard=False)
    run = run_and_check(problem, method, start)
    least = 0.5 * (np.sqrt(2) - 0.7) ** 2
    assert (run.descent.ended == "converged") is settles
    assert bool(run.descent.cost < least + 1e-9) is settles
    np.testing.assert_array_equal(run.history.control[1:], share * bound)


def test_the_safeguard_halves_a_step_that_is_too_long():
    problem, start, bound = near_a_minimum()
    run = run_and_check(problem, JacobianTranspose(step=1.15 * bound), start)
    assert run.descent.ended == "converged"
    taken = run.history.control[1:] / (1.15 * bound)
    assert set(taken) <= set(0.5 ** np.arange(8))
    assert taken.min() < 1


def test_a_method_that_diverges_ends_where_numbers_do():
    problem = reach(rails((-np.inf, np.inf)), "TIP", (1, 0, 0))
    run = run_and_check(problem, JacobianTranspose(step=3.0, safeguard=False), np.zeros(1))
    assert run.descent.ended == "stalled"
    assert run.descent.cost > 1e100
    assert np.isfinite(run.history.cost).all()


# --- pseudo-inverse


@pytest.mark.parametrize("shape", [(6, 9), (9, 6), (7, 7), (1, 4), (4, 1)])
@pytest.mark.parametrize("lost", [0, 2])
def test_both_factorisations_are_the_pseudo_inverse(shape: tuple[int, int], lost: int):
    rng = np.random.default_rng(0)
    m, n = shape
    rank = max(min(m, n) - lost, 0)
    J, e = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n)), rng.normal(size=m)
    inverse = np.linalg.pinv(J, rcond=1e-9)
    for invert in (invert_by_svd, invert_by_qr):
        y, B = invert(J, e, 1e-6)
        assert B.shape == (n, rank)
        np.testing.assert_allclose(y, inverse @ e, atol=1e-11)
        np.testing.assert_allclose(B @ B.T, inverse @ J, atol=1e-11)


def test_both_factorisations_take_the_same_steps():
    problem, start = reach(snake(2.0), "TIP", (0.4, 0.5, 0.3)), np.full(7, 0.1)
    svd, qr = (run_and_check(problem, PseudoInverse(factorisation=f), start) for f in ("svd", "qr"))
    assert svd.descent.iterations == qr.descent.iterations < 12
    np.testing.assert_allclose(svd.descent.q, qr.descent.q, atol=1e-9)
    fall = svd.history.cost[-2] / svd.history.cost[-3] ** 2
    assert fall < 100  # quadratic: the residual is squared


def test_small_singular_values_are_left_alone():
    J = np.diag([1.0, 1e-7])
    for invert in (invert_by_svd, invert_by_qr):
        np.testing.assert_array_equal(invert(J, np.ones(2), 1e-6)[0], (1, 0))
        np.testing.assert_allclose(invert(J, np.ones(2), 1e-8)[0], (1, 1e7))


def rest_posture() -> tuple[ik.Problem, Array, Array]:
    """A goal that leaves a snake four dofs, a start, and a posture of another shape."""
    rest = np.array([0.6, -0.4, 0.5, 0.3, -0.7, 0.2, 0.4])
    start = np.array([0.5, 0.6, 0.7, -0.4, 0.8, -0.3, 0.2])
    return reach(snake(1.5), "TIP", (0.35, 0.4, 0.5)), start, rest


@pytest.mark.parametrize("factorisation", ["svd", "qr"])
@pytest.mark.parametrize("strength", [{}, {"b2": 0.3, "b5": 2.0}])
def test_a_secondary_goal_is_not_felt_to_first_order(
    factorisation: str, strength: dict[str, float]
):
    problem, start, rest = rest_posture()
    problem = ik.Problem(problem.skeleton, problem.goals, strength=strength)
    options: dict[str, Any] = {"safeguard": False, "max_displacement": 0.01}
    options["factorisation"] = factorisation
    place = View(problem).at(start)
    ends = [
        stepper_of(PseudoInverse(**options, **extra), problem).step(place)
        for extra in ({}, {"rest": rest, "rest_gain": 1e-3})
    ]
    alone, pulled = (end.q for end in ends if end is not None)
    pull = pulled - alone
    assert np.abs(problem.jacobian(start) @ pull).max() < 1e-12 < 1e-5 < np.abs(pull).max()
    assert pull @ (rest - start) > 0


def test_a_secondary_goal_goes_all_the_way_if_nothing_stops_it():
    """Nothing is left of the way to q_rest but what the goals forbid."""
    problem, start, rest = rest_posture()
    endless = PseudoInverse(
        rest=rest, safeguard=False, tolerance=0.0, small_cost=0.0, max_iterations=200
    )
    run = run_and_check(problem, endless, start)
    away, J = rest - run.descent.q, problem.jacobian(run.descent.q)
    assert run.descent.cost < 1e-20
    assert np.linalg.norm(away) > 0.1
    assert np.linalg.norm(away - np.linalg.pinv(J) @ J @ away) < 1e-6


@pytest.mark.parametrize("gain", [0.1, 0.5, 1.0])
def test_a_secondary_goal_is_approached_and_the_goals_are_still_reached(gain: float):
    problem, start, rest = rest_posture()
    without = run_and_check(problem, PseudoInverse(), start)
    run = run_and_check(problem, PseudoInverse(rest=rest, rest_gain=gain), start)
    assert (without.descent.ended, run.descent.ended) == ("converged", "converged")
    assert run.descent.cost < 1e-17
    away = [float(np.linalg.norm(r.descent.q - rest)) for r in (without, run)]
    assert away[1] < 0.95 * away[0]


def test_a_secondary_goal_on_quaternions_and_with_limits():
    joints = [ik.Joint.quaternion(), ik.Joint.revolute("x", limits=(-0.3, 0.3))] * 2
    arm = chain_of(joints)
    rest = arm.neutral()
    problem = reach(arm, "TIP", arm.forward(configuration(arm, 4)).markers[0])
    for safeguard in (True, False):
        run = run_and_check(problem, PseudoInverse(rest=2 * rest, safeguard=safeguard), rest)
        assert run.descent.cost < 1e-17


# --- damped least squares


@pytest.mark.parametrize("shape", [(6, 9), (9, 6), (7, 7), (1, 4), (4, 1)])
@pytest.mark.parametrize("damping", [1e-9, 0.02, 3.0])
def test_the_smaller_system_gives_the_same_step(shape: tuple[int, int], damping: float):
    rng = np.random.default_rng(0)
    J, e = rng.normal(size=shape), rng.normal(size=shape[0])
    whole = np.vstack([J, damping * np.eye(shape[1])])
    expected = np.linalg.lstsq(whole, np.concatenate([e, np.zeros(shape[1])]), rcond=None)[0]
    np.testing.assert_allclose(solve_damped(J, e, damping), expected, atol=1e-9)


def test_damping_bounds_the_step_at_any_singular_pose():
    rng = np.random.default_rng(0)
    for tiny in (1e-3, 1e-6, 1e-12, 0.0):
        J, e = np.diag([1.0, tiny]), rng.normal(size=2)
        assert np.linalg.norm(solve_damped(J, e, 0.02)) <= np.linalg.norm(e) / 0.04
        assert np.isfinite(solve_damped(J, e, 1e-30)).all()
    assert not solve_damped(np.zeros((3, 2)), np.ones(3), 0.1).any()


# --- clamps


@each_kind
def test_no_entry_of_a_step_is_longer_than_allowed(kind: type[JacobianMethod]):
    for safeguard in (True, False):
        method = kind(max_step=0.03, safeguard=safeguard, max_iterations=100)
        run = run_and_check(
            reach(planar_arm(), "HAND", (0.3, 0.4, 0)), method, np.array([0.1, 0.2])
        )
        assert run.history.step.max() == pytest.approx(0.03, rel=1e-9)


@each_kind
def test_the_way_to_each_goal_is_shortened(kind: type[JacobianMethod]):
    """Of two carts one has far to go and one has not."""
    bones = [
        ik.Bone("rail"),
        *(ik.Bone(n, parent="rail", joint=ik.Joint.prismatic("x")) for n in "ab"),
    ]
    carts = ik.Skeleton.build("carts", bones)
    goals = [ik.PositionGoal("a", (3, 0, 0)), ik.PositionGoal("b", (0.05, 0, 0), weight=1.0)]
    method = kind(max_displacement=0.1, max_step=None)
    d = direction_of(method, ik.Problem(carts, goals), (0, 0))
    np.testing.assert_allclose(d, (0.1, 0.05), rtol=1e-3)


def test_the_place_and_the_turn_of_a_pose_are_shortened_alike():
    base = ik.Skeleton.build("base", [ik.Bone("base", joint=ik.Joint.free("ZYX"))])
    target = np.eye(4)
    target[:2, :2], target[:3, 3] = [[0.6, -0.8], [0.8, 0.6]], (0.4, 0, 0)
    problem = ik.Problem(base, [ik.PoseGoal("base", target)])
    angle = np.arctan2(0.8, 0.6)
    for most, expected in ((0.1, 0.1 / angle), (2.0, 1.0)):
        method = PseudoInverse(max_displacement=most, max_step=None)
        d = direction_of(method, problem, base.neutral())
        assert d[0] == pytest.approx(0.4 * expected, rel=1e-9)
        assert np.linalg.norm(d[3:]) == pytest.approx(angle * expected, rel=1e-9)


@each_kind
def test_goals_that_disagree_are_shortened_alike_where_that_is_needed_to_go_down(
    kind: type[JacobianMethod],
):
    """Shortened each, the far goal loses against the heavy one and the cart goes the wrong way."""
    goals = [ik.MarkerGoal("TIP", (10, 0, 0)), ik.MarkerGoal("TIP", (-1, 0, 0), weight=5.0)]
    problem = ik.Problem(rails((-20, 20)), goals)
    best, wrong = 5 / 6, -0.8
    run = run_and_check(problem, kind(max_displacement=1.0), np.zeros(1))
    assert run.descent.q[0] == pytest.approx(best, abs=1e-3)
    run = run_and_check(problem, kind(max_displacement=1.0, safeguard=False), np.zeros(1))
    assert run.descent.q[0] == pytest.approx(wrong, abs=1e-3)


def test_a_step_leaves_no_more_undone_than_allowed():
    problem = reach(rails((-9, 9)), "TIP", (1, 0, 0))
    for method, expected in (
        (DampedLeastSquares(damping=1.0, max_step=None), 0.5),  # and leaves as much
        (DampedLeastSquares(damping=1.0, max_step=None, max_shortfall=0.1), 0.1),
        (JacobianTranspose(step=0.2, max_shortfall=0.1), 0.2 * 0.1 / 0.8),
        (PseudoInverse(max_step=None, max_shortfall=0.1), 1.0),  # leaves nothing anyway
    ):
        np.testing.assert_allclose(direction_of(method, problem, [0]), [expected])


@each_kind
def test_every_step_is_as_linear_as_asked_for(kind: type[JacobianMethod]):
    problem = reach(planar_arm(), "HAND", (0.3, 0.4, 0))
    widest = {}
    for allowed in (1e-3, 10.0):
        method = kind(max_deviation=allowed, safeguard=False, max_iterations=40)
        run = run_and_check(problem, method, np.array([0.1, 0.2]))
        widest[allowed] = 0.0
        for q0, q1 in zip(run.seen, run.seen[1:], strict=False):
            model = problem.residual(q0) - problem.jacobian(q0) @ (q1 - q0)
            away = float(np.linalg.norm(problem.residual(q1) - model))
            widest[allowed] = max(widest[allowed], away)
    assert widest[1e-3] <= 1e-3 < widest[10.0]


def test_goals_without_weight_clamp_nothing():
    goals = [ik.MarkerGoal("TIP", (0.3, 0, 0)), ik.MarkerGoal("TIP", (99, 0, 0), weight=0.0)]
    problem = ik.Problem(rails((-9, 9)), goals)
    method = PseudoInverse(max_displacement=1.0, max_shortfall=0.1, max_deviation=0.1)
    np.testing.assert_allclose(direction_of(method, problem, [0]), [0.3])


# --- options


def test_options_are_values_and_names_are_known():
    assert {kind.name for kind in KINDS} <= set(list_solvers())
    for kind in KINDS:
        assert resolve_method(kind.name) == kind()
        assert pickle.loads(pickle.dumps(kind(max_step=0.2))) == kind(max_step=0.2)
    method = PseudoInverse(rest=np.ones(3))
    assert method == PseudoInverse(rest=(1, 1, 1)) != PseudoInverse()
    assert hash(method) == hash(PseudoInverse(rest=[1.0, 1.0, 1.0]))


@each_kind
@pytest.mark.parametrize("name", CLAMPS)
@pytest.mark.parametrize("value", [0, -1, np.nan])
def test_clamps_leave_room(kind: type[JacobianMethod], name: str, value: Any):
    with pytest.raises(ik.UsageError, match=name):
        kind(**{name: value})


def test_misuse_is_told():
    for step in (0, -0.1, np.nan):
        with pytest.raises(ik.UsageError, match="step"):
            JacobianTranspose(step=step)
    with pytest.raises(ik.UsageError, match="damping"):
        DampedLeastSquares(damping=0)
    with pytest.raises(ik.UsageError, match="'svd' or 'qr'"):
        PseudoInverse(factorisation="lu")
    with pytest.raises(ShapeError, match="rest"):
        PseudoInverse(rest=[[1, 2]])
    with pytest.raises(NonFiniteError, match=r"rest\[1\]"):
        PseudoInverse(rest=(0, np.inf))
    problem = reach(planar_arm(), "HAND", (1, 0, 0))
    with pytest.raises(ShapeError, match=r"rest has shape \(3,\); expected \(2,\)"):
        descend(problem, PseudoInverse(rest=(0, 0, 0)), np.zeros(2))
