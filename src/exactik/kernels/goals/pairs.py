"""Terms between two bodies: measured in the axes of another one, B, as if that stood still.

A term m with a frame `other` has its target there. With B where it is, its target and its weight
are in the world for a moment, and the term is an ordinary one on its own body A (`terms`):

    place  p_B + R_B t      direction  R_B t      rotation  R_B R_t      weight  Q W Qᵀ ,   Q = R_B

Rows of the residual are in the axes Q; those of a POSITION have Q = R_B R_t, so that a plane or a
line has rows of its own. `other` may be the world, frame 0.

**The rule.** Such a cost f does not change when the world moves as a whole, so that the wrench w
and the 6×6 matrix 𝓗 of A about the common origin are all there is (docs/maths.md §6):

    f(ξ_A, ξ_B) = f − w·(ξ_A − ξ_B) + ½ ξ_Aᵀ𝓗ξ_A + ½ ξ_Bᵀ𝓗ξ_B − ξ_Aᵀ(𝓗 − ½Λ)ξ_B ,
    Λ = [[ [τ], [F] ], [ [F], 0 ]]

A adds (w, 𝓗) to its bone and B (−w, 𝓗); their nearest common bone takes 2𝓗 away, because what moves
both changes nothing. What couples the branches of A and B is in `calculus.pair_rows`.
"""

from __future__ import annotations

import numpy as np

from exactik.compile import jit, jit_forceinline
from exactik.kernels.goals.boxes import find_reach
from exactik.kernels.goals.centroids import is_centroid, write_centroid_residual
from exactik.kernels.goals.sums import SUMS_SIZE, WRENCH_SIZE
from exactik.kernels.goals.terms import (
    BOX,
    DIRECTION,
    DISTANCE,
    LOG,
    POSITION,
    SEGMENTS,
    Terms,
    local_residual,
)
from exactik.kernels.tree.packed import NONE


@jit_forceinline
def is_pair(terms, m):
    """Whether term m is measured in another body."""
    return terms.other[m] != NONE


@jit_forceinline
def write_in_world(terms, m, work):
    """Write target, rotation and weight of term m as they are in the world while B stands still.

    Places are relative to the origin of the sums.
    """
    R, p, B, kind = work.R, work.p, np.int64(terms.other[m]), terms.kind[m]
    target, rotation, weight, Q = work.pair_target, work.pair_turn, work.pair_weight, work.pair_axes
    x, y, z = terms.target[m, 0], terms.target[m, 1], terms.target[m, 2]
    for i in range(3):
        target[m, i] = R[B, i, 0] * x + R[B, i, 1] * y + R[B, i, 2] * z
        if kind != DIRECTION and kind != LOG:
            target[m, i] += p[B, i]
        for j in range(3):
            Q[m, i, j] = R[B, i, j]
            if kind >= SEGMENTS:  # its row is a number: it has no axes
                Q[m, i, j] = 1.0 if i == j else 0.0
    if kind == LOG or kind == POSITION:
        for i in range(3):
            for j in range(3):
                rotation[m, i, j] = (
                    R[B, i, 0] * terms.rotation[m, 0, j]
                    + R[B, i, 1] * terms.rotation[m, 1, j]
                    + R[B, i, 2] * terms.rotation[m, 2, j]
                )
                if kind == POSITION:
                    Q[m, i, j] = rotation[m, i, j]
    if kind >= SEGMENTS:
        for i in range(3):
            rotation[m, 0, i] = terms.rotation[m, 0, i]
        for row in range(1, 3):
            x, y, z = (
                terms.rotation[m, row, 0],
                terms.rotation[m, row, 1],
                terms.rotation[m, row, 2],
            )
            for i in range(3):
                rotation[m, row, i] = R[B, i, 0] * x + R[B, i, 1] * y + R[B, i, 2] * z
    turn_weight(terms.weight, Q, m, weight)


@jit_forceinline
def place_in_world(terms, m, work):
    """Return the terms with what `write_in_world` writes."""
    write_in_world(terms, m, work)
    return Terms(
        kind=terms.kind,
        frame=terms.frame,
        other=terms.other,
        point=terms.point,
        axis=terms.axis,
        target=work.pair_target,
        rotation=work.pair_turn,
        weight=work.pair_weight,
        in_cloud=terms.in_cloud,
        row=terms.row,
    )


@jit_forceinline
def turn_weight(own, Q, m, weight):
    """Write Q W Qᵀ for the weight W of term m."""
    off_diagonal = abs(own[m, 0, 1]) + abs(own[m, 0, 2]) + abs(own[m, 1, 2])
    a, b, c = own[m, 0, 0], own[m, 1, 1], own[m, 2, 2]
    if off_diagonal == 0.0 and a == b and b == c:  # it looks the same from all sides
        for i in range(3):
            for j in range(3):
                weight[m, i, j] = own[m, i, j]
        return
    for i in range(3):
        x = Q[m, i, 0] * own[m, 0, 0] + Q[m, i, 1] * own[m, 1, 0] + Q[m, i, 2] * own[m, 2, 0]
        y = Q[m, i, 0] * own[m, 0, 1] + Q[m, i, 1] * own[m, 1, 1] + Q[m, i, 2] * own[m, 2, 1]
        z = Q[m, i, 0] * own[m, 0, 2] + Q[m, i, 1] * own[m, 1, 2] + Q[m, i, 2] * own[m, 2, 2]
        for j in range(3):
            weight[m, i, j] = x * Q[m, j, 0] + y * Q[m, j, 1] + z * Q[m, j, 2]


@jit_forceinline
def is_kept(terms, m, work):
    """Whether term m is a bound on a distance that holds, so that it costs nothing.

    Of segments this tells by the distance of their middles: those that may be nearer are looked at.
    """
    kind, side, half, middle = terms.kind[m], terms.axis[m, 1], 0.0, 0.0
    if (kind != DISTANCE and kind < SEGMENTS) or side == 0.0:
        return False
    A, B, square, bound = np.int64(terms.frame[m]), np.int64(terms.other[m]), 0.0, terms.axis[m, 0]
    if kind == SEGMENTS:
        half, middle, bound = 0.5, 0.5, bound + terms.rotation[m, 2, 0]
    if kind == BOX:
        half, bound = 0.5, bound + find_reach(terms, m)
    for i in range(3):
        arm = work.p[B, i] - work.p[A, i]
        for c in range(3):
            there = terms.target[m, c] + middle * terms.rotation[m, 1, c]
            arm += work.R[B, i, c] * there
            arm -= work.R[A, i, c] * (terms.point[m, c] + half * terms.rotation[m, 0, c])
        square += arm * arm
    beyond = square - bound * bound
    return beyond >= 0.0 if side > 0.0 else beyond <= 0.0


@jit_forceinline
def turn_rows(Q, m, D):
    """Replace D (3, n), in the axes of the world, by Q_mᵀ D."""
    for j in range(D.shape[1]):
        x, y, z = D[0, j], D[1, j], D[2, j]
        for i in range(3):
            D[i, j] = Q[m, 0, i] * x + Q[m, 1, i] * y + Q[m, 2, i] * z


@jit
def write_term_residual(goals, m, work):
    """Write the point of term m to work.e and its residual, in the axes of its rows, to work.r."""
    r, terms = work.r, goals.terms
    if is_centroid(terms, m):
        write_centroid_residual(terms, goals.centroids, m, work)
        return
    if not is_pair(terms, m):
        local_residual(terms, m, work.R, work.p, work.shift, work.e, r)
        return
    placed = place_in_world(terms, m, work)
    local_residual(placed, m, work.R, work.p, work.no_shift, work.e, r)
    x, y, z, Q = r[0], r[1], r[2], work.pair_axes
    for i in range(3):
        r[i] = Q[m, 0, i] * x + Q[m, 1, i] * y + Q[m, 2, i] * z


@jit_forceinline
def add_pair_sums(A, B, meeting, m, width, pair_sums, sums):
    """Add the wrench and 6×6 in row m of `pair_sums` to both bodies, by the rule."""
    for c in range(WRENCH_SIZE):
        sums[A, c] += pair_sums[m, c]
        sums[B, c] -= pair_sums[m, c]
    if width == SUMS_SIZE:
        for c in range(WRENCH_SIZE, SUMS_SIZE):
            sums[A, c] += pair_sums[m, c]
            sums[B, c] += pair_sums[m, c]
            sums[meeting, c] -= 2.0 * pair_sums[m, c]
