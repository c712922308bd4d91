"""Distances and heights of points, exact or one-sided: DISTANCE and LEVEL of `terms`."""

from __future__ import annotations

import math

from exactik.compile import jit, jit_forceinline

MIN_AIM_DISTANCE = 1e-12  # [m] a target nearer than this has no direction: d = 0, constant


@jit
def miss_of_distance(length, side, band, rho):
    """Return s(ρ) [m] with ½s² = φ(x), the cost of a distance ρ, and its first two derivatives.

    An exact distance has x = ρ − length and φ = ½x². Of a one-sided one x is the violation, and φ
    is C²: 0 where x ≤ 0, x³/(6ε) in the band ε, and ½(x² − εx + ε²/3) beyond.
    """
    if side == 0.0:
        return rho - length, 1.0, 0.0
    sign = -1.0 if side > 0.0 else 1.0  # too near, the point is to move away
    x = sign * (rho - length)
    if not x > 0.0:
        return 0.0, 0.0, 0.0
    if x < band:
        s = math.sqrt(x * x * x / (3.0 * band))
        return sign * s, 1.5 * s / x, sign * 0.75 * s / (x * x)
    s = math.sqrt(x * x - band * x + band * band / 3.0)
    slope = (x - 0.5 * band) / s
    return sign * s, slope, sign * (1.0 - slope * slope) / s


@jit
def violation_of_miss(side, band, s):
    """Return the violation x ≥ 0 [m] of a distance whose residual has the length s ≥ 0."""
    if side == 0.0:
        return s
    if 3.0 * s * s < band * band:
        return (3.0 * band * s * s) ** (1.0 / 3.0)
    return 0.5 * band + math.sqrt(s * s - band * band / 12.0)


@jit_forceinline
def split_arm(x, y, z):
    """Return direction and length of a vector; that of none is along x."""
    rho = math.sqrt(x * x + y * y + z * z)
    if not rho > MIN_AIM_DISTANCE:
        return 1.0, 0.0, 0.0, rho
    return x / rho, y / rho, z / rho, rho


@jit_forceinline
def pick(i, x, y, z):
    """Return entry i of (x, y, z)."""
    return x if i == 0 else (y if i == 1 else z)


@jit
def distance_derivatives(terms, m, shift, e, force, D, X):
    """Write D_δ = −Γ and X_δδ of a distance; the rest of both is 0 already."""
    ux = (terms.target[m, 0] - shift[0]) - e[0]
    uy = (terms.target[m, 1] - shift[1]) - e[1]
    uz = (terms.target[m, 2] - shift[2]) - e[2]
    dx, dy, dz, rho = split_arm(ux, uy, uz)
    length = terms.axis[m, 0]
    s, slope, bend = miss_of_distance(length, terms.axis[m, 1], terms.axis[m, 2], rho)
    # Where the two points coincide the direction is a constant; of a length 0 none is needed.
    ratio = 1.0 if length == 0.0 else 0.0
    first, second, inverse = 0.0, 0.0, 0.0
    if rho > MIN_AIM_DISTANCE:
        inverse = 1.0 / rho
        ratio = s * inverse
        first = (slope - ratio) * inverse
        second = (bend - 2.0 * first) * inverse
    along = ux * force[0] + uy * force[1] + uz * force[2]
    for i in range(3):
        di = pick(i, dx, dy, dz)
        for j in range(3):
            dj = pick(j, dx, dy, dz)
            projector = (1.0 if i == j else 0.0) - di * dj
            D[i, 3 + j] = -(slope * di * dj + ratio * projector)
            X[3 + i, 3 + j] = first * (force[i] * dj + di * force[j]) + along * (
                second * di * dj + first * inverse * projector
            )


@jit
def split_normal(terms, m):
    """Return the normal of a LEVEL and its band [m]."""
    x, y, z = terms.axis[m, 0], terms.axis[m, 1], terms.axis[m, 2]
    band = math.sqrt(x * x + y * y + z * z)
    return x / band, y / band, z / band, band


@jit
def local_level(terms, m, r):
    """Replace r = u = t − e by −s n, 0 where the height −n·u is not above 0."""
    x, y, z, band = split_normal(terms, m)
    s, _, _ = miss_of_distance(0.0, -1.0, band, -(x * r[0] + y * r[1] + z * r[2]))
    r[0], r[1], r[2] = -s * x, -s * y, -s * z


@jit
def level_derivatives(terms, m, arm, force, D, X):
    """Write D_δ and X_δδ of a LEVEL for u = `arm` (3,); the rest of both is 0 already."""
    x, y, z, band = split_normal(terms, m)
    height = -(x * arm[0] + y * arm[1] + z * arm[2])
    arm[0], arm[1], arm[2] = 0.0, 0.0, 0.0
    _, slope, bend = miss_of_distance(0.0, -1.0, band, height)
    along = bend * (x * force[0] + y * force[1] + z * force[2])
    for i in range(3):
        for j in range(3):
            nn = pick(i, x, y, z) * pick(j, x, y, z)
            D[i, 3 + j] = -slope * nn
            X[3 + i, 3 + j] = -along * nn
