"""A problem that is solved again and again: only targets and start change."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from exactik.errors import UsageError
from exactik.kernels.descent.results import RESULT_COST, RESULT_REACHED, RESULT_SIZE
from exactik.problem import Problem
from exactik.solvers._compiled_solve import CompiledSolve, can_solve_compiled
from exactik.solvers._method import CompiledMethod, Method
from exactik.solvers._registry import resolve_method
from exactik.solvers._result import Result
from exactik.solvers._solve import solve_until_stopped
from exactik.solvers.starts import require_count, require_seed, require_start
from exactik.typing import Array


class Solver:
    """A problem with the buffers to solve it, for loops in which only the targets change.

        solver = ik.Solver(problem)
        while True:
            q = solver.solve(targets={"tool": T})   # from the last answer on

    Answers are, bit for bit, those of `solve(problem.with_targets(…), …)`. After the first call
    nothing of size is allocated, unless the figure has closed loops: a call makes only the targets
    and the pose anew. A `Solver` is for one thread.

    Attributes:
        problem: with the targets of the last call.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        solver: str | Method = "auto",
        starts: int = 1,
        seed: int = 0,
    ):
        """Prepare; the arguments are those of `solve`.

        The method must be compiled and without `max_seconds`, and no goal may be written in Python:
        the time of such calls hardly varies. `max_iterations` bounds it.
        """
        if not isinstance(problem, Problem):
            raise UsageError(f"a Solver needs a Problem, not {type(problem).__name__}")
        method, has_loops = resolve_method(solver), len(problem.skeleton.loops) > 0
        solved = problem.opened_with(()) if has_loops else problem
        if not isinstance(method, CompiledMethod) or not can_solve_compiled(solved, method):
            raise UsageError(
                f"solver {method.name!r} cannot solve this problem in compiled code alone "
                "(methods and goals in Python, coupling weights and time limits cannot); use solve"
            )
        self.problem = problem
        self._how = method, require_count("starts", starts), require_seed(seed)
        self._compiled = None if has_loops else CompiledSolve(problem, *self._how)
        self._result: Result | None = None  # of a figure with closed loops
        self._results = np.zeros((1, RESULT_SIZE))
        self._term_errors = np.zeros((1, len(problem.template.arrays.terms.kind)))
        self._answer: Array | None = None
        self._seconds = 0.0

    def solve(
        self, q0: ArrayLike | None = None, targets: Mapping[str, ArrayLike] | None = None
    ) -> Array:
        """Return the pose, (nq,), the caller's own.

        Args:
            q0: where to start, (nq,); where the last call ended if None, at first the neutral pose.
            targets: new ones, as for `Problem.with_targets`; goals that it does not name keep
                theirs.
        """
        begin = time.perf_counter()
        if targets is not None:
            self.problem = self.problem.with_targets(targets)
        answer = self._answer
        q = answer.copy() if q0 is None and answer is not None else require_start(self.problem, q0)
        if self._compiled is None:
            method, starts, seed = self._how
            self._result = solve_until_stopped(self.problem, method, q, starts=starts, seed=seed)
            q = self._result.q.copy()
            reached, cost = float(self._result.reached), self._result.cost
            self._results[0, [RESULT_REACHED, RESULT_COST]] = reached, cost
        else:
            self._compiled.run(self.problem, q[None], self._results, self._term_errors)
        self._answer = q
        self._seconds = time.perf_counter() - begin
        return q.copy()

    @property
    def reached(self) -> bool:
        """Whether the last answer has every goal within its tolerance."""
        return bool(self._results[0, RESULT_REACHED] != 0.0)

    @property
    def cost(self) -> float:
        """½ rᵀWr of the last answer."""
        return float(self._results[0, RESULT_COST])

    def result(self) -> Result:
        """Return the last answer as a `Result`, which later calls do not change."""
        if self._answer is None:
            raise UsageError("nothing was solved yet; call solve first")
        if self._result is not None:
            return self._result
        assert self._compiled is not None
        return self._compiled.make_result(
            self.problem,
            self._answer.copy(),
            self._results,
            self._term_errors.copy(),
            self._seconds,
        )
