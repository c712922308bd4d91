"""One problem at one configuration: cost, gradient, Gauss–Newton, exact Hessian, residual rows.

`evaluate` is the hot path of every solver. It is `begin` and `finish`; between the two a caller may
`carry` goals of its own into the sums.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactik.kernels import clouds as cloud
from exactik.kernels import sums as total
from exactik.kernels import sweeps
from exactik.kernels import terms as term
from exactik.kernels.clouds import Clouds
from exactik.kernels.coordinates import (
    Coordinates,
    add_coordinates,
    coordinate_bend,
    coordinate_rows,
)
from exactik.kernels.fk import forward_kinematics
from exactik.kernels.sums import EXACT, GRADIENT, ROW, VALUE, WRENCH
from exactik.kernels.terms import Terms
from exactik.kernels.tree import Tree
from exactik.spatial import inlined, jit

__all__ = [
    "Goals",
    "Work",
    "add_rows",
    "begin",
    "begin_bend",
    "evaluate",
    "finish",
    "finish_bend",
    "multiply",
    "new_work",
    "rows",
]

Floats = NDArray[np.float64]
CACHE_LINE = 8  # numbers


class Goals(NamedTuple):
    """All that a problem asks of a tree, as plain arrays."""

    origin: Floats  #       (3,) reference point of all places in here [m, world]
    free: Floats  #         (nv,) 0 for a locked dof, else 1
    terms: Terms  #         goals on bones
    apart: NDArray[np.uint32]  # the terms that are in no cloud
    slot: NDArray[np.uint32]  #  (n_frames,) cloud of a frame
    clouds: Clouds
    coordinates: Coordinates


class Work(NamedTuple):
    """Scratch and results of one evaluation; one per thread."""

    sine: Floats
    cosine: Floats
    R: Floats  #       (n+1, 3, 3) frames in the world
    p: Floats  #       (n+1, 3) their origins relative to `Goals.origin` [m]
    S: Floats  #       (nv, 6) twists of the dofs
    sums: Floats  #    (n+1, 27) see `sums`
    g: Floats  #       (nv,) gradient
    H: Floats  #       (nv, width) curvature by ancestor rows
    path: Floats  #    (6, width)
    e: Floats  #       (3,) point, residual, force of a term
    r: Floats
    f: Floats
    h: Floats  #       (6,) its wrench
    D: Floats  #       (3, 6) and derivatives
    X: Floats  #       (6, 6)


def new_work(tree: Tree) -> Work:
    """Return the scratch space for problems on a tree."""
    n, nv, nq = len(tree.parent), int(tree.first_v[-1]), int(tree.first_q[-1])
    width = -(-(int(tree.level.max(initial=0)) + 1) // CACHE_LINE) * CACHE_LINE
    shapes: dict[str, tuple[int, ...]] = {
        **{"sine": (nq,), "cosine": (nq,), "R": (n, 3, 3), "p": (n, 3), "S": (nv, 6)},
        **{"sums": (n, ROW), "g": (nv,), "H": (nv, width), "path": (6, width)},
        **{"e": (3,), "r": (3,), "f": (3,), "h": (6,), "D": (3, 6), "X": (6, 6)},
    }
    return Work(**{name: _aligned(shape) for name, shape in shapes.items()})


def _aligned(shape: tuple[int, ...]) -> Floats:
    """Return zeros that start on a cache line: vector code then never straddles two."""
    count = int(np.prod(shape))
    block = np.zeros(count + CACHE_LINE)
    start = -(block.ctypes.data // 8) % CACHE_LINE
    return block[start : start + count].reshape(shape)


@inlined
def evaluate(tree, goals, q, order, work):
    """Return the cost at q; fill work.g (order ≥ GRADIENT) and work.H (GAUSS_NEWTON or EXACT)."""
    return begin(tree, goals, q, order, work) + finish(tree, goals, q, order, work)


@inlined
def begin(tree, goals, q, order, work):
    """Place the figure; return the cost of the goals on bones, their sums left in work.sums."""
    forward_kinematics(tree, q, goals.origin, work.sine, work.cosine, work.R, work.p, work.S)
    if order > VALUE:
        total.clear(work.sums, WRENCH if order == GRADIENT else ROW)
    cost = cloud.add_clouds(goals.clouds, work.R, work.p, order, work.sums)
    for n in range(goals.apart.shape[0]):
        cost += add_term(goals.terms, np.int64(goals.apart[n]), order, work)
    return cost


@jit
def add_term(terms, m, order, work):
    """Return the cost of term m and add its wrench and curvature to the sums of its frame."""
    r, f, D, X = work.r, work.f, work.D, work.X
    term.local_residual(terms, m, work.R, work.p, work.e, r)
    W = terms.weight
    for i in range(3):
        f[i] = W[m, i, 0] * r[0] + W[m, i, 1] * r[1] + W[m, i, 2] * r[2]
    if order > VALUE:
        term.local_derivatives(terms, m, work.R, work.e, r, f, D, X)
        for i in range(6):
            work.h[i] = -(D[0, i] * f[0] + D[1, i] * f[1] + D[2, i] * f[2])
        if order > GRADIENT:
            for i in range(6):
                x = W[m, 0, 0] * D[0, i] + W[m, 0, 1] * D[1, i] + W[m, 0, 2] * D[2, i]
                y = W[m, 1, 0] * D[0, i] + W[m, 1, 1] * D[1, i] + W[m, 1, 2] * D[2, i]
                z = W[m, 2, 0] * D[0, i] + W[m, 2, 1] * D[1, i] + W[m, 2, 2] * D[2, i]
                for j in range(6):
                    bend = X[i, j] if order == EXACT else 0.0
                    X[i, j] = bend + x * D[0, j] + y * D[1, j] + z * D[2, j]
        term.carry(np.int64(terms.frame[m]), work.e, work.h, X, order, work.sums)
    return 0.5 * (r[0] * f[0] + r[1] * f[1] + r[2] * f[2])


@inlined
def finish(tree, goals, q, order, work):
    """Run the sweeps over the sums that `begin` left; return the cost of coordinate goals."""
    if order > VALUE:
        total.collect(tree, work.sums, WRENCH if order == GRADIENT else ROW)
        sweeps.gradient(tree, work.S, work.sums, goals.free, work.g)
    if order > GRADIENT:
        sweeps.hessian(
            tree, q, work.R, work.p, work.S, work.sums, goals.free, order, work.path, work.H
        )
    return add_coordinates(
        tree, goals.coordinates, q, order, goals.free, work.g, work.H, work.D, work.X
    )


@jit
def multiply(tree, goals, q, order, x, V, A, P, y, work):
    """Write y = H x from the sums that `begin` left; V, A, P: scratch of `hessian_product`."""
    total.collect(tree, work.sums, ROW)
    sweeps.hessian_product(
        tree, q, work.R, work.p, work.S, work.sums, goals.free, order, x, V, A, P, work.H, y
    )
    add_coordinates(tree, goals.coordinates, q, order, goals.free, work.g, work.H, work.D, work.X)
    sweeps.add_own_blocks(tree, work.H, x, y)


@jit
def add_rows(tree, free, S, k, e, D, row, J):
    """Write J = −D ∂(ω, δ)/∂v for the rows of one goal at the point e of frame k.

    J_i = −(D_ω ω_i + D_δ (v_i + ω_i × e)) for the dofs i on the path of k.
    """
    frame = k
    while frame > 0:
        for i in range(np.int64(tree.first_v[frame]), np.int64(tree.first_v[frame + 1])):
            a, b, c = S[i, 0], S[i, 1], S[i, 2]
            x = S[i, 3] + b * e[2] - c * e[1]
            y = S[i, 4] + c * e[0] - a * e[2]
            z = S[i, 5] + a * e[1] - b * e[0]
            for m in range(D.shape[0]):
                turning = D[m, 0] * a + D[m, 1] * b + D[m, 2] * c
                J[row + m, i] = -free[i] * (turning + (D[m, 3] * x + D[m, 4] * y + D[m, 5] * z))
        frame = np.int64(tree.parent[frame])


@jit
def rows(tree, goals, q, work, r, J):
    """Write the unweighted residual r (m,) and J = −∂r/∂v (m, nv), zeroed before, of all goals."""
    forward_kinematics(tree, q, goals.origin, work.sine, work.cosine, work.R, work.p, work.S)
    for i in range(3):
        work.f[i] = 0.0
    for m in range(goals.terms.kind.shape[0]):
        row = np.int64(goals.terms.row[m])
        term.local_residual(goals.terms, m, work.R, work.p, work.e, work.r)
        term.local_derivatives(goals.terms, m, work.R, work.e, work.r, work.f, work.D, work.X)
        add_rows(tree, goals.free, work.S, np.int64(goals.terms.frame[m]), work.e, work.D, row, J)
        for i in range(3):
            r[row + i] = work.r[i]
    coordinate_rows(tree, goals.coordinates, q, goals.free, r, J, work.D, work.X)


@jit
def begin_bend(goals, force, work):
    """After `rows`, fill work.sums with what the residuals do under forces (m,) on their rows.

    Wrench and curvature of Σ force·∂²r: what JᵀWJ lacks of the exact Hessian, for any W, however it
    couples the goals.
    """
    total.clear(work.sums, ROW)
    f, D = work.f, work.D
    for m in range(goals.terms.kind.shape[0]):
        row = np.int64(goals.terms.row[m])
        term.local_residual(goals.terms, m, work.R, work.p, work.e, work.r)
        for i in range(3):
            f[i] = force[row + i]
        term.local_derivatives(goals.terms, m, work.R, work.e, work.r, f, D, work.X)
        for i in range(6):
            work.h[i] = -(D[0, i] * f[0] + D[1, i] * f[1] + D[2, i] * f[2])
        term.carry(np.int64(goals.terms.frame[m]), work.e, work.h, work.X, EXACT, work.sums)


@jit
def finish_bend(tree, goals, q, force, work):
    """Run the sweep over the sums that `begin_bend` left: work.H = Σ force·∂²r/∂v²."""
    total.collect(tree, work.sums, ROW)
    sweeps.hessian(tree, q, work.R, work.p, work.S, work.sums, goals.free, EXACT, work.path, work.H)
    coordinate_bend(tree, goals.coordinates, q, force, goals.free, work.H, work.D, work.X)
