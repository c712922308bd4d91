"""Calls that are made again and again: the same answers, from what the first call left behind."""

from __future__ import annotations

import threading
import tracemalloc
from dataclasses import dataclass, field

import numpy as np
import pytest

import exactik as ik
from exactik.errors import ShapeError

TOOL = "r_hand"


@pytest.fixture(scope="module")
def problem() -> ik.Problem:
    goals = [ik.PoseGoal(TOOL, np.eye(4)), ik.PositionGoal("l_hand", (-0.3, 0.3, 1.1))]
    return ik.Problem(ik.human(), goals)


@pytest.fixture(scope="module")
def targets(problem: ik.Problem) -> list[dict[str, np.ndarray]]:
    figure, rng = problem.skeleton, np.random.default_rng(0)
    poses = [figure.clip(rng.normal(scale=0.4, size=figure.nq)) for _ in range(6)]
    places = [figure.forward(q) for q in poses]
    k = figure.bone_index(TOOL)
    transforms = np.tile(np.eye(4), (len(places), 1, 1))
    transforms[:, :3, :3] = [place.rotations[k] for place in places]
    transforms[:, :3, 3] = [place.positions[k] for place in places]
    return [{TOOL: T} for T in transforms]


def make_fresh(problem: ik.Problem, targets: dict[str, np.ndarray]) -> ik.Problem:
    """The same problem as if it were the first."""
    goals = [ik.PoseGoal(TOOL, targets[TOOL]), *problem.goals[1:]]
    return ik.Problem(problem.skeleton, goals)


@pytest.mark.parametrize("starts", [1, 5])
def test_a_solver_gives_what_solve_gives(problem, targets, starts: int) -> None:
    solver, q = ik.Solver(problem, starts=starts, seed=3), problem.skeleton.neutral()
    for new in [*targets, targets[0]]:
        wanted = ik.solve(make_fresh(problem, new), q0=q, starts=starts, seed=3)
        warm = solver.solve(targets=new)  # from where the last call ended, as q is
        np.testing.assert_array_equal(warm, wanted.q)
        assert (solver.reached, solver.cost) == (wanted.reached, wanted.cost)
        result = solver.result()
        assert (result.why, result.evaluations) == (wanted.why, wanted.evaluations)
        assert result.goal_errors == wanted.goal_errors
        q = warm
    cold = solver.solve(problem.skeleton.neutral(), targets[2])
    wanted = ik.solve(problem.with_targets(targets[2]), starts=starts, seed=3)
    np.testing.assert_array_equal(cold, wanted.q)
    np.testing.assert_array_equal(solver.solve(problem.skeleton.neutral()), wanted.q)


def test_answers_of_a_solver_are_the_callers(problem, targets) -> None:
    solver = ik.Solver(problem)
    first = solver.solve(targets=targets[0])
    kept, result = first.copy(), solver.result()
    why = result.why
    first[:] = 7.0
    np.testing.assert_array_equal(solver.result().q, kept)
    solver.solve(targets=targets[1])
    np.testing.assert_array_equal(result.q, kept)
    assert result.why == why and not result.q.flags.writeable


def test_a_solver_allocates_little_after_its_first_call(problem, targets) -> None:
    solver = ik.Solver(problem, starts=30)
    solver.solve(targets=targets[0])
    tracemalloc.start()
    for new in targets:
        solver.solve(targets=new)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000  # a workspace of the human alone has 200 kB


def test_a_solver_refuses_what_it_cannot_promise(problem) -> None:
    for wrong in ("bfgs", ik.Auto(max_seconds=1.0)):
        with pytest.raises(ik.UsageError, match="compiled code alone"):
            ik.Solver(problem, solver=wrong)
    with pytest.raises(ik.UsageError, match="needs a Problem"):
        ik.Solver(problem.skeleton)
    with pytest.raises(ik.UsageError, match="starts"):
        ik.Solver(problem, starts=True)
    with pytest.raises(ik.UsageError, match="call solve first"):
        ik.Solver(problem).result()
    with pytest.raises(ShapeError, match=r"q0 has shape \(2,\)"):
        ik.Solver(problem).solve(np.zeros(2))


def test_what_a_problem_remembers_changes_no_answer(problem, targets) -> None:
    kinds = [
        ("auto", 1, 0),
        ("newton", 1, 0),
        ("auto", 4, 0),
        ("auto", 4, 1),
        (ik.Auto(detour=False), 2, 0),
    ]
    for _ in range(2):
        for new in targets[:3]:
            for solver, starts, seed in kinds:
                options = {"solver": solver, "starts": starts, "seed": seed}
                wanted = ik.solve(make_fresh(problem, new), **options)
                result = ik.solve(problem.with_targets(new), **options)
                np.testing.assert_array_equal(result.q, wanted.q)
                assert result.goal_errors == wanted.goal_errors
                assert result.iterations == wanted.iterations
                ik.solve(problem)  # its own targets are not those of the call before
    np.testing.assert_array_equal(
        ik.solve(problem).q, ik.solve(make_fresh(problem, {TOOL: np.eye(4)})).q
    )
    for k in range(20):  # more kinds of calls than are remembered
        assert ik.solve(problem, seed=k).cost == ik.solve(problem).cost
    with pytest.raises(ik.UsageError, match="starts is True"):
        ik.solve(problem, starts=True)  # though 1 is remembered


def test_threads_do_not_share_what_is_remembered(problem, targets) -> None:
    wanted = [ik.solve(make_fresh(problem, new)).q for new in targets]
    answers: list[list[np.ndarray]] = [[] for _ in targets]

    def solve_often(k: int) -> None:
        for _ in range(30):
            answers[k].append(ik.solve(problem.with_targets(targets[k])).q)

    threads = [threading.Thread(target=solve_often, args=(k,)) for k in range(len(targets))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for own, q in zip(answers, wanted, strict=True):
        assert len(own) == 30 and all((answer == q).all() for answer in own)


def test_a_method_with_an_option_that_is_no_key_works(problem) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Listed(ik.Auto):
        extra: list[int] = field(default_factory=list)

    np.testing.assert_array_equal(ik.solve(problem, solver=Listed()).q, ik.solve(problem).q)
