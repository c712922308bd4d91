"""The distance of a segment from a box, below zero inside it: BOX of `terms`.

On A the segment a + s u, with s in [0, 1]; the box stands still. About its centre and along its
axes, a point c has the signed distance

    outside   |d| ,  d_i = |c_i| − h_i on the active axes, where that is above 0
    inside    the largest |c_i| − h_i , of its six faces

which is convex, so that along the segment it has one minimum ρ, at e. Outside, with n from e to the
box, P the projection on the active axes, p = Pu and c = u × n,

    ∇ρ = (0, −n) ,    ∇²ρ = [[ −ρ ccᵀ/p² , c pᵀ/p² ], [ ·ᵀ , (P − nnᵀ − ppᵀ/p²)/ρ ]]

in (ω, δ) of A at e, without what has p where e is an end: that of `segments`, with a nearest point
of the box that moves in its face or along its edge. Inside, e is an end or as deep under two faces;
then with their outward normals n₁ and n₂, w = n₁ − n₂ and n = −(n₁ − w (n₁·u)/(w·u)) only

    ∇²ρ_ωδ = c wᵀ/(w·u)
"""

from __future__ import annotations

import math

import numpy as np

from exactik.compile import jit, jit_forceinline
from exactik.kernels.goals.distances import miss_of_distance, pick
from exactik.spatial import cross

TOUCHING = 1e-12  # [m] distance that is rounding
LEVEL_WITH_FACE = 1e-12  # p² over |u|² below which the nearest points of a segment are many


@jit_forceinline
def exceed(c, h):
    """Return by how much |c| is above h, with the sign of c; 0 where it is not."""
    return c - h if c > h else (c + h if c < -h else 0.0)


@jit_forceinline
def height_above(face, x, y, z, hx, hy, hz):
    """Return the height of a point above a face, of 0 … 5: +x, −x, +y, −y, +z, −z."""
    c, h = pick(face // 2, x, y, z), pick(face // 2, hx, hy, hz)
    return (c if face % 2 == 0 else -c) - h


@jit_forceinline
def slope_of(face, ux, uy, uz):
    """Return how fast u rises above a face."""
    return pick(face // 2, ux, uy, uz) * (1.0 if face % 2 == 0 else -1.0)


@jit
def find_highest(x, y, z, hx, hy, hz):
    """Return the face that a point is highest above, and how high."""
    best, height = 0, -math.inf
    for face in range(6):
        above = height_above(face, x, y, z, hx, hy, hz)
        if above > height:
            best, height = face, above
    return best, height


@jit
def slope_outside(s, ax, ay, az, ux, uy, uz, hx, hy, hz):
    """Return half of the first and second derivative of |d|² by s."""
    x, y, z = exceed(ax + s * ux, hx), exceed(ay + s * uy, hy), exceed(az + s * uz, hz)
    bend = ux * ux if x != 0.0 else 0.0
    bend += uy * uy if y != 0.0 else 0.0
    bend += uz * uz if z != 0.0 else 0.0
    return x * ux + y * uy + z * uz, bend


@jit
def find_nearest_outside(ax, ay, az, ux, uy, uz, hx, hy, hz):
    """Return s where |d|² is least. Its slope rises with s, in a line between the six faces."""
    low, high = 0.0, 1.0
    for face in range(6):
        rise = slope_of(face, ux, uy, uz)
        if rise == 0.0:
            continue
        s = -height_above(face, ax, ay, az, hx, hy, hz) / rise
        if low < s < high:
            slope, _ = slope_outside(s, ax, ay, az, ux, uy, uz, hx, hy, hz)
            if slope > 0.0:
                high = s
            else:
                low = s
    s = 0.5 * (low + high)
    slope, bend = slope_outside(s, ax, ay, az, ux, uy, uz, hx, hy, hz)
    return min(max(s - slope / bend, low), high) if bend > 0.0 else s


@jit
def find_deepest(ax, ay, az, ux, uy, uz, hx, hy, hz):
    """Return s where the largest height above a face is least: where two cross, or an end.

    One line falls with s and one rises; where they cross, a line above both takes the place of one.
    """
    falling, _ = find_highest(ax, ay, az, hx, hy, hz)
    rising, _ = find_highest(ax + ux, ay + uy, az + uz, hx, hy, hz)
    if slope_of(falling, ux, uy, uz) >= 0.0:
        return 0.0
    if slope_of(rising, ux, uy, uz) <= 0.0:
        return 1.0
    s = 0.0
    for _ in range(6):
        gap = height_above(falling, ax, ay, az, hx, hy, hz)
        gap -= height_above(rising, ax, ay, az, hx, hy, hz)
        s = gap / (slope_of(rising, ux, uy, uz) - slope_of(falling, ux, uy, uz))
        top, _ = find_highest(ax + s * ux, ay + s * uy, az + s * uz, hx, hy, hz)
        if top == falling or top == rising:
            break
        if slope_of(top, ux, uy, uz) < 0.0:
            falling = top
        else:
            rising = top
    return min(max(s, 0.0), 1.0)


@jit_forceinline
def load_box(terms, m):
    """Return the axes x and y of a box in the world and half of its three lengths.

    `pairs.place_in_world` has brought them there.
    """
    x, y, z = terms.rotation[m, 1, 0], terms.rotation[m, 1, 1], terms.rotation[m, 1, 2]
    hx = math.sqrt(x * x + y * y + z * z)
    a, b, c = terms.rotation[m, 2, 0], terms.rotation[m, 2, 1], terms.rotation[m, 2, 2]
    hy = math.sqrt(a * a + b * b + c * c)
    return (x / hx, y / hx, z / hx), (a / hy, b / hy, c / hy), hx, hy, terms.axis[m, 1]


@jit
def find_reach(terms, m):
    """Return half the length of the segment and the distance of a corner from the centre [m]."""
    segment, corner = 0.0, terms.axis[m, 1] * terms.axis[m, 1]
    for i in range(3):
        segment += terms.rotation[m, 0, i] * terms.rotation[m, 0, i]
        corner += terms.rotation[m, 1, i] * terms.rotation[m, 1, i]
        corner += terms.rotation[m, 2, i] * terms.rotation[m, 2, i]
    return 0.5 * math.sqrt(segment) + math.sqrt(corner)


@jit_forceinline
def turn_into(X, Y, x, y, z):
    """Return a vector along the axes X, Y and X × Y."""
    zx, zy, zz = cross(X[0], X[1], X[2], Y[0], Y[1], Y[2])
    return (
        X[0] * x + X[1] * y + X[2] * z,
        Y[0] * x + Y[1] * y + Y[2] * z,
        zx * x + zy * y + zz * z,
    )


@jit_forceinline
def turn_out(X, Y, x, y, z):
    """Return x X + y Y + z X × Y."""
    zx, zy, zz = cross(X[0], X[1], X[2], Y[0], Y[1], Y[2])
    return (
        x * X[0] + y * Y[0] + z * zx,
        x * X[1] + y * Y[1] + z * zy,
        x * X[2] + y * Y[2] + z * zz,
    )


@jit_forceinline
def turn_segment(terms, m, R):
    """Return u in the world."""
    k = np.int64(terms.frame[m])
    x, y, z = terms.rotation[m, 0, 0], terms.rotation[m, 0, 1], terms.rotation[m, 0, 2]
    return (
        R[k, 0, 0] * x + R[k, 0, 1] * y + R[k, 0, 2] * z,
        R[k, 1, 0] * x + R[k, 1, 1] * y + R[k, 1, 2] * z,
        R[k, 2, 0] * x + R[k, 2, 1] * y + R[k, 2, 2] * z,
    )


@jit
def local_box(terms, m, R, e, r):
    """Move e from the start of A's segment to where it is nearest; r becomes s(ρ).

    Before, r leads from the start to the centre of the box. s is left in e[3].
    """
    X, Y, hx, hy, hz = load_box(terms, m)
    gx, gy, gz = turn_segment(terms, m, R)
    ax, ay, az = turn_into(X, Y, -r[0], -r[1], -r[2])
    ux, uy, uz = turn_into(X, Y, gx, gy, gz)
    s = find_nearest_outside(ax, ay, az, ux, uy, uz, hx, hy, hz)
    dx, dy, dz = exceed(ax + s * ux, hx), exceed(ay + s * uy, hy), exceed(az + s * uz, hz)
    rho = math.sqrt(dx * dx + dy * dy + dz * dz)
    if not rho > TOUCHING:
        s = find_deepest(ax, ay, az, ux, uy, uz, hx, hy, hz)
        _, rho = find_highest(ax + s * ux, ay + s * uy, az + s * uz, hx, hy, hz)
    r[0], _, _ = miss_of_distance(terms.axis[m, 0], 1.0, terms.axis[m, 2], rho)
    r[1], r[2] = 0.0, 0.0
    e[0], e[1], e[2], e[3] = e[0] + s * gx, e[1] + s * gy, e[2] + s * gz, s


@jit_forceinline
def outward(face, axis):
    """Return the entry along an axis of the outward normal of a face."""
    return (1.0 if face % 2 == 0 else -1.0) if face // 2 == axis else 0.0


@jit
def box_derivatives(terms, m, R, e, force, D, X):
    """Write D and X at e, of `local_box`; the rest of both is 0 already."""
    A, B, hx, hy, hz = load_box(terms, m)
    gx, gy, gz = turn_segment(terms, m, R)
    ux, uy, uz = turn_into(A, B, gx, gy, gz)
    b, moves = terms.target, 0.0 < e[3] < 1.0
    x, y, z = turn_into(A, B, e[0] - b[m, 0], e[1] - b[m, 1], e[2] - b[m, 2])
    dx, dy, dz = exceed(x, hx), exceed(y, hy), exceed(z, hz)
    rho = math.sqrt(dx * dx + dy * dy + dz * dz)
    # k = p/p² or w/(w·u), `entry` = 1/p², and the active axes
    kx, ky, kz, px, py, pz, entry, inverse = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    if rho > TOUCHING:
        inverse = 1.0 / rho
        nx, ny, nz = -dx * inverse, -dy * inverse, -dz * inverse
        px, py, pz = ux if dx != 0.0 else 0.0, uy if dy != 0.0 else 0.0, uz if dz != 0.0 else 0.0
        square = px * px + py * py + pz * pz
        if moves and square > LEVEL_WITH_FACE * (ux * ux + uy * uy + uz * uz):
            entry = 1.0 / square
        kx, ky, kz = entry * px, entry * py, entry * pz
    else:
        first, rho = find_highest(x, y, z, hx, hy, hz)
        nx, ny, nz = -outward(first, 0), -outward(first, 1), -outward(first, 2)
        rise = slope_of(first, ux, uy, uz)
        second = find_other_side(first, rise, x, y, z, ux, uy, uz, hx, hy, hz)
        if moves and second >= 0:
            scale = 1.0 / (rise - slope_of(second, ux, uy, uz))
            kx = scale * (outward(first, 0) - outward(second, 0))
            ky = scale * (outward(first, 1) - outward(second, 1))
            kz = scale * (outward(first, 2) - outward(second, 2))
            nx, ny, nz = nx + rise * kx, ny + rise * ky, nz + rise * kz
    active_x, active_y, active_z = inverse * dx != 0.0, inverse * dy != 0.0, inverse * dz != 0.0
    nx, ny, nz = turn_out(A, B, nx, ny, nz)
    kx, ky, kz = turn_out(A, B, kx, ky, kz)
    px, py, pz = turn_out(A, B, px, py, pz)
    cx, cy, cz = cross(gx, gy, gz, nx, ny, nz)
    lx, ly, lz = cross(A[0], A[1], A[2], B[0], B[1], B[2])
    _, slope, bend = miss_of_distance(terms.axis[m, 0], 1.0, terms.axis[m, 2], rho)
    pull, curl = force[0] * slope, force[0] * bend
    for i in range(3):
        ni, ci, pi = pick(i, nx, ny, nz), pick(i, cx, cy, cz), pick(i, px, py, pz)
        ai = pick(i, A[0], A[1], A[2]) if active_x else 0.0
        bi = pick(i, B[0], B[1], B[2]) if active_y else 0.0
        li = pick(i, lx, ly, lz) if active_z else 0.0
        D[0, 3 + i] = -slope * ni
        for j in range(3):
            nj, cj, kj = pick(j, nx, ny, nz), pick(j, cx, cy, cz), pick(j, kx, ky, kz)
            free = ai * pick(j, A[0], A[1], A[2]) + bi * pick(j, B[0], B[1], B[2])
            free += li * pick(j, lx, ly, lz) - ni * nj - entry * pi * pick(j, px, py, pz)
            X[i, j] = -pull * rho * entry * ci * cj
            X[i, 3 + j] = pull * ci * kj
            X[3 + j, i] = X[i, 3 + j]
            X[3 + i, 3 + j] = pull * inverse * free + curl * ni * nj


@jit
def find_other_side(first, rise, x, y, z, ux, uy, uz, hx, hy, hz):
    """Return the highest face that falls where face `first` rises, or the reverse; −1 if none."""
    best, height = -1, -math.inf
    for face in range(6):
        above = height_above(face, x, y, z, hx, hy, hz)
        if slope_of(face, ux, uy, uz) * rise < 0.0 and above > height:
            best, height = face, above
    return best
