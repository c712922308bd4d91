"""Any number of markers on a bone, reduced once to a point and three arrows.

A marker at l of its bone, with target t and weight w, costs ½ w |t − (p + R l)|². Write it as the
row √w (1, l, t); a direction ŷ with target d as √w (0, ŷ, d). Rotating rows against each other
(Givens) changes no sum of squares, so all rows of a bone can be brought to the triangular form

    (α, u₀, z₀)     one point       α² = Σw, u₀/α the weighted centre, z₀/α that of the targets
    (0, u₁, z₁)     three arrows    (u₁ has 3, u₂ two, u₃ one non-zero entry)
    (0, u₂, z₂)
    (0, u₃, z₃)
    (0, 0, rest)    costs ½ |rest|² whatever the pose: the floor

and with α_c = (α, 0, 0, 0), y_c = α_c p + R u_c the bone's share of everything is exactly
(docs/maths.md §7)

    cost = floor + ½ Σ |z_c − y_c|²
    wrench = (Σ y_c × z_c ,  α (z₀ − y₀))
    𝓗 exact        = [[ tr M I − sym M , ½α [y₀ + z₀] ], [·ᵀ, α² I]] ,    M = Σ z_c y_cᵀ
    𝓗 Gauss–Newton = [[ tr E I − E     ,  α [y₀]      ], [·ᵀ, α² I]] ,    E = Σ y_c y_cᵀ

The exact curvature is Gauss–Newton's with one lever arm ended at the target: it costs the same.
Unlike sums of moments (Σ w t lᵀ and so on) the rows keep the full accuracy of the cost however
small it gets.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from exactik.compile import jit, jit_forceinline
from exactik.kernels.goals.sums import (
    GAUSS_NEWTON,
    GRADIENT,
    VALUE,
    add_coupling,
    add_inertia,
    add_mass,
    add_wrench,
)
from exactik.kernels.goals.terms import POSITION
from exactik.typing import Array, IndexArray

NEGLIGIBLE_LENGTH = 1e-150  # [√weight · m] its square would underflow


class Clouds(NamedTuple):
    """The reduced rows of every bone that has any; constant while the targets are."""

    frame: IndexArray  #     (n,) frames with a cloud
    rows: Array  #           (n, 4, 7): (α, u, z) for the point and the three arrows
    rows_used: IndexArray  # (n,) rows in use: 1 for one marker, all 4 for four or more
    floor: Array  #          (1,) cost that no pose can remove


@jit
def reduce_to_clouds(terms, cloud_of_frame, clouds):
    """Reduce the terms of each cloud; `cloud_of_frame` (n_frames,) is the cloud of each frame.

    Depends on the targets but not on the pose: once per frame of a recording.
    """
    for n in range(clouds.frame.shape[0]):
        for c in range(4):
            for j in range(7):
                clouds.rows[n, c, j] = 0.0
    floor = 0.0
    for m in range(terms.kind.shape[0]):
        if terms.in_cloud[m] == 0:
            continue
        rows = clouds.rows[np.int64(cloud_of_frame[terms.frame[m]])]
        scale = math.sqrt(terms.weight[m, 0, 0])
        is_position = terms.kind[m] == POSITION
        one = scale if is_position else 0.0
        x, y, z = terms.axis[m, 0], terms.axis[m, 1], terms.axis[m, 2]
        if is_position:
            x, y, z = terms.point[m, 0], terms.point[m, 1], terms.point[m, 2]
        x, y, z = scale * x, scale * y, scale * z
        u, v, w = scale * terms.target[m, 0], scale * terms.target[m, 1], scale * terms.target[m, 2]
        # Eliminate the leading entries one by one; what is left of the target part is floor.
        for c in range(4):
            lead = one if c == 0 else (x if c == 1 else (y if c == 2 else z))
            if abs(lead) < NEGLIGIBLE_LENGTH:
                continue
            length = math.sqrt(rows[c, c] * rows[c, c] + lead * lead)
            cosine, sine = rows[c, c] / length, lead / length
            rows[c, 0], one = cosine * rows[c, 0] + sine * one, cosine * one - sine * rows[c, 0]
            rows[c, 1], x = cosine * rows[c, 1] + sine * x, cosine * x - sine * rows[c, 1]
            rows[c, 2], y = cosine * rows[c, 2] + sine * y, cosine * y - sine * rows[c, 2]
            rows[c, 3], z = cosine * rows[c, 3] + sine * z, cosine * z - sine * rows[c, 3]
            rows[c, 4], u = cosine * rows[c, 4] + sine * u, cosine * u - sine * rows[c, 4]
            rows[c, 5], v = cosine * rows[c, 5] + sine * v, cosine * v - sine * rows[c, 5]
            rows[c, 6], w = cosine * rows[c, 6] + sine * w, cosine * w - sine * rows[c, 6]
        floor += u * u + v * v + w * w
    clouds.floor[0] = 0.5 * floor
    for n in range(clouds.frame.shape[0]):
        clouds.rows_used[n] = 1
        for c in range(1, 4):
            if clouds.rows[n, c, c] != 0.0:
                clouds.rows_used[n] = c + 1


@jit_forceinline
def cloud_lever(clouds, n, c, k, R, p):
    """Return y_c = α_c p + R u_c of cloud n on frame k."""
    a = clouds.rows[n, c, 0]
    x, y, z = clouds.rows[n, c, 1], clouds.rows[n, c, 2], clouds.rows[n, c, 3]
    return (
        a * p[k, 0] + R[k, 0, 0] * x + R[k, 0, 1] * y + R[k, 0, 2] * z,
        a * p[k, 1] + R[k, 1, 0] * x + R[k, 1, 1] * y + R[k, 1, 2] * z,
        a * p[k, 2] + R[k, 2, 0] * x + R[k, 2, 1] * y + R[k, 2, 2] * z,
    )


@jit_forceinline
def cloud_target(clouds, n, c, shift):
    """Return z_c of cloud n about an origin that lies `shift` from that of the targets."""
    a = clouds.rows[n, c, 0]
    return (
        clouds.rows[n, c, 4] - a * shift[0],
        clouds.rows[n, c, 5] - a * shift[1],
        clouds.rows[n, c, 6] - a * shift[2],
    )


@jit_forceinline
def add_clouds(clouds, R, p, shift, order, sums):
    """Return the cost of all clouds; add wrenches (order ≥ 1) and curvatures (≥ 2) to `sums`."""
    total = 0.0
    for n in range(clouds.frame.shape[0]):
        k = np.int64(clouds.frame[n])
        tx, ty, tz = 0.0, 0.0, 0.0
        xx, yy, zz, xy, xz, yz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for c in range(np.int64(clouds.rows_used[n])):
            x, y, z = cloud_lever(clouds, n, c, k, R, p)
            u, v, w = cloud_target(clouds, n, c, shift)
            total += (u - x) ** 2 + (v - y) ** 2 + (w - z) ** 2
            tx += y * w - z * v
            ty += z * u - x * w
            tz += x * v - y * u
            if order == GAUSS_NEWTON:
                u, v, w = x, y, z
            xx += x * u
            yy += y * v
            zz += z * w
            xy += 0.5 * (x * v + y * u)
            xz += 0.5 * (x * w + z * u)
            yz += 0.5 * (y * w + z * v)
        if order == VALUE:
            continue
        a = clouds.rows[n, 0, 0]
        x, y, z = cloud_lever(clouds, n, 0, k, R, p)
        u, v, w = cloud_target(clouds, n, 0, shift)
        add_wrench(sums, k, tx, ty, tz, a * (u - x), a * (v - y), a * (w - z))
        if order == GRADIENT:
            continue
        add_inertia(sums, k, xx, yy, zz, xy, xz, yz)
        if order == GAUSS_NEWTON:
            u, v, w = x, y, z
        add_coupling(sums, k, 0.5 * a * (x + u), 0.5 * a * (y + v), 0.5 * a * (z + w))
        add_mass(sums, k, a * a)
    return clouds.floor[0] + 0.5 * total
