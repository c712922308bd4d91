"""Batches: every answer is that of its problem alone, bit for bit, for any batch and threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.errors import GoalError, NonFiniteError, ShapeError, UnknownNameError
from exactik.solvers import METHODS, CompiledMethod, Method, make_start_table
from exactik.solvers.batch import BatchResult
from exactik.typing import Array
from tests.support.models import chain_of, configuration, planar_arm, random_rotation
from tests.support.problems import Range, goals_of_every_kind, menagerie, positive

Targets = dict[str, Array]

B = 6
COMPILED: dict[str, Method] = {
    name: method(max_iterations=3 if name == "ccd" else 30)
    for name, method in METHODS.items()
    if issubclass(method, CompiledMethod)
}
FIELDS = ("q", "cost", "projected_gradient", "ended", "iterations", "evaluations", "attempts")


@cache
def scene(*, custom: bool = False, **options: Any) -> tuple[ik.Problem, Array]:
    """Every kind of joint and goal, and a place to start."""
    skeleton = menagerie()
    q = skeleton.clip(configuration(skeleton, 1))
    goals = goals_of_every_kind(skeleton, q, 2)
    chosen = [goal for goal in goals if custom or not isinstance(goal, Range)]
    return ik.Problem(skeleton, chosen, **options), q


def draw_targets(problem: ik.Problem, count: int = B, seed: int = 0) -> Targets:
    """New targets for every goal that has one."""
    rng = np.random.default_rng(seed)
    targets: Targets = {}
    for name, goal in zip(problem.rows, problem.goals, strict=True):
        shift = rng.normal(scale=0.3, size=(count, 3))
        turned = np.array([random_rotation(rng) for _ in range(count)]).reshape(count, 3, 3)
        if isinstance(goal, ik.PoseGoal):
            targets[name] = np.tile(np.asarray(goal.target), (count, 1, 1))
            targets[name][:, :3, :3] = turned
            targets[name][:, :3, 3] += shift
        elif isinstance(goal, ik.OrientationGoal):
            targets[name] = turned
        elif isinstance(goal, ik.AimGoal):
            targets[name] = np.asarray(goal.target) + shift + 3.0  # too far to crawl into
        elif isinstance(goal, ik.MarkerGoal | ik.PositionGoal | ik.DirectionGoal):
            targets[name] = np.asarray(goal.target) + shift
    return targets


def part(targets: Mapping[str, Array], own: Any) -> Targets:
    return {name: value[own] for name, value in targets.items()}


def assert_equal(batch: BatchResult, other: BatchResult) -> None:
    for name in (*FIELDS, "reached", "solver", "tolerance"):
        np.testing.assert_array_equal(getattr(batch, name), getattr(other, name), name)


def assert_alone(batch: BatchResult, targets: Targets, **options: Any) -> None:
    """Every entry, and every field of it, is what `solve` gives for that problem alone."""
    for i, ours in enumerate(batch):
        theirs = ik.solve(batch.problem.with_targets(part(targets, i)), **options)
        for name in FIELDS:
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), name)
            np.testing.assert_array_equal(getattr(batch, name)[i], getattr(theirs, name), name)
        assert (ours.solver, ours.tolerance) == (theirs.solver, theirs.tolerance)
        assert ours.goal_errors == theirs.goal_errors
        # The kernel works the misses out in another place, where sums may be fused otherwise.
        for name, errors in batch.goal_errors.items():
            expected = theirs.goal_errors[name]
            np.testing.assert_allclose(errors[i], expected, rtol=1e-13, atol=1e-15)


# --- the same answers


def rooted() -> tuple[ik.Problem, Array]:
    """A figure that no start leaves a dof of alone: the starts are placed once for all problems."""
    joints = [ik.Joint.quaternion(), ik.Joint.revolute("y", limits=(-1, 1)), ik.Joint.euler("ZYX")]
    skeleton = chain_of(joints, 3)
    q = configuration(skeleton, 4)
    goals = [goal for goal in goals_of_every_kind(skeleton, q, 8) if not isinstance(goal, Range)]
    return ik.Problem(skeleton, goals), q


@pytest.mark.parametrize(("make", "starts"), [(scene, 1), (scene, 30), (rooted, 30)])
@pytest.mark.parametrize("name", COMPILED)
def test_compiled_answers_depend_on_nothing_but_their_problem(
    name: str, make: Callable[[], tuple[ik.Problem, Array]], starts: int
) -> None:
    problem, q = make()
    targets, method = draw_targets(problem), COMPILED[name]
    options: dict[str, Any] = {"q0": q, "solver": method, "starts": starts, "seed": 3}
    whole = ik.solve_batch(problem, targets, threads=1, **options)
    assert whole.attempts.min() >= starts and len(np.unique(whole.cost)) == B
    assert_alone(whole, targets, **options)
    assert_equal(ik.solve_batch(problem, targets, threads=2, **options), whole)
    assert_equal(ik.solve_batch(problem, targets, threads=5, **options), whole)
    back = ik.solve_batch(problem, part(targets, np.s_[::-1]), threads=1, **options)
    for i in range(B):
        one = ik.solve_batch(problem, part(targets, slice(i, i + 1)), **options)
        for field in FIELDS:
            ours = getattr(whole, field)[i]
            np.testing.assert_array_equal(getattr(one, field)[0], ours)
            np.testing.assert_array_equal(getattr(back, field)[B - 1 - i], ours)


@pytest.mark.parametrize("case", ["python method", "goal in Python", "dense weights", "clock"])
def test_answers_worked_out_in_python_are_the_same_too(case: str) -> None:
    custom = {"custom": True} if case == "goal in Python" else {}
    dense = {"weight_matrix": positive(3, scene()[0].residual_size)}
    problem, q = scene(**custom) if case != "dense weights" else fresh(**dense)
    targets = part(draw_targets(problem), slice(3))
    method: str | Method = "l-bfgs" if case == "python method" else "auto"
    if case in ("clock", "dense weights"):
        method = ik.Auto(max_seconds=100.0) if case == "clock" else ik.Auto(max_iterations=12)
    options: dict[str, Any] = {"q0": q, "solver": method, "starts": 2}
    whole = ik.solve_batch(problem, targets, threads=1, **options)
    assert_alone(whole, targets, **options)
    assert_equal(ik.solve_batch(problem, targets, threads=3, **options), whole)
    assert (whole.seconds > 0.0).all() and whole.q.shape == (3, problem.skeleton.nq)


def fresh(**options: Any) -> tuple[ik.Problem, Array]:
    problem, q = scene()
    return ik.Problem(problem.skeleton, problem.goals, **options), q


def test_a_long_batch_in_many_threads_is_that_of_one() -> None:
    """Chunks of several sizes, more of them than threads."""
    problem, q = scene()
    targets = draw_targets(problem, 150)
    options: dict[str, Any] = {"q0": q, "solver": ik.Auto(max_iterations=5), "starts": 3}
    whole = ik.solve_batch(problem, targets, threads=1, **options)
    for threads in (2, 7, None):
        assert_equal(ik.solve_batch(problem, targets, threads=threads, **options), whole)


def test_each_goal_alone_gets_new_targets_and_the_others_keep_theirs() -> None:
    problem, q = scene()
    targets = draw_targets(problem, 3)
    assert len(targets) == 10
    for name, value in targets.items():
        batch = ik.solve_batch(problem, {name: value}, q0=q)
        assert_alone(batch, {name: value}, q0=q)
        assert len(np.unique(batch.cost)) == 3, name
        pairs = zip(problem.rows, problem.goals, batch[1].problem.goals, strict=True)
        assert [key for key, old, new in pairs if new is not old] == [name]


@pytest.mark.parametrize("solver", ["auto", "l-bfgs"])
def test_starts_are_one_for_all_or_one_each(solver: str) -> None:
    problem, q = scene()
    targets = draw_targets(problem, 3)
    skeleton = problem.skeleton
    own = np.stack([skeleton.clip(configuration(skeleton, seed)) for seed in range(3)])
    own[:, 3:7] *= 2.0  # quaternions of any length
    batch = ik.solve_batch(problem, targets, q0=own, solver=solver)
    for i in range(3):
        alone = ik.solve(problem.with_targets(part(targets, i)), q0=own[i], solver=solver)
        np.testing.assert_array_equal(batch.q[i], alone.q)
    same = ik.solve_batch(problem, targets, q0=np.tile(q, (3, 1)), solver=solver)
    assert_equal(ik.solve_batch(problem, targets, q0=q, solver=solver), same)
    neutral = ik.solve_batch(problem, targets, q0=skeleton.neutral(), solver=solver)
    assert_equal(ik.solve_batch(problem, targets, solver=solver), neutral)


def test_targets_may_be_arrays_of_any_layout_or_lists() -> None:
    problem, q = scene()
    targets = {
        name: value.astype(np.float32).astype(float)
        for name, value in draw_targets(problem).items()
    }
    for name in ("shift.orientation", "euler.orientation", "plate"):
        targets[name] = draw_targets(problem)[name]
    whole = ik.solve_batch(problem, targets, q0=q)
    forms: list[dict[str, Any]] = [
        {name: np.asfortranarray(value) for name, value in targets.items()},
        {name: np.repeat(value, 2, axis=-1)[..., ::2] for name, value in targets.items()},
        {name: value.tolist() for name, value in targets.items()},
        dict(reversed(targets.items())),
    ]
    for form in forms:
        assert_equal(ik.solve_batch(problem, form, q0=q), whole)


# --- what comes back


@pytest.mark.parametrize("count", [3, 1, 0])
@pytest.mark.parametrize("solver", ["auto", "l-bfgs"])
def test_every_field_has_one_entry_per_problem(count: int, solver: str) -> None:
    problem, q = scene()
    targets = draw_targets(problem, count)
    batch = ik.solve_batch(problem, targets, q0=q, solver=solver)
    assert len(batch) == len(list(batch)) == count and f"{count} problems" in repr(batch)
    assert batch.q.shape == (count, problem.skeleton.nq)
    for name in (*FIELDS[1:], "seconds", "reached", "converged", "status"):
        assert getattr(batch, name).shape == (count,), name
    for name in ("why", "active_limits", "certificate"):
        assert len(getattr(batch, name)) == count, name
    assert all(errors.shape == (count,) for errors in batch.goal_errors.values())
    assert (batch.seconds > 0.0).all()
    assert batch.reached.dtype == batch.converged.dtype == bool
    for i, result in enumerate(batch):
        assert isinstance(result, ik.Result)
        assert (result.status, result.why) == (batch.status[i], batch.why[i])
        assert (result.converged, result.reached) == (batch.converged[i], batch.reached[i])
        assert result.active_limits == batch.active_limits[i]
        for name, errors in batch.goal_errors.items():
            assert result.goal_errors[name] == pytest.approx(errors[i], rel=1e-13)
    if count > 0:
        np.testing.assert_array_equal(batch[-1].q, batch.q[-1])
    for index in (count, -count - 1):
        with pytest.raises(IndexError):
            batch[index]


def test_error_bars_of_a_batch_are_those_of_its_results() -> None:
    problem, q = scene()
    batch = ik.solve_batch(problem, draw_targets(problem, 3), q0=q)
    for result, bars in zip(batch, batch.covariance(1e-3), strict=True):
        np.testing.assert_array_equal(bars.matrix, result.covariance(1e-3).matrix)


def test_time_is_shared_out_among_the_problems() -> None:
    problem, q = scene()
    start = time.perf_counter()
    batch = ik.solve_batch(problem, draw_targets(problem, 40), q0=q, threads=1)
    wall = time.perf_counter() - start
    assert 0.0 < batch.seconds.sum() <= wall


def test_a_batch_changes_neither_problem_nor_arguments() -> None:
    problem, q = scene()
    before, start = problem.cost(q), q.copy()
    targets = draw_targets(problem)
    copies = {name: value.copy() for name, value in targets.items()}
    batch = ik.solve_batch(problem, targets, q0=q, starts=3, threads=2)
    assert batch.problem is problem and problem.cost(q) == before
    np.testing.assert_array_equal(q, start)
    for name, value in targets.items():
        np.testing.assert_array_equal(value, copies[name])


def test_targets_may_be_written_on_afterwards() -> None:
    problem, q = scene()
    targets = draw_targets(problem)
    batch = ik.solve_batch(problem, targets, q0=q)
    before = batch[0].goal_errors
    for value in targets.values():
        value += 0.5
    assert batch[0].goal_errors == before


# --- threads


def test_python_runs_on_while_a_batch_is_solved() -> None:
    problem, q = scene()
    targets, done, beats = draw_targets(problem, 256), threading.Event(), []

    def beat() -> None:
        while not done.wait(1e-3):
            beats.append(None)

    heart = threading.Thread(target=beat)
    heart.start()
    try:
        ik.solve_batch(problem, targets, q0=q, threads=1)
    finally:
        done.set()
        heart.join()
    assert len(beats) > 8  # four calls, each of many milliseconds


def test_batches_of_one_problem_run_side_by_side() -> None:
    problem, q = scene()
    sets = [draw_targets(problem, 20, seed) for seed in range(4)]
    alone = [ik.solve_batch(problem, targets, q0=q, threads=1) for targets in sets]
    with ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(ik.solve_batch, problem, targets, q0=q, threads=2) for targets in sets]
        for run, expected in zip(runs, alone, strict=True):
            assert_equal(run.result(timeout=60), expected)


# --- misuse


def arm_problem() -> ik.Problem:
    goals = [
        ik.MarkerGoal("HAND", (0.3, 0.3, 0.0)),
        ik.DirectionGoal("lower", (1, 0, 0), (0, 1, 0)),
        ik.OrientationGoal("lower", np.eye(3)),
        ik.PoseGoal("upper", np.eye(4)),
        ik.PostureGoal([0.0, 0.0]),
        Range("lower", name="range"),
    ]
    return ik.Problem(planar_arm(), goals)


PLACES = np.full((4, 3), 0.2)
TURNS, POSES = np.tile(np.eye(3), (4, 1, 1)), np.tile(np.eye(4), (4, 1, 1))
HAND = {"HAND": PLACES}


def set_entry(array: Array, place: tuple[int, ...], value: float) -> Array:
    array = array.copy()
    array[place] = value
    return array


@pytest.mark.parametrize(
    ("targets", "options", "error", "words"),
    [
        ({}, {}, GoalError, "no targets were given"),
        ({"HND": PLACES}, {}, UnknownNameError, "no goal named 'HND'; did you mean 'HAND'?"),
        ({"posture": PLACES}, {}, GoalError, "'posture' is a PostureGoal, which has no target"),
        ({"range": PLACES}, {}, GoalError, "'range' is a Range, which has no target to set"),
        ({"HAND": PLACES[0]}, {}, ShapeError, "'HAND' has shape"),
        ({"HAND": PLACES[:, :2]}, {}, ShapeError, "'HAND' has shape (4, 2); expected (B, 3)"),
        ({"HAND": 1.0}, {}, ShapeError, "'HAND' has shape"),
        ({"HAND": "here"}, {}, ShapeError, "no array of real numbers"),
        ({"upper": TURNS}, {}, ShapeError, "'upper' has shape (4, 3, 3); expected (B, 4, 4)"),
        ({"HAND": set_entry(PLACES, (2, 1), np.nan)}, {}, NonFiniteError, "'HAND'[2, 1] is nan"),
        ({"lower.direction": 0 * PLACES}, {}, GoalError, "is the zero vector"),
        (
            {"lower.orientation": set_entry(TURNS, (2, 0, 0), 1.1)},
            {},
            GoalError,
            "not a rotation",
        ),
        ({"upper": set_entry(POSES, (1, 0, 0), -1.0)}, {}, GoalError, "not a rotation matrix"),
        ({"upper": set_entry(POSES, (3, 3, 0), 0.1)}, {}, GoalError, "not a rigid transform"),
        ({**HAND, "upper": POSES[:3]}, {}, ShapeError, "'upper' are 3; of others 4"),
        (HAND, {"q0": np.zeros(3)}, ShapeError, "q0 has shape (3,)"),
        (HAND, {"q0": np.zeros((3, 2))}, ShapeError, "expected (2,) or (4, 2)"),
        (HAND, {"q0": [0.0, np.inf]}, NonFiniteError, "q0[1] is inf"),
        (HAND, {"starts": 0}, ik.UsageError, "starts is 0; it must be a whole number"),
        (HAND, {"starts": 1.5}, ik.UsageError, "starts is 1.5; it must be a whole number"),
        (HAND, {"threads": -1}, ik.UsageError, "threads is -1; it must be a whole number"),
        (HAND, {"solver": "nwton"}, UnknownNameError, "did you mean 'newton'"),
    ],
)
def test_misuse_is_told_in_one_sentence(
    targets: dict[str, Any], options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error) as caught:
        ik.solve_batch(arm_problem(), targets, **options)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_no_threads_are_no_number_of_threads() -> None:
    with pytest.raises(ik.UsageError, match="threads is 0; it must be a whole number"):
        ik.solve_batch(arm_problem(), HAND, threads=0)


def test_only_a_problem_has_targets() -> None:
    not_a_problem: Any = planar_arm()
    with pytest.raises(ik.UsageError, match="solve_batch needs a Problem, not Skeleton"):
        ik.solve_batch(not_a_problem, HAND)


# --- starts


def test_starts_are_seeded_and_a_long_table_begins_with_the_short_one() -> None:
    problem = fresh()[0]
    long, short = make_start_table(problem, 50, 3).q, make_start_table(problem, 7, 3).q
    np.testing.assert_array_equal(long[:7], short)
    np.testing.assert_array_equal(make_start_table(fresh()[0], 50, 3).q, long)
    assert not np.array_equal(make_start_table(problem, 7, 4).q, short)
    assert make_start_table(problem, 0, 0).q.shape == (0, problem.skeleton.nq)


def test_starts_fill_the_limits_evenly() -> None:
    problem = fresh(lock=("hinge", "quat", "ball.ex"))[0]
    skeleton, n = problem.skeleton, 2000
    table = make_start_table(problem, n, 0).q
    dof = {name: int(j) for name, j in zip(skeleton.dof_names, skeleton.plain_q, strict=True)}
    rows = {name: table[:, j] for name, j in dof.items() if j >= 0}
    kept = {"root.tx", "root.ty", "root.tz", "hinge.ry", "ball.ex"}  # locked, or without end
    assert {name for name, column in rows.items() if np.isnan(column).any()} == kept
    assert all(np.isnan(rows[name]).all() for name in kept)
    for i, name in enumerate(skeleton.dof_names):
        if name not in rows or name in kept:
            continue
        low, high = max(skeleton.lower[i], -np.pi), min(skeleton.upper[i], np.pi)
        counts, _ = np.histogram(rows[name], bins=10, range=(low, high))
        assert counts.sum() == n and np.abs(counts - n / 10).max() < 0.1 * n / 10, name
    places = dict(skeleton.quaternions)
    assert np.isnan(table[:, places["quat"] : places["quat"] + 4]).all()
    wxyz = table[:, places["root"] : places["root"] + 4]
    np.testing.assert_allclose(np.linalg.norm(wxyz, axis=1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(wxyz.T @ wxyz / n, 0.25 * np.eye(4), atol=0.02)


@pytest.mark.parametrize("limits", [(-10.0, 20.0), (-np.inf, 2.0), (1.0, np.inf), (-4.0, 0.0)])
def test_starts_of_wide_and_open_limits_stay_inside(limits: tuple[float, float]) -> None:
    assert_inside(limits)


@pytest.mark.parametrize("limits", [(4.0, np.inf), (-np.inf, -4.0)])
def test_starts_of_open_limits_beyond_a_turn_stay_inside(limits: tuple[float, float]) -> None:
    assert_inside(limits)


def assert_inside(limits: tuple[float, float]) -> None:
    hinge = ik.Bone("hinge", joint=ik.Joint.revolute("z", limits=limits))
    figure = ik.Skeleton.build("hinge", [hinge])
    table = make_start_table(ik.Problem(figure, [ik.PostureGoal([0.0])]), 200, 0).q
    assert table.min() >= limits[0] and table.max() <= limits[1]
    assert 1.0 < np.ptp(table) < 2.0 * np.pi


def test_further_starts_keep_what_the_table_leaves_open() -> None:
    """Locked dofs and shifts without end stay where the problem starts."""
    problem, q = fresh(lock=("hinge", "quat"))
    q[:3] = 5.0, -3.0, 2.0
    locked = [int(j) for j in problem.skeleton.plain_q[problem.locked] if j >= 0]
    at = dict(problem.skeleton.quaternions)["quat"]
    batch = ik.solve_batch(problem, draw_targets(problem, 2), q0=q, starts=10)
    np.testing.assert_array_equal(batch.q[:, locked], np.tile(q[locked], (2, 1)))
    turns = batch.q[:, at : at + 4]
    np.testing.assert_allclose(np.abs(turns @ q[at : at + 4]), 1.0, rtol=1e-14)
    assert (batch.attempts >= 10).all()
