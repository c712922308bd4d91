"""By how much each goal is missed, and by how much it may be.

What has no weight is not asked for. Rows of weight 0 do not count, and where a weight matrix has no
full rank, only the part of the residual in its range does.
"""

from __future__ import annotations

import numpy as np

from exactik.kernels.calculus.goal_errors import compute_term_errors
from exactik.kernels.goals.distances import violation_of_miss
from exactik.kernels.goals.terms import BOX, DISTANCE, LEVEL, LOG, POSITION, SEGMENTS
from exactik.problem import Problem
from exactik.typing import Array

NO_WEIGHT = 1e-12  # share of the largest eigenvalue of a weight matrix: below it is rounding


def compute_term_tolerances(problem: Problem) -> Array:
    """Return the tolerance of every term of the kernels, (n,) [m or rad]."""

    def gather() -> Array:
        tolerances = np.empty(len(problem.packed.arrays.terms.kind))
        for part in problem.packed.error_parts:
            tolerances[part.terms] = part.tolerance
        return tolerances

    return problem.remember("tolerances", gather)


def compute_goal_errors(problem: Problem, q: Array, term_errors: Array | None = None) -> Array:
    """Return the errors of `PackedGoals.error_parts` at q, (nq,) [m or rad], in their order.

    Args:
        problem: what is asked.
        q: where.
        term_errors: of the kernels' terms there, (n,), if known already.
    """
    parts, projector = problem.packed.error_parts, find_weighted_projector(problem)
    if projector is not None:
        term_errors = _project_term_errors(problem, projector @ problem.residual(q))
    elif term_errors is None:
        term_errors = np.empty(len(problem.packed.arrays.terms.kind))
        compute_term_errors(
            problem.skeleton.tree, problem.packed.arrays, q, term_errors, problem.workspace
        )
    errors, residual = np.empty(len(parts)), None
    for k, part in enumerate(parts):
        if part.has_terms:
            errors[k] = term_errors[part.terms].max()
        else:
            residual = problem.residual(q) if residual is None else residual
            judged = residual if projector is None else projector @ residual
            rows = judged[part.rows] * (np.diag(problem.packed.weight)[part.rows] > 0.0)
            errors[k] = np.abs(rows).max(initial=0.0) if part.by_row else np.linalg.norm(rows)
    return errors


def find_contacts(problem: Problem, q: Array) -> dict[tuple[str, str], float]:
    """Return the bodies that are nearer than goals allow at q, (nq,), and by how much [m].

    The worst come first.
    """
    parts = [part for part in problem.packed.error_parts if len(part.contacts) > 0]
    if len(parts) == 0:
        return {}
    errors = np.empty(len(problem.packed.arrays.terms.kind))
    tree, arrays = problem.skeleton.tree, problem.packed.arrays
    compute_term_errors(tree, arrays, q, errors, problem.workspace)
    found: dict[tuple[str, str], float] = {}
    for part in parts:
        for names, error in zip(part.contacts, errors[part.terms].tolist(), strict=True):
            if error > 0.0:
                found[names] = max(error, found.get(names, 0.0))
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def find_weighted_projector(problem: Problem) -> Array | None:
    """Return the projector onto the range of the weight matrix, (m, m); None where rows tell it.

    That is where no weights couple rows, or those that do have full rank.
    """

    def make() -> Array | None:
        blocks, row_weights = problem.packed.weights, problem.packed.row_weights
        different = {id(block): block for block in blocks}.values()
        if all(np.count_nonzero(b) == np.count_nonzero(np.diag(b)) for b in different):
            return None
        projector, judged = np.diag(np.zeros(len(row_weights))), row_weights > 0.0
        start = 0
        for block in blocks:
            values, vectors = np.linalg.eigh(block)
            used = vectors[:, values > NO_WEIGHT * max(float(values[-1]), 1e-300)]
            rows = slice(start, start + len(block))
            projector[rows, rows], start = used @ used.T, rows.stop
        return None if np.allclose(projector, np.diag(judged), rtol=0.0, atol=1e-9) else projector

    return problem.remember("weighted projector", make)


def _project_term_errors(problem: Problem, residual: Array) -> Array:
    """Return the errors of the terms by the part of the residual that has weight, (n,)."""
    terms = problem.packed.arrays.terms
    rows = terms.row.astype(np.int64)[:, None] + np.arange(3)
    norms = np.linalg.norm(residual[rows], axis=1)
    for m in np.flatnonzero(terms.kind == LEVEL):
        norms[m] = violation_of_miss(1.0, float(np.linalg.norm(terms.axis[m])), norms[m])
    distant = np.flatnonzero(np.isin(terms.kind, (DISTANCE, SEGMENTS, BOX)))
    norms[distant] = [
        violation_of_miss(terms.axis[m, 1], terms.axis[m, 2], norms[m]) for m in distant
    ]
    plain = np.isin(terms.kind, (POSITION, LOG, DISTANCE, LEVEL, SEGMENTS, BOX))
    return np.where(plain, norms, 2.0 * np.arcsin(np.minimum(0.5 * norms, 1.0)))
