"""Closed loops: closed to the last digits, optimal among what they allow, and said where open."""

from __future__ import annotations

import numpy as np
import pytest

import exactik as ik
from exactik.errors import UsageError
from exactik.solvers.loops import ClosedResult, Loop, solve_with_loops
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


PIN = Loop("coupler", "rocker", points=((COUPLER, 0, 0), (ROCKER, 0, 0)))


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
        result = solve_with_loops(figure, goal, PIN, q0=q)
        q = result.q
        assert result.closed and result.reached, result.why
        assert q[0] == pytest.approx(crank, abs=1e-6)
        assert result.gaps["coupler to rocker"] <= 1e-8
        assert np.abs(np.sin(0.5 * (q - close_by_hand(q[0])))).max() < 1e-6


def test_the_pose_is_the_best_among_those_that_close() -> None:
    """The gradient of the goals is balanced by the forces in the loop, and nothing else is left."""
    figure = four_bar()
    goal = ik.PositionGoal("coupler", (0.2, 0.3, 0.0), (0.1, 0.1, 0.0))
    result = solve_with_loops(figure, goal, PIN, q0=close_by_hand(0.5))
    assert result.closed and not result.reached
    slope = ik.Problem(figure, goal).gradient(result.q)
    J = ik.Problem(figure, PIN.make_goals(1.0, np.zeros(3))).jacobian(result.q)
    force = result.forces["coupler to rocker"]
    np.testing.assert_allclose(J.T @ force, slope, atol=1e-7)
    assert np.abs(slope).max() > 1e-2 and np.abs(force).max() > 1e-2
    # Nowhere near on the linkage is cheaper.
    for step in (-1e-2, 1e-2):
        q = close_by_hand(result.q[0] + step)
        assert np.abs(np.sin(0.5 * (q - result.q))).max() < 0.1
        assert ik.Problem(figure, goal).cost(q) > result.cost
    assert not result.inner.certificate.saddle


@pytest.mark.parametrize("kind", ["point", "weld", "distance", "plane"])
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
        normal=(1.0, 2.0, 0.0),
    )
    goals = [
        ik.PositionGoal("l_hand", (0.4, 0.3, 1.3)),
        ik.PositionGoal("r_hand", (0.5, -0.3, 1.2)),
        ik.PostureGoal(figure.neutral(), weight=1e-3),
    ]
    result = solve_with_loops(figure, goals, loop, lock="pelvis")
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
    result = solve_with_loops(held, goal, to_wall)
    reach = 2.0 * np.cos(0.25)  # with the knee at 0.5 rad
    assert result.status == "loop-open" and not result.reached and not result.closed
    assert result.gaps["hook"] == pytest.approx(1.999 - reach, rel=1e-3)
    assert (
        "the loop hook is open by" in result.why and "knee.rz is at its lower limit" in result.why
    )
    free = solve_with_loops(arm_with((0.01, 2.5)), goal, to_wall)
    assert free.closed and "hook" not in free.why


def test_misuse_is_refused_with_a_reason() -> None:
    figure, goal = four_bar(), ik.PostureGoal(np.zeros(3))
    for make, said in (
        (lambda: Loop("a", "a"), "to itself"),
        (lambda: Loop("a", "b", kind="glue"), "kind of loop"),
        (lambda: Loop("a", "b", kind="distance"), "metres > 0"),
        (lambda: Loop("a", "b", tolerance=0.0), "metres > 0"),
        (lambda: Loop("a", "b", rotation=np.ones((3, 3))), "not a rotation"),
        (lambda: solve_with_loops(figure, goal, []), "at least one Loop"),
        (lambda: solve_with_loops(figure, goal, PIN, history=True), "no history="),
    ):
        with pytest.raises(UsageError, match=said):
            make()
    with pytest.raises(ik.ExactikError):
        Loop("a", "b", kind="plane")


def solve_twice(figure: ik.Skeleton) -> tuple[ClosedResult, ClosedResult]:
    """The same call twice."""
    goal = ik.PositionGoal("coupler", (0.2, 0.3, 0.0))
    first, second = (solve_with_loops(figure, goal, PIN, starts=3) for _ in range(2))
    return first, second


def test_the_same_call_has_the_same_answer() -> None:
    first, second = solve_twice(four_bar())
    assert (first.q == second.q).all() and first.rounds == second.rounds
    value: Array = first.forces["coupler to rocker"]
    assert value.shape == (3,)
