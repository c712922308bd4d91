"""Goals that cannot be: what is refused, and in which words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

from exactik import (
    AimGoal,
    DirectionGoal,
    ExactikError,
    FrameGoal,
    Goal,
    MarkerGoal,
    OrientationGoal,
    PoseGoal,
    PositionGoal,
    PostureGoal,
    Problem,
    SoftLimitGoal,
    human,
)
from exactik.errors import GoalError, NonFiniteError, ShapeError, UnknownNameError
from exactik.spatial import exp_rotation
from exactik.typing import Array
from tests.support.models import configuration
from tests.support.problems import Range, menagerie

FIGURE = menagerie()
BONE, TARGET, AXIS = "ball", np.array([0.5, 1.2, -0.4]), np.array([1.0, -2.0, 0.5])
WANTED = exp_rotation(np.array([0.4, -1.1, 0.8]))
REST = configuration(FIGURE, 5)
NAN, INF = float("nan"), float("inf")


def rigid(turn: Array, shift: Array) -> Array:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = turn, shift
    return matrix


@pytest.mark.parametrize(
    "make",
    [
        lambda name: PositionGoal(name, TARGET),
        lambda name: OrientationGoal(name, WANTED),
        lambda name: OrientationGoal(name, WANTED, kind="axes"),
        lambda name: PoseGoal(name, rigid(WANTED, TARGET)),
        lambda name: DirectionGoal(name, AXIS, TARGET),
        lambda name: AimGoal(name, AXIS, TARGET),
        lambda name: Range(name, TARGET),
    ],
)
def test_an_unknown_bone_is_answered_by_near_misses(make: Callable[[str], Goal]):
    with pytest.raises(UnknownNameError, match="no bone named 'hnige'; did you mean 'hinge'"):
        Problem(FIGURE, [make("hnige")])


def test_an_unknown_marker_is_answered_by_near_misses():
    with pytest.raises(KeyError, match=r"no marker named 'BAL1'; did you mean .*'BALL1'"):
        Problem(FIGURE, [MarkerGoal("BAL1", TARGET)])


def spoilt(array: ArrayLike, value: float, *place: int) -> Array:
    array = np.array(array, dtype=float)
    array[place] = value
    return array


@pytest.mark.parametrize("value", [NAN, INF, -INF])
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: PositionGoal(BONE, spoilt(TARGET, x, 1)), r"target of goal 'ball'\[1\] is"),
        (lambda x: PositionGoal(BONE, TARGET, (0, 0, x)), r"point of goal 'ball'\[2\] is"),
        (lambda x: MarkerGoal("BALL1", (x, 0, 0)), r"target of goal 'BALL1'\[0\] is"),
        (lambda x: DirectionGoal(BONE, (x, 0, 1), TARGET), r"axis of goal 'ball.direction'\[0\]"),
        (lambda x: DirectionGoal(BONE, AXIS, (0, 1, x)), r"target of goal 'ball.direction'\[2\]"),
        (lambda x: AimGoal(BONE, (0, x, 1), TARGET), r"axis of goal 'ball.aim'\[1\]"),
        (lambda x: AimGoal(BONE, AXIS, (0, x, 1)), r"target of goal 'ball.aim'\[1\]"),
        (lambda x: AimGoal(BONE, AXIS, TARGET, (x, 0, 0)), r"point of goal 'ball.aim'\[0\]"),
        (
            lambda x: OrientationGoal(BONE, spoilt(WANTED, x, 1, 2)),
            r"target of goal 'ball.orientation'\[1, 2\] is",
        ),
        (
            lambda x: OrientationGoal(BONE, wxyz=(1, 0, x, 0)),
            r"wxyz of goal 'ball.orientation'\[2\] is",
        ),
        (lambda x: PoseGoal(BONE, spoilt(np.eye(4), x, 0, 3)), r"target of goal 'ball'\[0, 3\]"),
        (lambda x: PoseGoal(BONE, np.eye(4), (0, x, 0)), r"point of goal 'ball'\[1\]"),
        (lambda x: PostureGoal(spoilt(REST, x, 3)), r"q_rest of goal 'posture'\[3\] is"),
        (lambda x: PositionGoal(BONE, TARGET, weight=x), "weight of goal 'ball' is"),
        (lambda x: PositionGoal(BONE, TARGET, weight=(1, x, 1)), r"weight of goal 'ball'\[1\]"),
        (lambda x: SoftLimitGoal(weight=x), "weight of goal 'soft limits' is"),
        (lambda x: PositionGoal(BONE, (x, 0, 0), name="grip"), r"target of goal 'grip'\[0\]"),
    ],
)
def test_what_is_not_a_number_names_the_goal_and_the_argument(
    make: Callable[[float], Goal], message: str, value: float
):
    with pytest.raises(NonFiniteError, match=message):
        Problem(FIGURE, [make(value)])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PositionGoal(BONE, (1, 2)), r"target of goal 'ball' has shape \(2,\)"),
        (lambda: PositionGoal(BONE, TARGET[:, None]), r"target of goal 'ball' has shape \(3, 1\)"),
        (lambda: PositionGoal(BONE, 1.0), r"target of goal 'ball' has shape \(\)"),
        (lambda: PositionGoal(BONE, TARGET, (0, 0, 0, 1)), "point of goal 'ball' has shape"),
        (lambda: MarkerGoal("BALL1", (1, 2)), "target of goal 'BALL1' has shape"),
        (lambda: DirectionGoal(BONE, (1, 0), TARGET), "axis of goal 'ball.direction' has shape"),
        (lambda: AimGoal(BONE, AXIS, (1, 0)), "target of goal 'ball.aim' has shape"),
        (lambda: OrientationGoal(BONE, np.eye(4)), "target of goal .* has shape"),
        (lambda: OrientationGoal(BONE, wxyz=(1, 0, 0)), r"wxyz of goal .*expected \(4,\)"),
        (lambda: PoseGoal(BONE, np.eye(3)), r"target of goal .*expected \(4, 4\)"),
        (lambda: PostureGoal(REST[1:]), "q_rest of goal 'posture' has shape"),
        (lambda: PostureGoal([REST, REST]), "q_rest of goal 'posture' has shape"),
        (lambda: PositionGoal(BONE, TARGET, weight=(1, 2)), r"weight of .*expected \(\), \(3,\)"),
        (lambda: PositionGoal(BONE, TARGET, weight=np.eye(4)), "weight of goal 'ball' has shape"),
        (lambda: PositionGoal(BONE, TARGET, weight=np.ones((3, 1))), "weight of .* has shape"),
        (lambda: PositionGoal(BONE, TARGET, weight=np.ones((3, 3, 3))), "weight of .* has shape"),
        (lambda: OrientationGoal(BONE, WANTED, weight=(1, 2)), "weight of .* has shape"),
        (lambda: PoseGoal(BONE, np.eye(4), weight=(1, 2, 3)), "weight of goal 'ball' has shape"),
        (lambda: SoftLimitGoal(weight=(1, 2)), "weight of goal 'soft limits' has shape"),
    ],
)
def test_wrong_shapes_name_the_goal_and_the_argument(make: Callable[[], Goal], message: str):
    with pytest.raises(ShapeError, match=message):
        Problem(FIGURE, [make()])


ASYMMETRIC = np.eye(3) + 0.1 * np.eye(3, k=1)
INDEFINITE = np.array([[1.0, 2, 0], [2, 1, 0], [0, 0, 1]])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: OrientationGoal(BONE), "'ball.orientation' needs a target .* one of the two"),
        (lambda: OrientationGoal(BONE, WANTED, wxyz=(1, 0, 0, 0)), "one of the two"),
        (lambda: OrientationGoal(BONE, 1.01 * np.eye(3)), "target of goal .* is not a rotation"),
        (lambda: OrientationGoal(BONE, -np.eye(3)), "target of goal .* is not a rotation"),
        (lambda: OrientationGoal(BONE, np.zeros((3, 3))), "target of goal .* is not a rotation"),
        (lambda: OrientationGoal(BONE, wxyz=(0, 0, 0, 0)), "is the zero quaternion"),
        (
            lambda: OrientationGoal(BONE, WANTED, kind="euler"),
            "'euler'; it must be 'log'",
        ),
        (lambda: PoseGoal(BONE, rigid(2 * WANTED, TARGET)), "rotation of target .* not a rotation"),
        (lambda: PoseGoal(BONE, np.eye(4) + np.eye(4, k=-1)), r"must be \(0, 0, 0, 1\)"),
        (lambda: DirectionGoal(BONE, (0, 0, 0), TARGET), "axis of goal .* is the zero vector"),
        (lambda: DirectionGoal(BONE, AXIS, (0, 0, 0)), "target of goal .* is the zero vector"),
        (lambda: AimGoal(BONE, (0, 0, 0), TARGET), "axis of goal 'ball.aim' is the zero vector"),
        (lambda: PositionGoal(BONE, TARGET, weight=-1), "weight of goal 'ball' is negative"),
        (lambda: PositionGoal(BONE, TARGET, weight=(1, -1, 1)), "weight of .* is negative"),
        (lambda: PositionGoal(BONE, TARGET, weight=ASYMMETRIC), "weight of .* is not symmetric"),
        (lambda: PositionGoal(BONE, TARGET, weight=INDEFINITE), "has a negative eigenvalue"),
        (lambda: SoftLimitGoal(weight=-1), "weight of goal 'soft limits' is negative"),
        (lambda: PostureGoal(np.zeros(FIGURE.nq)), "zero quaternion for bone 'root'"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(make: Callable[[], Goal], message: str):
    with pytest.raises(ValueError, match=message) as caught:
        Problem(FIGURE, [make()])
    assert isinstance(caught.value, ExactikError)


@pytest.mark.parametrize("thing", [Goal(), ("ball", TARGET), "ball"], ids=["base", "pair", "name"])
def test_what_is_no_goal_is_refused_as_misuse(thing: Any):
    with pytest.raises(GoalError, match="goal"):
        Problem(FIGURE, [thing])


@pytest.mark.parametrize("tolerance", [-1.0, 0.0, NAN, INF, "abc"])
def test_a_tolerance_that_is_none_is_refused(tolerance: Any):
    with pytest.raises(GoalError, match="tolerance of goal 'ball'"):
        PositionGoal("ball", (0, 0, 0), tolerance=tolerance)


@pytest.mark.parametrize("target", ["abc", [1, [2], 3], (1, 2j, 3), (None, 0, 0)])
def test_what_is_no_array_of_numbers_names_the_goal(target: Any):
    with pytest.raises(ShapeError, match=r"target of goal 'ball' is .* no array of real numbers"):
        Problem(FIGURE, [PositionGoal("ball", target)])


def test_a_marker_where_a_bone_is_meant_is_told_apart():
    with pytest.raises(UnknownNameError, match="that is a marker, see MarkerGoal"):
        Problem(human(), [PositionGoal("LFHD", (0, 0, 1))])


def test_a_second_derivative_must_be_symmetric():
    class Crooked(FrameGoal):
        def residual(self, rotation: Any, position: Any) -> Any:
            return position[:1]

        def derivatives(self, rotation: Any, position: Any) -> Any:
            second = np.zeros((1, 6, 6))
            second[0, 1, 2] = 1.0
            return np.zeros((1, 6)), second

    with pytest.raises(GoalError, match="Crooked' is not symmetric"):
        Problem(FIGURE, [Crooked("ball")]).hessian(FIGURE.neutral())
