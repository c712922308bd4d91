"""Errors of the goals on bones, term by term, in metres or radians.

POSITION    |r|
LOG         |r|, the angle
DISTANCE, LEVEL, SEGMENTS   by how much it is violated
DIRECTION   the angle between the two unit vectors, 2 asin(|r|/2); so for AIM
"""

from __future__ import annotations

import math

from exactik.compile import jit, jit_forceinline
from exactik.kernels.calculus.workspace import update_kinematics_noinline
from exactik.kernels.goals.distances import split_normal, violation_of_miss
from exactik.kernels.goals.pairs import write_term_residual
from exactik.kernels.goals.terms import DISTANCE, LEVEL, LOG, POSITION, SEGMENTS


@jit_forceinline
def compute_term_error(terms, m, r):
    """Return the error [m or rad] of term m with residual r (3,); rows without weight count 0."""
    kind, norm = terms.kind[m], 0.0
    for i in range(3):
        norm += r[i] * r[i] if terms.weight[m, i, i] > 0.0 else 0.0
    norm = math.sqrt(norm)
    if kind == DISTANCE or kind >= SEGMENTS:
        return violation_of_miss(terms.axis[m, 1], terms.axis[m, 2], norm)
    if kind == LEVEL:
        _, _, _, band = split_normal(terms, m)
        return violation_of_miss(1.0, band, norm)
    if kind == POSITION or kind == LOG:
        return norm
    return 2.0 * math.asin(min(0.5 * norm, 1.0))


@jit
def compute_term_errors(tree, goals, q, errors, work):
    """Write the error of every term at q (nq,) to `errors` (n,) [m or rad]."""
    update_kinematics_noinline(tree, goals, q, work)
    for m in range(goals.terms.kind.shape[0]):
        write_term_residual(goals, m, work)
        errors[m] = compute_term_error(goals.terms, m, work.r)


@jit
def are_goals_reached(tree, goals, tolerance, q, errors, work):
    """Write the errors to `errors` (n,); return whether none is above its tolerance (n,)."""
    compute_term_errors(tree, goals, q, errors, work)
    for m in range(errors.shape[0]):
        if not errors[m] <= tolerance[m]:
            return False
    return True
