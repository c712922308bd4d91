"""Solve one problem, from one start or several."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, ParamSpec, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike

from exactik._options import accepts_options, option
from exactik.errors import UsageError
from exactik.goals import Goal
from exactik.kernels.descent import starts as kernel
from exactik.model import Skeleton
from exactik.problem import VALUE, DofOptions, Problem
from exactik.solvers._compiled_solve import find_compiled_solve
from exactik.solvers._descend import (
    Descent,
    descend,
    raise_if_stopped,
)
from exactik.solvers._goal_errors import (
    compute_goal_errors,
)
from exactik.solvers._method import Method, compute_negligible_cost
from exactik.solvers._registry import resolve_method
from exactik.solvers._result import Result
from exactik.solvers.loops import solve_closed
from exactik.solvers.starts import (
    find_solutions,
    make_start_table,
    require_count,
    require_seed,
    require_start,
)
from exactik.typing import Array

P = ParamSpec("P")


@dataclass(frozen=True, kw_only=True)
class SolveOptions(DofOptions):
    """How a pose is found; limits, locks, strengths and the matrix only where a skeleton is given.

    A `Problem` has its own.
    """

    q0: ArrayLike | None = option(
        None,
        "Where to start, (nq,); moved into the limits first.",
        more="The neutral pose if None.",
        why="It is inside the limits, and far from none of them.",
        unit="rad or m",
    )
    solver: str | Method = option(
        "auto",
        "A name of `list_solvers()`, or a method with options: `Newton(initial_radius=0.5)`.",
        why="See docs/choosing-a-solver.md.",
    )
    starts: int = option(
        1,
        "Number of starts: q0, and others spread over the limits.",
        more="They are tried in the order of their cost until all goals are reached.",
        why="A pose that goes on from the last one needs no other.",
    )
    solutions: int = option(
        1,
        "Number of distinct minima to look for, in `Result.solutions`, cheapest first.",
        more="With starts=1 the search goes on until it finds no more.",
        why="One pose is what most want; the others cost as many descents as they need.",
    )
    seed: int = option(0, "Of the further starts.", why="The same call has the same answer.")
    history: bool = option(
        False, "Whether to record each step.", why="It takes longer than the solve."
    )
    strength: Mapping[str, float] | None = option(
        None, "Name or pattern → how readily dofs move, 1 for the others.", more="See `Problem`."
    )
    weight_matrix: ArrayLike | None = option(
        None, "Of all residuals together, in place of their weights.", more="See `Problem`."
    )


class _Solve(Protocol[P]):
    """`solve` as it is called: its operands, and the fields of `SolveOptions`."""

    def __call__(
        self,
        problem: Problem | Skeleton,
        goals: Sequence[Goal] | Goal | None = None,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Result: ...


def _as_called(options: Callable[P, SolveOptions]) -> Callable[[Any], _Solve[P]]:
    return cast(Any, accepts_options(options))


@_as_called(SolveOptions)
def solve(
    problem: Problem | Skeleton,
    goals: Sequence[Goal] | Goal | None = None,
    options: SolveOptions = SolveOptions(),
) -> Result:
    """Find the pose that meets the goals best, among those in which the figure's loops are closed.

    Not converging is a result, with its reason in `Result.why`; only misuse raises.

    Args:
        problem: what is asked; or a skeleton, and then `goals` and the arguments of `Problem`.
        goals: if a skeleton is given.
        options: fields of `SolveOptions`, as keywords.
    """
    if isinstance(problem, Skeleton):
        if goals is None:
            raise UsageError("a skeleton was given without goals; call solve(skeleton, goals)")
        problem = Problem(
            problem,
            goals,
            limits=options.limits,
            lock=options.lock,
            strength=options.strength,
            weight_matrix=options.weight_matrix,
        )
    elif not isinstance(problem, Problem):
        raise UsageError(f"solve needs a Problem or a Skeleton, not {type(problem).__name__}")
    elif goals is not None:
        raise UsageError("goals were given beside a Problem, which has its own")
    method = resolve_method(options.solver)
    if require_count("solutions", options.solutions) == 1:
        return solve_until_stopped(
            problem,
            method,
            options.q0,
            starts=options.starts,
            seed=options.seed,
            history=options.history,
        )
    return find_solutions(
        problem,
        lambda q: solve_until_stopped(
            problem, method, q, starts=1, seed=0, history=options.history
        ),
        require_start(problem, options.q0),
        count=options.solutions,
        starts=require_count("starts", options.starts),
        seed=require_seed(options.seed),
        negligible_cost=compute_negligible_cost(problem, method.small_cost),
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
    starts, seed = require_count("starts", starts), require_seed(seed)
    q = require_start(problem, q0)

    def solve_open(problem: Problem, method: Method, q: Array, starts: int) -> Result:
        return _solve_open(problem, method, q, starts, seed, history, stop)

    if len(problem.skeleton.loops) > 0:
        return solve_closed(problem, method, q, starts, solve_open)
    return solve_open(problem, method, q, starts)


def _solve_open(
    problem: Problem,
    method: Method,
    q: Array,
    starts: int,
    seed: int,
    history: bool,
    stop: threading.Event | None,
) -> Result:
    """Solve a problem of a figure without loops from q, (nq,), which becomes the answer."""
    compiled = None if history else find_compiled_solve(problem, method, starts, seed)
    if compiled is not None:
        return compiled.solve(problem, q)
    begin = time.perf_counter()
    table = make_start_table(problem, starts - 1, seed)
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
        if best is None or reached or descent.cost < (1.0 - kernel.MIN_GAIN) * best.cost:
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
