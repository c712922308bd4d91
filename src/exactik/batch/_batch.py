"""Solve one problem for many targets.

Problems are dealt out to threads in chunks; a chunk is one compiled call that does not hold
Python's lock. An answer depends on nothing but its problem: not on the batch, not on the threads.
"""

from __future__ import annotations

import operator
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exactik._arrays import as_floats, freeze
from exactik._threads import run_in_threads
from exactik.batch._device import choose_batch_gpu
from exactik.errors import ShapeError, UsageError
from exactik.goals import pack_batch_targets
from exactik.kernels.calculus.workspace import new_workspace
from exactik.kernels.descent import starts as kernel
from exactik.kernels.descent.results import (
    RESULT_ATTEMPTS,
    RESULT_COST,
    RESULT_CYCLES,
    RESULT_EVALUATIONS,
    RESULT_ITERATIONS,
    RESULT_PROJECTED_GRADIENT,
    RESULT_SIZE,
    RESULT_STATUS,
)
from exactik.kernels.descent.state import new_descent_state
from exactik.kernels.goals.targets import Targets
from exactik.problem import Problem
from exactik.solvers import (
    CONVERGED_GRADIENT,
    ENDED_WORDS,
    Certificate,
    CompiledMethod,
    Covariance,
    Method,
    Result,
    can_solve_compiled,
    compute_term_tolerances,
    count_iterations,
    count_problems_per_call,
    make_start_table,
    require_count,
    resolve_method,
    solve_until_stopped,
)
from exactik.typing import Array, BoolArray, IntArray

__all__ = ["BatchResult", "solve_batch"]


CHUNK_PROBLEMS = 64  # problems a compiled call; fewer where threads would have nothing to do


@dataclass(frozen=True, eq=False, repr=False)
class BatchResult:
    """Results of a batch, one entry per problem; all arrays are read-only.

    `batch[i]` is the `Result` of problem i. A slice, a list of numbers or a mask, as for a numpy
    array, picks some: `batch[10:20]` and `batch[~batch.reached]` are batches again.

    Attributes:
        problem: what was asked, with the targets it had itself.
        targets: by name of the goal, (B, …).
        solver: name of the method.
        q: poses, (B, nq).
        cost: (B,).
        projected_gradient: relative, (B,).
        tolerance: relative projected gradient that the method aimed at.
        ended: (B,) of "at-rest", "stalled", "iteration-limit", "time-limit".
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
    def misses(self) -> Array:
        """Goal errors in the order of `goal_errors` [m or rad], (B, n)."""
        parts = self.problem.packed.error_parts
        if self._term_errors is None:
            return np.array([result.misses for result in self]).reshape(len(self), len(parts))
        columns = [self._term_errors[:, part.terms].max(axis=1) for part in parts]
        return np.stack(columns, axis=1) if len(columns) > 0 else np.empty((len(self), 0))

    @property
    def goal_errors(self) -> dict[str, Array]:
        """By how much each goal is missed [m or rad], (B,) each; names as in `Result`."""
        parts = self.problem.packed.error_parts
        return {part.name: self.misses[:, k] for k, part in enumerate(parts)}

    @property
    def reached(self) -> BoolArray:
        """Whether every goal is within its tolerance, (B,)."""
        allowed = np.array([part.tolerance for part in self.problem.packed.error_parts])
        return np.asarray((self.misses <= allowed).all(axis=1))

    @property
    def converged(self) -> BoolArray:
        """Whether q is a stationary point within the limits, (B,)."""
        aim = max(self.tolerance, CONVERGED_GRADIENT)
        return (self.ended == "at-rest") | (self.projected_gradient <= aim)

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

    def __repr__(self) -> str:
        reached = int(self.reached.sum())
        return (
            f"<BatchResult: {len(self)} problems, {reached} reached, "
            f"solver {self.solver!r}, device {self.device!r}>"
        )


def solve_batch(
    problem: Problem,
    targets: Mapping[str, ArrayLike],
    *,
    q0: ArrayLike | None = None,
    solver: str | Method = "auto",
    starts: int = 1,
    seed: int = 0,
    threads: int | None = None,
    device: str = "cpu",
) -> BatchResult:
    """Solve a problem for many targets.

    Each answer is, bit for bit, that of `solve(problem.with_targets(…), …)`; on a GPU it is the
    same but for rounding (docs/gpu.md).

    Args:
        problem: what is asked.
        targets: name of a goal → its targets, (B, 3), (B, 3, 3) or (B, 4, 4) as the goal takes
            them; other goals keep theirs.
        q0: where to start, (nq,) or (B, nq); the neutral pose if None.
        solver: as for `solve`.
        starts: as for `solve`.
        seed: as for `solve`.
        threads: number of threads; one per processor if None.
        device: "cpu"; "cuda" for a GPU of NVIDIA's, on which a warning tells of problems that
            cannot run there; "auto" takes the GPU if there is one and the batch is worth it.
            `BatchResult.device` tells what was taken.
    """
    if not isinstance(problem, Problem):
        raise UsageError(f"solve_batch needs a Problem, not {type(problem).__name__}")
    method, skeleton = resolve_method(solver), problem.skeleton
    packed = pack_batch_targets(problem.goals, problem.packed, targets)
    count = len(packed.origin)
    first = skeleton.neutral() if q0 is None else skeleton.normalised(as_floats("q0", q0), "q0")
    if first.shape not in ((skeleton.nq,), (count, skeleton.nq)):
        expected = f"({skeleton.nq},) or ({count}, {skeleton.nq})"
        raise ShapeError(f"q0 has shape {first.shape}; expected {expected}")
    q = np.broadcast_to(first, (count, skeleton.nq)).copy()
    workers = (os.cpu_count() or 1) if threads is None else require_count("threads", threads)
    workers, further = min(workers, max(count, 1)), require_count("starts", starts) - 1
    named = {name: freeze(as_floats(name, value).copy()) for name, value in targets.items()}
    gpu = choose_batch_gpu(device, problem, method, count)
    if gpu is not None:
        return _solve_on_gpu(gpu, problem, method, packed, named, q, further, seed)
    if (
        isinstance(method, CompiledMethod)
        and can_solve_compiled(problem, method)
        and count_problems_per_call(problem, method, starts) > 0
    ):
        return _solve_compiled(problem, method, packed, named, q, further, seed, workers)
    return _solve_in_python(problem, method, named, q, starts, seed, workers)


def _solve_compiled(
    problem: Problem,
    method: CompiledMethod,
    targets: Targets,
    named: Mapping[str, Array],
    q: Array,
    further: int,
    seed: int,
    workers: int,
) -> BatchResult:
    count, tree, options = len(q), problem.skeleton.tree, method.options(problem)
    results = np.zeros((count, RESULT_SIZE))
    term_errors = np.zeros((count, len(problem.packed.arrays.terms.kind)))
    tolerances = compute_term_tolerances(problem)
    largest = min(CHUNK_PROBLEMS, count_problems_per_call(problem, method, further + 1))
    size = max(1, min(largest, -(-count // (4 * workers))))
    chunks = [slice(first, min(first + size, count)) for first in range(0, count, size)]

    stop = threading.Event()

    def solve_chunks(chunks: list[slice]) -> None:
        # Goals and tables are written to, so that every thread needs its own.
        arrays = problem.packed.copy_arrays()
        work = new_workspace(tree)
        descent = new_descent_state(tree, work.H.shape[1])
        table = make_start_table(problem, further, seed)
        for chunk in chunks:
            if stop.is_set():
                return
            start = time.perf_counter()
            kernel.solve_problems(
                tree,
                arrays,
                problem.box,
                options,
                tolerances,
                table,
                Targets(*(array[chunk] for array in targets)),
                q[chunk],
                results[chunk],
                term_errors[chunk],
                descent,
                work,
            )
            spent = time.perf_counter() - start
            total = results[chunk, RESULT_CYCLES].sum()
            results[chunk, RESULT_CYCLES] *= spent / total if total > 0 else 0.0

    run_in_threads(workers, solve_chunks, [chunks[k::workers] for k in range(workers)], stop)
    return _make_result(problem, method, named, q, results, term_errors, "cpu")


def _solve_on_gpu(
    gpu: str,
    problem: Problem,
    method: Method,
    targets: Targets,
    named: Mapping[str, Array],
    q: Array,
    further: int,
    seed: int,
) -> BatchResult:
    from exactik.gpu.launch import solve_problems_on_gpu

    assert isinstance(method, CompiledMethod)
    results = np.zeros((len(q), RESULT_SIZE))
    term_errors = np.zeros((len(q), len(problem.packed.arrays.terms.kind)))
    start = time.perf_counter()
    solve_problems_on_gpu(
        problem.skeleton.tree,
        problem.packed.copy_arrays(),
        problem.box,
        method.options(problem),
        compute_term_tolerances(problem),
        make_start_table(problem, further, seed),
        targets,
        q,
        results,
        term_errors,
    )
    spent = time.perf_counter() - start
    share = results[:, RESULT_EVALUATIONS] / max(results[:, RESULT_EVALUATIONS].sum(), 1.0)
    results[:, RESULT_CYCLES] = spent * share
    return _make_result(problem, method, named, q, results, term_errors, f"cuda: {gpu}")


def _make_result(
    problem: Problem,
    method: CompiledMethod,
    named: Mapping[str, Array],
    q: Array,
    results: Array,
    term_errors: Array,
    device: str,
) -> BatchResult:
    ended = np.array([ENDED_WORDS[int(code)] for code in results[:, RESULT_STATUS]], dtype="U15")
    return BatchResult(
        problem=problem,
        targets=named,
        solver=method.name,
        q=q,
        cost=results[:, RESULT_COST],
        projected_gradient=results[:, RESULT_PROJECTED_GRADIENT],
        tolerance=method.tolerance,
        ended=ended,
        iterations=count_iterations(results[:, RESULT_ITERATIONS]),
        evaluations=results[:, RESULT_EVALUATIONS].astype(np.int64),
        attempts=results[:, RESULT_ATTEMPTS].astype(np.int64),
        seconds=results[:, RESULT_CYCLES],
        device=device,
        _term_errors=term_errors,
    )


def _solve_in_python(
    problem: Problem,
    method: Method,
    named: Mapping[str, Array],
    q: Array,
    starts: int,
    seed: int,
    workers: int,
) -> BatchResult:
    """Solve problem by problem, where compiled code alone cannot, or not in one short call."""
    results: dict[int, Result] = {}
    stop = threading.Event()

    def solve_one(i: int) -> None:
        retargeted = problem.with_targets({name: value[i] for name, value in named.items()})
        results[i] = solve_until_stopped(
            retargeted, method, q[i], starts=starts, seed=seed, stop=stop
        )

    run_in_threads(workers, solve_one, range(len(q)), stop)

    def column(name: str, kind: type) -> NDArray:
        return np.array([getattr(results[i], name) for i in range(len(q))], dtype=kind)

    poses = np.array([results[i].q for i in range(len(q))]).reshape(q.shape)
    return BatchResult(
        problem=problem,
        targets=named,
        solver=method.name,
        q=poses,
        cost=column("cost", float),
        projected_gradient=column("projected_gradient", float),
        tolerance=method.tolerance,
        ended=column("ended", np.str_),
        iterations=column("iterations", np.int64),
        evaluations=column("evaluations", np.int64),
        attempts=column("attempts", np.int64),
        seconds=column("seconds", float),
    )
