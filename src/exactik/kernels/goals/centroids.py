"""Terms on a weighted sum of points of many bodies: a centre of mass (docs/maths.md §6).

    c = Σ α_k e_k ,   e_k = p_k + R_k x_k

Such a term is a function h(c), and c moves by J_c = Σ α_k J_k. Each body k gets the force α_k F at
its own point, F = −∇h, which is an ordinary wrench and 6×6; beside these only

    H += J_cᵀ (∇²h) J_c ,     J_c,i = ω_i × m_k + M_k v_i

with M_k = Σ α and m_k = Σ α e over the subtree is left, of rank 3, which couples every dof with
every other (`calculus.pair_rows`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.compile import jit, jit_forceinline
from exactik.kernels.goals.distances import level_derivatives, local_level
from exactik.kernels.goals.sums import (
    EXACT,
    GRADIENT,
    VALUE,
    add_coupling,
    add_inertia,
    add_wrench,
)
from exactik.kernels.goals.terms import LEVEL
from exactik.kernels.tree.packed import NONE
from exactik.spatial import cross
from exactik.typing import Array, IndexArray


class Centroids(NamedTuple):
    """Which points terms are on; members of one term lie side by side."""

    first: IndexArray  #  (n_terms + 1,) first member of each term; others have none
    frame: IndexArray  #  (k,) of each member
    point: Array  #       (k, 3) in its frame [m]
    share: Array  #       (k,) α
    total: Array  #       (n_terms,) Σ α: 1 where the sum is a place, 0 where it is a difference


@jit_forceinline
def is_centroid(terms, m):
    """Whether term m is on a sum of points."""
    return terms.frame[m] == NONE


@jit_forceinline
def locate_member(centroids, k, work):
    """Return the point of member k in the world [m], from the origin of the sums."""
    frame, R, p = np.int64(centroids.frame[k]), work.R, work.p
    x, y, z = centroids.point[k, 0], centroids.point[k, 1], centroids.point[k, 2]
    return (
        p[frame, 0] + R[frame, 0, 0] * x + R[frame, 0, 1] * y + R[frame, 0, 2] * z,
        p[frame, 1] + R[frame, 1, 0] * x + R[frame, 1, 1] * y + R[frame, 1, 2] * z,
        p[frame, 2] + R[frame, 2, 0] * x + R[frame, 2, 1] * y + R[frame, 2, 2] * z,
    )


@jit
def locate_centroid(centroids, m, work):
    """Write c of term m to work.e."""
    e = work.e
    e[0], e[1], e[2] = 0.0, 0.0, 0.0
    for k in range(np.int64(centroids.first[m]), np.int64(centroids.first[m + 1])):
        x, y, z = locate_member(centroids, k, work)
        e[0] += centroids.share[k] * x
        e[1] += centroids.share[k] * y
        e[2] += centroids.share[k] * z


@jit
def write_centroid_residual(terms, centroids, m, work):
    """Write c of term m to work.e and its residual to work.r."""
    locate_centroid(centroids, m, work)
    for i in range(3):
        work.r[i] = (terms.target[m, i] - centroids.total[m] * work.shift[i]) - work.e[i]
    if terms.kind[m] == LEVEL:
        local_level(terms, m, work.r)


@jit
def differentiate_centroid(terms, centroids, m, force, work):
    """Write D = ∂r/∂c to the last columns of work.D, force·∂²r/∂c² to those of work.X; else 0."""
    D, X = work.D, work.X
    for i in range(6):
        for j in range(3):
            D[j, i] = 0.0
        for j in range(6):
            X[i, j] = 0.0
    if terms.kind[m] == LEVEL:
        locate_centroid(centroids, m, work)
        for i in range(3):
            work.h[i] = (terms.target[m, i] - centroids.total[m] * work.shift[i]) - work.e[i]
        level_derivatives(terms, m, work.h, force, D, X)
        return
    for i in range(3):
        D[i, 3 + i] = -1.0


@jit
def add_member_sums(centroids, m, order, fx, fy, fz, work):
    """Add to the sums of every member the force α F at its own point."""
    for k in range(np.int64(centroids.first[m]), np.int64(centroids.first[m + 1])):
        frame, share = np.int64(centroids.frame[k]), centroids.share[k]
        x, y, z = locate_member(centroids, k, work)
        a, b, c = share * fx, share * fy, share * fz
        tx, ty, tz = cross(x, y, z, a, b, c)
        add_wrench(work.sums, frame, tx, ty, tz, a, b, c)
        if order == EXACT:
            xy, xz, yz = 0.5 * (x * b + y * a), 0.5 * (x * c + z * a), 0.5 * (y * c + z * b)
            add_inertia(work.sums, frame, x * a, y * b, z * c, xy, xz, yz)
            add_coupling(work.sums, frame, 0.5 * a, 0.5 * b, 0.5 * c)


@jit
def add_centroid_term(terms, centroids, m, order, work):
    """Return the cost of term m; add its forces to the sums, write ∇²h to work.pair_weight."""
    r, f, W, D, X = work.r, work.f, terms.weight, work.D, work.X
    write_centroid_residual(terms, centroids, m, work)
    for i in range(3):
        f[i] = W[m, i, 0] * r[0] + W[m, i, 1] * r[1] + W[m, i, 2] * r[2]
    cost = 0.5 * (r[0] * f[0] + r[1] * f[1] + r[2] * f[2])
    if order == VALUE:
        return cost
    differentiate_centroid(terms, centroids, m, f, work)
    fx = -(D[0, 3] * f[0] + D[1, 3] * f[1] + D[2, 3] * f[2])
    fy = -(D[0, 4] * f[0] + D[1, 4] * f[1] + D[2, 4] * f[2])
    fz = -(D[0, 5] * f[0] + D[1, 5] * f[1] + D[2, 5] * f[2])
    add_member_sums(centroids, m, order, fx, fy, fz, work)
    if order > GRADIENT:
        for i in range(3):
            for j in range(3):
                total = X[3 + i, 3 + j] if order == EXACT else 0.0
                for a in range(3):
                    for b in range(3):
                        total += D[a, 3 + i] * W[m, a, b] * D[b, 3 + j]
                work.pair_weight[m, i, j] = total
    return cost
