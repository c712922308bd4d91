"""By how much each goal is missed, and by how much it may be."""

from __future__ import annotations

import numpy as np

from exactik.kernels.goals.errors import compute_term_errors
from exactik.problem import Problem
from exactik.typing import Array

__all__ = ["compute_goal_errors", "compute_term_tolerances"]


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
    parts = problem.packed.error_parts
    if term_errors is None:
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
            rows = residual[part.rows]
            errors[k] = np.abs(rows).max(initial=0.0) if part.by_row else np.linalg.norm(rows)
    return errors
