"""The local calculus of each kind of goal term: residual, first and second derivative on one bone.

A term sits at a point e of a bone. Turn the bone to exp([ω]) R about e and shift e to e + δ: then
(docs/maths.md §5)

    r(ω, δ) = r + D (ω, δ) + ½ (ω, δ)ᵀ (∂²r) (ω, δ) + …

| kind      | r               | D_ω       | D_δ  | q·∂²r                                           |
|-----------|-----------------|-----------|------|-------------------------------------------------|
| POSITION  | t − e           | 0         | −I   | 0                                               |
| DIRECTION | t − y           | [y]       | 0    | ωω: (y·q) I − sym(y qᵀ)                         |
| LOG       | φ = log(R_t Rᵀ) | −J_r⁻¹(φ) | 0    | ωω: sym N, column a of N is dJ[J_r⁻¹ e_a]ᵀ q    |
| AIM       | d − y           | [y]       | −Π/ρ | ωω as DIRECTION; δδ: −(d bᵀ + b dᵀ + (q·d)Π)/ρ² |
| DISTANCE  | γ u             | 0         | −Γ   | δδ: γ'(q dᵀ + d qᵀ) + (u·q)(γ''ddᵀ + γ'Π/ρ)     |
| LEVEL     | −s n            | 0         | −s'nnᵀ | δδ: −s''(q·n) nnᵀ , of a height x = −n·u      |

with y = R·axis, u = t − e, ρ = |u|, d = u/ρ, Π = I − ddᵀ, b = Πq, γ = s/ρ, Γ = s'ddᵀ + γΠ, where
s(ρ) says by how much the distance is missed (`miss_of_distance`), and
dJ[η] = ½[η] + 2G'(φ·η)[φ]² + G([η][φ] + [φ][η]). A user's own goal supplies the same three things.
SEGMENTS are in `segments`, BOX in `boxes`, terms that are measured in another body in `pairs`.

`add_local_model` brings them to twists about the origin, where sums over bones make sense: with
F = −D_δᵀq the force at e, the substitution δ = v + ω × e + ½ ω × (ω × e + v) gives

    wrench = (−D_ωᵀq + e × F, F)
    𝓗      = Aᵀ(DᵀWD + q·∂²r)A + [[(e·F) I − sym(e Fᵀ), ½[F]], [·ᵀ, 0]] ,   A = [[I, 0], [−[e], I]]

where the cost is f − wrench·ξ + ½ ξᵀ𝓗ξ for a rigid displacement exp(ξ), ξ = (ω, v).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from exactik.compile import jit, jit_forceinline
from exactik.kernels.goals.boxes import box_derivatives, local_box
from exactik.kernels.goals.distances import (
    MIN_AIM_DISTANCE,
    distance_derivatives,
    level_derivatives,
    local_level,
    miss_of_distance,
    pick,
    split_arm,
)
from exactik.kernels.goals.segments import (
    local_segments,
    segment_derivatives,
)
from exactik.kernels.goals.sums import (
    EXACT,
    GRADIENT,
    add_coupling,
    add_matrix,
    add_wrench,
)
from exactik.spatial import cross, log_coefficients, log_vector
from exactik.typing import Array, IndexArray

POSITION, DIRECTION, LOG, AIM, DISTANCE, LEVEL, SEGMENTS, BOX = range(8)


class Terms(NamedTuple):
    """n terms of three rows each; a field that a kind does not use is zero."""

    kind: IndexArray  #     (n,)
    frame: IndexArray  #    (n,) frame number in the tree
    other: IndexArray  #    (n,) frame that the target is in, see `pairs`; NONE: it is in the world
    point: Array  #         (n, 3) in the bone's frame [m]
    axis: Array  #          (n, 3) unit vector in the bone's frame; of DISTANCE and SEGMENTS the
    #                        length [m], its side (−1 at most, 0 equal, 1 at least), its band [m];
    #                        of BOX half of its length along z [m] for the side;
    #                        of LEVEL the normal that points where it may not be, times its band
    target: Array  #        (n, 3) position relative to `Goals.origin` [m], or unit direction
    rotation: Array  #      (n, 3, 3) target rotation of LOG; of SEGMENTS that of the bone, from
    #                        `point` [m], that of the other one, from `target`, and their reach
    #                        [m]; of BOX the bone's and the box's half axes x and y [m]
    weight: Array  #        (n, 3, 3)
    in_cloud: IndexArray  # (n,) 1 where the term is part of its bone's cloud, see `clouds`
    row: IndexArray  #      (n,) first of its three rows in the residual


@jit_forceinline
def local_residual(terms, m, R, p, shift, e, r):
    """Write the term's point e (from the origin of the sums) and residual r, both (3,).

    The origin of the sums lies `shift` (3,) from that of the targets.
    """
    k = np.int64(terms.frame[m])
    kind = terms.kind[m]
    px, py, pz = terms.point[m, 0], terms.point[m, 1], terms.point[m, 2]
    ax, ay, az = terms.axis[m, 0], terms.axis[m, 1], terms.axis[m, 2]
    for i in range(3):
        e[i] = p[k, i] + R[k, i, 0] * px + R[k, i, 1] * py + R[k, i, 2] * pz
    if kind == LOG:
        # M = R_target R_boneᵀ
        m00, m01, m02 = row_times_transpose(terms.rotation, m, 0, R, k)
        m10, m11, m12 = row_times_transpose(terms.rotation, m, 1, R, k)
        m20, m21, m22 = row_times_transpose(terms.rotation, m, 2, R, k)
        r[0], r[1], r[2] = log_vector(m00, m01, m02, m10, m11, m12, m20, m21, m22)
        return
    for i in range(3):
        r[i] = terms.target[m, i]
        if kind != DIRECTION:
            r[i] = (r[i] - shift[i]) - e[i]
    if kind == POSITION:
        return
    if kind == DISTANCE:
        dx, dy, dz, rho = split_arm(r[0], r[1], r[2])
        s, _, _ = miss_of_distance(ax, ay, az, rho)
        r[0], r[1], r[2] = s * dx, s * dy, s * dz
        return
    if kind == LEVEL:
        local_level(terms, m, r)
        return
    if kind == SEGMENTS:
        local_segments(terms, m, R, e, r)
        return
    if kind == BOX:
        local_box(terms, m, R, e, r)
        return
    if kind == AIM:
        rho = math.sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2])
        for i in range(3):
            r[i] = r[i] / rho if rho > MIN_AIM_DISTANCE else 0.0
    for i in range(3):
        r[i] -= R[k, i, 0] * ax + R[k, i, 1] * ay + R[k, i, 2] * az


@jit_forceinline
def row_times_transpose(A, m, i, R, k):
    """Return row i of A_m R_kᵀ."""
    x, y, z = A[m, i, 0], A[m, i, 1], A[m, i, 2]
    return (
        x * R[k, 0, 0] + y * R[k, 0, 1] + z * R[k, 0, 2],
        x * R[k, 1, 0] + y * R[k, 1, 1] + z * R[k, 1, 2],
        x * R[k, 2, 0] + y * R[k, 2, 1] + z * R[k, 2, 2],
    )


@jit_forceinline
def local_derivatives(terms, m, R, shift, e, r, force, D, X):
    """Write D (3, 6) and X = force·∂²r (6, 6) of the term; e and r are from `local_residual`."""
    k = np.int64(terms.frame[m])
    kind = terms.kind[m]
    for i in range(6):
        for j in range(3):
            D[j, i] = 0.0
        for j in range(6):
            X[i, j] = 0.0
    if kind == POSITION:
        for i in range(3):
            D[i, 3 + i] = -1.0
        return
    if kind == LOG:
        log_derivatives(r[0], r[1], r[2], force[0], force[1], force[2], D, X)
        return
    if kind == DISTANCE:
        distance_derivatives(terms, m, shift, e, force, D, X)
        return
    if kind == LEVEL:
        arm = X[5]  # written over below
        for i in range(3):
            arm[i] = (terms.target[m, i] - shift[i]) - e[i]
        level_derivatives(terms, m, arm, force, D, X)
        return
    if kind == SEGMENTS:
        segment_derivatives(terms, m, R, e, force, D, X)
        return
    if kind == BOX:
        box_derivatives(terms, m, R, e, force, D, X)
        return
    ax, ay, az = terms.axis[m, 0], terms.axis[m, 1], terms.axis[m, 2]
    x = R[k, 0, 0] * ax + R[k, 0, 1] * ay + R[k, 0, 2] * az
    y = R[k, 1, 0] * ax + R[k, 1, 1] * ay + R[k, 1, 2] * az
    z = R[k, 2, 0] * ax + R[k, 2, 1] * ay + R[k, 2, 2] * az
    set_skew(D, x, y, z, 1.0)
    add_moment(X, x, y, z, force[0], force[1], force[2])
    if kind == AIM:
        ux = (terms.target[m, 0] - shift[0]) - e[0]
        uy = (terms.target[m, 1] - shift[1]) - e[1]
        uz = (terms.target[m, 2] - shift[2]) - e[2]
        rho = math.sqrt(ux * ux + uy * uy + uz * uz)
        if not rho > MIN_AIM_DISTANCE:
            return
        dx, dy, dz = ux / rho, uy / rho, uz / rho
        along = force[0] * dx + force[1] * dy + force[2] * dz
        for i in range(3):
            di = pick(i, dx, dy, dz)
            bi = force[i] - along * di
            for j in range(3):
                dj = pick(j, dx, dy, dz)
                bj = force[j] - along * dj
                projector = (1.0 if i == j else 0.0) - di * dj
                D[i, 3 + j] = -projector / rho
                X[3 + i, 3 + j] = -(di * bj + bi * dj + along * projector) / (rho * rho)


@jit_forceinline
def set_skew(D, x, y, z, scale):
    """Write scale·[p] into the ω columns of D (3, 6)."""
    D[0, 0], D[0, 1], D[0, 2] = 0.0, -scale * z, scale * y
    D[1, 0], D[1, 1], D[1, 2] = scale * z, 0.0, -scale * x
    D[2, 0], D[2, 1], D[2, 2] = -scale * y, scale * x, 0.0


@jit
def log_derivatives(x, y, z, fx, fy, fz, D, X):
    """Write D_ω = −J_r⁻¹(φ) and X_ωω = sym N for r = φ = log(E exp[−ω]) at ω = 0."""
    s = x * x + y * y + z * z
    g, dg = log_coefficients(s)
    set_skew(D, x, y, z, -0.5)
    for i in range(3):
        for j in range(3):
            square = pick(i, x, y, z) * pick(j, x, y, z) - (s if i == j else 0.0)  # [φ]²
            D[i, j] -= (1.0 if i == j else 0.0) + g * square
    # dJ[η]ᵀf = −½ η × f + 2G'(φ·η) φ × (φ × f) + G (φ × (η × f) + η × (φ × f))
    cx, cy, cz = y * fz - z * fy, z * fx - x * fz, x * fy - y * fx  # φ × f
    ccx, ccy, ccz = y * cz - z * cy, z * cx - x * cz, x * cy - y * cx
    for a in range(3):
        ex, ey, ez = -D[0, a], -D[1, a], -D[2, a]  # η = J_r⁻¹ e_a
        along = 2.0 * dg * (x * ex + y * ey + z * ez)
        tx, ty, tz = ey * fz - ez * fy, ez * fx - ex * fz, ex * fy - ey * fx  # η × f
        nx = -0.5 * tx + along * ccx + g * (y * tz - z * ty + ey * cz - ez * cy)
        ny = -0.5 * ty + along * ccy + g * (z * tx - x * tz + ez * cx - ex * cz)
        nz = -0.5 * tz + along * ccz + g * (x * ty - y * tx + ex * cy - ey * cx)
        X[0, a] += 0.5 * nx
        X[1, a] += 0.5 * ny
        X[2, a] += 0.5 * nz
        X[a, 0] += 0.5 * nx
        X[a, 1] += 0.5 * ny
        X[a, 2] += 0.5 * nz


@jit_forceinline
def add_moment(X, x, y, z, fx, fy, fz):
    """Add (p·f) I − sym(p fᵀ), the bending of a lever p under a force f, to the ωω block of X."""
    dot = x * fx + y * fy + z * fz
    X[0, 0] += dot - x * fx
    X[1, 1] += dot - y * fy
    X[2, 2] += dot - z * fz
    xy, xz, yz = 0.5 * (x * fy + y * fx), 0.5 * (x * fz + z * fx), 0.5 * (y * fz + z * fy)
    X[0, 1] -= xy
    X[1, 0] -= xy
    X[0, 2] -= xz
    X[2, 0] -= xz
    X[1, 2] -= yz
    X[2, 1] -= yz


@jit_forceinline
def local_wrench(D, force, h):
    """Write h = −Dᵀ force (6,) for D (3, 6): what `add_local_model` takes."""
    for i in range(6):
        h[i] = -(D[0, i] * force[0] + D[1, i] * force[1] + D[2, i] * force[2])


@jit
def add_local_model(k, e, h, X, order, sums):
    """Add a local wrench h = −Dᵀq (6,) and curvature X (6, 6) at e to the sums of frame k.

    X is overwritten. Gauss–Newton leaves out the bending of the lever e.
    """
    x, y, z = e[0], e[1], e[2]
    fx, fy, fz = h[3], h[4], h[5]
    tx, ty, tz = cross(x, y, z, fx, fy, fz)
    add_wrench(sums, k, h[0] + tx, h[1] + ty, h[2] + tz, fx, fy, fz)
    if order == GRADIENT:
        return
    # X ← Aᵀ X A: the columns ω gain X_δ (−[e]), then the rows likewise.
    for i in range(6):
        a, b, c = cross(x, y, z, X[i, 3], X[i, 4], X[i, 5])
        X[i, 0] += a
        X[i, 1] += b
        X[i, 2] += c
    for j in range(6):
        a, b, c = cross(x, y, z, X[3, j], X[4, j], X[5, j])
        X[0, j] += a
        X[1, j] += b
        X[2, j] += c
    if order == EXACT:
        add_moment(X, x, y, z, fx, fy, fz)
        add_coupling(sums, k, 0.5 * fx, 0.5 * fy, 0.5 * fz)
    add_matrix(sums, k, X)
