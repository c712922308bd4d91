"""A new goal is one class: all that the library asks about a goal, it asks the goal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from numpy.typing import ArrayLike

import exactik as ik
from exactik.errors import GoalError, ShapeError
from exactik.goals import Term, TermGoal
from exactik.kernels.goals.terms import POSITION
from exactik.typing import Array


@dataclass(frozen=True, eq=False)
class HeightGoal(TermGoal):
    """A bone's origin should be at a height: a position whose other two rows have no weight."""

    error_unit: ClassVar[str] = "m"
    target_shape: ClassVar[tuple[int, ...] | None] = ()

    bone: str
    target: ArrayLike

    def terms(self, skeleton: ik.Skeleton) -> list[Term]:
        place = np.array([0.0, 0.0, float(np.asarray(self.target))])
        return [Term(POSITION, self.bone, target=place)]

    def spread_weight(self, weight: Array, rows: int) -> Array:
        return weight * np.array([0.0, 0.0, 1.0])

    def write_targets(self, targets: Array, points: Array, rotations: Array) -> None:
        points[:, 0, 2] = targets

    def error_parts(self, skeleton, name, rows, terms):
        return (self.make_part(name, "m", slice(rows.stop - 1, rows.stop), terms),)

    def watched_point(self, skeleton: ik.Skeleton) -> tuple[str, Array]:
        return self.bone, np.zeros(3)

    def shortfall(self, centre: Array, radius: float) -> float:
        return max(0.0, abs(float(np.asarray(self.target)) - centre[2]) - radius)

    def join_target_derivatives(self, derivatives: list[Array]) -> Array:
        return derivatives[0][:, 2:]


@dataclass(frozen=True, eq=False)
class SphereGoal(ik.FrameGoal):
    """A bone's origin should be at a distance from the world's."""

    target_shape: ClassVar[tuple[int, ...] | None] = ()

    target: float = 0.5

    def residual(self, rotation: Array, position: Array) -> Array:
        return np.array([self.target - float(np.linalg.norm(position))])


@pytest.fixture(scope="module")
def arm() -> ik.Skeleton:
    """Two links of 1 m that turn about y."""
    return ik.Skeleton(
        "arm",
        [
            ik.Bone("upper", joint=ik.Joint.revolute("y")),
            ik.Bone("lower", parent="upper", offset=(1, 0, 0), joint=ik.Joint.revolute("y")),
            ik.Bone("tip", parent="lower", offset=(1, 0, 0)),
        ],
    )


def test_a_goal_of_terms_is_solved_retargeted_and_batched(arm):
    problem = ik.Problem(arm, HeightGoal("tip", 0.5, name="height"))
    q0 = np.array([0.3, 0.4])
    result = ik.solve(problem, q0=q0)
    assert result.status == "reached"
    assert arm.forward(result.q).positions[2, 2] == pytest.approx(0.5, abs=1e-6)
    other = problem.with_targets({"height": -1.2})
    assert ik.solve(other, q0=q0).goal_errors["height"] < 1e-6
    heights = np.array([0.1, -0.7, 1.4])
    batch = ik.solve_batch(problem, {"height": heights}, q0=q0)
    assert batch.reached.all()
    for height, q in zip(heights, batch.q, strict=True):
        assert arm.forward(q).positions[2, 2] == pytest.approx(height, abs=1e-6)


def test_its_error_its_reach_and_its_sensitivity_are_its_own(arm):
    q0 = np.array([0.3, 0.4])
    far = ik.solve(arm, HeightGoal("tip", 2.5), q0=q0)
    assert far.status == "out-of-reach"
    assert "0.5 m beyond full stretch" in far.why
    posture = ik.PostureGoal(q0, weight=1e-3)
    problem = ik.Problem(arm, [HeightGoal("tip", 0.5, name="height"), posture])
    result = ik.solve(problem, q0=q0)
    ahead = ik.solve(problem.with_targets({"height": 0.5 + 1e-4}), q0=result.q)
    moved = result.sensitivity()["height"] @ np.array([1e-4])
    np.testing.assert_allclose(ahead.q - result.q, moved, atol=1e-7)


def test_a_goal_in_python_may_have_a_target(arm):
    problem = ik.Problem(arm, SphereGoal("tip", 1.5, name="distance"))
    q0 = np.array([0.3, 0.4])
    for distance in (0.8, 1.9):
        result = ik.solve(problem.with_targets({"distance": distance}), q0=q0)
        assert result.reached
        assert np.linalg.norm(arm.forward(result.q).positions[2]) == pytest.approx(distance)
    batch = ik.solve_batch(problem, {"distance": np.array([0.8, 1.9])}, q0=q0, threads=1)
    assert batch.reached.all()
    with pytest.raises(ShapeError, match=r"has shape \(3,\); expected \(\)"):
        problem.with_targets({"distance": np.zeros(3)})


def test_a_goal_that_says_nothing_is_refused(arm):
    for goal in (ik.Goal(), TermGoal(), ik.FrameGoal("tip"), "tip"):
        with pytest.raises(GoalError, match="no goal that can be evaluated"):
            ik.Problem(arm, [goal])  # type: ignore[list-item]
