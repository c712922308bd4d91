"""A problem with other targets is the problem stated anew, and the old one stays as it was."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

import exactik as ik
from exactik.errors import GoalError, NonFiniteError, ShapeError, UnknownNameError
from exactik.goals import pack_batch_targets
from exactik.typing import Array
from tests.support.models import configuration, planar_arm, random_rotation
from tests.support.problems import (
    Range,
    assert_same,
    goals_of_every_kind,
    menagerie,
    positive,
    quantities,
)

PLACES = (ik.MarkerGoal, ik.PositionGoal, ik.AimGoal)
FAR = np.array([1e4, -7e3, 4e3])  # [m] some 13 km away


def scene(**options: Any) -> tuple[ik.Problem, Array]:
    """Two goals of every kind, some of the same name, on every kind of joint; and a place."""
    skeleton = menagerie()
    q = skeleton.clip(configuration(skeleton, 1))
    goals = goals_of_every_kind(skeleton, q, 2) + goals_of_every_kind(skeleton, q, 3)
    return ik.Problem(skeleton, goals, **options), q


def draw_targets(
    problem: ik.Problem, seed: int, origin: ArrayLike = (0.0, 0.0, 0.0)
) -> dict[str, Array]:
    """A new target for every goal that has one; places near an origin."""
    rng = np.random.default_rng(seed)
    targets: dict[str, Array] = {}
    for name, goal in zip(problem.rows, problem.goals, strict=True):
        if isinstance(goal, ik.PoseGoal):
            targets[name] = np.eye(4)
            targets[name][:3, :3] = random_rotation(rng)
            targets[name][:3, 3] = np.asarray(origin) + rng.normal(size=3)
        elif isinstance(goal, ik.OrientationGoal):
            targets[name] = random_rotation(rng)
        elif isinstance(goal, ik.DirectionGoal):
            targets[name] = 3.0 * rng.normal(size=3)
        elif isinstance(goal, PLACES):
            targets[name] = np.asarray(origin) + rng.normal(size=3)
    return targets


def make_problem(problem: ik.Problem, targets: dict[str, Array], **options: Any) -> ik.Problem:
    """The problem with these targets, from the beginning."""
    goals = []
    for name, goal in zip(problem.rows, problem.goals, strict=True):
        if isinstance(goal, ik.OrientationGoal) and name in targets:
            goal = replace(goal, target=targets[name], wxyz=None)
        elif name in targets:
            goal = replace(goal, **{"target": targets[name]})
        goals.append(goal)
    return ik.Problem(problem.skeleton, goals, **options)


def everything(problem: ik.Problem, q: Array) -> dict[str, Array]:
    return {
        **quantities(problem, q),
        "residual": problem.residual(q),
        "jacobian": problem.jacobian(q),
    }


@pytest.mark.parametrize(
    "case", ["plain", "locked", "dense weights", "soft limits", "one at a time", "twice"]
)
def test_new_targets_are_those_of_a_problem_stated_anew(case: str) -> None:
    options: dict[str, Any] = {}
    if case == "locked":
        options = {"lock": ("root", "ball.ex")}
    elif case == "dense weights":
        options = {"weight_matrix": positive(7, scene()[0].residual_size)}
    problem, q = scene(**options)
    targets = draw_targets(problem, 5)
    assert len(targets) == 20 and {"ROOT0#2", "plate", "ball.aim"} <= targets.keys()
    if case == "one at a time":
        for name, target in targets.items():
            moved = problem.with_targets({name: target})
            assert_same(
                everything(moved, q), everything(make_problem(problem, {name: target}), q), 1e-12
            )
            assert moved.cost(q) != problem.cost(q), name
        return
    if case == "soft limits":
        goals = [g for g in problem.goals if not isinstance(g, ik.SoftLimitGoal)]
        problem = ik.Problem(problem.skeleton, goals, limits="soft")
    moved = problem.with_targets(targets)
    if case == "twice":
        moved = problem.with_targets(draw_targets(problem, 6, FAR)).with_targets(targets)
    assert_same(
        everything(moved, q), everything(make_problem(problem, targets, **options), q), 1e-12
    )
    assert moved.rows == problem.rows and moved.residual_size == problem.residual_size


def test_of_goals_with_the_same_name_the_second_is_numbered() -> None:
    arm = planar_arm()
    goals = [ik.PositionGoal("lower", (x, 0.2, 0.0), name="hand") for x in (0.1, 0.2, 0.3)]
    problem = ik.Problem(arm, goals)
    moved = problem.with_targets({"hand#2": (0.5, 0.5, 0.0)})
    places = [np.asarray(goal.target).tolist() for goal in moved.goals if isinstance(goal, PLACES)]
    assert places == [[0.1, 0.2, 0.0], [0.5, 0.5, 0.0], [0.3, 0.2, 0.0]]
    change = moved.residual([0.3, 0.4]) - problem.residual([0.3, 0.4])
    np.testing.assert_allclose(change, [0, 0, 0, 0.3, 0.3, 0, 0, 0, 0], atol=1e-15)


def test_far_targets_lose_no_more_digits_than_far_places_have() -> None:
    problem, q = scene()
    targets = draw_targets(problem, 5, FAR)
    there = q.copy()
    there[:3] += FAR
    moved, new = problem.with_targets(targets), make_problem(problem, targets)
    assert_same(everything(moved, there), everything(new, there), 1e-12)
    # Back home nothing of the journey is left.
    home = draw_targets(problem, 6)
    back = moved.with_targets(home)
    assert_same(everything(back, q), everything(problem.with_targets(home), q), 0.0)


def test_a_goal_that_stays_keeps_its_target_to_the_last_digit() -> None:
    """However far the others have been meanwhile."""
    problem, q = scene()
    home = draw_targets(problem, 5)
    away = {name: FAR * 100.0 for name in home if name.startswith(("ROOT", "EULER", "ball.aim"))}
    start = problem.with_targets(home)
    back = start.with_targets(away).with_targets({name: home[name] for name in away})
    assert_same(everything(back, q), everything(start, q), 1e-14)


def test_the_original_stays_as_it_was() -> None:
    problem, q = scene()
    before, goals = everything(problem, q), problem.goals
    targets = draw_targets(problem, 5)
    moved = problem.with_targets(targets)
    moved.evaluate(q)
    assert_same(everything(problem, q), before, 0.0)
    assert problem.goals is goals and problem is not moved
    # Nor does writing on what was given change the new one.
    after = everything(moved, q)
    for target in targets.values():
        target += 1.0
    assert_same(everything(moved, q), after, 0.0)


def test_goals_show_their_new_targets() -> None:
    problem, _ = scene()
    targets = draw_targets(problem, 5)
    moved = problem.with_targets(targets)
    for name, old, new in zip(problem.rows, problem.goals, moved.goals, strict=True):
        if name not in targets:
            assert new is old
            continue
        assert type(new) is type(old) and np.array_equal(new.weight, old.weight)
        assert isinstance(new, (*PLACES, ik.DirectionGoal, ik.OrientationGoal, ik.PoseGoal))
        np.testing.assert_array_equal(np.asarray(new.target), targets[name])
    assert moved.skeleton is problem.skeleton and moved.limits == problem.limits
    assert repr(moved) == repr(problem)


def test_a_quaternion_gives_way_to_a_matrix() -> None:
    goal = ik.OrientationGoal("lower", wxyz=(0.9, 0.1, 0.2, 0.3), kind="axes")
    turned = random_rotation(np.random.default_rng(0))
    moved = ik.Problem(planar_arm(), [goal]).with_targets({"lower.orientation": turned})
    shown = moved.goals[0]
    assert isinstance(shown, ik.OrientationGoal) and shown.wxyz is None and shown.kind == "axes"
    np.testing.assert_allclose(shown.rotation, turned, atol=1e-15)


@pytest.mark.parametrize("options", [{}, {"limits": "soft", "lock": "quat"}, {"dense": True}])
def test_it_survives_pickling(options: dict[str, Any]) -> None:
    if options.pop("dense", False):
        options = {"weight_matrix": positive(7, scene()[0].residual_size)}
    problem, q = scene(**options)
    moved = problem.with_targets(draw_targets(problem, 5, FAR)).with_targets(
        draw_targets(problem, 6)
    )
    copy = pickle.loads(pickle.dumps(moved))
    assert_same(everything(copy, q), everything(moved, q), 1e-12)
    assert copy.limits == moved.limits and list(copy.rows) == list(moved.rows)
    assert len(copy.goals) == len(moved.goals)
    again = pickle.loads(pickle.dumps(copy.with_targets(draw_targets(problem, 7))))
    assert_same(
        everything(again, q), everything(moved.with_targets(draw_targets(problem, 7)), q), 1e-12
    )


def test_answers_and_judgements_follow_the_new_targets() -> None:
    """What is remembered between problems must not depend on targets."""
    arm = planar_arm()
    problem = ik.Problem(arm, [ik.MarkerGoal("HAND", (0.3, 0.3, 0.0), tolerance=1e-4)])
    assert ik.solve(problem, q0=[0.1, 0.1], starts=3).reached
    beyond = problem.with_targets({"HAND": (2.0, 0.0, 0.0)})
    result = ik.solve(beyond, q0=[0.1, 0.1], starts=3)
    assert not result.reached and result.status == "out-of-reach"
    assert result.goal_errors["HAND"] == pytest.approx(1.3)
    np.testing.assert_allclose(beyond.to_scipy().jac(result.q), 0.0, atol=1e-9)


def test_nearly_rotations_are_made_rotations() -> None:
    """As they are when a goal is stated: rounding of a file is forgiven."""
    problem, q = scene()
    name = "plate"
    target = draw_targets(problem, 5)[name]
    rough = target.copy()
    rough[:3, :3] = np.round(rough[:3, :3], 9)
    moved = problem.with_targets({name: rough})
    assert_same(everything(moved, q), everything(make_problem(problem, {name: rough}), q), 1e-12)


@pytest.mark.parametrize("error", [0.0, 3e-15, 2e-14, 1e-9])
def test_one_target_and_a_batch_are_mended_alike(error: float) -> None:
    """A short test of a single rotation may not let through what a batch would mend."""
    skeleton = planar_arm()
    bone = skeleton.bone_names[-1]
    target = np.eye(4)
    target[:3, :3] = random_rotation(np.random.default_rng(4))
    target[:3, :3] *= 1.0 + 0.5 * error
    problem = ik.Problem(skeleton, [ik.PoseGoal(bone, np.eye(4))])
    one = problem.with_targets({bone: target}).packed.arrays.terms
    batch = pack_batch_targets(problem.goals, problem.packed, {bone: target[None]})
    np.testing.assert_array_equal(one.rotation[1], batch.rotation[0, 1])
    np.testing.assert_array_equal(one.target, batch.target[0])


def test_targets_are_copied_and_goals_made_when_asked() -> None:
    problem, _ = scene()
    place = np.array([0.1, 0.2, 0.3])
    moved = problem.with_targets({"ROOT0": place})
    place[:] = 9.0
    again = moved.with_targets({"ROOT1": (0.0, 0.0, 1.0)})
    goals: dict[str, Any] = dict(zip(again.rows, again.goals, strict=True))
    np.testing.assert_array_equal(goals["ROOT0"].target, [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(goals["ROOT1"].target, [0.0, 0.0, 1.0])
    assert again.goals is again.goals and again.packed is again.packed
    assert len(again.goals) == len(problem.goals)


MISUSE: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "nothing": ({}, GoalError, "no targets were given; name at least one goal"),
    "unknown": ({"palte": np.eye(4)}, UnknownNameError, "did you mean 'plate'"),
    "posture": ({"posture": np.zeros(3)}, GoalError, "has no target to set"),
    "own goal": ({"away": np.zeros(3)}, GoalError, "is a Range, which has no target to set"),
    "shape": ({"plate": np.eye(3)}, ShapeError, "has shape (3, 3); expected (4, 4)"),
    "a batch": ({"ROOT0": np.zeros((5, 3))}, ShapeError, "has shape (5, 3); expected (3"),
    "a number": ({"ROOT0": 0.0}, ShapeError, "has shape (); expected (3"),
    "words": ({"ROOT0": "here"}, ShapeError, "which is no array of real numbers"),
    "not finite": ({"ROOT0": [0, np.inf, 0]}, NonFiniteError, "'ROOT0'"),
    "no direction": ({"plate.direction": [0, 0, 0]}, GoalError, "is the zero vector"),
    "mirror": ({"shift.orientation": -np.eye(3)}, GoalError, "not a rotation matrix"),
    "sheared": ({"plate": np.tri(4).T}, GoalError, "not a rotation matrix"),
    "projective": ({"plate": np.ones((4, 4))}, GoalError, "not a rigid transform"),
}


@pytest.mark.parametrize("case", MISUSE)
def test_misuse_is_told_in_one_sentence(case: str) -> None:
    targets, error, words = MISUSE[case]
    skeleton = menagerie()
    goals = goals_of_every_kind(skeleton, configuration(skeleton, 1), 2)
    goals = [replace(goal, name="away") if isinstance(goal, Range) else goal for goal in goals]
    problem = ik.Problem(skeleton, goals)
    with pytest.raises(error) as caught:
        problem.with_targets(targets)
    assert words in str(caught.value) and "\n" not in str(caught.value)
