"""Solve one problem, from one start or several."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import require_shape
from exactik.errors import UsageError
from exactik.goals import Goal
from exactik.kernels.calculus.sums import VALUE
from exactik.kernels.descent import starts as kernel
from exactik.kernels.descent.options import COORDINATE_DESCENT, RULE, TRY_DETOUR
from exactik.kernels.descent.results import (
    RESULT_ATTEMPTS,
    RESULT_COST,
    RESULT_EVALUATIONS,
    RESULT_ITERATIONS,
    RESULT_PROJECTED_GRADIENT,
    RESULT_SIZE,
    RESULT_STATUS,
)
from exactik.kernels.descent.starts import StartTable
from exactik.kernels.goals.targets import Targets
from exactik.model import Skeleton
from exactik.problem import Problem
from exactik.solvers._descend import (
    ENDED_WORDS,
    Descent,
    count_iterations,
    descend,
    raise_if_stopped,
)
from exactik.solvers._goal_errors import (
    compute_goal_errors,
    compute_term_tolerances,
    find_weighted_projector,
)
from exactik.solvers._method import CompiledMethod, Method
from exactik.solvers._registry import resolve_method
from exactik.solvers._result import Result
from exactik.solvers._starts import make_start_table
from exactik.typing import Array

__all__ = [
    "can_solve_compiled",
    "count_problems_per_call",
    "require_count",
    "solve",
    "solve_until_stopped",
]

CALL_DOF_PASSES = 4_000_000
"""Dofs × passes of descents that a compiled call may take at worst, since an interrupt (Ctrl-C) is
seen only between calls. A pass costs 0.15 µs a dof, and descents end long before they must: a human
from 180 starts, 0.2 s. Results do not depend on it; tests/solvers/test_interrupts.py does.
"""
NO_TARGETS = Targets(np.empty((0, 3)), np.empty((0, 0, 3)), np.empty((0, 0, 3, 3)))


def solve(
    problem: Problem | Skeleton,
    goals: Sequence[Goal] | Goal | None = None,
    *,
    q0: ArrayLike | None = None,
    solver: str | Method = "auto",
    starts: int = 1,
    seed: int = 0,
    history: bool = False,
    limits: str = "hard",
    lock: str | Iterable[str] = (),
    strength: Mapping[str, float] | None = None,
    weight_matrix: ArrayLike | None = None,
) -> Result:
    """Find a pose that does what is asked, as well as can be.

    Not converging is a result, with its reason in `Result.why`; only misuse raises.

    Args:
        problem: what is asked; or a skeleton, and then `goals` and the arguments of `Problem`.
        goals: if a skeleton is given.
        q0: where to start, (nq,); the neutral pose if None. Moved into the limits first.
        solver: a name of `solvers()`, or a method with options: `Newton(initial_radius=0.5)`.
        starts: number of starts: q0, and others spread over the limits; tried in the order of their
            cost until all goals are reached.
        seed: of the further starts.
        history: whether to record each step.
        limits: see `Problem`.
        lock: see `Problem`.
        strength: see `Problem`.
        weight_matrix: see `Problem`.
    """
    if isinstance(problem, Skeleton):
        if goals is None:
            raise UsageError("a skeleton was given without goals; call solve(skeleton, goals)")
        problem = Problem(
            problem,
            goals,
            limits=limits,
            lock=lock,
            strength=strength,
            weight_matrix=weight_matrix,
        )
    elif not isinstance(problem, Problem):
        raise UsageError(f"solve needs a Problem or a Skeleton, not {type(problem).__name__}")
    elif goals is not None:
        raise UsageError("goals were given beside a Problem, which has its own")
    return solve_until_stopped(
        problem, resolve_method(solver), q0, starts=starts, seed=seed, history=history
    )


def solve_until_stopped(
    problem: Problem,
    method: Method,
    q0: ArrayLike | None,
    *,
    starts: int,
    seed: int,
    history: bool = False,
    stop: threading.Event | None = None,
) -> Result:
    """Solve as `solve` does; raise `Cancelled` soon after another thread sets `stop`."""
    skeleton = problem.skeleton
    q = (
        skeleton.neutral()
        if q0 is None
        else skeleton.normalised(require_shape("q0", q0, skeleton.nq), "q0")
    )
    table = make_start_table(problem, require_count("starts", starts) - 1, seed)
    begin = time.perf_counter()
    if (
        isinstance(method, CompiledMethod)
        and can_solve_compiled(problem, method)
        and count_problems_per_call(problem, method, starts) > 0
        and not history
    ):
        return _solve_compiled(problem, method, q, table, begin)
    outcome = _solve_in_python(problem, method, q, table.q, history, begin, stop)
    seconds = time.perf_counter() - begin
    return Result(
        problem=problem,
        solver=method.name,
        q=outcome.best.q,
        cost=outcome.best.cost,
        projected_gradient=outcome.best.projected_gradient,
        tolerance=method.tolerance,
        ended=outcome.best.ended,
        iterations=outcome.iterations,
        evaluations=outcome.evaluations,
        attempts=outcome.attempts,
        seconds=seconds,
        history=outcome.best.history,
    )


def require_count(name: str, value: int) -> int:
    """Return a count of at least one."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise UsageError(f"{name} is {value!r}; it must be a whole number of at least 1")
    return int(value)


def can_solve_compiled(problem: Problem, method: Method) -> bool:
    """Whether one compiled call can do it all: no goals in Python, no clock to watch."""
    on_terms = all(part.has_terms for part in problem.packed.error_parts)
    on_terms = on_terms and find_weighted_projector(problem) is None
    ready = problem.compiled and on_terms and isinstance(method, CompiledMethod)
    return ready and method.max_seconds is None


def count_problems_per_call(problem: Problem, method: CompiledMethod, starts: int) -> int:
    """Return how many problems a compiled call may solve, so that an interrupt is seen in time.

    0 if one alone may take too long; then each descent is a call of its own.
    """
    nv, settings = problem.skeleton.nv, method.settings()
    descents = starts + (2 if settings.get(TRY_DETOUR, 0.0) != 0.0 else 0)
    passes = max(method.max_iterations, 1) * (nv if settings[RULE] == COORDINATE_DESCENT else 1)
    return int(CALL_DOF_PASSES // (descents * passes * max(nv, 1)))


def _solve_compiled(
    problem: Problem, method: CompiledMethod, q: Array, table: StartTable, begin: float
) -> Result:
    arrays, options = problem.packed.arrays, method.options(problem)
    results = np.empty((1, RESULT_SIZE))
    term_errors = np.empty((1, len(arrays.terms.kind)))
    answer = q[None]
    kernel.solve_problems(
        problem.skeleton.tree,
        arrays,
        problem.box,
        options,
        compute_term_tolerances(problem),
        table,
        NO_TARGETS,
        answer,
        results,
        term_errors,
        problem.descent_state,
        problem.workspace,
    )
    seconds = time.perf_counter() - begin
    row = results[0].tolist()
    return Result(
        problem=problem,
        solver=method.name,
        q=answer[0],
        cost=row[RESULT_COST],
        projected_gradient=row[RESULT_PROJECTED_GRADIENT],
        tolerance=method.tolerance,
        ended=ENDED_WORDS[int(row[RESULT_STATUS])],
        iterations=int(count_iterations(row[RESULT_ITERATIONS])),
        evaluations=int(row[RESULT_EVALUATIONS]),
        attempts=int(row[RESULT_ATTEMPTS]),
        seconds=seconds,
        _term_errors=term_errors[0],
    )


class _Outcome(NamedTuple):
    """The best descent, and counts over all of them."""

    best: Descent
    iterations: int
    evaluations: int
    attempts: int


def _solve_in_python(
    problem: Problem,
    method: Method,
    q: Array,
    table: Array,
    record: bool,
    begin: float,
    stop: threading.Event | None,
) -> _Outcome:
    """Do in Python what `descent.starts` does compiled: for goals in Python, histories, clocks."""
    tolerances = np.array([part.tolerance for part in problem.packed.error_parts])
    best: Descent | None = None
    iterations, evaluations, attempts = 0, 0, 0
    allowed = np.inf if method.max_seconds is None else method.max_seconds
    for start, is_detour in _order_starts(problem, method, q, table, begin + allowed, stop):
        if best is not None and time.perf_counter() > begin + allowed:
            break
        if is_detour and (best is None or not kernel.is_on_limit(problem.box, best.q)):
            break
        descent = None
        for limited in (False, True) if is_detour else (True,):
            descent = descend(
                problem, method, start, record=record, start=begin, limited=limited, stop=stop
            )
            iterations += descent.iterations
            evaluations += descent.evaluations
            start = descent.q
            if not limited:
                kernel.wrap_angles_into_limits(problem.box, start)
        assert descent is not None
        attempts += 1
        reached = bool((compute_goal_errors(problem, descent.q) <= tolerances).all())
        if best is None or reached or descent.cost < best.cost:
            best = descent
        if reached:
            break
    assert best is not None
    return _Outcome(best=best, iterations=iterations, evaluations=evaluations, attempts=attempts)


def _order_starts(
    problem: Problem,
    method: Method,
    q: Array,
    table: Array,
    deadline: float,
    stop: threading.Event | None,
) -> Iterator[tuple[Array, bool]]:
    """Yield starts in the order of their cost; then q once more for the detour, if there is one.

    Starts that cannot be ranked before the deadline come last.
    """
    starts = [q.copy() for _ in range(len(table) + 1)]
    for row, start in zip(table, starts, strict=False):
        kernel.fill_start(q, row, start)
    if len(table) > 0:
        costs, given_index = [np.inf] * len(starts), len(table)
        for k in (given_index, *range(given_index)):
            raise_if_stopped(stop)
            if time.perf_counter() < deadline:
                costs[k] = problem.fill(starts[k], VALUE)[0]
        ranked = sorted(range(len(starts)), key=lambda k: (costs[k], k != given_index, k))
        starts = [starts[k] for k in ranked]
    yield from ((start, False) for start in starts)
    if method.takes_detours:
        yield q.copy(), True
