"""A solve that is one compiled call: what its calls share is made once and kept with the problem.

A call costs what the solve costs, and some 15 µs: checks of the start, a row of results, and 90
arrays that Numba unpacks.
"""

from __future__ import annotations

import math
import time

import numpy as np

from exactik._arrays import freeze
from exactik.kernels.calculus.workspace import Goals, curvature_rows, new_workspace
from exactik.kernels.descent import starts as kernel
from exactik.kernels.descent.descend import ITERATION_ROUNDING
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
from exactik.kernels.descent.state import Box, new_descent_state
from exactik.kernels.goals.targets import Targets
from exactik.problem import Problem
from exactik.solvers._descend import ENDED_WORDS
from exactik.solvers._goal_errors import compute_term_tolerances, find_weighted_projector
from exactik.solvers._method import CompiledMethod, Method
from exactik.solvers._result import Result, make_result
from exactik.solvers.starts import (
    make_start_table,
)
from exactik.typing import Array

CALL_DOF_PASSES = 10_000_000
"""Dofs × passes of descents that a compiled call may take at worst, since an interrupt (Ctrl-C) is
seen only between calls. A pass costs 0.15 µs a dof, but descents end long before they must: a human
from 340 starts, 0.1 s. Beyond it every descent is a call of its own, 0.05 ms more for each. Results
do not depend on it; tests/solvers/test_interrupts.py does.
"""
NO_TARGETS = Targets(np.empty((0, 3)), np.empty((0, 0, 3)), np.empty((0, 0, 3, 3)))


def can_solve_compiled(problem: Problem, method: Method) -> bool:
    """Whether one compiled call can do it all: no goals in Python, no loops, no clock to watch."""
    on_terms = all(part.has_terms for part in problem.template.error_parts)
    on_terms = on_terms and find_weighted_projector(problem) is None
    open_tree = len(problem.skeleton.loops) == 0
    ready = problem.compiled and on_terms and open_tree and isinstance(method, CompiledMethod)
    return ready and method.max_seconds is None


def count_problems_per_call(problem: Problem, method: CompiledMethod, starts: int) -> int:
    """Return how many problems a compiled call may solve, so that an interrupt is seen in time.

    0 if one alone may take too long; then each descent is a call of its own.
    """
    nv, settings = problem.skeleton.nv, method.settings()
    descents = starts + (2 if settings.get(TRY_DETOUR, 0.0) != 0.0 else 0)
    passes = max(method.max_iterations, 1) * (nv if settings[RULE] == COORDINATE_DESCENT else 1)
    return int(CALL_DOF_PASSES // (descents * passes * max(nv, 1)))


class CompiledSolve:
    """Solves a problem with any targets, in one thread at a time; the buffers of its calls."""

    def __init__(
        self,
        problem: Problem,
        method: CompiledMethod,
        starts: int,
        seed: int,
        *,
        box: Box | None = None,
        goals: Goals | None = None,
        detour: bool = True,
    ):
        """Prepare; `starts` and `seed` as for `solve`.

        `box` and `goals` take the place of the problem's; without `detour` no way around limits is
        tried.
        """
        self.method = method
        self.term_count = len(problem.template.arrays.terms.kind)
        self._tree = problem.skeleton.tree
        # New targets are written to them.
        self._goals = problem.template.copy_arrays() if goals is None else goals
        self._has_own_goals = goals is not None
        options = method.options(problem)
        options[TRY_DETOUR] *= detour
        self._settings = (
            problem.box if box is None else box,
            options,
            compute_term_tolerances(problem),
            make_start_table(problem, starts - 1, seed),
        )
        workspace = new_workspace(self._tree, self._goals)
        width = curvature_rows(workspace).shape[1]
        self._buffers = (new_descent_state(self._tree, width), workspace)

    def run(self, problem: Problem, q: Array, results: Array, term_errors: Array) -> None:
        """Solve from q (1, nq), which becomes the answer; see `solve_problems` for the others.

        The problem may be any that `with_targets` made from the one given first.
        """
        new = problem.new_targets
        targets = NO_TARGETS if new is None else new.packed
        as_packed = new is None and not self._has_own_goals
        goals = problem.packed.arrays if as_packed else self._goals
        arguments = (self._tree, goals, *self._settings, targets, q, results, term_errors)
        kernel.solve_problems(*arguments, *self._buffers)

    def solve(self, problem: Problem, q: Array) -> Result:
        """Solve from q (nq,), which becomes the answer."""
        begin = time.perf_counter()
        results, term_errors = np.empty((1, RESULT_SIZE)), np.empty((1, self.term_count))
        self.run(problem, q[None], results, term_errors)
        seconds = time.perf_counter() - begin
        return self.make_result(problem, q, results, term_errors, seconds)

    def make_result(
        self, problem: Problem, q: Array, results: Array, term_errors: Array, seconds: float
    ) -> Result:
        """Return the result of what `run` wrote; it keeps q (nq,) and the errors."""
        row = results[0].tolist()
        return make_result(
            problem=problem,
            solver=self.method.name,
            q=freeze(q),
            cost=row[RESULT_COST],
            projected_gradient=row[RESULT_PROJECTED_GRADIENT],
            tolerance=self.method.tolerance,
            ended=ENDED_WORDS[int(row[RESULT_STATUS])],
            iterations=math.ceil(row[RESULT_ITERATIONS] - ITERATION_ROUNDING),
            evaluations=int(row[RESULT_EVALUATIONS]),
            attempts=int(row[RESULT_ATTEMPTS]),
            seconds=seconds,
            _term_errors=term_errors[0],
        )


def find_compiled_solve(
    problem: Problem, method: Method, starts: int, seed: int
) -> CompiledSolve | None:
    """Return the solve for calls of this kind, made once a thread; None if Python must take part.

    Args:
        problem: what is asked.
        method: how.
        starts: as for `solve`.
        seed: as for `solve`.
    """

    def make() -> CompiledSolve | None:
        if not isinstance(method, CompiledMethod) or not can_solve_compiled(problem, method):
            return None
        if count_problems_per_call(problem, method, starts) == 0:
            return None
        return CompiledSolve(problem, method, starts, seed)

    if not isinstance(method, CompiledMethod):
        return None
    try:
        return problem.remember_in_thread((method, starts, seed), make)
    except TypeError:  # a method of the user's with an option that is no key
        return make()
