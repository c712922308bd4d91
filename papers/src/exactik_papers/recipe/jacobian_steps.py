"""Steps d from J (m, n) and e (m,), by the five formulas of the Recipe's Figure 8.

QR is of Jᵀ, as J is wide: the printed J = QR, Rθ̇ = Qᵀṗ has no solution then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from exactik.solvers.methods import solve_damped
from exactik.typing import Array
from exactik_papers.sampled import Sampled

__all__ = ["JT", "LAMBDA", "PINV", "QR", "SR", "STEPS", "SVD", "Walk", "linearised", "walk"]

Step = Callable[[Array, Array], Array]

LAMBDA = 0.1  # of SR [unit²]; the Recipe says "typically < 1"
SR, SVD, QR, JT, PINV = "SR", "SVD", "QR", "JT", "pinv"


def robust(J: Array, e: Array) -> Array:
    """Return Jᵀ(JJᵀ + λI)⁻¹e."""
    return solve_damped(J, e, float(np.sqrt(LAMBDA)))


def by_svd(J: Array, e: Array) -> Array:
    """Return VΣ⁺Uᵀe; a singular value is inverted unless it is zero up to rounding."""
    U, s, Vt = np.linalg.svd(J, full_matrices=False)
    kept = s > max(J.shape) * np.finfo(float).eps * s[0]
    return Vt[kept].T @ ((U[:, kept].T @ e) / s[kept])


def by_qr(J: Array, e: Array) -> Array:
    """Return QR⁻ᵀe with Jᵀ = QR; needs full row rank."""
    from scipy.linalg import solve_triangular

    Q, R = np.linalg.qr(J.T)
    return Q @ solve_triangular(R, e, trans="T", check_finite=False)


def by_transpose(J: Array, e: Array) -> Array:
    """Return Jᵀe times Buss's length, which the table leaves out and nothing works without."""
    slope = J.T @ e
    z = J @ slope
    square = float(z @ z)
    return slope * (float(e @ z) / square if square > 0.0 else 0.0)


def by_pinv(J: Array, e: Array) -> Array:
    """Return pinv(J) e."""
    return np.linalg.pinv(J) @ e


STEPS: dict[str, Step] = {
    SR: robust,
    SVD: by_svd,
    QR: by_qr,
    JT: by_transpose,
    PINV: by_pinv,
}


@dataclass(frozen=True, eq=False)
class Walk:
    """How a method went.

    Attributes:
        q: the last pose, (nq,).
        objective: sum of squared errors [unit²] at the start and after each step.
        lengths: norm of each step, radians and units.
        beyond: how far any dof was ever beyond a limit [rad].
    """

    q: Array
    objective: Array
    lengths: Array
    beyond: float


def linearised(data: Sampled, n: int, q: Array, target: Array | None = None) -> tuple[Array, Array]:
    """Return J (m, nv), zero for locked dofs, and e (m,), of a sample or of other targets."""
    problem = data.at(n)
    r, J = problem.linearised(q)
    if target is not None:
        r = r + (target - data.targets[n]).ravel()
    return np.where(problem.locked, 0.0, J), r


def walk(
    data: Sampled,
    n: int,
    q: Array,
    step: Step,
    count: int,
    *,
    target: Array | None = None,
    extra: Callable[[Array], tuple[Array, Array]] | None = None,
    clamp: bool = False,
) -> Walk:
    """Take steps towards a sample, or other targets (6, 3), without a line search.

    Args:
        data: the samples.
        n: which of them.
        q: start, (nq,).
        step: the formula.
        count: how many steps.
        target: in place of the sample's.
        extra: more rows (k, nv), (k,) for J and e, given q.
        clamp: whether to clip q at the limits after each step.
    """
    skeleton, q = data.skeleton, q.copy()
    objective, lengths, beyond = [], [], 0.0
    for k in range(count + 1):
        J, e = linearised(data, n, q, target)
        objective.append(float(e @ e))
        beyond = max(beyond, float(np.maximum(skeleton.lower - q, q - skeleton.upper).max()))
        if k == count or not np.isfinite(objective[-1]):
            break
        if extra is not None:
            more_J, more_e = extra(q)
            J, e = np.concatenate([J, more_J]), np.concatenate([e, more_e])
        try:
            d = step(J, e)
        except np.linalg.LinAlgError:
            break
        if not np.isfinite(d).all() or np.abs(d).max() > 1e6:
            break
        q = skeleton.integrate(q, d)
        q = skeleton.clip(q) if clamp else q
        lengths.append(float(np.linalg.norm(d)))
    return Walk(q, np.array(objective), np.array(lengths), beyond)
