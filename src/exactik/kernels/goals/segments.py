"""The distance of two segments, by which capsules and spheres keep apart: SEGMENTS of `terms`.

On A the segment a + s u, on B, which stands still, b + t v, both with s, t in [0, 1]. Where they
are nearest (Ericson 2005, 5.1.9), e is the point on A, n the unit vector from there to B, and ρ the
distance. The nearest points move along the segments, unless they are ends. With σ, τ for how far
those that may move do, M the matrix of σ, τ in ½|b + τv − e − σu|² and N = (u, −v),

    ∇ρ = (0, −n) ,    ∇²ρ = [[ −ρ M⁻¹_σσ c cᵀ , c k ], [ ·ᵀ , (I − nnᵀ − N M⁻¹Nᵀ)/ρ ]]

in (ω, δ) of A at e, with c = u × n and k = M⁻¹_σ: Nᵀ: the minimum over σ and τ takes N M⁻¹Nᵀ away.
Of the residual only the first row is used, s(ρ) of `miss_of_distance`. Such terms are between two
bodies, of which B may be the world (`pairs`).

Where segments cross there is no n; that of two lines is normal to both, also in the limit.
"""

from __future__ import annotations

import math

import numpy as np

from exactik.compile import jit, jit_forceinline
from exactik.kernels.goals.distances import MIN_AIM_DISTANCE, miss_of_distance, pick, split_arm
from exactik.spatial import cross

PARALLEL = 1e-12  # squared sine of the angle below which two segments are nearest at an end, too


@jit_forceinline
def clip_to_segment(x):
    """Return x within [0, 1]."""
    return min(max(x, 0.0), 1.0)


@jit
def square_of_gap(uu, uv, vv, uw, vw, ww, s, t):
    """Return |w + t v − s u|²."""
    square = ww + t * (t * vv + 2.0 * vw)
    return square + s * (s * uu - 2.0 * (uw + t * uv))


@jit
def find_nearest(ux, uy, uz, vx, vy, vz, wx, wy, wz):
    """Return s and t of the nearest points of a + s u and b + t v, where w = b − a."""
    uu, vv = ux * ux + uy * uy + uz * uz, vx * vx + vy * vy + vz * vz
    uv, ww = ux * vx + uy * vy + uz * vz, wx * wx + wy * wy + wz * wz
    uw, vw = ux * wx + uy * wy + uz * wz, vx * wx + vy * wy + vz * wz
    det = uu * vv - uv * uv
    if det > PARALLEL * uu * vv:
        s, t = (uw * vv - uv * vw) / det, (uv * uw - uu * vw) / det
        if 0.0 < s < 1.0 and 0.0 < t < 1.0:
            return s, t
    # Else one of them is an end.
    best_s, best_t, least = 0.0, 0.0, math.inf
    for end in range(4):
        if end < 2:
            s = float(end)
            t = clip_to_segment((s * uv - vw) / vv) if vv > 0.0 else 0.0
        else:
            t = float(end - 2)
            s = clip_to_segment((t * uv + uw) / uu) if uu > 0.0 else 0.0
        square = square_of_gap(uu, uv, vv, uw, vw, ww, s, t)
        if square < least:
            best_s, best_t, least = s, t, square
    return best_s, best_t


@jit_forceinline
def is_inside(s):
    """Whether a nearest point is no end of its segment."""
    return 0.0 < s < 1.0


@jit
def find_normal(ux, uy, uz, vx, vy, vz, x, y, z, both):
    """Return n and ρ for the gap (x, y, z); `both`: whether no nearest point is an end."""
    nx, ny, nz, rho = split_arm(x, y, z)
    if both:
        cx, cy, cz = cross(ux, uy, uz, vx, vy, vz)
        lx, ly, lz, _ = split_arm(cx, cy, cz)
        sign = 1.0 if lx * nx + ly * ny + lz * nz >= 0.0 else -1.0
        nx, ny, nz = sign * lx, sign * ly, sign * lz
    return nx, ny, nz, rho


@jit_forceinline
def load_segments(terms, m, R):
    """Return u, in the world, and v, which `pairs.place_in_world` has brought there."""
    k = np.int64(terms.frame[m])
    x, y, z = terms.rotation[m, 0, 0], terms.rotation[m, 0, 1], terms.rotation[m, 0, 2]
    return (
        R[k, 0, 0] * x + R[k, 0, 1] * y + R[k, 0, 2] * z,
        R[k, 1, 0] * x + R[k, 1, 1] * y + R[k, 1, 2] * z,
        R[k, 2, 0] * x + R[k, 2, 1] * y + R[k, 2, 2] * z,
        terms.rotation[m, 1, 0],
        terms.rotation[m, 1, 1],
        terms.rotation[m, 1, 2],
    )


@jit
def local_segments(terms, m, R, e, r):
    """Move e from the start of A's segment to its nearest point; r, b − a before, becomes s(ρ).

    s and t are left in e[3] and e[4].
    """
    ux, uy, uz, vx, vy, vz = load_segments(terms, m, R)
    s, t = find_nearest(ux, uy, uz, vx, vy, vz, r[0], r[1], r[2])
    x, y, z = r[0] + t * vx - s * ux, r[1] + t * vy - s * uy, r[2] + t * vz - s * uz
    _, _, _, rho = split_arm(x, y, z)
    e[0], e[1], e[2], e[3], e[4] = e[0] + s * ux, e[1] + s * uy, e[2] + s * uz, s, t
    r[0], _, _ = miss_of_distance(terms.axis[m, 0], terms.axis[m, 1], terms.axis[m, 2], rho)
    r[1], r[2] = 0.0, 0.0


@jit
def segment_derivatives(terms, m, R, e, force, D, X):
    """Write D and X at e, of `local_segments`; the rest of both is 0 already."""
    ux, uy, uz, vx, vy, vz = load_segments(terms, m, R)
    s, t, b = e[3], e[4], terms.target
    x, y, z = b[m, 0] + t * vx - e[0], b[m, 1] + t * vy - e[1], b[m, 2] + t * vz - e[2]
    first, second = is_inside(s), is_inside(t)
    nx, ny, nz, rho = find_normal(ux, uy, uz, vx, vy, vz, x, y, z, first and second)
    _, slope, bend = miss_of_distance(terms.axis[m, 0], terms.axis[m, 1], terms.axis[m, 2], rho)
    uu, vv = ux * ux + uy * uy + uz * uz, vx * vx + vy * vy + vz * vz
    # M⁻¹_σσ, k = along u + across v, and the one direction f that is taken from I − nnᵀ
    entry, along, across, inverse = 0.0, 0.0, 0.0, 0.0
    fx, fy, fz, share = 0.0, 0.0, 0.0, 0.0
    if first and second:
        uv = ux * vx + uy * vy + uz * vz
        det = uu * vv - uv * uv
        entry, along, across = vv / det, vv / det, -uv / det
    else:
        inverse = 1.0 / rho if rho > MIN_AIM_DISTANCE else 0.0
        if first:
            entry, along, share = 1.0 / uu, 1.0 / uu, 1.0 / uu
            fx, fy, fz = ux, uy, uz
        elif second:
            share = 1.0 / vv
            fx, fy, fz = vx, vy, vz
    cx, cy, cz = cross(ux, uy, uz, nx, ny, nz)
    kx, ky, kz = along * ux + across * vx, along * uy + across * vy, along * uz + across * vz
    pull, curl = force[0] * slope, force[0] * bend
    for i in range(3):
        ni, ci, fi = pick(i, nx, ny, nz), pick(i, cx, cy, cz), pick(i, fx, fy, fz)
        D[0, 3 + i] = -slope * ni
        for j in range(3):
            nj, cj, kj = pick(j, nx, ny, nz), pick(j, cx, cy, cz), pick(j, kx, ky, kz)
            free = (1.0 if i == j else 0.0) - ni * nj - share * fi * pick(j, fx, fy, fz)
            X[i, j] = -pull * rho * entry * ci * cj
            X[i, 3 + j] = pull * ci * kj
            X[3 + j, i] = X[i, 3 + j]
            X[3 + i, 3 + j] = pull * inverse * free + curl * ni * nj
