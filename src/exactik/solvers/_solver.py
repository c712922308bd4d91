"""One problem solved again and again: for control loops."""

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
from exactik.solvers._solve import require_count, require_start
from exactik.solvers._starts import require_seed
from exactik.typing import Array

__all__ = ["Solver"]


class Solver:
    """A problem with the buffers to solve it, for loops that ask it with ever new targets.

        solver = ik.Solver(problem)
        while True:
            q = solver.solve(targets={"tool": T})   # from the last answer on

    Answers are, bit for bit, those of `solve(problem.with_targets(…), …)`. After the first call
    nothing of size is allocated: what a call makes anew are the targets and the pose. Not for two
    threads at once; one each.

    Attributes:
        problem: what was asked last.
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

        The method must be compiled and without `max_seconds`, the goals none of Python's: only such
        calls take the same time again and again. `max_iterations` bounds it.
        """
        if not isinstance(problem, Problem):
            raise UsageError(f"a Solver needs a Problem, not {type(problem).__name__}")
        method = resolve_method(solver)
        if not isinstance(method, CompiledMethod) or not can_solve_compiled(problem, method):
            raise UsageError(
                f"solver {method.name!r} cannot solve this problem in compiled code alone "
                "(methods and goals in Python, coupling weights and time limits cannot); use solve"
            )
        starts, seed = require_count("starts", starts), require_seed(seed)
        self.problem = problem
        self._compiled = CompiledSolve(problem, method, starts, seed)
        self._results = np.zeros((1, RESULT_SIZE))
        self._term_errors = np.zeros((1, self._compiled.term_count))
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
        """Return the last answer with all that can be asked of it; it stays what it is."""
        if self._answer is None:
            raise UsageError("nothing was solved yet; call solve first")
        return self._compiled.make_result(
            self.problem,
            self._answer.copy(),
            self._results,
            self._term_errors.copy(),
            self._seconds,
        )
