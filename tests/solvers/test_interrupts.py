"""Ctrl-C stops a long solve soon, on threads too, and no answer depends on how calls are cut."""

from __future__ import annotations

import copy
import signal
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.kernels.descent import starts
from exactik.solvers import (
    BFGS,
    CCD,
    Cancelled,
    Method,
    Newton,
    _compiled_solve,
    count_problems_per_call,
    solve_until_stopped,
)

# Interrupts itself 0.3 s into each call, and every 3 s until the call ends: Python loses one that
# comes in a finaliser. Were they not cut, the last two would go on for hours.
SCRIPT = """
import os, signal, threading
import numpy as np
import exactik as ik

figure = ik.human()
problem = ik.Problem(figure, [ik.PositionGoal("r_hand", (9.0, 0.0, 1.0)),
                              ik.PositionGoal("l_hand", (-9.0, 0.0, 1.0))])
targets = {"r_hand": np.random.default_rng(0).normal(size=(50_000, 3))}
calls = [
    lambda: ik.solve_batch(problem, targets, threads=2),
    lambda: ik.solve_batch(problem, targets, threads=2, starts=15_000),
    lambda: ik.solve(problem, starts=15_000),
]
ik.solve(problem, history=True), ik.solve(problem)
ik.solve_batch(problem, {"r_hand": targets["r_hand"][:4]}, threads=2, starts=2)

def interrupt_until(ended):
    pause = 0.3
    while not ended.wait(pause):
        os.kill(os.getpid(), signal.SIGINT)
        pause = 3.0

for call in calls:
    ended = threading.Event()
    thread = threading.Thread(target=interrupt_until, args=[ended])
    outcome = "finished"
    try:
        thread.start()
        call()
    except KeyboardInterrupt:
        outcome = "interrupted"
    finally:
        ended.set()
    thread.join()
    print(outcome)
"""


@pytest.mark.full
def test_an_interrupt_stops_a_batch_and_a_search() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout.split() == 3 * ["interrupted"]


def test_an_interrupt_drops_the_calls_that_have_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    solve_problems: Any = starts.solve_problems
    begun: list[int] = []

    def interrupting(*arguments: object) -> None:
        begun.append(len(begun))
        if len(begun) == 3:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        solve_problems(*arguments)

    monkeypatch.setattr(starts, "solve_problems", interrupting)
    problem = ik.Problem(ik.human(), ik.PositionGoal("r_hand", (0.4, 0.3, 1.2)))
    targets = {"r_hand": np.random.default_rng(0).normal(size=(50_000, 3))}
    with pytest.raises(KeyboardInterrupt):
        ik.solve_batch(problem, targets, threads=2)
    assert len(begun) < 100  # of 50,000 / 64


@pytest.fixture
def unreachable() -> ik.Problem:
    goals = [ik.PositionGoal("r_hand", (9.0, 0.0, 1.0)), ik.PositionGoal("head", (0.0, 9.0, 1.0))]
    return ik.Problem(ik.human(), goals)


@pytest.mark.parametrize("solver", ["auto", "newton", "ccd"])
def test_descents_in_calls_of_their_own_give_the_same_answer(
    unreachable: ik.Problem, solver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    targets = {"r_hand": np.array([[0.4, 0.3, 1.2], [9.0, 0.0, 1.0]])}
    whole = ik.solve(unreachable, solver=solver, starts=5)
    batch = ik.solve_batch(unreachable, targets, solver=solver, starts=5, threads=2)
    monkeypatch.setattr(_compiled_solve, "CALL_DOF_PASSES", 1)
    unreachable = copy.deepcopy(unreachable)  # which remembers nothing
    cut = ik.solve(unreachable, solver=solver, starts=5)
    cut_batch = ik.solve_batch(unreachable, targets, solver=solver, starts=5, threads=2)
    np.testing.assert_array_equal(cut.q, whole.q)
    assert (cut.cost, cut.ended, cut.status) == (whole.cost, whole.ended, whole.status)
    assert (cut.iterations, cut.evaluations, cut.attempts) == (
        whole.iterations,
        whole.evaluations,
        whole.attempts,
    )
    np.testing.assert_array_equal(cut_batch.q, batch.q)
    np.testing.assert_array_equal(cut_batch.evaluations, batch.evaluations)


def test_a_call_takes_fewer_problems_the_more_they_may_cost() -> None:
    problem = ik.Problem(ik.human(), ik.PositionGoal("r_hand", (0.4, 0.3, 1.2)))
    once = count_problems_per_call(problem, ik.Auto(), 1)
    assert 50 < once < 300  # 500 passes of 58 dofs at most, in three descents
    assert count_problems_per_call(problem, ik.Auto(), 100) < once
    assert count_problems_per_call(problem, ik.Auto(), 15_000) == 0
    assert count_problems_per_call(problem, Newton(max_iterations=10_000_000), 1) == 0
    assert 0 < count_problems_per_call(problem, CCD(), 1) < once


@pytest.mark.parametrize("method", [ik.Auto(), BFGS()])
def test_another_thread_can_cancel_a_solve(unreachable: ik.Problem, method: Method) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(Cancelled):
        solve_until_stopped(unreachable, method, None, starts=15_000, seed=0, stop=stop)


def test_a_fault_on_a_thread_is_raised_and_ends_the_batch() -> None:
    class Faulty(ik.FrameGoal):
        def residual(self, rotation, position):
            if threading.current_thread() is not threading.main_thread():
                raise RuntimeError("broken")
            return np.zeros(1)

    problem = ik.Problem(ik.human(), [Faulty("head"), ik.PositionGoal("r_hand", (0.0, 0.0, 1.0))])
    with pytest.raises(RuntimeError, match="broken"):
        ik.solve_batch(problem, {"r_hand": np.zeros((8, 3))}, threads=2)
