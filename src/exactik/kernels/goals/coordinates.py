"""Goals on the coordinates themselves: rest postures and soft limits (docs/maths.md §8).

    plain dof:   r = rest − q ,  or  r = clip(q, lower, upper) − q         D = −1 ,  ∂²r = 0
    quaternion:  r = log(Qᵀ Q_rest), body axes; under Q → Q exp[δ] this is log(exp[−δ] exp[r]), the
                 mirror image of the LOG term: with φ̃ = −r and force −f its D and f·∂²r are those
                 of `log_derivatives`

Both touch a joint's own dofs only, so they add to the gradient and to the joint's own block of H.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.compile import jit, jit_forceinline
from exactik.kernels.goals.sums import EXACT, GRADIENT, VALUE
from exactik.kernels.goals.terms import log_derivatives
from exactik.kernels.tree.integrate import relative_rotation_vector
from exactik.kernels.tree.packed import QUATERNION
from exactik.typing import Array, IndexArray


class CoordinateGoals(NamedTuple):
    """Rest postures and soft limits, each with its own weights."""

    rest: Array  #           (n, nq)
    rest_weight: Array  #    (n, nv)
    rest_row: IndexArray  #  (n,) first row of the residual
    limit_weight: Array  #   (m, nv)
    limit_row: IndexArray  # (m,) first row of the residual
    lower: Array  #          (nv,)
    upper: Array  #          (nv,)


@jit
def limit_residual(lower, upper, i, value):
    """Return clip(value) − value, the residual of a soft limit."""
    return min(max(value, lower[i]), upper[i]) - value


@jit_forceinline
def add_coordinates(tree, goals, q, order, free, g, H, D, X):
    """Return the cost of all coordinate goals; add to g (order ≥ 1) and to H (≥ 2).

    D (3, 6) and X (6, 6) are scratch.
    """
    cost = 0.0
    for k in range(1, tree.parent.shape[0]):
        idx_q, idx_v = np.int64(tree.first_q[k]), np.int64(tree.first_v[k])
        end = np.int64(tree.first_v[k + 1])
        quaternion = end - 3 if tree.rotation[k] == QUATERNION else end
        for n in range(goals.rest.shape[0] + goals.limit_weight.shape[0]):
            m = n - goals.rest.shape[0]
            for i in range(idx_v, quaternion):
                value = q[idx_q + i - idx_v]
                if m < 0:
                    w, r = goals.rest_weight[n, i], goals.rest[n, idx_q + i - idx_v] - value
                else:
                    w, r = (
                        goals.limit_weight[m, i],
                        limit_residual(goals.lower, goals.upper, i, value),
                    )
                cost += 0.5 * w * r * r
                if order >= GRADIENT:
                    g[i] -= free[i] * w * r
                if order > GRADIENT and (m < 0 or r != 0.0):
                    H[i, np.int64(tree.dof_level[i])] += free[i] * w
            if m < 0 and quaternion < end:
                index = idx_q + quaternion - idx_v
                cost += add_quaternion_posture(
                    tree, goals, n, q, index, quaternion, order, free, g, H, D, X
                )
    return cost


@jit
def add_quaternion_posture(tree, goals, n, q, index, first, order, free, g, H, D, X):
    """Add one quaternion joint's share of rest posture n; return its cost."""
    x, y, z = relative_rotation_vector(goals.rest[n], q, index)
    w0, w1, w2 = (
        goals.rest_weight[n, first],
        goals.rest_weight[n, first + 1],
        goals.rest_weight[n, first + 2],
    )
    fx, fy, fz = w0 * x, w1 * y, w2 * z
    if order > VALUE:
        rest_derivatives(x, y, z, fx, fy, fz, D, X)
        for i in range(3):
            g[first + i] += free[first + i] * (D[0, i] * fx + D[1, i] * fy + D[2, i] * fz)
    if order > GRADIENT:
        for i in range(3):
            for j in range(i + 1):
                a, b = first + i, first + j
                block = w0 * D[0, i] * D[0, j] + w1 * D[1, i] * D[1, j] + w2 * D[2, i] * D[2, j]
                if order == EXACT:
                    block += X[i, j]
                H[a, np.int64(tree.dof_level[b])] += free[a] * free[b] * block
    return 0.5 * (fx * x + fy * y + fz * z)


@jit
def rest_derivatives(x, y, z, fx, fy, fz, D, X):
    """Write D = ∂r/∂δ and X = f·∂²r/∂δ² for r = log(Qᵀ Q_rest) and Q → Q exp[δ]."""
    for i in range(3):
        for j in range(3):
            X[i, j] = 0.0
    log_derivatives(-x, -y, -z, -fx, -fy, -fz, D, X)


@jit
def write_coordinate_rows(tree, goals, q, free, r, J, D, X):
    """Write all coordinate goals' rows of the residual r (m,) and J = −∂r/∂v (m, nv), J zeroed."""
    for k in range(1, tree.parent.shape[0]):
        idx_q, idx_v = np.int64(tree.first_q[k]), np.int64(tree.first_v[k])
        end = np.int64(tree.first_v[k + 1])
        quaternion = end - 3 if tree.rotation[k] == QUATERNION else end
        for n in range(goals.rest.shape[0]):
            row = np.int64(goals.rest_row[n])
            for i in range(idx_v, quaternion):
                r[row + i] = goals.rest[n, idx_q + i - idx_v] - q[idx_q + i - idx_v]
                J[row + i, i] = free[i]
            if quaternion < end:
                x, y, z = relative_rotation_vector(goals.rest[n], q, idx_q + quaternion - idx_v)
                rest_derivatives(x, y, z, 0.0, 0.0, 0.0, D, X)
                r[row + quaternion], r[row + quaternion + 1], r[row + quaternion + 2] = x, y, z
                for i in range(3):
                    for j in range(3):
                        J[row + quaternion + i, quaternion + j] = -free[quaternion + j] * D[i, j]
        for n in range(goals.limit_weight.shape[0]):
            row = np.int64(goals.limit_row[n])
            for i in range(idx_v, quaternion):
                r[row + i] = limit_residual(goals.lower, goals.upper, i, q[idx_q + i - idx_v])
                J[row + i, i] = free[i] if r[row + i] != 0.0 else 0.0


@jit
def add_coordinate_curvature(tree, goals, q, force, free, H, D, X):
    """Add force·∂²r of the rest postures' quaternion rows to H; other coordinate rows have none."""
    for k in range(1, tree.parent.shape[0]):
        if tree.rotation[k] != QUATERNION:
            continue
        index = np.int64(tree.first_q[k]) + tree.shift_count[k]
        first = np.int64(tree.first_v[k]) + tree.shift_count[k]
        for n in range(goals.rest.shape[0]):
            row = np.int64(goals.rest_row[n]) + first
            x, y, z = relative_rotation_vector(goals.rest[n], q, index)
            rest_derivatives(x, y, z, force[row], force[row + 1], force[row + 2], D, X)
            for i in range(3):
                for j in range(i + 1):
                    a, b = first + i, first + j
                    H[a, np.int64(tree.dof_level[b])] += free[a] * free[b] * X[i, j]
