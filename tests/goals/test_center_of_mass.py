"""The centre of mass: at a place, over bones that move, inside a polygon; exact derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import exactik as ik
from exactik.errors import GoalError
from exactik.lab.check import random_coordinates, random_skeleton
from exactik.lab.check.oracle import evaluate
from exactik.model import BoneMass
from exactik.typing import Array

HUMAN = ik.human()
FEET = ("l_foot", "r_foot")
SQUARE = [(0.3, 0.2), (0.3, -0.2), (0.5, -0.2), (0.5, 0.2), (0.4, 0.0)]


def draw_masses(rng: np.random.Generator, figure: ik.Skeleton) -> ik.Skeleton:
    """The figure with a mass on every bone."""
    masses = {
        name: BoneMass(float(rng.uniform(0.1, 3)), tuple(rng.normal(scale=0.2, size=3).tolist()))
        for name in figure.bone_names
    }
    return ik.Skeleton(figure.name, figure.bones, figure.markers, figure.couplings, masses=masses)


def centre(q: Array) -> Array:
    """Where the centre of mass of the human is, by its masses [m]."""
    pose, masses = HUMAN.forward(q), HUMAN.masses
    total = sum(mass.mass for mass in masses.values())
    moments = [m.mass * pose.point(name, m.center) for name, m in masses.items()]
    return np.sum(moments, axis=0) / total


@pytest.mark.parametrize("seed", range(6))
def test_derivatives_are_those_of_the_oracle(seed: int) -> None:
    """Alone, beside goals on one body and two, and with a weight that couples all rows."""
    rng = np.random.default_rng(seed)
    figure = draw_masses(rng, random_skeleton(rng))
    while len(figure.bones) < 2:
        figure = draw_masses(rng, random_skeleton(rng))
    names, q = figure.bone_names, random_coordinates(rng, figure)
    W = rng.normal(size=(3, 3))
    polygon = rng.normal(size=(5, 2)) + rng.normal(size=2)
    goals = [
        ik.CenterOfMassGoal(rng.normal(size=3), weight=W @ W.T),
        ik.CenterOfMassGoal(over=(names[0], names[-1]), weight=0.7),
        ik.CenterOfMassGoal(inside=polygon, band=0.5, bones=names[::2]),
        ik.PositionGoal(names[-1], rng.normal(size=3), relative_to=names[0]),
        ik.PositionGoal(names[-1], rng.normal(size=3)),
    ]
    goals = goals[seed % 3 :: 1 + seed // 3]
    size = ik.Problem(figure, goals).residual_size
    A = rng.normal(size=(size, size))
    for weight_matrix in (None, A @ A.T / size):
        problem = ik.Problem(figure, goals, weight_matrix=weight_matrix)
        truth = evaluate(figure, goals, q, weight_matrix=weight_matrix)
        for ours, theirs in (
            (problem.residual(q), truth.residual),
            (problem.jacobian(q), truth.jacobian),
            (problem.gradient(q), truth.gradient),
            (problem.gauss_newton(q), truth.gauss_newton),
            (problem.hessian(q), truth.hessian),
        ):
            assert np.abs(ours - theirs).max() <= 1e-11 * max(np.abs(theirs).max(), 1e-3)


def test_the_centre_goes_to_a_place_over_the_feet_and_inside_a_polygon() -> None:
    stand = [ik.PositionGoal(foot, HUMAN.forward(HUMAN.neutral()).point(foot)) for foot in FEET]
    place = centre(HUMAN.neutral()) + np.array([0.1, 0.05, -0.1])
    at = ik.solve(HUMAN, [*stand, ik.CenterOfMassGoal(place)])
    assert at.reached
    np.testing.assert_allclose(centre(at.q), place, atol=1e-6)

    lunge = [
        stand[0],
        ik.PositionGoal("r_foot", np.asarray(stand[1].target) + np.array([0.5, 0.1, 0])),
    ]
    over = ik.solve(HUMAN, [*lunge, ik.CenterOfMassGoal(over=FEET)])
    pose = HUMAN.forward(over.q)
    middle = np.mean([pose.point(foot) for foot in FEET], axis=0)
    assert over.reached
    np.testing.assert_allclose(centre(over.q)[:2], middle[:2], atol=1e-6)

    inside = ik.solve(HUMAN, [*stand, ik.CenterOfMassGoal(inside=SQUARE)])
    x, y, _ = centre(inside.q)
    assert inside.reached and 0.299 < x < 0.501 and abs(y) < 0.201
    already = ik.Problem(HUMAN, ik.CenterOfMassGoal(inside=[(-9, -9), (9, -9), (0, 9)]))
    cost, g, H = already.evaluate(HUMAN.neutral())
    assert cost == 0.0 and not g.any() and not H.any()


def test_the_centre_of_some_bones() -> None:
    arm = ("l_upper_arm", "l_forearm", "l_hand")
    place = np.array([0.2, 0.4, 1.3])
    result = ik.solve(HUMAN, ik.CenterOfMassGoal(place, bones=arm))
    pose, total = HUMAN.forward(result.q), sum(HUMAN.masses[name].mass for name in arm)
    seen = sum(HUMAN.masses[n].mass * pose.point(n, HUMAN.masses[n].center) for n in arm) / total
    np.testing.assert_allclose(seen, place, atol=1e-6)


def test_errors_sensitivities_and_batches() -> None:
    goals = [ik.CenterOfMassGoal((0.3, 0.1, 0.9)), ik.PostureGoal(HUMAN.neutral(), weight=0.05)]
    method = ik.Newton(tolerance=1e-14)
    problem = ik.Problem(HUMAN, goals, limits="off")
    result = ik.solve(problem, solver=method)
    miss = np.linalg.norm(centre(result.q) - np.array([0.3, 0.1, 0.9]))
    assert result.goal_errors["centre of mass"] == pytest.approx(miss, rel=1e-9)
    moved, h = result.sensitivity()["centre of mass"], 1e-4
    for axis in range(3):
        ends = []
        for step in (h, -h):
            target = np.array([0.3, 0.1, 0.9]) + step * np.eye(3)[axis]
            near = problem.with_targets({"centre of mass": target})
            ends.append(ik.solve(near, q0=result.q, solver=method).q)
        np.testing.assert_allclose(moved[:, axis], HUMAN.difference(*ends) / (2 * h), atol=1e-6)
    targets = np.array([[0.3, 0.1, 0.9], [0.2, 0.0, 0.8]])
    batch = ik.solve_batch(problem, {"centre of mass": targets})
    for target, q in zip(targets, batch.q, strict=True):
        assert (ik.solve(problem.with_targets({"centre of mass": target})).q == q).all()
    assert np.isfinite(result.covariance(1e-3).sd).all()


def test_what_cannot_be_met_is_said() -> None:
    still = ik.solve(HUMAN, ik.CenterOfMassGoal((0, 0, 9)), lock="*")
    assert still.status == "out-of-reach" and "centre of mass" in still.why
    for make, said in (
        (lambda: ik.CenterOfMassGoal(), "needs one of"),
        (lambda: ik.CenterOfMassGoal((0, 0, 1), over=FEET), "needs one of"),
        (lambda: ik.CenterOfMassGoal(over=FEET, weight=(1, 2, 3)), "one number"),
        (lambda: ik.Problem(HUMAN, ik.CenterOfMassGoal(inside=[(0, 0), (1, 1), (2, 2)])), "area"),
        (lambda: ik.Problem(HUMAN, ik.CenterOfMassGoal(inside=[(0, 0, 1)])), "corners"),
        (lambda: ik.Problem(bare(), ik.CenterOfMassGoal((0, 0, 1))), "no mass"),
    ):
        with pytest.raises(GoalError, match=said):
            make()
    with pytest.raises(ik.ExactikError, match="l_fot"):
        ik.Problem(HUMAN, ik.CenterOfMassGoal(over=("l_fot",)))


def bare() -> ik.Skeleton:
    """A figure without masses."""
    return ik.Skeleton.build("bare", [ik.Bone("arm", joint=ik.Joint.revolute("z"))])


def test_only_a_place_is_a_target() -> None:
    figure = ik.human()
    over = ik.Problem(figure, ik.CenterOfMassGoal(over=FEET, name="balance"))
    with pytest.raises(GoalError, match="balance"):
        over.with_targets({"balance": (0.0, 0.0, 1.0)})
    place = ik.Problem(figure, ik.CenterOfMassGoal(target=(0.0, 0.0, 1.0), name="balance"))
    assert place.with_targets({"balance": (0.1, 0.0, 1.0)}).cost(figure.neutral()) > 0.0
