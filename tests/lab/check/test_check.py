"""The checks that users run: they pass what is right and name what is wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from exactik.errors import ShapeError
from exactik.goals import AimGoal, FrameGoal, PositionGoal
from exactik.lab.check import (
    CampaignRow,
    Distance,
    check_derivatives,
    random_problem,
    run_campaign,
)
from exactik.model import JOINT_KINDS, Bone, Joint, Skeleton
from exactik.problem import Problem
from exactik.typing import Array


def arm() -> Skeleton:
    bones = [
        Bone("upper", joint=Joint.quaternion()),
        Bone("lower", parent="upper", offset=(0.3, 0, 0), joint=Joint.revolute("y")),
        Bone("hand", parent="lower", offset=(0.2, 0.1, 0), joint=Joint.exp_map()),
    ]
    return Skeleton.build("arm", bones)


Q = np.array([0.5, 0.1, -0.7, 0.5, 0.8, 0.3, -0.4, 1.0])


@dataclass(frozen=True, eq=False)
class WrongSign(Distance):
    """Its second derivative has the wrong sign; its gradient is right."""

    def derivatives(self, rotation: Array, position: Array) -> tuple[Array, Array]:
        first, second = super().derivatives(rotation, position)
        return first, -second


@dataclass(frozen=True, eq=False)
class NoDerivatives(FrameGoal):
    """The residual alone."""

    def residual(self, rotation: Array, position: Array) -> Array:
        return np.array([1.0 - position @ position, rotation[0, 1] * position[2]])


def test_a_campaign_stays_within_its_bars():
    calls = []
    report = run_campaign(trees=8, seed=7, progress=lambda done, total: calls.append((done, total)))
    assert report.ok, f"\n{report}"
    assert calls[-1] == (8, 8) and len(calls) == 8
    asked = {"cost", "gradient", "Jacobian", "Gauss–Newton", "exact Hessian", "Hessian product"}
    assert asked <= {row.quantity for row in report.rows}
    assert "all within their bars" in str(report)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_long_campaign_stays_within_its_bars(seed: int):
    report = run_campaign(trees=200, seed=seed)
    assert report.ok, f"\n{report}"


def test_a_random_problem_is_the_same_every_time():
    one, two = random_problem(3, 5), random_problem(3, 5)
    assert np.array_equal(one.q, two.q)
    assert one.skeleton == two.skeleton
    assert one.problem.cost(one.q) == two.problem.cost(two.q)
    assert one.skeleton != random_problem(3, 6).skeleton


def test_random_problems_cover_every_joint_goal_and_form_of_weight():
    joints, goals, weights, limits = set(), set(), set(), set()
    for tree in range(60):
        case = random_problem(1, tree)
        for bone in case.skeleton.bones:
            joints |= {bone.joint.kind, bone.joint.rotation_part.kind}
        goals |= {type(goal).__name__ for goal in case.goals}
        weights |= {min(np.ndim(goal.weight), 2) for goal in case.goals}
        weights |= {"dense"} if case.weight_matrix is not None else {"own"}
        limits.add(case.limits)
    assert joints == set(JOINT_KINDS)
    assert goals == {
        "PositionGoal",
        "MarkerGoal",
        "DirectionGoal",
        "AimGoal",
        "OrientationGoal",
        "PoseGoal",
        "PostureGoal",
        "SoftLimitGoal",
        "Distance",
        "Lever",
    }
    assert weights == {0, 1, 2, "dense", "own"}
    assert limits == {"hard", "soft", "off"}


def test_not_a_number_is_never_within_a_bar():
    assert not CampaignRow("cost", float("nan"), 1e-11, 1, 1, 0).ok


@pytest.mark.parametrize("tree", range(10))
def test_right_derivatives_pass(tree: int):
    case = random_problem(11, tree)
    report = check_derivatives(case.problem, case.q)
    assert report.ok, f"\n{report}"
    assert report.worst.error <= 1e-8


def test_goals_without_derivatives_pass():
    problem = Problem(
        arm(), [NoDerivatives("hand", weight=2.0), PositionGoal("hand", (0.1, 0.5, 0))]
    )
    report = check_derivatives(problem, Q)
    assert report.ok, f"\n{report}"


def test_a_wrong_second_derivative_is_named():
    problem = Problem(arm(), [WrongSign("hand", (0.1, 0.2, 0.9))])
    report = check_derivatives(problem, Q)
    wrong = {row.quantity for row in report.rows if not row.ok}
    assert not report.ok
    assert wrong == {"hessian", "hessian_product"}
    assert report.worst.quantity in wrong
    assert all(dof in problem.skeleton.dof_names for dof in report.worst.where.split(", "))
    assert "WRONG" in str(report) and report.worst.where in str(report)


def test_at_a_solution_the_vanishing_gradient_is_no_reason_to_complain():
    skeleton = arm()
    target = skeleton.forward(Q).point("hand", (0.1, 0.0, 0.2))
    goals = [PositionGoal("hand", target, (0.1, 0.0, 0.2)), AimGoal("upper", (1, 0, 0), (2, 1, 0))]
    for chosen in (goals[:1], goals):
        assert check_derivatives(Problem(skeleton, chosen), Q).ok


def test_locked_dofs_pass():
    problem = Problem(arm(), [PositionGoal("hand", (0.1, 0.5, 0))], lock=("lower.ry", "hand.ex"))
    assert check_derivatives(problem, Q).ok


def test_the_wrong_length_of_q_is_named():
    problem = Problem(arm(), [PositionGoal("hand", (0.1, 0.5, 0))])
    with pytest.raises(ShapeError, match="q has shape"):
        check_derivatives(problem, np.zeros(7))
