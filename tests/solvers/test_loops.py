"""Closed loops: closed to the last digits, optimal among what they allow, and said where open."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik import Loop
from exactik.errors import UsageError
from exactik.model import name_loops
from exactik.solvers import Result
from exactik.solvers.loops import ClosedResult, make_loop_goals
from exactik.spatial import exp_rotation
from exactik.typing import Array

CRANK, COUPLER, ROCKER, GROUND = 0.1, 0.35, 0.25, 0.3  # [m] a crank that turns all around
TURN = exp_rotation(np.array([0.2, -0.4, 0.3]))


def four_bar() -> ik.Skeleton:
    """Crank and coupler on one side of the ground, the rocker on the other."""
    hinge = ik.Joint.revolute
    return ik.Skeleton.build(
        "four-bar",
        [
            ik.Bone("ground"),
            ik.Bone("crank", parent="ground", joint=hinge("z")),
            ik.Bone("coupler", parent="crank", offset=(CRANK, 0, 0), joint=hinge("z")),
            ik.Bone("rocker", parent="ground", offset=(GROUND, 0, 0), joint=hinge("z")),
        ],
    )


def solve_closed(
    figure: ik.Skeleton, goals: ik.Goal | list[ik.Goal], loop: Loop, **options: Any
) -> ClosedResult:
    """`solve` of the figure with this loop."""
    result = ik.solve(figure.with_loops(loop), goals, **options)
    assert isinstance(result, ClosedResult)
    return result


PIN = Loop("coupler", "rocker", points=((COUPLER, 0, 0), (ROCKER, 0, 0)))
ROD = Loop(
    "crank", "rocker", kind="distance", distance=COUPLER, points=((CRANK, 0, 0), (ROCKER, 0, 0))
)


def close_by_hand(crank: float) -> Array:
    """The pose at an angle of the crank [rad], in the branch with the pin above the ground."""
    p = CRANK * np.array([np.cos(crank), np.sin(crank)])
    d = np.array([GROUND, 0.0]) - p
    length = float(np.hypot(*d))
    along = (COUPLER**2 - ROCKER**2 + length**2) / (2 * length)
    across = np.sqrt(COUPLER**2 - along**2)
    pin = p + along * d / length + across * np.array([-d[1], d[0]]) / length
    arm = pin - p
    rocker = np.arctan2(pin[1], pin[0] - GROUND)
    return np.array([crank, np.arctan2(arm[1], arm[0]) - crank, rocker])


def test_a_four_bar_linkage_follows_its_crank_all_around() -> None:
    figure, q = four_bar(), close_by_hand(0.0)
    for crank in np.linspace(0.0, 2 * np.pi, 13):
        rest = np.array([crank, q[1], q[2]])
        goal = ik.PostureGoal(rest, weight=(1.0, 0.0, 0.0))
        result = solve_closed(figure, goal, PIN, q0=q)
        q = result.q
        assert result.closed and result.reached, result.why
        assert q[0] == pytest.approx(crank, abs=1e-6)
        assert result.gaps["coupler to rocker"] <= 1e-8
        assert np.abs(np.sin(0.5 * (q - close_by_hand(q[0])))).max() < 1e-6


def test_the_pose_is_the_best_among_those_that_close() -> None:
    """The gradient of the goals is balanced by the forces in the loop, and nothing else is left."""
    figure = four_bar()
    goal = ik.PositionGoal("coupler", (0.2, 0.3, 0.0), (0.1, 0.1, 0.0))
    result = solve_closed(figure, goal, PIN, q0=close_by_hand(0.5))
    assert result.closed and not result.reached
    slope = ik.Problem(figure, goal).gradient(result.q)
    J = ik.Problem(figure, make_loop_goals(PIN, "pin", 1.0, np.zeros(3))).jacobian(result.q)
    force = result.forces["coupler to rocker"]
    np.testing.assert_allclose(J.T @ force, slope, atol=1e-7)
    assert np.abs(slope).max() > 1e-2 and np.abs(force).max() > 1e-2
    # Nowhere near on the linkage is cheaper.
    for step in (-1e-2, 1e-2):
        q = close_by_hand(result.q[0] + step)
        assert np.abs(np.sin(0.5 * (q - result.q))).max() < 0.1
        assert ik.Problem(figure, goal).cost(q) > result.cost
    assert not result.certificate.saddle and result.certificate.min_eigenvalue > 0.0


@pytest.mark.parametrize("kind", ["point", "weld", "distance", "plane", "line"])
def test_each_kind_of_loop_on_the_human(kind: str) -> None:
    """The hands hold a bar that is pulled about: what the loop says holds to 1e-8 m."""
    figure = ik.human()
    loop = Loop(
        "l_hand",
        "r_hand",
        kind=kind,
        points=((0.02, 0.0, 0.0), (0.0, 0.1, 0.05)),
        rotation=TURN if kind == "weld" else None,
        distance=0.3,
        axis=(1.0, 2.0, 0.0),
    )
    goals = [
        ik.PositionGoal("l_hand", (0.4, 0.3, 1.3)),
        ik.PositionGoal("r_hand", (0.5, -0.3, 1.2)),
        ik.PostureGoal(figure.neutral(), weight=1e-3),
    ]
    result = solve_closed(figure, goals, loop, lock="pelvis")
    assert result.closed, result.why
    pose = figure.forward(result.q)
    here, there = pose.point("l_hand", (0.02, 0, 0)), pose.point("r_hand", (0.0, 0.1, 0.05))
    R = pose.rotations[figure.bone_index("r_hand")]
    if kind in ("point", "weld"):
        np.testing.assert_allclose(here, there, atol=1.1e-8)
    if kind == "weld":
        np.testing.assert_allclose(
            R.T @ pose.rotations[figure.bone_index("l_hand")], TURN, atol=3e-7
        )
    if kind == "distance":
        assert np.linalg.norm(here - there) == pytest.approx(0.3, abs=1.1e-8)
    if kind == "plane":
        n = R @ np.array([1.0, 2.0, 0.0]) / np.sqrt(5.0)
        assert abs(n @ (here - there)) <= 1.1e-8
    if kind == "line":
        n = R @ np.array([1.0, 2.0, 0.0]) / np.sqrt(5.0)
        np.testing.assert_allclose(np.cross(n, here - there), 0.0, atol=1.1e-8)
    assert set(result.goal_errors) == {"l_hand", "r_hand"}


def arm_with(limits: tuple[float, float]) -> ik.Skeleton:
    """Two links of 1 m."""
    return ik.Skeleton.build(
        "arm",
        [
            ik.Bone("upper", joint=ik.Joint.revolute("z")),
            ik.Bone("knee", parent="upper", offset=(1, 0, 0), joint=ik.Joint.revolute("z", limits)),
        ],
    )


def test_a_loop_that_cannot_close_says_by_how_much_and_what_holds_it() -> None:
    held = arm_with((0.5, 2.5))
    to_wall = Loop("knee", None, points=((1, 0, 0), (1.999, 0, 0)), name="hook")
    goal = ik.PostureGoal(np.array([0.0, 1.0]), weight=1e-2)
    result = solve_closed(held, goal, to_wall)
    reach = 2.0 * np.cos(0.25)  # with the knee at 0.5 rad
    assert result.status == "loop-open" and not result.reached and not result.closed
    assert result.gaps["hook"] == pytest.approx(1.999 - reach, rel=1e-3)
    assert f"open by {1e3 * result.gaps['hook']:.3g} mm" in result.why
    assert not result.converged and not result.inner.certificate.saddle
    assert result.rounds == 10  # six ever stiffer, then four in vain
    assert (
        "the loop hook is open by" in result.why and "knee.rz is at its lower limit" in result.why
    )
    too_far = Loop("knee", None, points=((1, 0, 0), (2.5, 0, 0)))
    assert "the loop knee to the world is open by 0.5" in solve_closed(held, goal, too_far).why
    free = solve_closed(arm_with((0.01, 2.5)), goal, to_wall)
    assert free.closed and "hook" not in free.why


def test_errors_and_sensitivities_are_those_of_the_closed_linkage() -> None:
    """How the answer follows its target: the difference of two answers, and the spread of many."""
    figure = four_bar().with_loops(replace(PIN, tolerance=1e-12))

    def answer(x: float) -> Result:
        goal = ik.PositionGoal("coupler", (x, 0.3, 0.0), (0.1, 0.1, 0.0), name="tip")
        return ik.solve(figure, goal, q0=close_by_hand(0.5), solver=ik.Auto(tolerance=1e-12))

    result, step = answer(0.2), 1e-5
    there, here = answer(0.2 + step).q, answer(0.2 - step).q
    found = result.sensitivity()
    assert set(found) == {"tip"}
    np.testing.assert_allclose(found["tip"][:, 0], (there - here) / (2 * step), rtol=1.5e-4)
    spread = result.covariance(1e-3)
    np.testing.assert_allclose(spread.matrix, 1e-6 * found["tip"] @ found["tip"].T, atol=1e-12)
    assert spread.undetermined == []


def test_error_bars_are_those_of_the_crank_alone() -> None:
    """The linkage has one dof: error bars, sensitivity and verdict follow from its angle."""
    tip, target, sigma, step = (0.1, 0.1, 0.0), np.array([0.2, 0.3, 0.0]), 1e-3, 1e-4
    figure = four_bar().with_loops(replace(PIN, tolerance=1e-12))
    goal = ik.PositionGoal("coupler", target, tip, name="tip")
    result = ik.solve(figure, goal, q0=close_by_hand(0.5), solver=ik.Auto(tolerance=1e-12))
    poses = [close_by_hand(result.q[0] + k * step) for k in (-1, 0, 1)]
    x = np.array([figure.forward(q).point("coupler", tip) for q in poses])
    slope, bend = (x[2] - x[0]) / (2 * step), (x[2] - 2 * x[1] + x[0]) / step**2
    along = (poses[2] - poses[0]) / (2 * step)
    curvature = slope @ slope + (x[1] - target) @ bend
    assert curvature > 0.0 and not result.certificate.saddle
    by_target = np.outer(along, slope) / curvature
    np.testing.assert_allclose(result.sensitivity()["tip"], by_target, rtol=2e-4, atol=1e-7)
    spread = result.covariance(sigma)
    np.testing.assert_allclose(spread.matrix, sigma**2 * by_target @ by_target.T, rtol=4e-4)


METHODS = [m for m in ik.list_solvers() if m != "jacobian-transpose"]  # which takes seconds


@pytest.mark.parametrize("method", METHODS)
def test_every_method_closes_loops(method: str) -> None:
    """And where they converge the forces of the goals have no part along the linkage."""
    figure, goal = four_bar(), ik.PositionGoal("coupler", (0.2, 0.3, 0.0), (0.1, 0.1, 0.0))
    result = solve_closed(figure, goal, PIN, q0=close_by_hand(0.5), solver=method)
    assert result.closed and result.gaps["coupler to rocker"] <= 1e-8
    np.testing.assert_allclose(np.sin(0.5 * (result.q - close_by_hand(result.q[0]))), 0, atol=1e-6)
    if result.converged:
        ends = [close_by_hand(result.q[0] + x) for x in (-1e-4, 1e-4)]
        along = (ends[1] - ends[0]) / 2e-4
        assert abs(ik.Problem(figure, goal).gradient(result.q) @ along) < 1e-6


def test_a_solver_gives_what_solve_gives_with_loops_too() -> None:
    figure = four_bar().with_loops(PIN)
    problem = ik.Problem(figure, ik.PositionGoal("coupler", np.zeros(3), (0.1, 0.1, 0), name="tip"))
    solver, q = ik.Solver(problem), close_by_hand(0.5)
    for angle in (0.5, 0.6, 0.8):
        target = {"tip": figure.forward(close_by_hand(angle)).point("coupler", (0.1, 0.1, 0))}
        wanted = ik.solve(problem.with_targets(target), q0=q)
        q = solver.solve(q, target)
        np.testing.assert_array_equal(q, wanted.q)
        assert (solver.reached, solver.cost) == (True, wanted.cost)
        assert solver.result().why == wanted.why


@pytest.mark.parametrize("loop", [PIN, replace(PIN, tolerance=1e-6), ROD], ids=["pin", "", "rod"])
@pytest.mark.parametrize("most", [None, 8.0])
def test_a_servo_turns_a_linkage_within_its_speeds(loop: Loop, most: float | None) -> None:
    """Through a whole turn of the crank: each pose is that of the crank's angle, by hand."""
    figure, dt = four_bar().with_loops(loop), 0.02
    goal = ik.PositionGoal("coupler", np.zeros(3), (0.1, 0.1, 0.0), name="tip")
    q = close_by_hand(0.5)
    limits = {"max_speed": 2.0, "max_acceleration": most}
    servo, v = ik.Servo(ik.Problem(figure, goal), dt, q0=q, **limits), np.zeros(3)
    for n in range(400):
        pin = figure.forward(close_by_hand(0.5 + 0.02 * n)).point("coupler", (0.1, 0.1, 0.0))
        following = servo.step({"tip": pin})
        speed = (following - q) / dt
        assert np.abs(speed).max() <= 2.0 + 1e-12
        assert most is None or np.abs(speed - v).max() <= most * dt + 1e-9
        assert max(servo.gaps.values()) <= loop.tolerance
        by_hand = close_by_hand(following[0])
        held = [0, 2] if loop is ROD else [0, 1, 2]  # a rod leaves the coupler to the goal
        np.testing.assert_allclose(np.sin(0.5 * (following - by_hand))[held], 0.0, atol=2e-5)
        assert servo.cost == pytest.approx(servo.problem.cost(following), rel=1e-6, abs=1e-15)
        q, v = following, speed
    assert servo.reached and servo.why.startswith("reached")


@pytest.mark.parametrize("root", [ik.Joint.free(), None], ids=["quaternion", "angles"])
def test_a_foot_stays_while_the_body_turns_as_fast_as_it_may(root: ik.Joint | None) -> None:
    """Turns of quaternions have no bounds, and are cut to their speed: the loop stays closed."""
    human, rest = ik.human(), ik.human().forward(ik.human().neutral())
    if root is not None:
        human = human.with_bones([replace(human.bones[0], joint=root), *human.bones[1:]])
    k = human.bone_index("l_foot")
    place, turn = rest.positions[k], rest.rotations[k]
    stand = Loop("l_foot", None, kind="weld", points=(np.zeros(3), place), rotation=turn)
    T = np.eye(4)
    T[:3, :3] = exp_rotation(np.array([0.3, 0.2, 1.0])) @ rest.rotations[0]
    T[:3, 3] = rest.positions[0] - (0.0, 0.0, 0.1)
    goals = [ik.PoseGoal("pelvis", T), ik.PostureGoal(human.neutral(), weight=1e-3)]
    problem = ik.Problem(human.with_loops(stand), goals)
    servo, fastest, pose = ik.Servo(problem, 0.02, max_speed=0.5), 0.0, rest
    for _ in range(150):
        pose = human.forward(servo.step())
        fastest = max(fastest, float(np.abs(servo.speed).max()))
        assert np.abs(pose.positions[k] - place).max() < 2e-8
        assert np.abs(pose.rotations[k] - turn).max() < 2e-7
    assert fastest == pytest.approx(0.5, abs=1e-9)
    assert np.linalg.norm(pose.positions[0] - rest.positions[0]) > 0.05


def test_a_servo_closes_what_is_open_as_soon_as_speeds_allow() -> None:
    figure = ik.human().with_loops(Loop("l_hand", "r_hand", kind="weld", name="bar"))
    problem = ik.Problem(figure, ik.PositionGoal("l_hand", (0.4, 0.1, 1.2)), lock="pelvis")
    servo, q, gaps = ik.Servo(problem, 0.02, max_speed=2.0), figure.neutral(), []
    for _ in range(150):
        following = servo.step()
        assert np.abs(following - q).max() <= 0.04 + 1e-12
        gaps.append(servo.gaps["bar"])
        if gaps[-1] > 1e-8:
            assert not servo.reached
            assert servo.why.startswith("the loop bar is open by")
        q = following
    assert gaps[0] > 1.0 > 1e-8 >= gaps[-1]
    assert servo.reached
    servo.reset(figure.neutral())
    assert servo.gaps == {} and not servo.reached


def test_weights_soft_limits_and_clocks_count_with_loops_too() -> None:
    """Forces are in the units of the goals' weights, and a time limit is for all rounds."""
    figure = four_bar()
    place, heavy = (0.2, 0.3, 0.0), 1e5

    def ask(weight: float, **options: Any) -> ClosedResult:
        goal = ik.PositionGoal("coupler", place, (0.1, 0.1, 0.0), weight=weight, name="tip")
        return solve_closed(figure, goal, PIN, q0=close_by_hand(0.5), **options)

    light, strong = ask(1.0), ask(heavy)
    assert strong.rounds == light.rounds == 4
    forces = [each.forces["coupler to rocker"] for each in (light, strong)]
    np.testing.assert_allclose(forces[1], heavy * forces[0], rtol=1e-5, atol=1e-2)
    nothing = ik.PositionGoal("coupler", place, weight=0.0)
    assert solve_closed(figure, nothing, PIN, q0=close_by_hand(0.5)).closed
    soft = ask(1.0, limits="soft")
    assert soft.closed and soft.goal_errors["tip"] == pytest.approx(light.goal_errors["tip"])
    moved = ik.Problem(figure.with_loops(PIN), list(light.problem.goals), limits="soft")
    moved = moved.with_targets({"tip": (0.15, 0.3, 0.0)})
    again = ik.solve(moved, q0=close_by_hand(0.5))
    assert isinstance(again, ClosedResult) and again.closed
    late = ask(1.0, solver=ik.Auto(max_seconds=1e-9))
    assert late.rounds == 1 and late.status in ("time-limit", "loop-open")


def test_batches_and_further_solutions_close_loops_too() -> None:
    figure = four_bar().with_loops(PIN)
    goal = ik.PositionGoal("coupler", np.zeros(3), (0.1, 0.1, 0.0), name="tip")
    problem = ik.Problem(figure, goal)
    pins = [figure.forward(close_by_hand(a)).point("coupler", (0.1, 0.1, 0)) for a in (0.4, 0.7)]
    places = np.array([*pins, (9.0, 0.0, 0.0)])
    batch = ik.solve_batch(problem, {"tip": places}, q0=close_by_hand(0.5))
    assert batch.reached.tolist() == [True, True, False]
    assert batch.status[2] == "out-of-reach" and batch[1:].reached.tolist() == [True, False]
    for result in batch:
        assert isinstance(result, ClosedResult) and result.closed
    single = ik.solve(problem.with_targets({"tip": pins[1]}), q0=close_by_hand(0.5))
    assert (single.q == batch.q[1]).all()
    by_hand = np.array([close_by_hand(a) for a in (0.4, 0.7)])
    np.testing.assert_allclose(np.sin(0.5 * (batch.q[:2] - by_hand)), 0.0, atol=2e-5)
    slopes = batch.backpropagate(np.ones((3, 3)))["tip"]
    np.testing.assert_allclose(slopes[0], batch[0].sensitivity()["tip"].sum(axis=0), rtol=1e-9)
    many = ik.solve(problem.with_targets({"tip": pins[0]}), solutions=2, q0=close_by_hand(0.5))
    assert len(many.solutions) == 2
    assert all(each.converged and each.status != "loop-open" for each in many.solutions)


def test_what_cannot_close_loops_says_so() -> None:
    figure, goal = four_bar().with_loops(PIN), ik.PositionGoal("coupler", (0.2, 0.3, 0.0))
    problem = ik.Problem(figure, goal)
    for method in ("bfgs", ik.Auto(max_seconds=1.0)):
        with pytest.raises(UsageError, match="in compiled code alone"):
            ik.Servo(problem, 0.01, max_speed=1.0, solver=method)
        with pytest.raises(UsageError, match="in compiled code alone"):
            ik.Solver(problem, solver=method)
    with pytest.raises(UsageError, match="beside a weight_matrix"):
        ik.solve(figure, goal, weight_matrix=np.eye(3))
    open_figure = figure.opened
    assert figure == four_bar().with_loops(PIN) != open_figure == four_bar()
    assert open_figure.loops == () and not isinstance(ik.solve(open_figure, goal), ClosedResult)


def test_loops_have_plain_defaults_names_of_their_own_and_can_be_compared() -> None:
    loop = Loop("a", "b")
    assert (loop.kind, loop.points) == ("point", ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)))
    assert (loop.arm, loop.tolerance, loop.label) == (0.1, 1e-8, "a to b")
    assert list(name_loops([loop, Loop("a", None), loop, loop])) == [
        "a to b",
        "a to the world",
        "a to b#2",
        "a to b#3",
    ]
    welded = Loop("a", "b", kind="weld", rotation=TURN)
    assert welded == Loop("a", "b", kind="weld", rotation=TURN.copy()) != loop
    assert hash(welded) == hash(Loop("a", "b", kind="weld", rotation=TURN.tolist()))
    assert Loop("a", "b", kind="plane", axis=(0, 0, 1e-11)).axis == (0.0, 0.0, 1.0)


def test_misuse_is_refused_with_a_reason() -> None:
    figure = four_bar()
    for make, said in (
        (lambda: Loop("a", "a"), "to itself"),
        (lambda: Loop("a", "b", kind="glue"), "kind of loop"),
        (lambda: Loop("a", "b", kind="distance"), "metres > 0"),
        (lambda: Loop("a", "b", tolerance=0.0), "metres > 0"),
        (lambda: Loop("a", "b", rotation=np.ones((3, 3))), "not a rotation"),
        (lambda: Loop("a", "b", kind="plane", axis=np.zeros(3)), "zero vector"),
        (lambda: Loop("a", "b", kind="line"), "missing"),
        (lambda: Loop("a", "b", kind="line", axis=(0, 0, 1e-13)), "zero vector"),
        (lambda: figure.with_loops(Loop("crank", "wheel")), "wheel"),
    ):
        with pytest.raises(ik.ExactikError, match=said):
            make()


def solve_twice(figure: ik.Skeleton) -> tuple[ClosedResult, ClosedResult]:
    """The same call twice."""
    goal = ik.PositionGoal("coupler", (0.2, 0.3, 0.0))
    first, second = (solve_closed(figure, goal, PIN, starts=3) for _ in range(2))
    return first, second


def test_the_same_call_has_the_same_answer() -> None:
    first, second = solve_twice(four_bar())
    assert (first.q == second.q).all() and first.rounds == second.rounds
    value: Array = first.forces["coupler to rocker"]
    assert value.shape == (3,)
