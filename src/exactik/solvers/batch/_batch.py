"""Solve one problem for many targets.

Problems are dealt out to threads in chunks; a chunk is one compiled call that does not hold
Python's lock. An answer depends on nothing but its problem: not on the batch, not on the threads.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exactik._arrays import as_floats, freeze
from exactik._threads import run_in_threads
from exactik.errors import ShapeError, UsageError
from exactik.goals import pack_batch_targets
from exactik.kernels.calculus.workspace import curvature_rows, new_workspace
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
    ENDED_WORDS,
    CompiledMethod,
    Method,
    Result,
    can_solve_compiled,
    compute_term_tolerances,
    count_iterations,
    count_problems_per_call,
    count_threads,
    make_start_table,
    require_count,
    resolve_method,
    solve_until_stopped,
)
from exactik.solvers.batch._device import choose_batch_gpu
from exactik.solvers.batch._result import BatchResult
from exactik.typing import Array

CHUNK_PROBLEMS = 64  # problems a compiled call; fewer where threads would have nothing to do


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
    workers = min(count_threads(threads), max(count, 1))
    further = require_count("starts", starts) - 1
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
        work = new_workspace(tree, arrays)
        descent = new_descent_state(tree, curvature_rows(work).shape[1])
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
    from exactik.kernels.cuda.launch import solve_problems_on_gpu

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

    column_of_all = np.empty(len(q), dtype=object)
    column_of_all[:] = [results[i] for i in range(len(q))]
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
        _results=column_of_all if len(problem.skeleton.loops) > 0 else None,
    )
