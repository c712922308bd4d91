"""BFGS, L-BFGS, Higham–Newton, PCG–Newton: minima, limits, locks, strengths, and their parts."""

from __future__ import annotations

import dataclasses
import itertools
import pickle
from functools import cache
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pytest
import scipy.optimize
from numpy.typing import ArrayLike

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
    UsageError,
    human,
)
from exactik.solvers import (
    BFGS,
    LBFGS,
    Descent,
    History,
    Iterate,
    NewtonHigham,
    NewtonPCG,
    PythonMethod,
    View,
    _descend,
    descend,
    list_solvers,
    resolve_method,
)
from exactik.solvers.methods import (
    BandedPreconditioner,
    DenseInverse,
    LimitedMemory,
    QuasiNewtonStepper,
    compute_open_step,
    find_blocked_dofs,
    find_length_to_sphere,
    make_model,
    minimise_in_ball,
    minimise_in_plane,
    release_from_limits,
    search_wolfe,
    snap_to_limits,
    solve_steihaug,
)
from exactik.typing import Array
from tests.support.models import chain_of, configuration, exp_map_arm, gantry, planar_arm
from tests.support.problems import make_pose_and_goals, menagerie

FOUR: dict[str, PythonMethod] = {
    "bfgs": BFGS(),
    "l-bfgs": LBFGS(),
    "newton-higham": NewtonHigham(),
    "newton-pcg": NewtonPCG(),
}
EVERY: dict[str, PythonMethod] = {
    **FOUR,
    "two pairs": LBFGS(memory=2),
    "high floor": NewtonHigham(floor=1e-2),
    "jacobi": NewtonPCG(bandwidth=0, epsilon=0.01),
    "full band": NewtonPCG(bandwidth=1000),
    "small region": NewtonPCG(initial_radius=1e-3),
}
each_method = pytest.mark.parametrize("method", FOUR.values(), ids=FOUR)
every_method = pytest.mark.parametrize("method", EVERY.values(), ids=EVERY)


class Run(NamedTuple):
    """A descent, its history, and all coordinates that were evaluated, also those refused."""

    descent: Descent
    history: History
    seen: Array


def run(problem: Problem, method: PythonMethod, q: ArrayLike) -> Run:
    """Run a method, and check at every place what must hold everywhere."""
    seen: list[Array] = []

    class Watcher(View):
        def at(self, q: Array) -> Iterate:
            seen.append(q.copy())
            return super().at(q)

    with patch.object(_descend, "View", Watcher):
        result = descend(problem, method, np.array(q, dtype=float), record=True)
    figure, history, places = problem.skeleton, result.history, np.array(seen)
    assert history is not None
    plain = figure.plain_q
    own = places[:, plain[plain >= 0]]
    assert (own >= problem.lower[plain >= 0]).all()
    assert (own <= problem.upper[plain >= 0]).all()
    moves = figure.difference(places, places[0])
    assert np.abs(moves[:, problem.locked]).max(initial=0.0) == 0.0
    assert (history.cost[1:] <= history.cost[:-1] * (1.0 + 3e-14)).all()
    assert len(history.cost) == result.iterations + 1
    assert result.evaluations == len(seen)
    assert result.cost == history.cost[-1] == pytest.approx(problem.cost(result.q), rel=1e-13)
    if result.ended == "converged":
        assert result.projected_gradient <= method.tolerance or result.cost <= 1e-17
    return Run(result, history, places)


def at_rest(problem: Problem, method: PythonMethod, q: ArrayLike) -> Descent:
    result = run(problem, method, q).descent
    assert result.ended == "converged", result
    return result


def solve_with_scipy(problem: Problem, q: ArrayLike) -> float:
    """The cost that L-BFGS-B of scipy reaches; the coordinates must be their own tangents."""
    assert problem.skeleton.nq == problem.skeleton.nv
    return scipy.optimize.minimize(
        lambda q: (problem.cost(q), problem.gradient(q)),
        np.clip(q, problem.lower, problem.upper),
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(problem.lower, problem.upper, strict=True)),
        options={"maxiter": 5000, "maxfun": 20000, "ftol": 1e-16, "gtol": 1e-11, "maxcor": 30},
    ).fun


def assert_minimum(problem: Problem, q: Array, tolerance: float) -> None:
    """The conditions of a constrained minimum, from the public derivatives alone."""
    figure = problem.skeleton
    g, H, plain = problem.gradient(q), problem.hessian(q), figure.plain_q
    own = np.where(plain >= 0, q[np.maximum(plain, 0)], 0.0)
    low, high = own <= problem.lower, own >= problem.upper
    free = ~(low & (g > 0.0)) & ~(high & (g < 0.0)) & ~problem.locked
    size = np.sqrt(2.0 * problem.cost(q) * np.abs(np.diag(problem.gauss_newton(q)))) + 1e-300
    assert (np.abs(g) / size)[free].max(initial=0.0) <= 2.0 * tolerance
    inner = free & ~low & ~high
    values = np.linalg.eigvalsh(H[np.ix_(inner, inner)])
    assert values.min(initial=0.0) >= -1e-6 * values.max(initial=0.0)


# --- problems


@cache
def sparse_human() -> tuple[Problem, Array]:
    """Ten markers of a pose inside the limits; two dozen dofs are left to chance.

    Of a pose that no method meets a minimum on the way to, at a limit that the pose does not touch.
    """
    figure, rng = human(), np.random.default_rng(3)
    q = np.clip(rng.uniform(-0.4, 0.4, size=figure.nq), figure.lower, figure.upper)
    places = dict(zip(figure.markers, figure.forward(q).markers, strict=True))
    names = "LFHD RBHD LELB RELB LFIN RFIN LHEE RHEE LTOE RTOE".split()
    return Problem(figure, [MarkerGoal(m, places[m]) for m in names]), figure.neutral()


@cache
def noisy_human(limits: str = "hard") -> tuple[Problem, Array]:
    """All markers, off by a centimetre, of a pose on some of its limits; a start near it."""
    figure, rng = human(), np.random.default_rng(3)
    q = np.clip(rng.uniform(-0.5, 0.5, size=figure.nq), figure.lower, figure.upper)
    places = figure.forward(q).markers + rng.normal(scale=0.01, size=(41, 3))
    goals: list[Goal] = [MarkerGoal(m, p) for m, p in zip(figure.markers, places, strict=True)]
    goals.append(PostureGoal(figure.neutral(), weight=1e-4))
    return Problem(figure, goals, limits=limits), q + rng.normal(scale=0.1, size=figure.nq)


@cache
def panda() -> Skeleton:
    """Seven hinges with the lengths and limits of a Panda."""
    places = [(0, 0, 0.333), (0, 0, 0), (0, 0, 0.316), (0.0825, 0, 0), (-0.0825, 0, 0.384)]
    places += [(0, 0, 0), (0.088, 0, 0)]
    axes = [(0, 0, 1), (0, 1, 0), (0, 0, 1), (0, -1, 0), (0, 0, 1), (0, -1, 0), (0, 0, -1)]
    limits = [(-2.8973, 2.8973), (-1.7628, 1.7628), (-2.8973, 2.8973), (-3.0718, -0.0698)]
    limits += [(-2.8973, 2.8973), (-0.0175, 3.7525), (-2.8973, 2.8973)]
    joints = [Joint.revolute(a, limits=b) for a, b in zip(axes, limits, strict=True)]
    bones = [
        Bone(f"link{k}", parent=f"link{k - 1}" if k > 0 else None, offset=offset, joint=joint)
        for k, (offset, joint) in enumerate(zip(places, joints, strict=True))
    ]
    return Skeleton.build("seven hinges", bones, {"TOOL": ("link6", (0, 0, -0.2))})


FOUGHT = (0, 1, 3, 4, 5, 8)
READY = (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785)


def fought(seed: int) -> Problem:
    """A pose of the seven hinges that is beyond the limits of two or more, for those seeds."""
    figure, rng = panda(), np.random.default_rng(seed)
    q = rng.uniform(-3.5, 3.5, size=7)
    pose = figure.forward(q)
    goals: list[Goal] = [
        PositionGoal("link6", pose.positions[6]),
        OrientationGoal("link6", pose.rotations[6], kind="axes", weight=0.1),
        PostureGoal(q, weight=0.05),
    ]
    return Problem(figure, goals)


# --- what all four promise


def test_they_are_known_by_name():
    for name, method in FOUR.items():
        assert name in list_solvers()
        assert resolve_method(name) == method == pickle.loads(pickle.dumps(method))


@each_method
def test_reachable_markers_are_reached(method: PythonMethod):
    problem, start = sparse_human()
    result = at_rest(problem, method, start)
    assert result.cost <= 1e-18
    assert np.abs(problem.residual(result.q)).max() <= 2e-9


@each_method
@pytest.mark.parametrize("limits", ["hard", "off"])
def test_noisy_markers_lead_all_to_the_same_minimum(method: PythonMethod, limits: str):
    """None is left above another, the slope vanishes, and scipy finds nothing lower from there."""
    problem, start = noisy_human(limits)
    result = at_rest(problem, method, start)
    assert result.cost > 1e-3
    assert_minimum(problem, result.q, method.tolerance)
    best = descend(problem, NewtonPCG(tolerance=1e-12), start)
    assert result.cost == pytest.approx(best.cost, rel=1e-10)
    assert solve_with_scipy(problem, result.q) >= result.cost * (1.0 - 1e-10)
    on_limits = (result.q == problem.lower) | (result.q == problem.upper)
    assert (np.count_nonzero(on_limits) >= 3) == (limits == "hard")


@every_method
@pytest.mark.parametrize("seed", FOUGHT)
def test_goals_beyond_the_limits_end_at_the_constrained_minimum(method: PythonMethod, seed: int):
    problem = fought(seed)
    result = at_rest(problem, method, READY)
    assert_minimum(problem, result.q, method.tolerance)
    assert ((result.q == problem.lower) | (result.q == problem.upper)).any()
    # Minima are many: scipy is asked whether there is something lower in this basin.
    assert solve_with_scipy(problem, result.q) >= result.cost * (1.0 - 1e-8)


def test_from_close_by_all_find_the_same_constrained_minimum():
    for seed in FOUGHT:
        problem = fought(seed)
        best = at_rest(problem, NewtonPCG(), READY)
        nudge = np.random.default_rng(seed).normal(scale=0.03, size=7)
        for method in EVERY.values():
            result = at_rest(problem, method, best.q + nudge)
            assert result.cost == pytest.approx(best.cost, rel=1e-8)
        assert solve_with_scipy(problem, best.q + nudge) == pytest.approx(best.cost, rel=1e-8)


def test_a_box_of_sliders_is_solved_by_clipping():
    """Three sliders are independent: the constrained minimum is the target, cut off."""
    problem = Problem(gantry(), [PositionGoal("hoist", (2.5, 0.3, 1.0))])
    for method in EVERY.values():
        for start in [(1.0, 0.0, -1.0), (2.0, 1.0, 0.0), (0.0, -1.0, -3.0), (9.0, 9.0, 9.0)]:
            result = at_rest(problem, method, start)
            assert result.q == pytest.approx((2.0, 0.3, 0.0), abs=1e-8)
            assert result.q[0] == 2.0 and result.q[2] == 0.0
            assert result.iterations <= 40


@every_method
@pytest.mark.parametrize("seed", range(4))
def test_all_joints_and_goals(method: PythonMethod, seed: int):
    """Exponential maps, quaternions, swings, shifts; from far away, where Hessians bend down."""
    figure = menagerie()
    q, goals = make_pose_and_goals(figure, seed)
    start = figure.integrate(q, np.random.default_rng(seed).normal(scale=0.5, size=figure.nv))
    problem = Problem(figure, goals)
    result, history, _ = run(problem, method, start)
    assert result.ended == "converged"
    assert_minimum(problem, result.q, method.tolerance)
    assert result.cost < 0.8 * history.cost[0]


@each_method
def test_exponential_maps_reach_and_do_not_reach(method: PythonMethod):
    figure = exp_map_arm()
    near = figure.forward(0.3 * configuration(figure, 5)).markers[0]
    result = at_rest(Problem(figure, [MarkerGoal("FINGER", near)]), method, figure.neutral())
    assert result.cost <= 1e-18
    far = Problem(figure, [MarkerGoal("FINGER", (2.0, 0.4, 0.3))])
    result = at_rest(far, method, np.full(7, 0.1))
    stretched = np.hypot(0.15, 0.02) + 0.55
    missing = np.linalg.norm((2.0, 0.4, 0.3)) - stretched
    assert result.cost == pytest.approx(0.5 * missing**2, rel=1e-8)


@each_method
@pytest.mark.parametrize("seed", range(3))
def test_quaternions_keep_their_length_and_reach(method: PythonMethod, seed: int):
    figure = chain_of([Joint.free("quaternion"), Joint.quaternion(), Joint.quaternion()], seed)
    q, start = configuration(figure, seed), configuration(figure, seed + 10)
    wanted = figure.forward(q)
    goals: list[Goal] = [MarkerGoal("TIP", wanted.markers[0])]
    goals += [PositionGoal(f"b{k}", wanted.positions[k]) for k in range(3)]
    result = at_rest(Problem(figure, goals), method, start)
    assert result.cost <= 1e-18
    assert np.linalg.norm(result.q[-4:]) == pytest.approx(1.0, abs=1e-14)
    rest = at_rest(Problem(figure, [*goals, PostureGoal(start, weight=0.1)]), method, start)
    assert rest.projected_gradient <= method.tolerance


@each_method
def test_locked_joints_stay_and_the_rest_finds_its_minimum(method: PythonMethod):
    free, start = noisy_human()
    lock = ("pelvis.t?", "l_*", "head.ry")
    problem = Problem(free.skeleton, free.goals, lock=lock)
    start = np.clip(start, problem.lower, problem.upper)
    result = at_rest(problem, method, start)
    assert problem.locked.sum() > 10
    assert np.array_equal(result.q[problem.locked], start[problem.locked])
    assert_minimum(problem, result.q, method.tolerance)
    best = descend(problem, NewtonPCG(tolerance=1e-12), start)
    assert result.cost == pytest.approx(best.cost, rel=1e-10)


@every_method
def test_where_nothing_can_move_nothing_happens(method: PythonMethod):
    figure = planar_arm()
    problem = Problem(figure, [MarkerGoal("HAND", (1, 1, 0))], lock="*")
    result = at_rest(problem, method, (0.3, 0.4))
    assert (result.iterations, result.evaluations) == (0, 1)
    one = Problem(figure, [MarkerGoal("HAND", (1, 1, 0))], lock="upper")
    assert at_rest(one, method, (0.3, 0.4)).q[0] == 0.3


@each_method
def test_a_start_outside_is_moved_inside_first(method: PythonMethod):
    problem = fought(1)
    result = run(problem, method, 10.0 * np.ones(7))
    assert np.array_equal(result.seen[0], problem.upper)
    assert result.descent.ended == "converged"
    assert_minimum(problem, result.descent.q, method.tolerance)


@every_method
def test_limits_without_room_hold(method: PythonMethod):
    """A dof whose limits coincide is as good as locked."""
    bones = [
        Bone("a", joint=Joint.revolute("z", limits=(0.2, 0.2))),
        Bone("b", parent="a", offset=(1, 0, 0), joint=Joint.revolute("z", limits=(-1, 1))),
    ]
    figure = Skeleton.build("stiff", bones, {"M": ("b", (1, 0, 0))})
    result = at_rest(Problem(figure, [MarkerGoal("M", (0.5, 1.2, 0))]), method, (0.0, 0.1))
    assert result.q.tolist() == [0.2, 1.0]
    result = at_rest(Problem(figure, [MarkerGoal("M", (1.9, 0.9, 0))]), method, (0.0, 0.1))
    elbow = np.array([np.cos(0.2), np.sin(0.2)])
    wanted = np.array([1.9, 0.9]) - elbow
    assert result.q[0] == 0.2
    assert result.q[1] == pytest.approx(np.arctan2(wanted[1], wanted[0]) - 0.2, abs=1e-7)


@each_method
def test_weak_dofs_move_less(method: PythonMethod):
    """Of the many solutions the metric chooses one where the weak joint did little."""
    figure = exp_map_arm()
    start, bend = np.full(7, 0.05), np.array([0, 0, 0, 0.5, 0.2, 0.1, 0.3])
    target = figure.forward(start + bend).markers[0]
    goals = [MarkerGoal("FINGER", target)]

    def moved(strength: dict[str, float]) -> float:
        result = at_rest(Problem(figure, goals, strength=strength), method, start)
        assert result.cost <= 1e-18
        return float(np.abs(result.q - start)[:3].max())

    assert moved({"upper": 0.05}) < 0.7 * moved({})


@each_method
def test_weights_that_couple_goals(method: PythonMethod):
    figure, rng = panda(), np.random.default_rng(4)
    a = rng.normal(size=(6, 6))
    goals = [PositionGoal(f"link{k}", rng.normal(size=3), (0.1, 0.1, 0.1)) for k in (4, 6)]
    problem = Problem(figure, goals, weight_matrix=a @ a.T + 0.1 * np.eye(6))
    result = at_rest(problem, method, READY)
    assert solve_with_scipy(problem, result.q) >= result.cost * (1.0 - 1e-8) - 1e-15


@every_method
def test_it_stops_when_told_to(method: PythonMethod):
    problem, start = noisy_human()
    result = run(problem, dataclasses.replace(method, max_iterations=3), start).descent
    assert (result.ended, result.iterations) == ("iteration-limit", 3)


def test_newton_is_quadratic_close_to_the_minimum():
    """With a residual left: each step squares the error, and few are needed."""
    problem, start = noisy_human()
    best = descend(problem, NewtonPCG(tolerance=1e-13), start)
    nudge = np.random.default_rng(1).normal(scale=1e-3, size=problem.skeleton.nv)
    for method in (NewtonHigham(), NewtonPCG()):
        result = at_rest(problem, method, best.q + nudge)
        assert result.iterations <= 9
        assert result.cost == pytest.approx(best.cost, rel=1e-13)
    assert at_rest(problem, NewtonHigham(), best.q + nudge).iterations <= 8


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (LBFGS, {"memory": 0}),
        (NewtonHigham, {"floor": -1e-8}),
        (NewtonPCG, {"initial_radius": 0.0}),
        (NewtonPCG, {"bandwidth": -1}),
        (BFGS, {"tolerance": float("nan")}),
    ],
)
def test_senseless_options_are_refused(kind: type[PythonMethod], options: dict[str, Any]):
    with pytest.raises(UsageError, match=next(iter(options))):
        kind(**options)


# --- their parts


def pairs(seed: int, n: int, count: int) -> tuple[Array, list[tuple[Array, Array]]]:
    """A positive matrix, and steps with the changes of gradient that it would cause."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(n, n))
    H = a @ a.T + np.eye(n)
    steps = [rng.normal(size=n) for _ in range(count)]
    return H, [(s, H @ s) for s in steps]


def test_memories_know_the_steps_that_they_learnt():
    """Of a quadratic, n steps along conjugate directions teach all; any step is remembered."""
    H, learnt = pairs(0, 6, 4)
    dense, limited = DenseInverse(6), LimitedMemory(6, 4)
    every = np.ones(6, bool)
    for s, z in learnt:
        dense.update(s, z)
        limited.update(s, z)
    for memory in (dense, limited):
        s, z = learnt[-1]
        assert memory.solve_free(-z, every) == pytest.approx(s, rel=1e-10)
        memory.reset()
        assert memory.is_initial
        assert memory.solve_free(z, every) == pytest.approx(-z)
    for _, s in zip(range(6), np.linalg.eigh(H)[1].T, strict=True):
        dense.update(s, H @ s)
    assert dense.B == pytest.approx(np.linalg.inv(H), rel=1e-9)


@pytest.mark.parametrize("free", list(itertools.product([False, True], repeat=4))[1:])
def test_memories_solve_for_free_dofs_as_their_hessian_says(free: tuple[bool, ...]):
    """Both: −(H_FF)⁻¹ g_F, H being what the memory stands for, whatever is free."""
    _, learnt = pairs(3, 4, 3)
    rng = np.random.default_rng(1)
    dense, limited = DenseInverse(4), LimitedMemory(4, 2)
    for s, z in learnt:
        dense.update(s, z)
        limited.update(s, z)
    for memory in (dense, limited):
        B = -np.column_stack([memory.solve_free(e, np.ones(4, bool)) for e in np.eye(4)])
        assert B == pytest.approx(B.T, rel=1e-9)
        assert np.linalg.eigvalsh(B)[0] > 0.0
        F, g = np.array(free), rng.normal(size=4)
        wanted = np.zeros(4)
        wanted[F] = -np.linalg.solve(np.linalg.inv(B)[np.ix_(F, F)], g[F])
        assert memory.solve_free(g, F) == pytest.approx(wanted, rel=1e-7, abs=1e-12)


def test_the_line_search_satisfies_the_strong_wolfe_conditions():
    problem, start = noisy_human("off")
    view = View(problem)
    place = view.at(start)
    for first in (1e-4, 1e-2, 1.0, 10.0):
        d = -place.gradient
        result, length = search_wolfe(view, place, d, first)
        assert result is not None
        steep = place.gradient @ d
        assert result.cost <= place.cost + 1e-4 * length * steep
        assert abs(result.gradient @ d) <= 0.9 * abs(steep)
    assert search_wolfe(view, place, place.gradient, 1.0)[0] is None  # uphill


def test_dofs_are_blocked_close_to_limits_that_they_are_pushed_to():
    problem = Problem(gantry(), [PositionGoal("hoist", (5.0, 0.0, 1.0))])
    view = View(problem)
    place = view.at(np.array([2.0 - 1e-5, 1.0 - 1e-5, -1.0]))
    assert find_blocked_dofs(view, place, np.ones(3)).tolist() == [True, False, False]
    tiny = find_blocked_dofs(view, place, np.full(3, 1e-9))  # steps much shorter than the gap
    assert tiny.tolist() == [False, False, False]
    corner = view.at(np.array([2.0, 1.0, 0.0]))
    assert corner.active.tolist() == [True, False, True]
    step = compute_open_step(
        view, corner, np.array([True, True, False]), lambda free: np.where(free, 1.0, 0)
    )
    assert step.tolist() == [0.0, 0.0, 0.0]


def test_a_memory_that_misleads_is_dropped():
    """A memory that says up is down is found out, and the gradient taken."""
    problem, start = noisy_human("off")
    view = View(problem)
    memory = DenseInverse(view.nv)
    memory.update(np.eye(view.nv)[0], np.eye(view.nv)[0])
    memory.B = -np.eye(view.nv)
    place = view.at(start)
    following = QuasiNewtonStepper(view, memory).step(place)
    assert following is not None and following.cost < place.cost
    assert np.linalg.eigvalsh(memory.B)[0] > 0.0


@pytest.mark.parametrize("bandwidth", [0, 1, 3, 7, 50])
def test_the_preconditioner_is_positive_and_the_band_of_a_dominant_matrix(bandwidth: int):
    rng = np.random.default_rng(2)
    a = rng.normal(size=(8, 8))
    offsets = np.abs(np.subtract.outer(np.arange(8), np.arange(8)))
    dominant = a + a.T + 40.0 * np.eye(8)
    band = BandedPreconditioner(dominant, bandwidth)
    solved = np.column_stack([band.solve(e) for e in np.eye(8)])
    inverse = np.linalg.inv(np.where(offsets <= bandwidth, dominant, 0.0))
    assert solved == pytest.approx(inverse, rel=1e-10)
    for indefinite in (a + a.T, -np.eye(8), np.zeros((8, 8)), np.ones((8, 8)), np.diag(a[0])):
        band = BandedPreconditioner(indefinite, bandwidth)
        solved = np.column_stack([band.solve(e) for e in np.eye(8)])
        assert np.isfinite(solved).all()
        assert np.linalg.eigvalsh(0.5 * (solved + solved.T))[0] > 0.0


def test_the_minimum_in_a_ball_is_the_lowest_point_of_it():
    turns = np.linspace(0.0, 2.0 * np.pi, 2001)
    circle = np.stack([np.cos(turns), np.sin(turns)])
    disc = np.hstack([r * circle for r in np.linspace(0.0, 1.0, 41)])
    cases = [([1.0, 2.0], [0.1, 0.1]), ([1.0, 2.0], [3.0, -1.0]), ([-1.0, 2.0], [0.3, 0.2])]
    cases += [([-2.0, -1.0], [0.1, 0.0]), ([-1.0, 2.0], [0.0, 1.0]), ([0.0, 1.0], [0.0, 0.5])]
    cases += [([0.0, 1.0], [1e-3, 0.5]), ([-1.0, 1.0], [0.0, 0.0])]
    for values, slopes in cases:
        x = np.array(minimise_in_ball(values, slopes, 0.7))
        assert np.linalg.norm(x) <= 0.7 * (1.0 + 1e-9)

        def height(x: Array, values: list[float] = values, slopes: list[float] = slopes) -> Array:
            return np.array(slopes) @ x + 0.5 * np.array(values) @ x**2

        assert height(x) <= height(0.7 * disc).min() + 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_steps_of_the_region_stay_in_it_and_in_the_limits(seed: int):
    """And go down in the model at least as far as the best step along its gradient."""
    problem, rng = fought(seed), np.random.default_rng(seed)
    view = View(problem)
    place = view.at(rng.uniform(problem.lower, problem.upper))
    model = make_model(view, place)
    for radius in (1e-3, 0.1, 1.0, 10.0):
        s = minimise_in_plane(
            model,
            solve_steihaug(model, BandedPreconditioner(model.hessian, 3), 0.1, radius),
            radius,
        )
        assert np.linalg.norm(s) <= radius * (1.0 + 1e-9)
        down = -model.gradient
        zero = np.zeros(len(down))
        most = min(
            0.95 * model.find_length_to_limit(down, zero)[0],
            find_length_to_sphere(zero, down, radius),
        )
        cauchy = model.minimise_along(zero, down, 0.0, most)
        step = model.bring_inside(s, radius)
        assert np.linalg.norm(step) <= radius * (1.0 + 1e-9)
        assert model.evaluate(step) <= model.evaluate(cauchy) + 1e-12
        v = model.unscale(step)
        low, high = view.room(place.q)
        assert ((v > low) & (v < high)).all()
        smaller = model.hold_dofs(np.arange(len(s)) < 2)
        assert smaller.free.sum() == len(s) - 2
        assert smaller.evaluate(step[2:]) == pytest.approx(
            model.evaluate(np.concatenate([[0.0, 0.0], step[2:]])), rel=1e-9
        )


def test_dofs_are_put_on_limits_and_taken_off_as_the_gradient_says():
    problem = Problem(gantry(), [PositionGoal("hoist", (2.5, 0.3, -1.0))])
    view = View(problem)
    near = view.at(np.array([2.0 - 1e-8, 1.0 - 1e-8, -1.0]))
    assert snap_to_limits(view, near).q.tolist() == [2.0, 1.0 - 1e-8, -1.0]
    far = view.at(np.array([1.9, 0.0, -1.0]))
    assert snap_to_limits(view, far) is far
    corner = view.at(np.array([2.0, 1.0, 0.0]))
    moved = release_from_limits(view, corner).q
    assert moved[0] == 2.0  # pushed against it
    assert 0.99 < moved[1] < 1.0 and -0.01 < moved[2] < 0.0
    assert release_from_limits(view, far) is far
