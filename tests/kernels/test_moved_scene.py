"""Only what stands between figure and goals counts, not where in the world they are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import ArrayLike

from exactik import (
    AimGoal,
    Bone,
    Goal,
    MarkerGoal,
    PoseGoal,
    PositionGoal,
    PostureGoal,
    Problem,
    Skeleton,
    human,
)
from exactik.lab.check import oracle
from exactik.typing import Array
from tests.support.models import configuration, random_rotation
from tests.support.problems import (
    Range,
    assert_same,
    goals_of_every_kind,
    menagerie,
    quantities,
    transform,
)

FAR = 1e4  # [m]
FOUR_DIGITS = 1e-11  # left of about 1e-15


def on_a_stage(figure: Skeleton, rotation: Array, shift: Array) -> Skeleton:
    """The figure on a bone that turns and shifts the whole world."""
    bones = [
        Bone(
            b.name,
            parent=b.parent or "stage",
            offset=b.offset,
            pre=b.pre,
            joint=b.joint,
            post=b.post,
        )
        for b in figure.bones
    ]
    stage = Bone("stage", offset=shift, pre=rotation)
    return Skeleton.build(figure.name, [stage, *bones], figure.markers)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("turning", [False, True], ids=["shifted", "turned and shifted"])
def test_moving_the_whole_scene_changes_nothing(seed: int, turning: bool):
    """Cost, gradient and Hessian, with goals of every kind, on figures of every joint."""
    rng = np.random.default_rng(seed)
    figure = menagerie()
    q = configuration(figure, seed)
    goals = goals_of_every_kind(figure, q, seed, isotropic=turning)
    rotation = random_rotation(rng) if turning else np.eye(3)
    shift = rng.normal(scale=3.0, size=3)
    moved = Problem(on_a_stage(figure, rotation, shift), transform(goals, rotation, shift))
    assert_same(quantities(moved, q), quantities(Problem(figure, goals), q), 1e-12)


def round_to_grid(array: ArrayLike) -> Array:
    """To multiples of 2⁻³² m, so that adding ten kilometres is exact."""
    return np.round(np.asarray(array, dtype=float) * 2.0**32) / 2.0**32


@dataclass(frozen=True, eq=False)
class Scene:
    figure: Skeleton
    q: Array
    goals: list[Goal]

    def quantities(self) -> dict[str, Array]:
        return quantities(Problem(self.figure, self.goals), self.q)

    def move(self, shift: Array) -> Scene:
        """Shifted by the root's own dofs, which run along the axes of the world."""
        assert self.figure.bones[0].pre is None
        steps = np.concatenate([shift, np.zeros(self.figure.nq - 3)])
        goals = [
            PostureGoal(np.asarray(goal.q_rest) + steps, weight=goal.weight)
            if isinstance(goal, PostureGoal)
            else goal
            for goal in transform(self.goals, np.eye(3), shift)
        ]
        return Scene(self.figure, self.q + steps, goals)


def exact(goal: Goal) -> Goal:
    """The goal with a place that can be shifted without rounding."""
    match goal:
        case MarkerGoal() | PositionGoal() | AimGoal():
            return replace(goal, target=round_to_grid(goal.target))
        case PoseGoal():
            matrix = np.array(goal.target, dtype=float)
            matrix[:3, 3] = round_to_grid(matrix[:3, 3])
            return replace(goal, target=matrix)
        case Range():
            return replace(goal, place=round_to_grid(goal.place))
        case PostureGoal():
            return replace(goal, q_rest=round_to_grid(goal.q_rest))
    return goal


@cache
def crowd() -> Scene:
    """The built-in human in some pose, with 41 markers 0.2 m off and goals of all other kinds."""
    figure = human()
    rng = np.random.default_rng(3)
    q = round_to_grid(rng.uniform(-0.5, 0.5, size=figure.nq))
    pose = figure.forward(q)
    noisy = pose.markers + rng.normal(scale=0.2, size=pose.markers.shape)
    goals: list[Goal] = [MarkerGoal(m, p) for m, p in zip(figure.markers, noisy, strict=True)]
    goals += goals_of_every_kind(figure, q, 3)
    return Scene(figure, q, [exact(goal) for goal in goals])


SHIFTS = [FAR * np.eye(3)[a] for a in range(3)] + [np.array([-FAR, FAR, 0.5 * FAR])]


@pytest.mark.parametrize("shift", SHIFTS, ids=["x", "y", "z", "all"])
def test_ten_kilometres_away_costs_at_most_four_digits(shift: Array):
    """A human with markers and goals of all kinds; coordinates themselves have 1e-12 m left."""
    scene = crowd()
    assert_same(scene.move(shift).quantities(), scene.quantities(), FOUR_DIGITS)


PLACED = ("MarkerGoal", "PositionGoal", "AimGoal", "PoseGoal", "Range")
TURNED = ("DirectionGoal", "OrientationGoal", "PostureGoal")


@pytest.mark.parametrize("kind", PLACED + TURNED)
def test_ten_kilometres_away_costs_at_most_four_digits_for_each_kind_of_goal(kind: str):
    """Each alone, so that none leans on the places that others name."""
    scene = crowd()
    goals = [goal for goal in scene.goals if type(goal).__name__ == kind]
    assert len(goals) > 0
    alone = Scene(scene.figure, scene.q, goals)
    assert_same(alone.move(SHIFTS[-1]).quantities(), alone.quantities(), FOUR_DIGITS)


@pytest.mark.parametrize("far", [1e2, 1e4, 1e6])
@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_one_far_target_costs_the_rest_no_digits(far: float, weight: float):
    """Sums are taken about the root, wherever the targets are; measured against the oracle."""
    figure = human()
    q = configuration(figure, 5)
    pose = figure.forward(q)
    near = [MarkerGoal(m, p + 0.01) for m, p in zip(figure.markers, pose.markers, strict=True)]
    lost = MarkerGoal("LFHD", (far, 0.0, 1.0), weight=weight)
    for goals in ([lost, PostureGoal(q + 0.1, weight=1e-3)], [*near[1:], lost]):
        problem, truth = Problem(figure, goals), oracle.evaluate(figure, goals, q)
        for ours, theirs in (
            (problem.gauss_newton(q), truth.gauss_newton),
            (problem.hessian(q), truth.hessian),
            (problem.gradient(q), truth.gradient),
        ):
            assert np.abs(ours - theirs).max() <= 1e-13 * np.abs(theirs).max()
