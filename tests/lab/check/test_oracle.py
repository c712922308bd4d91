"""The oracle is itself judged: by differences of its own plain forward pass, and by scipy."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from exactik.errors import GoalError, ShapeError
from exactik.goals import FrameGoal, Goal, OrientationGoal, PositionGoal, PostureGoal
from exactik.lab.check import Distance, Lever, random_coordinates, random_goals, random_skeleton
from exactik.lab.check.oracle import (
    Jet,
    OracleAnswer,
    differentiate,
    evaluate,
    expand_frame_goal,
    forward,
    point_jacobian,
    point_jacobian_dot,
)
from exactik.lab.check.oracle import jet as jets
from exactik.lab.check.oracle.kinematics import JetFrame, exp, log
from exactik.model import EULER_ORDERS, Bone, Joint, Skeleton
from exactik.typing import Array
from tests.support.selection import first_quick


def differences(function, n: int) -> tuple[Array, Array, Array]:
    """Value and first two derivatives at 0 of a function of n variables."""
    return differentiate(lambda x: np.ravel(function(x)), n)


QUICK_SEEDS = (0, 1, 2, 3, 4, 5)
SLOW_SEEDS = tuple(pytest.param(seed, marks=pytest.mark.slow) for seed in range(6, 12))


def check_jet(function, x0: Array, tolerance: float = 1e-10) -> None:
    """Compare a program on jets with differences of its values."""
    actual = function(jets.variables(x0))

    def plain(x: Array) -> Array:
        at = jets.constant(x0 + x, 0)
        return function(at).value

    value, first, second = differences(plain, len(x0))
    assert np.abs(np.ravel(actual.value) - value).max() <= 1e-14 * max(1, np.abs(value).max())
    n = len(x0)
    assert np.abs(actual.gradient.reshape(-1, n) - first).max() <= tolerance * max(
        1, np.abs(first).max()
    )
    assert np.abs(actual.hessian.reshape(-1, n, n) - second).max() <= tolerance * max(
        1, np.abs(second).max()
    )


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[0] * x[1] + x[2] / (x[0] * x[0] + 2.0) - 3.0,
        lambda x: 1.0 / (2.0 + x[0] * x[1]) - x[2] ** 3,
        lambda x: jets.sqrt(x[0] * x[0] + x[1] * x[1] + 1.0),
        lambda x: jets.sin(x[0] * x[1]) * jets.cos(x[2]),
        lambda x: jets.atan2(x[0] + 2.0 * x[1] - 3.0, x[2] * x[0] - 1.5),
        lambda x: jets.cross(x) @ (jets.cross(x) @ np.array([1.0, 2.0, 3.0])),
        lambda x: (jets.cross(x) + np.eye(3)).T @ jets.cross(x),
        lambda x: jets.dot(x, 2.0 * x) * x,
        exp,
        lambda x: log(exp(x)),
        lambda x: jets.stack([x[0], x[1] * x[0]]),
    ],
)
def test_operations_carry_their_derivatives(function):
    check_jet(function, np.array([0.7, -0.4, 0.3]))


@pytest.mark.parametrize("s", [0.0, 1e-12, 1e-4, 0.3, 0.999, 1.001, np.pi**2, 30.0])
@pytest.mark.parametrize(("shift", "function"), [(1, jets.sinc), (2, jets.cosc)])
def test_smooth_functions_of_a_square(s: float, shift: int, function):
    """Against the series Σ (−s)ⁿ/(2n + shift)! and its derivatives in exact fractions."""

    def exact(derivative: int) -> float:
        return float(
            sum(
                Fraction((-1) ** n * math.perm(n, derivative), math.factorial(2 * n + shift))
                * Fraction(s) ** (n - derivative)
                for n in range(derivative, 60)
            )
        )

    actual = function(jets.variables([s])[0])
    assert abs(actual.value - exact(0)) <= 1e-15
    assert abs(actual.gradient[0] - exact(1)) <= 1e-15
    assert abs(actual.hessian[0, 0] - exact(2)) <= 1e-15


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-6, 0.5, 2.0, 2.9, np.pi - 1e-3, np.pi - 1e-9])
def test_log_undoes_exp_with_both_derivatives(angle: float):
    """log(exp(w)) = w: the gradient is the identity and the Hessian vanishes."""
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    actual = log(exp(jets.variables(angle * axis)))
    assert np.abs(actual.value - angle * axis).max() <= 1e-15 * max(1.0, 8.0 * angle)
    assert np.abs(actual.gradient - np.eye(3)).max() <= 5e-15
    assert np.abs(actual.hessian).max() <= 2e-14


def test_log_of_half_a_turn_about_each_axis():
    for a in range(3):
        w = (np.pi - 1e-12) * np.eye(3)[a]
        actual = log(exp(jets.variables(w)))
        assert np.abs(actual.value - w).max() <= 1e-14
        assert np.abs(actual.hessian).max() <= 2e-14


def one_joint(joint: Joint) -> Skeleton:
    return Skeleton.build("one", [Bone("b", joint=joint)])


@pytest.mark.parametrize("order", [*EULER_ORDERS, "X", "Y", "XZ", "ZY"])
def test_euler_joints_are_those_of_scipy(order: str):
    q = np.random.default_rng(1).uniform(-3, 3, size=len(order))
    _, rotations = forward(one_joint(Joint.euler(order)), q)
    expected = Rotation.from_euler(order, q).as_matrix()  # upper case is intrinsic
    assert np.abs(rotations[0] - expected).max() <= 1e-15


def test_other_joints_are_those_of_scipy():
    rng = np.random.default_rng(2)
    w, axis = rng.normal(size=3), np.array([0.6, 0.0, 0.8])
    cases = [
        (Joint.exp_map(), w, Rotation.from_rotvec(w)),
        (Joint.revolute(axis), [0.7], Rotation.from_rotvec(0.7 * axis)),
        (
            Joint.swing_twist("y"),  # swings about z, then x
            [0.4, -1.1, 0.9],
            Rotation.from_rotvec([-1.1, 0, 0.4]) * Rotation.from_rotvec([0, 0.9, 0]),
        ),
        (
            Joint.quaternion(),
            [0.5, 0.1, -0.7, 0.5],
            Rotation.from_quat([0.1, -0.7, 0.5, 0.5]),  # scipy puts w last
        ),
    ]
    for joint, q, expected in cases:
        _, rotations = forward(one_joint(joint), q)
        assert np.abs(rotations[0] - expected.as_matrix()).max() <= 1e-15


def test_frames_compose_as_the_bone_says():
    rng = np.random.default_rng(3)
    pre, post = (Rotation.random(random_state=k).as_matrix() for k in (1, 2))
    offset, q = rng.normal(size=3), rng.normal(size=6)
    bones = [
        Bone("child", parent="root", offset=offset, pre=pre, joint=Joint.free("XYZ"), post=post),
        Bone("root", offset=(1, 2, 3), pre=post),
    ]
    skeleton = Skeleton.build("two", bones)
    positions, rotations = forward(skeleton, q)
    child = skeleton.bone_names.index("child")
    turn = Rotation.from_euler("XYZ", q[3:]).as_matrix()
    expected = np.array([1, 2, 3]) + post @ (offset + pre @ q[:3])
    assert np.abs(positions[child] - expected).max() <= 1e-15
    assert np.abs(rotations[child] - post @ pre @ turn @ post).max() <= 1e-15


def evaluate_cost_only(skeleton: Skeleton, goals: list[Goal], q: Array) -> OracleAnswer:
    """Cost and residual alone: with every dof locked there is nothing to differentiate."""
    return evaluate(skeleton, goals, q, lock=np.ones(skeleton.nv, dtype=bool))


@pytest.mark.parametrize("seed", (*first_quick(QUICK_SEEDS, 2), *SLOW_SEEDS))
def test_gradient_and_hessian_are_derivatives_of_the_cost(seed: int):
    """Along random directions, against differences of the cost through a step of the model."""
    rng = np.random.default_rng([41, seed])
    skeleton = random_skeleton(rng)
    q = random_coordinates(rng, skeleton)
    goals, _ = random_goals(rng, skeleton, q)
    actual = evaluate(skeleton, goals, q)
    for _ in range(3):
        x = rng.normal(size=skeleton.nv)
        x /= np.linalg.norm(x) * 3.0

        def cost(t: Array, x: Array = x) -> float:
            return evaluate_cost_only(skeleton, goals, skeleton.integrate(q, t[0] * x)).cost

        _, first, second = differences(cost, 1)
        scale = max(1.0, float(np.abs(actual.hessian).max()))
        assert abs(first[0, 0] - actual.gradient @ x) <= 1e-9 * scale
        assert abs(second[0, 0, 0] - x @ actual.hessian @ x) <= 1e-8 * scale


@pytest.mark.parametrize("seed", first_quick(range(6), 3))
def test_jacobian_is_minus_the_derivative_of_the_residual(seed: int):
    rng = np.random.default_rng([43, seed])
    skeleton = random_skeleton(rng)
    q = random_coordinates(rng, skeleton)
    goals, _ = random_goals(rng, skeleton, q)
    actual = evaluate(skeleton, goals, q)
    x = rng.normal(size=skeleton.nv)
    x /= np.linalg.norm(x) * 3.0

    def rows(t: Array) -> Array:
        return evaluate_cost_only(skeleton, goals, skeleton.integrate(q, t[0] * x)).residual

    _, first, _ = differences(rows, 1)
    scale = max(1.0, float(np.abs(actual.jacobian).max()))
    assert np.abs(first[:, 0] + actual.jacobian @ x).max() <= 1e-9 * scale


@pytest.mark.full
@pytest.mark.parametrize("frame", ["world", "body", "spatial"])
@pytest.mark.parametrize("seed", first_quick(QUICK_SEEDS[2:4]))
def test_point_jacobian_and_its_rate_are_derivatives_of_the_motion(seed: int, frame: str):
    rng = np.random.default_rng([47, seed])
    skeleton = random_skeleton(rng)
    q, v = random_coordinates(rng, skeleton), rng.normal(scale=0.3, size=skeleton.nv)
    k = len(skeleton.bones) - 1
    bone, point = skeleton.bone_names[k], np.array([0.1, -0.2, 0.3])
    linear, angular = point_jacobian(skeleton, q, bone, point, frame)

    def at(t: float) -> tuple[Array, Array]:
        positions, rotations = forward(skeleton, skeleton.integrate(q, t * v))
        return positions[k] + rotations[k] @ point, rotations[k]

    _, velocity, _ = differences(lambda t: at(t[0])[0], 1)
    _, spin, _ = differences(lambda t: at(t[0])[1], 1)
    where, turn = at(0.0)
    rate = spin[:, 0].reshape(3, 3) @ turn.T
    omega, speed = np.array([rate[2, 1], rate[0, 2], rate[1, 0]]), velocity[:, 0]
    if frame == "body":
        omega, speed = turn.T @ omega, turn.T @ speed
    elif frame == "spatial":
        speed = speed - np.cross(omega, where)
    assert np.abs(linear @ v - speed).max() <= 1e-10 * max(1.0, np.abs(speed).max())
    assert np.abs(angular @ v - omega).max() <= 1e-10 * max(1.0, np.abs(omega).max())

    def both(t: Array) -> Array:
        moved = skeleton.integrate(q, t[0] * v)
        return np.concatenate(point_jacobian(skeleton, moved, bone, point, frame))

    _, rates, _ = differences(both, 1)
    actual = np.concatenate(point_jacobian_dot(skeleton, q, v, bone, point, frame))
    assert np.abs(actual.ravel() - rates[:, 0]).max() <= 1e-9 * max(1.0, np.abs(rates).max())


def two_bones() -> Skeleton:
    bones = [
        Bone("upper", joint=Joint.euler("ZYX", limits=[(-1, 1)] * 3)),
        Bone("lower", parent="upper", offset=(0.3, 0, 0), joint=Joint.revolute("y")),
    ]
    return Skeleton.build("arm", bones)


def test_locked_dofs_keep_their_place_with_zeros():
    skeleton, q = two_bones(), np.array([0.3, 0.4, -0.2, 0.8])
    goals = [PositionGoal("lower", (1, 1, 1), (0.2, 0, 0))]
    lock = np.array([False, True, False, False])
    full, part = evaluate(skeleton, goals, q), evaluate(skeleton, goals, q, lock=lock)
    free = ~lock
    assert part.cost == full.cost
    assert np.array_equal(part.gradient, np.where(lock, 0.0, full.gradient))
    assert np.allclose(part.hessian, full.hessian * np.outer(free, free), rtol=0, atol=1e-15)
    assert np.array_equal(part.jacobian, full.jacobian * free)


def test_a_weight_matrix_replaces_the_weights_of_the_goals():
    skeleton, q = two_bones(), np.array([0.3, 0.4, -0.2, 0.8])
    goals = [
        PositionGoal("lower", (1, 1, 1), weight=(1, 2, 3)),
        OrientationGoal("lower", np.eye(3)),
    ]
    weights = np.diag([1.0, 2, 3, 1, 1, 1])
    own = evaluate(skeleton, goals, q)
    same = evaluate(skeleton, goals, q, weight_matrix=weights)
    assert same.cost == pytest.approx(own.cost, rel=1e-15)
    assert np.allclose(same.hessian, own.hessian, rtol=0, atol=1e-14)
    assert np.allclose(own.gauss_newton, own.jacobian.T @ weights @ own.jacobian)


def test_soft_limits_push_back_from_outside_only():
    skeleton, q = two_bones(), np.array([1.5, 0.4, -1.2, 9.0])
    actual = evaluate(skeleton, [], q, limits="soft")
    assert np.allclose(actual.residual, [-0.5, 0.0, 0.2, 0.0])
    assert np.array_equal(actual.hessian, np.diag([1.0, 0.0, 1.0, 0.0]))
    assert evaluate(skeleton, [], q, limits="hard").cost == 0.0


def test_posture_of_a_quaternion_is_in_the_axes_of_the_bone():
    skeleton = one_joint(Joint.quaternion())
    q, v = np.array([0.5, 0.1, -0.7, 0.5]), np.array([0.3, -2.0, 1.0])
    actual = evaluate(skeleton, [PostureGoal(skeleton.integrate(q, v))], q)
    assert np.abs(actual.residual - v).max() <= 1e-15


@pytest.mark.parametrize(
    "goal", [Distance("b", (0.4, 1.0, -0.3)), Lever("b", (1, 2, 0), (0, 1, 1))]
)
def test_differences_of_a_black_box_reach_its_exact_derivatives(goal: FrameGoal):
    """To the accuracy that the campaign asks for."""
    rotation, position = Rotation.random(random_state=4).as_matrix(), np.array([0.2, 0.5, 0.9])
    x = jets.variables(np.zeros(6))
    frame = JetFrame(exp(x[:3]) @ rotation, x[3:] + position)
    actual = expand_frame_goal(goal, frame)
    first, second = goal.derivatives(rotation, position)
    assert np.abs(actual.gradient - first).max() <= 1e-13
    assert np.abs(actual.hessian - second).max() <= 2e-12


def test_misuse_is_named():
    skeleton = two_bones()
    with pytest.raises(ShapeError, match="q has shape"):
        evaluate(skeleton, [], np.zeros(3))
    with pytest.raises(GoalError, match="knows no goal"):
        evaluate(skeleton, [Goal()], np.zeros(4))
    with pytest.raises(ShapeError, match="weight of goal"):
        evaluate(skeleton, [PositionGoal("lower", (1, 1, 1), weight=(1, 2))], np.zeros(4))
    with pytest.raises(KeyError, match="no bone named 'hand'"):
        evaluate(skeleton, [PositionGoal("hand", (1, 1, 1))], np.zeros(4))


def test_jets_without_variables_are_plain_numbers():
    x = jets.constant(np.array([1.0, 2.0, 3.0]), 0)
    actual = jets.dot(x, x) / 2.0
    assert isinstance(actual, Jet) and actual.n == 0 and actual.value == 7.0
