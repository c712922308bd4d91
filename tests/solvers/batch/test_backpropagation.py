"""Gradients through solves and poses against differences of solves and poses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import exactik as ik
from exactik.errors import CoordinateError
from exactik.model.functions import Linear, Polynomial
from exactik.spatial import exp_rotation, skew
from exactik.typing import Array
from tests.support.models import chain_of, configuration, planar_arm
from tests.support.problems import menagerie

TIGHT = ik.Newton(tolerance=1e-14)
STEP = 1e-6  # [m or rad]


def make_problem() -> tuple[ik.Problem, dict[str, Array]]:
    """The human with a goal of every kind that has a target, and targets of three problems."""
    human, rng = ik.human(), np.random.default_rng(4)
    goals = [
        ik.PoseGoal("r_hand", np.eye(4), (0.02, 0.0, 0.1)),
        ik.PositionGoal("l_hand", (0, 0, 0), (0.0, 0.01, 0.05), weight=2.0),
        ik.OrientationGoal("head", np.eye(3), kind="axes", weight=0.1),
        ik.AimGoal("head", (0, 1, 0), (1, 2, 3), (0, 0.1, 0.1)),
        ik.DirectionGoal("l_foot", (0, 1, 0), (0, 1, 0)),
        ik.OrientationGoal("r_foot", np.eye(3)),
        ik.PositionGoal("l_shin", (0, 0, 0), (0.1, 0, 0.1), relative_to="r_shin"),
        ik.OrientationGoal("l_hand", np.eye(3), weight=0.3, relative_to="head"),
        ik.PostureGoal(human.neutral(), weight=1e-2),
    ]
    turns = np.array([exp_rotation(turn) for turn in rng.normal(scale=0.5, size=(12, 3))])
    poses = np.tile(np.eye(4), (3, 1, 1))
    poses[:, :3, :3] = turns[:3]
    poses[:, :3, 3] = rng.normal((0, 0.3, 1), 0.3, size=(3, 3))
    targets = {
        "r_hand": poses,
        "l_hand": rng.normal((0, 0.2, 1), 0.3, size=(3, 3)),
        "head.orientation": turns[3:6],
        "head.aim": rng.normal(scale=2.0, size=(3, 3)),
        "l_foot.direction": rng.normal(size=(3, 3)),
        "r_foot.orientation": turns[6:9],
        "l_shin in r_shin": rng.normal((0.2, 0, 0.1), 0.1, size=(3, 3)),
        "l_hand in head.orientation": turns[9:],
    }
    return ik.Problem(human, goals), targets


def displace(target: Array, change: Array, step: float) -> Array:
    """A target moved by a step: a vector (3,), or a turn and a shift (6,) of a rotation or pose."""
    if target.ndim == 1:
        return target + step * change[:3]
    moved = target.copy()
    moved[:3, :3] = exp_rotation(step * change[:3]) @ target[:3, :3]
    if len(target) == 4:
        moved[:3, 3] += step * change[3:]
    return moved


def rate_of(target: Array, change: Array) -> Array:
    """How fast the entries of a target change as it is displaced."""
    if target.ndim == 1:
        return change[:3]
    rate = np.zeros_like(target)
    rate[:3, :3] = skew(change[:3]) @ target[:3, :3]
    if len(target) == 4:
        rate[:3, 3] = change[3:]
    return rate


def test_gradients_by_targets_of_every_kind_are_those_of_solving_again() -> None:
    problem, targets = make_problem()
    batch = ik.solve_batch(problem, targets, solver=TIGHT, threads=1)
    assert min(len(active) for active in batch.active_limits) > 0
    rng = np.random.default_rng(5)
    loss = rng.normal(size=batch.q.shape)
    gradients = batch.backpropagate(loss, threads=2)
    for name, gradient in gradients.items():
        assert gradient.shape == targets[name].shape
        for b in range(3):
            change = rng.normal(size=6)
            sides = [
                problem.with_targets(
                    {
                        n: displace(t[b], change, s) if n == name else t[b]
                        for n, t in targets.items()
                    }
                )
                for s in (STEP, -STEP)
            ]
            ahead, behind = (ik.solve(side, q0=batch.q[b], solver=TIGHT).q for side in sides)
            seen = float(loss[b] @ (ahead - behind)) / (2.0 * STEP)
            told = float(np.sum(gradient[b] * rate_of(targets[name][b], change)))
            assert told == pytest.approx(seen, rel=1e-5, abs=1e-5), name


def test_open_directions_answer_as_sensitivities_do() -> None:
    arm = chain_of([ik.Joint.revolute(axis) for axis in "zyxz"], seed=3)
    problem = ik.Problem(arm, ik.PositionGoal(arm.bone_names[-1], (0, 0, 0), (0.1, 0.2, 0.1)))
    q = configuration(arm, 2)
    target = arm.forward(q).point(arm.bone_names[-1], (0.1, 0.2, 0.1))
    batch = ik.solve_batch(problem, {arm.bone_names[-1]: target[None]}, q0=q, threads=1)
    loss = np.random.default_rng(1).normal(size=(1, arm.nq))
    told = batch.backpropagate(loss)[arm.bone_names[-1]]
    expected = loss @ batch[0].sensitivity()[arm.bone_names[-1]]
    np.testing.assert_allclose(told, expected, rtol=1e-9, atol=1e-12)


def test_unfinished_solves_raise_or_give_nan_unless_the_loss_ignores_them() -> None:
    arm = planar_arm()
    end = arm.bone_names[-1]
    problem = ik.Problem(arm, [ik.PositionGoal(end, (0, 0, 0), (0.3, 0, 0))])
    targets = {end: np.array([[0.4, 0.2, 0.0], [0.1, 0.5, 0.0]])}
    hurried = ik.solve_batch(problem, targets, solver=ik.Newton(max_iterations=1), threads=1)
    assert not hurried.converged.any()
    with pytest.raises(CoordinateError, match=r"problem 0 of the batch: .* did not converge"):
        hurried.backpropagate(np.ones_like(hurried.q))
    loss = np.ones_like(hurried.q)
    loss[0] = 0.0
    gradient = hurried.backpropagate(loss, on_failure="nan")[end]
    assert (gradient[0] == 0.0).all()
    assert np.isnan(gradient[1]).all()


def test_the_number_of_threads_changes_no_bit() -> None:
    problem, targets = make_problem()
    many = {name: np.repeat(target, 40, axis=0) for name, target in targets.items()}
    batch = ik.solve_batch(problem, many, threads=2)
    loss = np.random.default_rng(2).normal(size=batch.q.shape)
    one, two = (batch.backpropagate(loss, threads=threads) for threads in (1, 2))
    for name in targets:
        np.testing.assert_array_equal(one[name], two[name])


def make_coupled() -> ik.Skeleton:
    """The menagerie with two hinges that follow others."""
    figure = menagerie()
    couplings = [
        ik.Coupling("oblique.r", "hinge.ry", Polynomial((0.1, 0.5, -0.3))),
        ik.Coupling("euler.rx", "pair.rz", Linear(-0.8)),
    ]
    return ik.Skeleton.build("coupled", figure.bones, figure.markers, couplings)


@pytest.mark.parametrize("make", [menagerie, make_coupled])
def test_gradients_by_poses_are_those_of_differences(make: Callable[[], ik.Skeleton]) -> None:
    skeleton = make()
    rng = np.random.default_rng(6)
    q = np.array([configuration(skeleton, seed) for seed in (0, 1)])
    by_position = rng.normal(size=(2, len(skeleton.bones), 3))
    by_rotation = rng.normal(size=(2, len(skeleton.bones), 3, 3))

    def loss(q: Array) -> Array:
        pose = skeleton.forward(q)
        return np.sum(by_position * pose.positions, axis=(1, 2)) + np.sum(
            by_rotation * pose.rotations, axis=(1, 2, 3)
        )

    told = skeleton.backpropagate(q, by_position, by_rotation)
    for i in range(skeleton.nq):
        step = np.zeros(skeleton.nq)
        step[i] = 1e-6
        seen = (loss(q + step) - loss(q - step)) / 2e-6
        np.testing.assert_allclose(told[:, i], seen, rtol=1e-6, atol=1e-7)
