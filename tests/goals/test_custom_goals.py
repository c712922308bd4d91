"""Goals that users write: as good as the built-in ones, and named when they go wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

from exactik import DirectionGoal, FrameGoal, Goal, OrientationGoal, PositionGoal, Problem
from exactik.errors import GoalError, ShapeError
from exactik.spatial import exp_rotation, skew
from exactik.typing import Array
from tests.support.models import configuration, random_rotation
from tests.support.problems import (
    assert_same,
    goals_of_every_kind,
    menagerie,
    positive,
    quantities,
    unit,
    worst_difference,
)

FIGURE = menagerie()
Q = configuration(FIGURE, 4)
BONE, POINT, TARGET = "ball", np.array([0.2, -0.1, 0.3]), np.array([0.5, 1.2, -0.4])
WANTED = exp_rotation(np.array([0.4, -1.1, 0.8]))
NAN, INF = float("nan"), float("inf")


def of(*goals: Goal, **options: Any) -> dict[str, Array]:
    """Everything that a problem of these goals computes."""
    return quantities(Problem(FIGURE, goals, **options), Q)


@dataclass(frozen=True, eq=False)
class OwnPosition(FrameGoal):
    """PositionGoal, written by a user."""

    target: ArrayLike = (0.0, 0.0, 0.0)
    point: ArrayLike = (0.0, 0.0, 0.0)

    def residual(self, rotation: Array, position: Array) -> Array:
        return np.asarray(self.target) - position - rotation @ np.asarray(self.point)

    def derivatives(self, rotation: Array, position: Array) -> tuple[Array, Array]:
        first, second = turning(rotation @ np.asarray(self.point))
        first[:, 3:] = -np.eye(3)
        return first, second


@dataclass(frozen=True, eq=False)
class OwnDirection(FrameGoal):
    """DirectionGoal, written by a user."""

    axis: ArrayLike = (1.0, 0.0, 0.0)
    target: ArrayLike = (1.0, 0.0, 0.0)

    def residual(self, rotation: Array, position: Array) -> Array:
        return unit(self.target) - rotation @ unit(self.axis)

    def derivatives(self, rotation: Array, position: Array) -> tuple[Array, Array]:
        return turning(rotation @ unit(self.axis))


def turning(y: Array) -> tuple[Array, Array]:
    """Derivatives of −y under the turn of y to y + ω × y + ½ ω × (ω × y)."""
    first, second = np.zeros((3, 6)), np.zeros((3, 6, 6))
    first[:, :3] = skew(y)
    for k, e in enumerate(np.eye(3)):
        second[k, :3, :3] = y[k] * np.eye(3) - 0.5 * (np.outer(e, y) + np.outer(y, e))
    return first, second


class PlainPosition(OwnPosition):
    """The residual alone."""

    derivatives = FrameGoal.derivatives


class PlainDirection(OwnDirection):
    """The residual alone."""

    derivatives = FrameGoal.derivatives


def trio(seed: int) -> dict[str, list[Goal]]:
    """The same two goals built in, with a user's derivatives, and with a user's residual alone."""
    rng = np.random.default_rng(seed)
    bones = rng.choice(FIGURE.bone_names, size=2)
    point, target, axis, wanted = rng.normal(size=(4, 3))
    w = [positive(seed, 3), positive(seed + 1, 3)]
    goals: dict[str, list[Goal]] = {
        "built in": [
            PositionGoal(bones[0], target, point, weight=w[0]),
            DirectionGoal(bones[1], axis, wanted, weight=w[1]),
        ],
    }
    for name, position, direction in (
        ("exact", OwnPosition, OwnDirection),
        ("plain", PlainPosition, PlainDirection),
    ):
        goals[name] = [
            position(bones[0], target, point, weight=w[0]),
            direction(bones[1], axis, wanted, weight=w[1]),
        ]
    return goals


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("coupled", [False, True], ids=["apart", "coupled"])
@pytest.mark.parametrize("mixed", [False, True], ids=["alone", "mixed"])
def test_a_goal_of_ones_own_is_as_good_as_the_built_in_one(seed: int, coupled: bool, mixed: bool):
    """To rounding with exact derivatives, within the documented 1e-10 and 1e-7 without."""
    others = goals_of_every_kind(FIGURE, Q, seed) if mixed else []
    actual = {}
    for name, goals in trio(seed).items():
        goals = [*others[:5], goals[0], *others[5:], goals[1]]
        size = Problem(FIGURE, goals).residual_size
        weight = positive(seed + 7, size) if coupled else None
        problem = Problem(FIGURE, goals, lock="hinge", weight_matrix=weight)
        actual[name] = {"residual": problem.residual(Q), "jacobian": problem.jacobian(Q)}
        actual[name] |= quantities(problem, Q)
    assert_same(actual["exact"], actual["built in"], 1e-13)
    first = ("cost", "residual", "gradient", "jacobian", "gauss_newton")
    for names, bar in ((first, 1e-9), (("hessian", "hessian_product"), 1e-6)):
        ours, truth = ({n: actual[k][n] for n in names} for k in ("plain", "built in"))
        assert_same(ours, truth, bar)
    error, _ = worst_difference(actual["plain"], actual["built in"])
    assert error > 0.0  # differences were really taken


def test_numerical_derivatives_are_as_accurate_as_documented():
    """About 1e-10 in the first and 1e-7 in the second derivatives on the scale of 1 m and 1 rad."""
    rng = np.random.default_rng(12)
    worst = np.zeros(2)
    for _ in range(20):
        point, target = rng.normal(scale=0.5, size=(2, 3))
        turn, place = random_rotation(rng), rng.normal(size=3)
        exact = OwnPosition(BONE, target, point).derivatives(turn, place)
        plain = PlainPosition(BONE, target, point).derivatives(turn, place)
        worst = np.maximum(worst, [np.abs(a - b).max() for a, b in zip(plain, exact, strict=True)])
    assert worst[0] <= 2e-10
    assert worst[1] <= 1e-7


def custom(residual: Callable[[Array, Array], Any], derivatives: Any = None, **k: Any) -> FrameGoal:
    """A user's goal from functions."""
    methods = {"residual": lambda self, rotation, position: residual(rotation, position)}
    if derivatives is not None:
        methods["derivatives"] = lambda self, rotation, position: derivatives
    return type("Custom", (FrameGoal,), methods)(BONE, **k)


def test_a_residual_may_have_any_number_of_rows_and_be_a_list():
    goal = custom(lambda R, p: [R[0, 0] - p[0], p @ p, R[1, 2], p[2], R[2, 2] * p[1]])
    problem = Problem(FIGURE, [goal])
    assert problem.residual_size == 5
    pose = FIGURE.forward(Q)
    p, R = pose.positions[FIGURE.bone_index(BONE)], pose.rotations[FIGURE.bone_index(BONE)]
    expected = [R[0, 0] - p[0], p @ p, R[1, 2], p[2], R[2, 2] * p[1]]
    np.testing.assert_allclose(problem.residual(Q), expected, atol=1e-14)
    assert np.isfinite(problem.hessian(Q)).all()


@pytest.mark.parametrize(
    ("residual", "message"),
    [
        (lambda R, p: p @ p, r"residual of goal 'ball.Custom' has shape \(\)"),
        (lambda R, p: R, r"residual of goal 'ball.Custom' has shape \(3, 3\)"),
    ],
)
def test_a_residual_that_is_no_vector_is_refused_at_once(residual: Any, message: str):
    with pytest.raises(ShapeError, match=message):
        Problem(FIGURE, [custom(residual)])


def far_away(R: Array, p: Array) -> bool:
    """Whether a pose is another one than that at which the number of rows is found."""
    pose, ball = FIGURE.forward(FIGURE.neutral()), FIGURE.bone_index("ball")
    return not np.array_equal(R, pose.rotations[ball])


@pytest.mark.parametrize(
    ("goal", "error", "message"),
    [
        (
            custom(lambda R, p: p[:2] if far_away(R, p) else p),
            ShapeError,
            r"residual of goal 'ball.Custom' has shape \(2,\); expected \(3,\)",
        ),
        (
            custom(lambda R, p: p, (np.zeros((3, 3)), np.zeros((3, 6, 6)))),
            ShapeError,
            r"first derivative of goal 'ball.Custom' has shape \(3, 3\); expected \(3, 6\)",
        ),
        (
            custom(lambda R, p: p, (np.zeros((3, 6)), np.zeros((6, 6))), name="own"),
            ShapeError,
            r"second derivative of goal 'own' has shape \(6, 6\); expected \(3, 6, 6\)",
        ),
        (
            custom(lambda R, p: p * (NAN if far_away(R, p) else 1.0)),
            GoalError,
            "residual of goal 'ball.Custom' is not finite",
        ),
        (
            custom(lambda R, p: p, (np.full((3, 6), NAN), np.zeros((3, 6, 6)))),
            GoalError,
            "first derivative of goal 'ball.Custom' is not finite",
        ),
        (
            custom(lambda R, p: p, (np.zeros((3, 6)), np.full((3, 6, 6), INF)), name="own"),
            GoalError,
            "second derivative of goal 'own' is not finite",
        ),
    ],
)
@pytest.mark.parametrize("coupled", [False, True], ids=["apart", "coupled"])
def test_what_a_users_goal_gets_wrong_names_the_goal(
    goal: FrameGoal, error: type[Exception], message: str, coupled: bool
):
    problem = Problem(FIGURE, [goal], weight_matrix=positive(1, 3) if coupled else None)
    for method in (problem.gradient, problem.gauss_newton, problem.hessian, problem.jacobian):
        with pytest.raises(error, match=message):
            method(Q)
    if message.startswith("residual"):
        with pytest.raises(error, match=message):
            problem.cost(Q)


def test_a_users_own_error_passes_through():
    def residual(R: Array, p: Array) -> Array:
        if far_away(R, p):
            raise ZeroDivisionError("mine")
        return p

    with pytest.raises(ZeroDivisionError, match="mine"):
        Problem(FIGURE, [custom(residual)]).cost(Q)


def test_a_goal_that_scribbles_on_its_arguments_spoils_nothing():
    """What a user's goal is handed is its own to change."""

    def residual(R: Array, p: Array) -> Array:
        answer = np.array([p @ p, R[0, 1]])
        R[:], p[:] = 7.0, 7.0
        return answer

    others = [PositionGoal("ball", TARGET, POINT), OrientationGoal("hinge", WANTED)]
    derivatives = (np.zeros((2, 6)), np.zeros((2, 6, 6)))
    tidy = custom(lambda R, p: np.array([p @ p, R[0, 1]]), derivatives, name="own")
    untidy = custom(residual, derivatives, name="own")
    for bone in ("hinge", "root"):  # a parent of what the others watch
        for goal in (tidy, untidy):
            object.__setattr__(goal, "bone", bone)
        assert_same(of(untidy, *others), of(tidy, *others), 0.0)
