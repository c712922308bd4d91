"""The loop and the stopping test that all methods share."""

from __future__ import annotations

import threading
import time
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from exactik.kernels.descent.descend import ITERATION_ROUNDING, advance, run_descent
from exactik.kernels.descent.state import (
    ACCEPTED_LARGEST_ENTRY,
    CONVERGED,
    COST,
    EVALUATIONS,
    ITERATION_LIMIT,
    ITERATIONS,
    PROJECTED_GRADIENT,
    REQUESTED_ORDER,
    RUNNING,
    STALLED,
    STATUS,
    start_descent,
)
from exactik.problem import Problem
from exactik.solvers._method import (
    CompiledMethod,
    Method,
    PythonMethod,
    compute_negligible_cost,
)
from exactik.solvers._view import View
from exactik.typing import Array, IntArray

# Then the clock is read, and an interrupt (Ctrl-C) seen: 30 ms for a thousand dofs, where reading
# them costs nothing. Results do not depend on it.
PASSES_BETWEEN_CLOCK_READS = 64
MIN_STEP = 1e-14  # [rad or m] below it a step changes nothing


class Cancelled(Exception):
    """A descent was told to stop; its thread ends, and nobody waits for the result."""


def raise_if_stopped(stop: threading.Event | None) -> None:
    """Raise `Cancelled` if another thread said so."""
    if stop is not None and stop.is_set():
        raise Cancelled


class History(NamedTuple):
    """What happened: one entry for the start and one for each accepted step, each (n + 1,).

    Attributes:
        cost: ½ rᵀWr.
        projected_gradient: relative, as in `Certificate`.
        step: largest entry of the step that led here [rad or m].
        control: what the method steers by: damping, radius or length of the step.
        seconds: since the start.
    """

    cost: Array
    projected_gradient: Array
    step: Array
    control: Array
    seconds: Array


class Descent(NamedTuple):
    """How a descent ended.

    Attributes:
        q: the last place, (nq,), inside the limits; the best, for all methods that never go up.
        cost: there.
        projected_gradient: relative, there.
        ended: "converged", "stalled", "iteration-limit" or "time-limit".
        iterations: accepted steps.
        evaluations: of the cost, with or without derivatives.
        history: if asked for.
    """

    q: Array
    cost: float
    projected_gradient: float
    ended: str
    iterations: int
    evaluations: int
    history: History | None


def count_iterations(iterations: ArrayLike) -> IntArray:
    """Return counts of iterations, begun ones included; a sweep of ccd is made of many parts."""
    return np.ceil(np.asarray(iterations) - ITERATION_ROUNDING).astype(np.int64)


class HistoryRecorder:
    """Keeps the time, collects a history where one is wanted, and hears when to stop."""

    def __init__(self, wanted: bool, start: float, stop: threading.Event | None = None):
        """Start at a time of `time.perf_counter`."""
        self.rows: list[tuple[float, float, float, float, float]] | None = [] if wanted else None
        self.start = start
        self.stop = stop

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.perf_counter() - self.start

    def add(self, cost: float, slope: float, step: float, control: float) -> None:
        """Record a place."""
        if self.rows is not None:
            self.rows.append((cost, slope, step, control, self.seconds))

    def history(self) -> History | None:
        """Return all that was recorded."""
        return None if self.rows is None else History(*np.array(self.rows).reshape(-1, 5).T.copy())


def descend(
    problem: Problem,
    method: Method,
    q: Array,
    *,
    record: bool = False,
    start: float | None = None,
    limited: bool = True,
    stop: threading.Event | None = None,
) -> Descent:
    """Run a method.

    Args:
        q: start, (nq,), moved into the limits first.
        record: whether to keep a history.
        start: time of `time.perf_counter` that the time limit counts from; now if None.
        limited: whether to regard the limits; a compiled method can do without.
        stop: set by another thread to raise `Cancelled`.
    """
    recorder = HistoryRecorder(record, time.perf_counter() if start is None else start, stop)
    if isinstance(method, CompiledMethod):
        return _descend_compiled(problem, method, q, recorder, limited)
    assert isinstance(method, PythonMethod)
    return _descend_in_python(problem, method, q, recorder)


def _descend_in_python(
    problem: Problem, method: PythonMethod, q: Array, recorder: HistoryRecorder
) -> Descent:
    """Run a stepper until the stopping test holds."""
    view, ended, n = View(problem), "iteration-limit", 0
    stepper, small = method.stepper(view), compute_negligible_cost(problem, method.small_cost)
    iterate = view.at(view.project(q))
    recorder.add(iterate.cost, iterate.projected_gradient, 0.0, stepper.control)
    while True:
        if iterate.projected_gradient <= method.tolerance or iterate.cost <= small:
            ended = "converged"
            break
        if n >= method.max_iterations:
            break
        if method.max_seconds is not None and recorder.seconds > method.max_seconds:
            ended = "time-limit"
            break
        raise_if_stopped(recorder.stop)
        following = stepper.step(iterate)
        step_size = 0.0
        if following is not None:
            step_size = float(np.abs(view.moved(following.q, iterate.q)).max(initial=0.0))
        if following is None or (step_size < MIN_STEP and not following.is_flatter_than(iterate)):
            ended = "stalled"
            break
        iterate, n = following, n + 1
        recorder.add(iterate.cost, iterate.projected_gradient, step_size, stepper.control)
    return Descent(
        q=iterate.q,
        cost=iterate.cost,
        projected_gradient=iterate.projected_gradient,
        ended=ended,
        iterations=n,
        evaluations=view.evaluations,
        history=recorder.history(),
    )


ENDED_WORDS = {
    RUNNING: "time-limit",
    CONVERGED: "converged",
    STALLED: "stalled",
    ITERATION_LIMIT: "iteration-limit",
}


def _descend_compiled(
    problem: Problem, method: CompiledMethod, q: Array, recorder: HistoryRecorder, limited: bool
) -> Descent:
    """Run a rule of `kernels.descent`; pass by pass where a history is wanted."""
    view, q = View(problem), q.copy()
    options, tree = method.options(problem), problem.skeleton.tree
    descent = problem.descent_state
    state = descent.state
    start_descent(view.box, options, limited, q, descent)
    while state[STATUS] == RUNNING:
        raise_if_stopped(recorder.stop)
        before = state[ITERATIONS] if state[EVALUATIONS] > 0.0 else -1.0
        if problem.compiled:
            arrays = problem.packed.arrays
            passes = 1 if recorder.rows is not None else PASSES_BETWEEN_CLOCK_READS
            run_descent(tree, arrays, view.box, options, q, passes, descent, problem.workspace)
        else:
            value, g, H = problem.fill(descent.trial, int(state[REQUESTED_ORDER]))
            advance(
                tree,
                problem.pattern,
                view.box,
                options,
                q,
                value,
                g,
                H,
                problem.workspace,
                descent,
            )
        if state[ITERATIONS] > before:
            control = method.control(state)
            recorder.add(
                state[COST], state[PROJECTED_GRADIENT], state[ACCEPTED_LARGEST_ENTRY], control
            )
        if method.max_seconds is not None and recorder.seconds > method.max_seconds:
            break
    return Descent(
        q=q,
        cost=float(state[COST]),
        projected_gradient=float(state[PROJECTED_GRADIENT]),
        ended=ENDED_WORDS[int(state[STATUS])],
        iterations=int(count_iterations(state[ITERATIONS])),
        evaluations=int(state[EVALUATIONS]),
        history=recorder.history(),
    )
