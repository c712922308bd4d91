"""Gradients through a batch: from a loss of the solutions back to the targets.

Problems are dealt out to threads; each takes one factorisation of its exact Hessian. Where that is
not positive definite on the free dofs, a pose is a saddle, or goals leave directions open: then the
pose answers by the shortest motion, or there is no derivative.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import as_floats, require_finite
from exactik._threads import run_in_threads
from exactik.errors import CoordinateError, ShapeError, UnknownNameError
from exactik.goals import pack_batch_targets
from exactik.kernels.calculus.backpropagation import backpropagate_solves
from exactik.kernels.calculus.workspace import new_workspace
from exactik.kernels.descent.state import new_descent_state
from exactik.kernels.goals.targets import Targets
from exactik.kernels.tree.packed import NONE
from exactik.solvers import backpropagate_result
from exactik.typing import Array, BoolArray

if TYPE_CHECKING:
    from exactik.solvers.batch._result import BatchResult

CHUNK_PROBLEMS = 64  # a compiled call
ON_FAILURE = ("raise", "nan")


def backpropagate(
    batch: BatchResult, gradient: ArrayLike, on_failure: str, threads: int | None
) -> dict[str, Array]:
    """See `BatchResult.backpropagate`."""
    problem = batch.problem
    if on_failure not in ON_FAILURE:
        raise UnknownNameError("on_failure", on_failure, ON_FAILURE)
    gradient = require_finite("gradient", as_floats("gradient", gradient))
    if gradient.shape != batch.q.shape:
        raise ShapeError(f"gradient has shape {gradient.shape}; expected {batch.q.shape}, as q")
    slopes = problem.skeleton.dof_gradient(batch.q, gradient)
    felt = np.array(slopes.any(axis=1), bool)  # what a loss does not look at needs no derivative
    by_term = np.zeros((len(batch), len(problem.template.arrays.terms.kind), 3))
    left = felt & ~_solve_compiled(batch, slopes, felt, by_term, threads)
    for i in np.flatnonzero(left):
        try:
            for name, each in backpropagate_result(batch[i], slopes[i]).items():
                by_term[i, problem.template.terms[name]] = each
        except CoordinateError as error:
            if on_failure == "raise":
                raise CoordinateError(f"problem {i} of the batch: {error}") from error
            by_term[i] = np.nan
    goals = dict(zip(problem.rows, problem.goals, strict=True))
    return {
        name: goals[name].gather_target_gradients(targets, by_term[:, problem.template.terms[name]])
        for name, targets in batch.targets.items()
    }


def _solve_compiled(
    batch: BatchResult, slopes: Array, chosen: BoolArray, by_term: Array, threads: int | None
) -> BoolArray:
    """Write the gradients of chosen problems that have a definite Hessian; return which have."""
    problem = batch.problem
    done = np.zeros(len(batch), bool)
    numbers = np.flatnonzero(chosen)
    on_sums = (problem.template.arrays.terms.frame == NONE).any()  # of points of many bodies
    looped = len(problem.skeleton.loops) > 0
    if not problem.compiled or on_sums or looped or len(numbers) == 0:
        return done
    tree = problem.skeleton.tree
    named = {name: targets[numbers] for name, targets in batch.targets.items()}
    packed = pack_batch_targets(problem.goals, problem.packed, named)
    q, slopes = np.ascontiguousarray(batch.q[numbers]), slopes[numbers]
    gradients = np.zeros((len(numbers), *by_term.shape[1:]))
    is_minimum = np.zeros(len(numbers))

    def work_on(chunks: list[slice]) -> None:
        arrays = problem.packed.copy_arrays()
        work = new_workspace(tree, arrays)
        descent = new_descent_state(tree, problem.row_width)
        for chunk in chunks:
            backpropagate_solves(
                tree,
                arrays,
                problem.box,
                Targets(*(array[chunk] for array in packed)),
                q[chunk],
                slopes[chunk],
                gradients[chunk],
                is_minimum[chunk],
                descent,
                work,
            )

    size = CHUNK_PROBLEMS
    chunks = [slice(first, first + size) for first in range(0, len(q), size)]
    workers = min((os.cpu_count() or 1) if threads is None else threads, len(chunks))
    run_in_threads(workers, work_on, [chunks[k::workers] for k in range(workers)])
    done[numbers] = is_minimum > 0.0
    by_term[done] = gradients[is_minimum > 0.0]
    return done
