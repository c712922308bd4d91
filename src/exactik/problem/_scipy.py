"""A problem as functions of its coordinates alone, for general optimisers.

Derivatives elsewhere are with respect to a step v, q ⊕ v. Where coordinates add, that is the same.
For a quaternion x of length n, x̂ = x/n, the cost of x̂ is constant along x, and a step v moves x̂ by
½ Q v, the columns of Q being x̂ ⊗ (0, e_i). Hence

    ∂f/∂x = 2 Q g / n          ∂²f/∂x² = (4 Q H Qᵀ − x̂ ĝᵀ − ĝ x̂ᵀ) / n² ,    ĝ = 2 Q g

because steps follow great circles, and because a function that is constant along x has a gradient
that falls with 1/n.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.problem._problem import Problem


class ScipyProblem(NamedTuple):
    """What `scipy.optimize.minimize` asks for; `_asdict()` gives its keyword arguments.

    Attributes:
        fun: cost at q, (nq,).
        jac: its gradient, (nq,).
        hess: its Hessian, (nq, nq).
        hessp: Hessian at q times a vector, (nq,).
        bounds: `scipy.optimize.Bounds` over the coordinates.
    """

    fun: Callable[[ArrayLike], float]
    jac: Callable[[ArrayLike], Array]
    hess: Callable[[ArrayLike], Array]
    hessp: Callable[[ArrayLike, ArrayLike], Array]
    bounds: Any


def to_scipy(problem: Problem) -> ScipyProblem:
    """Return the problem in coordinates; see `Problem.to_scipy`."""
    from scipy.optimize import Bounds

    skeleton = problem.skeleton
    plain = skeleton.plain_q >= 0
    lower, upper = np.full(skeleton.nq, -np.inf), np.full(skeleton.nq, np.inf)
    lower[skeleton.plain_q[plain]] = problem.lower[plain]
    upper[skeleton.plain_q[plain]] = problem.upper[plain]
    dofs = np.flatnonzero(~plain).reshape(-1, 3)  # of each quaternion, in their order

    def make_chart(q: Array) -> Array:
        """Return B, (nq, nv), with ∂f/∂q = B g."""
        B = np.zeros((skeleton.nq, skeleton.nv))
        B[skeleton.plain_q[plain], np.flatnonzero(plain)] = 1.0
        for (_, first), ball_dofs in zip(skeleton.quaternions, dofs, strict=True):
            part = slice(first, first + 4)
            w, x, y, z = q[part]
            Q = np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]])
            B[part, ball_dofs] = 2.0 * Q / (q[part] @ q[part])
        return B

    def jac(q: ArrayLike) -> Array:
        q = np.asarray(q, float)
        return make_chart(q) @ problem.gradient(q)

    def multiply_radial_part(q: Array, slope: Array, x: Array) -> Array:
        """Return the share of H x that comes from constancy along the quaternions."""
        out = np.zeros_like(x)
        for _, first in skeleton.quaternions:
            part = slice(first, first + 4)
            q_part, slope_part, x_part = q[part], slope[part], x[part]
            square = q_part @ q_part
            out[part] = -(q_part * (slope_part @ x_part) + slope_part * (q_part @ x_part)) / square
        return out

    def hessp(q: ArrayLike, x: ArrayLike) -> Array:
        q, x = np.asarray(q, float), np.asarray(x, float)
        B = make_chart(q)
        return B @ problem.hessian_product(q, B.T @ x) + multiply_radial_part(
            q, B @ problem.gradient(q), x
        )

    def hess(q: ArrayLike) -> Array:
        q = np.asarray(q, float)
        B = make_chart(q)
        _, g, H = problem.evaluate(q)
        full, slope = B @ H @ B.T, B @ g
        if len(skeleton.quaternions) > 0:
            full += np.stack(
                [multiply_radial_part(q, slope, e) for e in np.eye(skeleton.nq)], axis=1
            )
        return full

    return ScipyProblem(
        fun=problem.cost, jac=jac, hess=hess, hessp=hessp, bounds=Bounds(lower, upper)
    )
