"""Several solutions: all that an arm with a closed form has, and no others."""

from __future__ import annotations

import math

import numpy as np
import pytest

import exactik as ik
from exactik.errors import UsageError
from exactik.spatial import axis_rotation
from exactik.typing import Array

# Denavit–Hartenberg: d, a [m] and α [rad] of an arm like Universal Robots' UR5.
D = (0.089159, 0.0, 0.0, 0.10915, 0.09465, 0.0823)
A = (0.0, -0.425, -0.39225, 0.0, 0.0, 0.0)
ALPHA = (math.pi / 2, 0.0, 0.0, math.pi / 2, -math.pi / 2, 0.0)


def make_ur5(limit: float = math.pi) -> ik.Skeleton:
    bones, parent = [], None
    offset, pre = (0.0, 0.0, 0.0), np.eye(3)
    for i in range(6):
        joint = ik.Joint.revolute("z", limits=(-limit, limit))
        bones.append(ik.Bone(f"l{i}", parent=parent, offset=offset, pre=pre, joint=joint))
        parent, offset, pre = f"l{i}", (A[i], 0.0, D[i]), axis_rotation("x", ALPHA[i])
    bones.append(ik.Bone("tool", parent=parent, offset=offset, pre=pre))
    return ik.Skeleton.build("arm", bones)


def link(i: int, angle: float) -> Array:
    T = np.eye(4)
    T[:3, :3] = axis_rotation("z", angle) @ axis_rotation("x", ALPHA[i])
    T[:3, 3] = axis_rotation("z", angle) @ (A[i], 0.0, D[i])
    return T


def chain(angles: Array) -> Array:
    T = np.eye(4)
    for i, angle in enumerate(angles):
        T = T @ link(i, float(angle))
    return T


def solve_in_closed_form(T: Array) -> list[Array]:
    """All joint angles in (−π, π] that bring the tool to T."""
    found = []
    wrist = T @ (0, 0, -D[5], 1)
    psi = math.atan2(wrist[1], wrist[0])
    phi = math.acos(D[3] / math.hypot(wrist[0], wrist[1]))
    inverse = np.linalg.inv(T)
    for sign_1 in (1, -1):
        q1 = psi + sign_1 * phi + math.pi / 2
        s, c = math.sin(q1), math.cos(q1)
        cosine = (T[0, 3] * s - T[1, 3] * c - D[3]) / D[5]
        if abs(cosine) > 1:
            continue
        for sign_5 in (1, -1):
            q5 = sign_5 * math.acos(cosine)
            across = (-inverse[1, 0] * s + inverse[1, 1] * c) / math.sin(q5)
            along = (inverse[0, 0] * s - inverse[0, 1] * c) / math.sin(q5)
            q6 = math.atan2(across, along)
            T14 = np.linalg.inv(link(0, q1)) @ T @ np.linalg.inv(link(4, q5) @ link(5, q6))
            x, y = T14[0, 3], T14[1, 3]
            cosine_3 = (x * x + y * y - A[1] ** 2 - A[2] ** 2) / (2 * A[1] * A[2])
            if abs(cosine_3) > 1:
                continue
            for sign_3 in (1, -1):
                q3 = sign_3 * math.acos(cosine_3)
                u, v = A[1] + A[2] * math.cos(q3), A[2] * math.sin(q3)
                q2 = math.atan2(y, x) - math.atan2(v, u)
                T34 = np.linalg.inv(link(1, q2) @ link(2, q3)) @ T14
                q4 = math.atan2(T34[1, 0], T34[0, 0])
                q = np.array([q1, q2, q3, q4, q5, q6])
                found.append((q + math.pi) % (2 * math.pi) - math.pi)
    return [q for q in found if np.allclose(chain(q), T, atol=1e-9)]


def apart(a: Array, b: Array) -> float:
    """The largest difference of an angle, whole turns apart [rad]."""
    return float(np.abs((a - b + math.pi) % (2 * math.pi) - math.pi).max())


def pose_of(arm: ik.Skeleton, q: Array) -> Array:
    pose, T = arm.forward(q), np.eye(4)
    T[:3, :3], T[:3, 3] = pose.rotations[-1], pose.positions[-1]
    return T


def test_all_eight_solutions_of_an_arm_are_found() -> None:
    arm, rng, tried = make_ur5(), np.random.default_rng(5), 0
    while tried < 5:
        q = rng.uniform(-3, 3, 6)
        T = pose_of(arm, q)
        np.testing.assert_allclose(T, chain(q), atol=1e-12)
        exact = solve_in_closed_form(T)
        if len(exact) < 8:
            continue
        tried += 1
        result = ik.solve(arm, ik.PoseGoal("tool", T), solutions=8)
        reached = [other for other in result.solutions if other.reached]
        assert len(result.solutions) == len(reached) == 8
        for own in exact:
            assert min(apart(own, other.q) for other in reached) < 1e-6


def test_solutions_are_cheapest_first_and_certified() -> None:
    arm = make_ur5(2 * math.pi)
    rest = np.array([0.3, -1.0, 1.2, -0.5, 1.0, 0.2])
    T = pose_of(arm, rest + 0.1)
    goals = [ik.PoseGoal("tool", T), ik.PostureGoal(rest, weight=1e-4)]
    result = ik.solve(arm, goals, q0=rest, solutions=8)
    costs = [other.cost for other in result.solutions]
    assert costs == sorted(costs)
    assert len(costs) == 8
    assert result.solutions[0] is result
    np.testing.assert_allclose(result.q, rest + 0.1, atol=0.01)
    for other in result.solutions:
        assert other.converged
        assert other.certificate.min_eigenvalue > 0.0
        assert (np.abs(other.q) <= 2 * math.pi).all()


def test_the_same_call_has_the_same_solutions() -> None:
    arm = make_ur5()
    T = pose_of(arm, np.array([0.3, -1.0, 1.2, -0.5, 1.0, 0.2]))
    a, b = (ik.solve(arm, ik.PoseGoal("tool", T), solutions=4) for _ in range(2))
    assert len(a.solutions) == 4
    for one, other in zip(a.solutions, b.solutions, strict=True):
        assert np.array_equal(one.q, other.q)


def test_one_solution_is_what_it_was() -> None:
    arm = make_ur5()
    goal = ik.PositionGoal("tool", (0.3, 0.2, 0.4))
    result = ik.solve(arm, goal)
    assert result.solutions == (result,)
    assert np.array_equal(result.q, ik.solve(arm, goal, solutions=1).q)


def test_a_problem_with_one_minimum_has_one_solution() -> None:
    hinge = ik.Skeleton.build("one", [ik.Bone("a", joint=ik.Joint.revolute("z"))])
    result = ik.solve(hinge, ik.PositionGoal("a", (0, 1, 0), point=(1, 0, 0)), solutions=3)
    assert len(result.solutions) == 1
    assert result.reached


def test_a_count_of_solutions_is_checked() -> None:
    with pytest.raises(UsageError, match="solutions is 0"):
        ik.solve(make_ur5(), ik.PositionGoal("tool", (0, 0, 0)), solutions=0)
