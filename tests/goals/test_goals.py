"""Goals: their residuals and weights, what is equal to what."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from exactik import (
    AimGoal,
    DirectionGoal,
    Goal,
    MarkerGoal,
    OrientationGoal,
    PoseGoal,
    PositionGoal,
    PostureGoal,
    Problem,
    SoftLimitGoal,
)
from exactik.lab.check.oracle import evaluate
from exactik.model import Pose
from exactik.spatial import exp_rotation, is_rotation, wxyz_from_matrix
from exactik.typing import Array
from tests.support.models import configuration, random_rotation
from tests.support.problems import (
    Range,
    assert_same,
    menagerie,
    positive,
    quantities,
    unit,
    worst_difference,
)

FIGURE = menagerie()
Q = configuration(FIGURE, 4)
BONE, POINT, TARGET = "ball", np.array([0.2, -0.1, 0.3]), np.array([0.5, 1.2, -0.4])
AXIS = np.array([1.0, -2.0, 0.5])
WANTED = exp_rotation(np.array([0.4, -1.1, 0.8]))
REST = configuration(FIGURE, 5)


@cache
def pose() -> Pose:
    return FIGURE.forward(Q)


def rotation() -> Array:
    return pose().rotations[FIGURE.bone_index(BONE)]


def rigid(turn: Array, shift: Array) -> Array:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = turn, shift
    return matrix


def of(*goals: Goal, **options: Any) -> dict[str, Array]:
    """Everything that a problem of these goals computes."""
    return quantities(Problem(FIGURE, goals, **options), Q)


# Constructors that take the keywords of every goal, with the number of rows.
EVERY_GOAL: dict[str, tuple[Callable[..., Goal], int]] = {
    "position": (lambda **k: PositionGoal(BONE, TARGET, POINT, **k), 3),
    "marker": (lambda **k: MarkerGoal("BALL1", TARGET, **k), 3),
    "direction": (lambda **k: DirectionGoal(BONE, AXIS, TARGET, **k), 3),
    "aim": (lambda **k: AimGoal(BONE, AXIS, TARGET, POINT, **k), 3),
    "orientation log": (lambda **k: OrientationGoal(BONE, WANTED, **k), 3),
    "orientation axes": (lambda **k: OrientationGoal(BONE, WANTED, kind="axes", **k), 9),
    "pose": (lambda **k: PoseGoal(BONE, rigid(WANTED, TARGET), POINT, **k), 6),
    "posture": (lambda **k: PostureGoal(REST, **k), FIGURE.nv),
    "soft limit": (lambda **k: SoftLimitGoal(**k), FIGURE.nv),
    "own": (lambda **k: Range(BONE, TARGET, POINT, **k), 1),
}
every_goal = pytest.mark.parametrize("kind", EVERY_GOAL)


# --- residuals


def plain_dofs() -> NDArray[np.int64]:
    """The coordinate that each dof adds to; −1 for a dof of a quaternion."""
    index, at = [], 0
    for bone in FIGURE.bones:
        ball = bone.joint.rotation_part.kind == "quaternion"
        plain = bone.joint.nv - 3 * ball
        index += [*range(at, at + plain), *([-1] * 3 * ball)]
        at += bone.joint.nq
    return np.array(index)


def expected_posture() -> Array:
    plain = plain_dofs()
    expected = np.where(plain >= 0, REST[plain] - Q[plain], 0.0)
    at = 0
    for bone in FIGURE.bones:
        at += bone.joint.nq
        if bone.joint.rotation_part.kind == "quaternion":  # its last four coordinates
            now, rest = (Rotation.from_quat(np.roll(q[at - 4 : at], -1)) for q in (Q, REST))
            first = FIGURE.dof_names.index(f"{bone.name}.wx")
            expected[first : first + 3] = (now.inv() * rest).as_rotvec()
    return expected


def expected_soft_limit() -> Array:
    plain = plain_dofs()
    inside = np.clip(Q[plain], FIGURE.lower, FIGURE.upper)
    return np.where(plain >= 0, inside - Q[plain], 0.0)


FORMULAS: dict[str, Callable[[], Array]] = {
    "position": lambda: TARGET - pose().point(BONE, POINT),
    "marker": lambda: TARGET - pose().markers[list(FIGURE.markers).index("BALL1")],
    "direction": lambda: unit(TARGET) - rotation() @ unit(AXIS),
    "aim": lambda: unit(TARGET - pose().point(BONE, POINT)) - rotation() @ unit(AXIS),
    "orientation log": lambda: Rotation.from_matrix(WANTED @ rotation().T).as_rotvec(),
    "orientation axes": lambda: (WANTED - rotation()).T.ravel(),
    "pose": lambda: np.concatenate([FORMULAS["position"](), FORMULAS["orientation log"]()]),
    "posture": expected_posture,
    "soft limit": expected_soft_limit,
    "own": lambda: np.array([1.0 - math.dist(TARGET, pose().point(BONE, POINT))]),
}


@every_goal
def test_the_residual_is_the_documented_formula(kind: str):
    make, rows = EVERY_GOAL[kind]
    actual = Problem(FIGURE, [make()]).residual(Q)
    assert actual.shape == (rows,)
    np.testing.assert_allclose(actual, FORMULAS[kind](), atol=1e-14)


def test_rows_follow_each_other_in_the_order_of_the_goals():
    goals = [make() for make, _ in EVERY_GOAL.values()]
    problem = Problem(FIGURE, goals)
    expected = np.concatenate([formula() for formula in FORMULAS.values()])
    np.testing.assert_allclose(problem.residual(Q), expected, atol=1e-14)
    ends = np.cumsum([rows for _, rows in EVERY_GOAL.values()])
    assert [rows.stop for rows in problem.rows.values()] == ends.tolist()
    assert [rows.start for rows in problem.rows.values()] == [0, *ends[:-1].tolist()]
    assert problem.residual_size == ends[-1]


# --- weights


@every_goal
def test_a_scalar_weighs_every_row_alike(kind: str):
    make, rows = EVERY_GOAL[kind]
    scalar = of(make(weight=0.7))
    r = FORMULAS[kind]()
    assert scalar["cost"] == pytest.approx(0.35 * r @ r, rel=1e-13)
    assert_same(of(make(weight=np.full(rows, 0.7))), scalar, 1e-13)
    assert_same(of(make(weight=0.7 * np.eye(rows))), scalar, 1e-13)
    plain = of(make())
    assert_same(scalar, {name: 0.7 * value for name, value in plain.items()}, 1e-13)


@every_goal
def test_a_weight_per_row_weighs_its_row(kind: str):
    make, rows = EVERY_GOAL[kind]
    weights = np.random.default_rng(8).uniform(0.1, 3.0, size=rows)
    actual = of(make(weight=weights))
    r = FORMULAS[kind]()
    assert actual["cost"] == pytest.approx(0.5 * weights @ r**2, rel=1e-13)
    assert_same(of(make(weight=np.diag(weights))), actual, 1e-13)
    apart = [of(make(weight=weights * row)) for row in np.eye(rows)]
    assert_same({name: sum(a[name] for a in apart) for name in actual}, actual, 1e-12)  # type: ignore


@every_goal
def test_a_full_matrix_couples_the_rows_of_its_goal(kind: str):
    """Against ½ rᵀWr, −JᵀWr, and the oracle for the Hessian."""
    make, rows = EVERY_GOAL[kind]
    weight = positive(9, rows)
    problem = Problem(FIGURE, [make(weight=weight)])
    r, jacobian = FORMULAS[kind](), problem.jacobian(Q)
    assert problem.cost(Q) == pytest.approx(0.5 * r @ weight @ r, rel=1e-13)
    actual = quantities(problem, Q)
    scale = np.abs(actual["gradient"]).max()
    assert np.abs(actual["gradient"] + jacobian.T @ weight @ r).max() <= 1e-13 * scale
    truth = evaluate(FIGURE, problem.goals, Q).hessian
    assert np.abs(actual["hessian"] - truth).max() <= 1e-11 * np.abs(truth).max()


def test_three_numbers_weigh_the_axes_of_an_axes_goal():
    make, _ = EVERY_GOAL["orientation axes"]
    assert_same(of(make(weight=(1, 2, 3))), of(make(weight=np.repeat([1, 2, 3], 3))), 1e-13)
    x, y, z = FORMULAS["orientation axes"]().reshape(3, 3)
    cost = float(of(make(weight=(1, 2, 3)))["cost"])
    assert cost == pytest.approx(0.5 * (x @ x + 2 * y @ y + 3 * z @ z), rel=1e-13)


def test_two_numbers_weigh_position_and_rotation_of_a_pose():
    make, _ = EVERY_GOAL["pose"]
    assert_same(of(make(weight=(2, 5))), of(make(weight=np.repeat([2, 5], 3))), 1e-13)
    r = FORMULAS["pose"]()
    cost = float(of(make(weight=(2, 5)))["cost"])
    assert cost == pytest.approx(r[:3] @ r[:3] + 2.5 * r[3:] @ r[3:], rel=1e-13)


@every_goal
def test_weight_zero_asks_for_nothing_and_keeps_the_rows(kind: str):
    make, rows = EVERY_GOAL[kind]
    other = PositionGoal("pair", (0, 0, 1))
    problem = Problem(FIGURE, [make(weight=0.0), other])
    assert problem.residual_size == rows + 3
    assert_same(quantities(problem, Q), of(other), 1e-14)


# --- what is equal to what


EQUIVALENT: dict[str, Callable[[], tuple[list[Goal], list[Goal]]]] = {
    "a pose is a position and a rotation": lambda: (
        [PoseGoal(BONE, rigid(WANTED, TARGET), POINT, weight=(0.7, 1.3))],
        [
            PositionGoal(BONE, TARGET, POINT, weight=0.7),
            OrientationGoal(BONE, WANTED, weight=1.3),
        ],
    ),
    "axes are three directions": lambda: (
        [OrientationGoal(BONE, WANTED, kind="axes", weight=(0.7, 1.3, 0.4))],
        [
            DirectionGoal(BONE, np.eye(3)[a], WANTED[:, a], weight=w)
            for a, w in enumerate((0.7, 1.3, 0.4))
        ],
    ),
    "a marker is a position at its point": lambda: (
        [MarkerGoal("BALL1", TARGET, weight=0.7)],
        [PositionGoal(*FIGURE.marker("BALL1")[:1], TARGET, FIGURE.marker("BALL1")[1], weight=0.7)],
    ),
    "a quaternion is its matrix": lambda: (
        [OrientationGoal(BONE, wxyz=wxyz_from_matrix(WANTED))],
        [OrientationGoal(BONE, WANTED)],
    ),
    "a quaternion and its negative": lambda: (
        [OrientationGoal(BONE, wxyz=-wxyz_from_matrix(WANTED))],
        [OrientationGoal(BONE, WANTED)],
    ),
    "a quaternion of any length": lambda: (
        [OrientationGoal(BONE, wxyz=7.0 * wxyz_from_matrix(WANTED))],
        [OrientationGoal(BONE, WANTED)],
    ),
    "directions of any length": lambda: (
        [DirectionGoal(BONE, 3.0 * AXIS, 0.01 * TARGET), AimGoal(BONE, 5.0 * AXIS, TARGET)],
        [DirectionGoal(BONE, unit(AXIS), unit(TARGET)), AimGoal(BONE, unit(AXIS), TARGET)],
    ),
    "a goal twice has twice its weight": lambda: (
        [PositionGoal(BONE, TARGET, POINT)] * 2,
        [PositionGoal(BONE, TARGET, POINT, weight=2.0)],
    ),
    "the target of a rest posture need not be normalised": lambda: (
        [PostureGoal(np.where(plain_coordinates(), REST, 3.0 * REST))],
        [PostureGoal(REST)],
    ),
    "any sequence of numbers is a vector": lambda: (
        [PositionGoal(BONE, [1, 2, 3], (0, 1, 0), weight=2)],
        [PositionGoal(BONE, np.array([1.0, 2, 3]), np.array([0.0, 1, 0]), weight=2.0)],
    ),
}


def plain_coordinates() -> NDArray[np.bool_]:
    """False where a coordinate is part of a quaternion."""
    plain = np.zeros(FIGURE.nq, bool)
    plain[plain_dofs()[plain_dofs() >= 0]] = True
    return plain


@pytest.mark.parametrize("claim", EQUIVALENT)
def test_equal_goals_are_equal_in_all_derivatives(claim: str):
    one, other = EQUIVALENT[claim]()
    assert_same(of(*one), of(*other), 2e-14)


@pytest.mark.parametrize("kind", ["log", "axes"])
def test_rounded_rotations_are_made_orthonormal(kind: str):
    """A matrix printed with seven digits means the rotation next to it."""
    rounded = np.round(WANTED, 7)
    assert not is_rotation(rounded, 1e-10)
    goal = OrientationGoal(BONE, rounded, kind=kind)
    assert is_rotation(goal.rotation, 1e-15)
    assert np.abs(goal.rotation - WANTED).max() < 1e-7
    assert_same(of(goal), of(OrientationGoal(BONE, goal.rotation, kind=kind)), 1e-15)
    posed = PoseGoal(BONE, rigid(rounded, TARGET))
    assert_same(of(posed), of(PoseGoal(BONE, rigid(goal.rotation, TARGET))), 1e-15)


def test_a_good_rotation_is_taken_to_the_last_bit():
    target = random_rotation(np.random.default_rng(1))
    assert np.array_equal(OrientationGoal(BONE, target).rotation, target)


# --- half a turn away


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0.6, 0, -0.8), (1, 1, 1)])
def test_half_a_turn_away_everything_is_finite(axis: ArrayLike):
    """The log has a kink there: ½π² from both sides, and derivatives of one of them."""
    turn = np.pi * unit(axis)
    for angle in (1.0 - 1e-9, 1.0, 1.0 + 1e-9):
        log = of(OrientationGoal(BONE, exp_rotation(angle * turn) @ rotation()))
        assert log["cost"] == pytest.approx(0.5 * np.pi**2, rel=1e-8)
        assert all(np.isfinite(value).all() for value in log.values())
    axes = of(OrientationGoal(BONE, exp_rotation(turn) @ rotation(), kind="axes"))
    assert axes["cost"] == pytest.approx(4.0, rel=1e-12)  # Σ|Δ|² = 2·3 − 2 tr, tr = −1
    assert np.abs(axes["gradient"]).max() <= 1e-14


def test_half_a_turn_from_rest_everything_is_finite():
    step = np.zeros(FIGURE.nv)
    step[FIGURE.dof_names.index("quat.wy")] = np.pi
    actual = of(PostureGoal(FIGURE.integrate(Q, step)))
    assert actual["cost"] == pytest.approx(0.5 * np.pi**2, rel=1e-12)
    assert all(np.isfinite(value).all() for value in actual.values())


# --- names


def test_default_names_come_from_bones_and_markers():
    names = {kind: make().label for kind, (make, _) in EVERY_GOAL.items()}
    assert names == {
        "position": "ball",
        "marker": "BALL1",
        "direction": "ball.direction",
        "aim": "ball.aim",
        "orientation log": "ball.orientation",
        "orientation axes": "ball.orientation",
        "pose": "ball",
        "posture": "posture",
        "soft limit": "soft limits",
        "own": "ball.Range",
    }


@every_goal
def test_a_name_of_ones_own_is_kept(kind: str):
    make, rows = EVERY_GOAL[kind]
    assert Problem(FIGURE, [make(name="grip")]).rows == {"grip": slice(0, rows)}


def test_equal_names_are_numbered_in_order():
    place = PositionGoal(BONE, TARGET)
    goals = [place, place, MarkerGoal("BALL1", TARGET), PoseGoal(BONE, np.eye(4)), place]
    problem = Problem(FIGURE, goals, limits="soft")
    assert list(problem.rows) == ["ball", "ball#2", "BALL1", "ball#3", "ball#4", "soft limits"]
    clash = [PositionGoal(BONE, TARGET, name="a#2"), *[PositionGoal(BONE, TARGET, name="a")] * 2]
    assert list(Problem(FIGURE, clash).rows) == ["a#2", "a", "a#3"]


# --- aiming


def test_aiming_at_where_one_stands_is_finite():
    """The direction to the target is undefined there and counts as none: r = −y."""
    here = pose().point(BONE, POINT)
    actual = of(AimGoal(BONE, AXIS, here, POINT))
    assert actual["cost"] == pytest.approx(0.5, rel=1e-12)
    assert all(np.isfinite(value).all() for value in actual.values())
    for offset in (1e-16, 1e-13, 1e-11, 1e-6):
        goal = AimGoal(BONE, AXIS, here + np.array([offset, 0, 0]), POINT)
        assert all(np.isfinite(value).all() for value in of(goal).values())


def test_aiming_from_afar_is_pointing():
    """The farther the target, the nearer an aim is to a direction, as 1/distance."""
    direction = of(DirectionGoal(BONE, AXIS, TARGET))
    for distance in (1e3, 1e6):
        actual = of(AimGoal(BONE, AXIS, distance * unit(TARGET), POINT))
        error, name = worst_difference(actual, direction)
        assert error <= 10.0 / distance, name
        assert error >= 0.01 / distance


@pytest.mark.parametrize("distance", [1e3, 1e6, 1e9])
def test_a_far_place_to_look_at_costs_other_goals_no_digits(distance: float):
    """Without any weight an aim changes nothing, wherever its target is."""
    near = [PositionGoal("pair", TARGET, POINT), MarkerGoal("QUAT1", -TARGET)]
    far = AimGoal(BONE, AXIS, distance * unit(TARGET), weight=0.0)
    assert_same(of(*near, far), of(*near), 1e-13)
