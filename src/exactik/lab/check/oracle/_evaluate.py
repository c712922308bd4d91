"""Cost, gradient and Hessian of a set of goals, as the oracle sees them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from exactik.goals import Goal, SoftLimitGoal
from exactik.lab.check.oracle._goals import residual, weight
from exactik.lab.check.oracle.jet import concatenate, constant, dot, transform, variables
from exactik.lab.check.oracle.kinematics import compute_frames, find_slices
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.model import Skeleton


@dataclass(frozen=True, eq=False)
class OracleAnswer:
    """What `Problem` should answer, all of it at v = 0."""

    cost: float  # ½ rᵀ W r
    gradient: Array  # first derivative of the cost, (nv,)
    residual: Array  # r = target − model of all goals, without weights, (m,)
    jacobian: Array  # −∂r/∂v, (m, nv)
    gauss_newton: Array  # Jᵀ W J, (nv, nv)
    hessian: Array  # second derivative of the cost, (nv, nv)


def evaluate(
    skeleton: Skeleton,
    goals: Sequence[Goal],
    q: ArrayLike,
    *,
    limits: str = "hard",
    lock: ArrayLike | None = None,
    weight_matrix: ArrayLike | None = None,
) -> OracleAnswer:
    """Return cost and derivatives by automatic differentiation of the whole chain of operations.

    Args:
        skeleton: the model.
        goals: any of the built-in goals, and goals of a user's own on a frame.
        q: coordinates, (nq,).
        limits: "soft" adds a `SoftLimitGoal` after the others; "hard" and "off" add nothing.
        lock: True for the dofs that do not move, (nv,); None for none.
        weight_matrix: W over all rows in the order of the goals, instead of their own weights.
    """
    goals = [*goals, SoftLimitGoal()] if limits == "soft" else [*goals]
    nv = max(part.v.stop for part in find_slices(skeleton).values())
    free = np.ones(nv, dtype=bool) if lock is None else ~np.asarray(lock, dtype=bool)
    # Only free dofs are variables: a locked one then has derivatives zero by construction.
    moving = variables(np.zeros(int(free.sum())))
    step = transform(np.eye(nv)[:, free], moving)
    frames = compute_frames(skeleton, q, step)
    parts = [residual(goal, skeleton, frames, q, step) for goal in goals]
    rows = concatenate([constant(np.zeros(0), step.n), *parts])
    w = np.zeros((len(rows.value), len(rows.value)))
    if weight_matrix is not None:
        w[:] = weight_matrix
    else:
        start = 0
        for goal, part in zip(goals, parts, strict=True):
            m = len(part.value)
            w[start : start + m, start : start + m] = weight(goal, m)
            start += m
    cost = dot(rows, transform(w, rows)) * 0.5
    jacobian = -rows.gradient
    spread = np.eye(nv)[:, free]
    return OracleAnswer(
        cost=float(cost.value),
        gradient=spread @ cost.gradient,
        residual=rows.value,
        jacobian=jacobian @ spread.T,
        gauss_newton=spread @ (jacobian.T @ w @ jacobian) @ spread.T,
        hessian=spread @ cost.hessian @ spread.T,
    )
