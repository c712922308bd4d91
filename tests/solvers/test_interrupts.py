"""Ctrl-C stops a long solve soon, on threads too, and no answer depends on how calls are cut."""

from __future__ import annotations

import copy
import subprocess
import sys
import threading

import numpy as np
import pytest

import exactik as ik
from exactik.solvers import (
    Cancelled,
    Newton,
    _compiled_solve,
    count_problems_per_call,
    solve_until_stopped,
)

# Interrupts itself 0.3 s into each call, and prints how long the call went on after that.
SCRIPT = """
import os, signal, threading, time
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
# Compiled and loaded now: where LLVM calls back into Python, an interrupt would be lost.
ik.solve(problem, history=True), ik.solve(problem)
ik.solve_batch(problem, {"r_hand": targets["r_hand"][:4]}, threads=2, starts=2)

def interrupt():
    global sent
    sent = time.perf_counter()
    os.kill(os.getpid(), signal.SIGINT)

for call in calls:
    timer = threading.Timer(0.3, interrupt)
    timer.start()
    try:
        call()
        print("finished")
    except KeyboardInterrupt:
        print(time.perf_counter() - sent)
"""


def test_an_interrupt_stops_a_batch_and_a_search_within_half_a_second() -> None:
    seconds: list[float] = []
    for _ in range(3):  # on a machine that others use, the best of three
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=300, check=True
        )
        seconds = [float(line) for line in done.stdout.split()]
        assert len(seconds) == 3
        if max(seconds) < 0.5:
            break
    assert max(seconds) < 0.5


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
    assert 0 < count_problems_per_call(problem, ik.CCD(), 1) < once


@pytest.mark.parametrize("method", [ik.Auto(), ik.BFGS()])
def test_another_thread_can_cancel_a_solve(unreachable: ik.Problem, method: ik.Method) -> None:
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
