"""Any problem, goals of a user's own included, against finite differences of itself.

Everything is differenced through `skeleton.integrate`, with the fourth-order formula

    f'(0) ≈ (8 (f(h) − f(−h)) − (f(2h) − f(−2h))) / 12h,

whose error for figures of metres and radians is about 1e-12 in the formula and 1e-13 in rounding
at h = 1e-3. The gradient is compared with differences of the cost, the Jacobian with those of the
residual, and the Hessian with those of the gradient. The latter are symmetrised first: two small
rotations of a quaternion do not commute, and the Hessian of the cost of integrate(q, v) is the
symmetric part of what the differences show.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from exactik._arguments import require_instance
from exactik._arrays import require_shape
from exactik.errors import ShapeError
from exactik.problem import Problem
from exactik.typing import Array


@dataclass(frozen=True)
class DerivativeRow:
    """One quantity of a problem beside its finite differences."""

    quantity: str  # what was compared
    error: float  # largest deviation over the largest entry
    tolerance: float  # what counts as right
    where: str  # the dof, or the pair of row and dof, of the largest deviation

    @property
    def ok(self) -> bool:
        """Whether the error is within the tolerance; not a number counts as wrong."""
        return self.error <= self.tolerance


@dataclass(frozen=True)
class DerivativeReport:
    """The answer of `check_derivatives`; print it for a table."""

    rows: tuple[DerivativeRow, ...]  # one line per quantity

    @property
    def ok(self) -> bool:
        """Whether every quantity is right."""
        return all(row.ok for row in self.rows)

    @property
    def worst(self) -> DerivativeRow:
        """The line with the largest error."""
        return max(self.rows, key=lambda row: np.nan_to_num(row.error, nan=np.inf))

    def __str__(self) -> str:
        """Return one line per quantity, and a closing line that says whether all is well."""
        width = max(len(row.quantity) for row in self.rows)
        lines = [f"{'quantity':{width}}  {'error':>8}  {'bar':>8}        largest deviation"]
        lines += [
            f"{row.quantity:{width}}  {row.error:8.1e}  {row.tolerance:8.1e}  "
            f"{'ok' if row.ok else 'WRONG':5} {row.where}".rstrip()
            for row in self.rows
        ]
        wrong = sum(not row.ok for row in self.rows)
        lines.append("all derivatives agree" if wrong == 0 else f"{wrong} quantities are wrong")
        return "\n".join(lines)


def _differentiate(function: Callable[[Array], ArrayLike], n: int, h: float) -> Array:
    """Return the derivative of a function of v at 0 along each of the n dofs, shape (…, n)."""
    columns = []
    for i in range(n):
        one_step, two_steps = (
            np.asarray(function(step), dtype=float) - np.asarray(function(-step), dtype=float)
            for step in (h * np.eye(n)[i], 2.0 * h * np.eye(n)[i])
        )
        columns.append((8.0 * one_step - two_steps) / (12.0 * h))
    return np.stack(columns, axis=-1)


def check_derivatives(
    problem: Problem,
    q: ArrayLike,
    *,
    step: float = 1e-3,
    tolerance: float = 1e-6,
    seed: int = 0,
) -> DerivativeReport:
    """Compare every derivative of a problem at q with finite differences.

    A kink nearby spoils the differences: a soft limit within two steps of q, a rotation goal half a
    turn away. Goals without derivatives of their own have second derivatives good to about 1e-7.

    Args:
        problem: skeleton and goals, written by a user or built in.
        q: coordinates, (nq,).
        step: length of the differences [rad or m].
        tolerance: largest error, relative to the largest entry, that counts as right.
        seed: for the direction in which the Hessian product is tried.
    """
    skeleton = require_instance("problem", problem, Problem).skeleton
    nv = skeleton.nv
    q = require_shape("q", q, skeleton.nq)
    free = ~np.asarray(problem.locked, dtype=bool)

    def differentiate_along_dofs(function: Callable[[Array], ArrayLike]) -> Array:
        # A locked dof does not move, so its column is zero by definition.
        return _differentiate(lambda v: function(skeleton.integrate(q, v * free)), nv, step)

    residual, weight = np.asarray(problem.residual(q)), problem.packed.weight
    cost = float(problem.cost(q))
    gradient = differentiate_along_dofs(problem.cost)
    jacobian = -differentiate_along_dofs(problem.residual)
    newton = jacobian.T @ weight @ jacobian
    hessian = differentiate_along_dofs(problem.gradient)
    hessian = 0.5 * (hessian + hessian.T)
    x = np.random.default_rng(seed).normal(size=nv)
    # At a solution the gradient vanishes. Its natural size is then the larger of its bound,
    # |gradient_i|² ≤ 2 cost · (JᵀWJ)_ii, and of what it becomes one step away.
    newton_scale = float(np.abs(newton).max(initial=0.0))
    hessian_scale = max(newton_scale, float(np.abs(hessian).max(initial=0.0)))
    gradient_scale = max(
        1e-3 * float(np.sqrt(2.0 * abs(cost) * newton_scale)), step * hessian_scale
    )

    dofs = skeleton.dof_names
    rows = [f"row {m}" for m in range(len(residual))]

    def compare(
        quantity: str, ours: ArrayLike, truth: ArrayLike, floor: float, *names: Sequence[str]
    ) -> DerivativeRow:
        a, b = np.asarray(ours, dtype=float), np.asarray(truth, dtype=float)
        if a.shape != b.shape:
            raise ShapeError(f"{quantity} has shape {a.shape}; expected {b.shape}")
        deviation = np.abs(a - b)
        scale = max(float(np.abs(b).max(initial=0.0)), floor, 1e-12)
        error = float(deviation.max(initial=0.0)) / scale
        where = ""
        if deviation.size > 0 and deviation.ndim > 0:
            worst = int(np.argmax(np.nan_to_num(deviation, nan=np.inf)))
            indices = np.unravel_index(worst, deviation.shape)
            where = ", ".join(n[int(i)] for n, i in zip(names, indices, strict=True))
        return DerivativeRow(quantity=quantity, error=error, tolerance=tolerance, where=where)

    return DerivativeReport(
        (
            compare("cost", cost, 0.5 * residual @ weight @ residual, 0.0),
            compare("gradient", problem.gradient(q), gradient, gradient_scale, dofs),
            compare("jacobian", problem.jacobian(q), jacobian, 1e-3, rows, dofs),
            compare(
                "gauss_newton", problem.gauss_newton(q), newton, 1e-3 * hessian_scale, dofs, dofs
            ),
            compare("hessian", problem.hessian(q), hessian, 1e-3 * hessian_scale, dofs, dofs),
            compare(
                "hessian_product", problem.hessian_product(q, x), hessian @ x, hessian_scale, dofs
            ),
        )
    )
