"""What a batch returns: the results of all its problems, as arrays."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exactik._arrays import freeze
from exactik._renamed import warn_renamed
from exactik.problem import Problem
from exactik.solvers import CONVERGED_GRADIENT, Certificate, Covariance, Result
from exactik.solvers.batch._backpropagation import backpropagate
from exactik.typing import Array, BoolArray, IntArray


@dataclass(frozen=True, eq=False, repr=False)
class BatchResult:
    """Results of a batch, one entry per problem; all arrays are read-only.

    `batch[i]` is the `Result` of problem i. A slice, a list of numbers or a mask, as for a numpy
    array, picks some: `batch[10:20]` and `batch[~batch.reached]` are batches again.

    Attributes:
        problem: the problem that was solved, with its own targets.
        targets: by name of the goal, (B, …).
        solver: name of the method.
        q: poses, (B, nq).
        cost: (B,).
        projected_gradient: relative, (B,).
        tolerance: relative projected gradient that the method aimed at.
        ended: (B,) of "converged", "stalled", "iteration-limit", "time-limit".
        iterations: (B,).
        evaluations: (B,).
        attempts: (B,).
        seconds: (B,) time spent on each problem, whichever thread it was on; on a GPU its share of
            the whole time.
        device: what solved it: "cpu", or "cuda" and the name of the GPU.
    """

    problem: Problem
    targets: Mapping[str, Array]
    solver: str
    q: Array
    cost: Array
    projected_gradient: Array
    tolerance: float
    ended: NDArray[np.str_]
    iterations: IntArray
    evaluations: IntArray
    attempts: IntArray
    seconds: Array
    device: str = "cpu"
    _term_errors: Array | None = None
    _results: NDArray[np.object_] | None = None  # where loops say more than these arrays, (B,)

    def __len__(self) -> int:
        return len(self.q)

    def __post_init__(self) -> None:
        """Keep what was found as it is."""
        for entry in fields(self):
            if isinstance(getattr(self, entry.name), np.ndarray):
                freeze(getattr(self, entry.name))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # pickles forget that arrays are read-only

    @overload
    def __getitem__(self, i: int | np.integer) -> Result: ...

    @overload
    def __getitem__(self, i: slice | Sequence[int] | IntArray | BoolArray) -> BatchResult: ...

    def __getitem__(
        self, i: int | np.integer | slice | Sequence[int] | IntArray | BoolArray
    ) -> Result | BatchResult:
        """Return the result of problem i; or a batch of those that a numpy index picks."""
        if isinstance(i, slice | Sequence) or (isinstance(i, np.ndarray) and i.ndim > 0):
            return self._pick(i)
        i = range(len(self))[operator.index(cast("int", i))]
        if self._results is not None:
            return self._results[i]
        targets = {name: values[i] for name, values in self.targets.items()}
        return Result(
            problem=self.problem.with_targets(targets),
            solver=self.solver,
            q=self.q[i].copy(),
            cost=float(self.cost[i]),
            projected_gradient=float(self.projected_gradient[i]),
            tolerance=self.tolerance,
            ended=str(self.ended[i]),
            iterations=int(self.iterations[i]),
            evaluations=int(self.evaluations[i]),
            attempts=int(self.attempts[i]),
            seconds=float(self.seconds[i]),
            _term_errors=None if self._term_errors is None else self._term_errors[i],
        )

    def _pick(self, index: slice | Sequence[int] | IntArray | BoolArray) -> BatchResult:
        """Return the batch of some problems."""
        index = np.arange(len(self))[index]
        arrays = {
            entry.name: getattr(self, entry.name)[index]
            for entry in fields(self)
            if isinstance(getattr(self, entry.name), np.ndarray)
        }
        targets = {name: freeze(values[index]) for name, values in self.targets.items()}
        return replace(self, targets=targets, **arrays)

    def __iter__(self) -> Iterator[Result]:
        return (self[i] for i in range(len(self)))

    @cached_property
    def goal_errors(self) -> dict[str, Array]:
        """By how much each goal is missed [m or rad], (B,) each; names as in `Result`."""
        parts = self.problem.packed.error_parts
        if self._term_errors is not None:
            return {part.name: self._term_errors[:, part.terms].max(axis=1) for part in parts}
        each = [result.goal_errors for result in self]
        return {part.name: np.array([errors[part.name] for errors in each]) for part in parts}

    @property
    def misses(self) -> Array:
        """Old name of `goal_errors`, as an array (B, n)."""
        warn_renamed("BatchResult.misses", ".goal_errors")
        columns = [np.empty((len(self), 0)), *(e[:, None] for e in self.goal_errors.values())]
        return np.concatenate(columns, axis=1)

    @property
    def reached(self) -> BoolArray:
        """Whether every goal is within its tolerance, (B,)."""
        if self._results is not None:
            return np.array([result.reached for result in self], bool)
        reached = np.ones(len(self), bool)
        for part in self.problem.packed.error_parts:
            reached &= self.goal_errors[part.name] <= part.tolerance
        return reached

    @property
    def converged(self) -> BoolArray:
        """Whether q is a stationary point within the limits, (B,)."""
        if self._results is not None:
            return np.array([result.converged for result in self], bool)
        aim = max(self.tolerance, CONVERGED_GRADIENT)
        return (self.ended == "converged") | (self.projected_gradient <= aim)

    @cached_property
    def _verdicts(self) -> list[tuple[str, str]]:
        return [(result.status, result.why) for result in self]

    @property
    def status(self) -> NDArray[np.str_]:
        """One word each, (B,)."""
        return np.array([status for status, _ in self._verdicts], dtype=np.str_)

    @property
    def why(self) -> list[str]:
        """One sentence each."""
        return [why for _, why in self._verdicts]

    @property
    def active_limits(self) -> list[Mapping[str, str]]:
        """Dofs that sit on a limit → "lower" or "upper", for each problem."""
        return [result.active_limits for result in self]

    @property
    def certificate(self) -> list[Certificate]:
        """Proof of what kind of place each q is."""
        return [result.certificate for result in self]

    def covariance(self, sigma: float) -> list[Covariance]:
        """Return the error bars of each pose; see `Result.covariance`."""
        return [result.covariance(sigma) for result in self]

    def backpropagate(
        self, gradient: ArrayLike, *, on_failure: str = "raise", threads: int | None = None
    ) -> dict[str, Array]:
        """Return the gradients of a loss by the targets, from that by the solutions.

        Exact, by the implicit function theorem: a solution stays a minimum while its targets move.
        Dofs at limits that the goals push against stay where they are. Where the goals leave
        directions open the pose answers by the shortest motion; a small `PostureGoal` makes that
        unique, and faster.

        Args:
            gradient: of the loss by `q`, (B, nq).
            on_failure: "raise" if a problem is not `settled` or ended in a saddle; "nan" for NaN in
                its place. Problems of which the gradient is zero cannot fail.
            threads: number of threads; one per processor if None.

        Returns:
            name of a goal → gradient by its targets, of their shape. For rotations it is the one
            along rotations: matrices that are none have no solution.
        """
        return backpropagate(self, gradient, on_failure, threads)

    def __repr__(self) -> str:
        reached = int(self.reached.sum())
        return (
            f"<BatchResult: {len(self)} problems, {reached} reached, "
            f"solver {self.solver!r}, device {self.device!r}>"
        )
