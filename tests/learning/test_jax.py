# pyright: reportMissingImports=false
"""Solves and poses inside JAX programs: under `jit` and `grad`, beside differences."""

from __future__ import annotations

import numpy as np
import pytest

import exactik as ik
from tests.support.models import planar_arm

jax = pytest.importorskip("jax", reason="JAX is not installed: make test-learning does")
layer = pytest.importorskip("exactik.jax")


@pytest.fixture(autouse=True)
def _double_precision():
    with jax.enable_x64(True):
        yield


def make_problem() -> tuple[ik.Problem, np.ndarray]:
    arm = planar_arm()
    goals = [
        ik.PositionGoal("lower", (0, 0, 0), (0.3, 0, 0)),
        ik.PostureGoal([0.3, 0.5], weight=1e-2),
    ]
    return ik.Problem(arm, goals), np.array([[0.4, 0.2, 0.0], [0.1, 0.9, 0.0]])


def test_gradients_under_jit_are_those_of_differences() -> None:
    problem, targets = make_problem()
    weights = np.random.default_rng(0).normal(size=(2, 2))

    @jax.jit
    def loss(targets):
        return (weights * layer.solve(problem, {"lower": targets}, threads=1)).sum()

    gradient = np.asarray(jax.grad(loss)(targets))
    for index in np.ndindex(2, 2):
        step = np.zeros_like(targets)
        step[index] = 1e-5
        seen = float(loss(targets + step) - loss(targets - step)) / 2e-5
        assert gradient[index] == pytest.approx(seen, rel=1e-5, abs=1e-7)


def test_gradients_of_poses_are_those_of_differences() -> None:
    figure = ik.Skeleton.build("one", [ik.Bone("b", offset=(0.1, 0.2, 0), joint=ik.Joint.free())])
    q = np.random.default_rng(1).normal(size=(1, figure.nq))

    def loss(q):
        positions, rotations = layer.forward(figure, q)
        return positions[..., 0].sum() + (rotations[..., 1, :] ** 3).sum()

    gradient = np.asarray(jax.grad(loss)(q))
    for i in range(figure.nq):
        step = np.zeros_like(q)
        step[0, i] = 1e-6
        seen = float(loss(q + step) - loss(q - step)) / 2e-6
        assert gradient[0, i] == pytest.approx(seen, rel=1e-6, abs=1e-8)


def test_failures_become_nan() -> None:
    problem, targets = make_problem()
    hurried = ik.Newton(max_iterations=1)

    def loss(targets):
        return layer.solve(problem, {"lower": targets}, solver=hurried, threads=1).sum()

    assert np.isnan(loss(targets))
    assert np.isnan(np.asarray(jax.grad(loss)(targets))).all()
