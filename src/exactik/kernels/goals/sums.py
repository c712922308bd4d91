"""What goals add to their bone, and bones to their parent: a wrench and a symmetric 6×6.

If a bone and all that hangs on it undergo the rigid displacement exp(ξ), ξ = (ω, v), the cost
changes to (docs/maths.md §6)

    f − w·ξ + ½ ξᵀ𝓗ξ + …            w = (τ, F)

A row of `sums` holds, for one frame, w in columns 0–5 and the upper triangle of 𝓗 in 6–26:

            ωx  ωy  ωz  vx  vy  vz
        ωx   6   7   8   9  10  11
        ωy      12  13  14  15  16
        ωz          17  18  19  20
        vx              21  22  23
        vy                  24  25
        vz                      26
"""

from __future__ import annotations

import numpy as np

from exactik.compile import jit_forceinline

VALUE, GRADIENT, GAUSS_NEWTON, EXACT = 0, 1, 2, 3
"""How much to evaluate; GAUSS_NEWTON and EXACT differ in the curvature that goals add."""

WRENCH_SIZE, SUMS_SIZE = 6, 27
"""Length of the wrench, and of a whole row of sums."""


@jit_forceinline
def clear_sums(sums, width):
    """Zero the first `width` columns."""
    for k in range(sums.shape[0]):
        for j in range(width):
            sums[k, j] = 0.0


@jit_forceinline
def sum_subtrees(tree, sums, width):
    """Add the first `width` columns of every frame to its parent's, leaves first."""
    for back in range(1, sums.shape[0]):
        k = sums.shape[0] - back
        parent = np.int64(tree.parent[k])
        for j in range(width):
            sums[parent, j] += sums[k, j]


@jit_forceinline
def add_wrench(sums, k, tx, ty, tz, fx, fy, fz):
    """Add to the wrench: w += (τ, F)."""
    sums[k, 0] += tx
    sums[k, 1] += ty
    sums[k, 2] += tz
    sums[k, 3] += fx
    sums[k, 4] += fy
    sums[k, 5] += fz


@jit_forceinline
def add_inertia(sums, k, xx, yy, zz, xy, xz, yz):
    """𝓗_ωω += tr(M) I − M for a symmetric M."""
    sums[k, 6] += yy + zz
    sums[k, 7] -= xy
    sums[k, 8] -= xz
    sums[k, 12] += xx + zz
    sums[k, 13] -= yz
    sums[k, 17] += xx + yy


@jit_forceinline
def add_coupling(sums, k, x, y, z):
    """𝓗_ωv += [p]."""
    sums[k, 10] -= z
    sums[k, 11] += y
    sums[k, 14] += z
    sums[k, 16] -= x
    sums[k, 18] -= y
    sums[k, 19] += x


@jit_forceinline
def add_mass(sums, k, mass):
    """𝓗_vv += mass I."""
    sums[k, 21] += mass
    sums[k, 24] += mass
    sums[k, 26] += mass


@jit_forceinline
def add_matrix(sums, k, X):
    """𝓗 += X, a full symmetric (6, 6)."""
    index = WRENCH_SIZE
    for i in range(6):
        for j in range(i, 6):
            sums[k, index] += X[i, j]
            index += 1
