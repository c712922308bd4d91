"""What counts as a number, what as missing, and what is refused before anything is solved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.errors import ExactikError
from exactik.solvers import DampedLeastSquares, JacobianTranspose

TARGET = (0.4, 0.3, 1.2)
MASKED = np.ma.masked_array(TARGET, mask=(False, True, False))
FALSE: Any = np.False_


@pytest.fixture(scope="module")
def figure() -> ik.Skeleton:
    return ik.human()


@pytest.fixture(scope="module")
def problem(figure: ik.Skeleton) -> ik.Problem:
    return ik.Problem(figure, ik.PositionGoal("r_hand", TARGET))


@pytest.mark.parametrize("number", [np.float32(0.5), np.float64(0.5), np.int64(2), np.uint8(2), 2])
def test_numbers_of_numpy_are_numbers(figure: ik.Skeleton, number: float) -> None:
    goal = ik.PositionGoal("r_hand", TARGET, tolerance=number, weight=number)
    assert type(goal.tolerance) is float and goal.tolerance == float(number)
    ik.Problem(figure, goal, strength={"r_hand": number})
    for method in (
        ik.Auto(tolerance=number, max_seconds=number),
        DampedLeastSquares(max_step=2),
    ):
        assert ik.solve(ik.Problem(figure, goal), solver=method).reached


@pytest.mark.parametrize("wrong", [True, False, np.True_, "1", "", [1.0], 1j, np.nan, -1.0])
def test_what_is_no_number_is_refused_at_once(figure: ik.Skeleton, wrong: Any) -> None:
    for make in (
        lambda: ik.PositionGoal("r_hand", TARGET, tolerance=wrong),
        lambda: ik.Problem(figure, ik.PositionGoal("r_hand", TARGET), strength={"r_hand": wrong}),
        lambda: ik.Auto(tolerance=wrong),
        lambda: ik.Auto(max_iterations=wrong),
        lambda: ik.solve(figure, ik.PositionGoal("r_hand", TARGET), starts=wrong),
        lambda: ik.solve(figure, ik.PositionGoal("r_hand", TARGET), seed=wrong),
        lambda: ik.Markers(np.zeros((1, 1, 3)), ("a",), wrong),
    ):
        with pytest.raises(ExactikError) as caught:
            make()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("wrong", [True, "1", np.nan, -1.0])
def test_optional_numbers_are_checked_too(wrong: Any) -> None:
    for make in (
        lambda: ik.Auto(max_seconds=wrong),
        lambda: DampedLeastSquares(max_step=wrong),
        lambda: JacobianTranspose(step=wrong),
    ):
        with pytest.raises(ExactikError, match="must be a number ≥ 0"):
            make()


@pytest.mark.parametrize("wrong", [1, 0.0, "yes", None])
def test_switches_are_true_or_false(wrong: Any) -> None:
    with pytest.raises(ExactikError, match="must be True or False"):
        ik.Auto(escape=wrong)
    assert ik.Auto(escape=FALSE).escape is False


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_is_never_solved(problem: ik.Problem, value: float) -> None:
    figure, place = problem.skeleton, (0.0, value, 0.0)
    q0 = figure.neutral()
    q0[3] = value
    T = np.eye(4)
    T[0, 3] = value
    marker = next(iter(figure.markers))
    for make in (
        lambda: ik.solve(figure, ik.PositionGoal("r_hand", place)),
        lambda: ik.solve(figure, ik.PositionGoal("r_hand", TARGET, point=place)),
        lambda: ik.solve(figure, ik.MarkerGoal(marker, place)),
        lambda: ik.solve(figure, ik.DirectionGoal("head", place, (0, 0, 1))),
        lambda: ik.solve(figure, ik.AimGoal("head", (0, 1, 0), place)),
        lambda: ik.solve(figure, ik.PoseGoal("r_hand", T)),
        lambda: ik.solve(figure, ik.PostureGoal(q0)),
        lambda: ik.solve(figure, ik.PositionGoal("r_hand", TARGET, weight=value)),
        lambda: ik.solve(problem, q0=q0),
        lambda: ik.solve_batch(problem, {"r_hand": [place]}),
        lambda: ik.solve_batch(problem, {"r_hand": [TARGET]}, q0=q0),
        lambda: problem.with_targets({"r_hand": place}),
        lambda: figure.with_markers({"m": ("head", place)}),
        lambda: ik.Bone("b", offset=place),
    ):
        with pytest.raises(ExactikError) as caught:
            make()
        assert "\n" not in str(caught.value)


def test_a_masked_entry_is_refused_where_it_is_needed(problem: ik.Problem) -> None:
    figure = problem.skeleton
    q0 = np.ma.masked_array(figure.neutral())
    q0[3] = np.ma.masked
    for make in (
        lambda: ik.solve(figure, ik.PositionGoal("r_hand", MASKED)),
        lambda: ik.solve(figure, ik.PositionGoal("r_hand", TARGET, point=MASKED)),
        lambda: ik.solve(problem, q0=q0),
        lambda: problem.with_targets({"r_hand": MASKED}),
        lambda: ik.solve_batch(problem, {"r_hand": MASKED[None]}),
    ):
        with pytest.raises(ExactikError, match=r"\] is masked; every entry of .* must be known"):
            make()
    bare = np.ma.masked_array(TARGET)  # nothing is masked
    assert ik.solve(figure, ik.PositionGoal("r_hand", bare)).reached


def test_a_masked_or_infinite_marker_is_missing() -> None:
    positions = np.ma.masked_array(np.ones((2, 3, 3)))
    positions[0, 1, 2] = np.ma.masked
    positions[1, 2, 0] = np.inf
    markers = ik.Markers(positions, ("a", "b", "c"), 100.0)
    assert markers.missing.tolist() == [[False, True, False], [False, False, True]]
    whole_numbers: Any = np.ma.masked_array(np.ones((1, 1, 3), np.int64))
    whole = ik.Markers(whole_numbers, ("a",), 100.0)
    assert not whole.missing.any()


@pytest.mark.parametrize("solver", ["auto", "newton", "gauss-newton", "projected-gradient", "bfgs"])
def test_only_ratios_of_strengths_count(figure: ik.Skeleton, solver: str) -> None:
    goal = ik.PositionGoal("r_hand", TARGET)

    def solve(strength: dict[str, float]) -> ik.Result:
        return ik.solve(figure, goal, strength=strength, solver=solver)

    plain = solve({})
    for factor in (1e-8, 2.0**-30, 1e8):
        np.testing.assert_array_equal(solve({"*": factor}).q, plain.q)
    uneven = solve({"r_forearm": 0.25})
    assert np.abs(uneven.q - plain.q).max() > 1e-3
    scaled = solve({"*": 2.0**-30, "r_forearm": 2.0**-32})
    np.testing.assert_array_equal(scaled.q, uneven.q)
    # A strength or two among many leave the others at 1.
    problem = ik.Problem(figure, goal, strength={"r_forearm": 0.25, "l_forearm": 3.0})
    assert set(problem.strength.tolist()) == {0.25, 1.0, 3.0}
