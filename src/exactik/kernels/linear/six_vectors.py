"""Twists and wrenches, six numbers each, as tuples: they stay in registers."""

from __future__ import annotations

from exactik.compile import jit_forceinline


@jit_forceinline
def load(M, i):
    """Return the six numbers of row i."""
    return M[i, 0], M[i, 1], M[i, 2], M[i, 3], M[i, 4], M[i, 5]


@jit_forceinline
def store(M, i, x):
    """Write six numbers to row i."""
    M[i, 0], M[i, 1], M[i, 2], M[i, 3], M[i, 4], M[i, 5] = x


@jit_forceinline
def dot(x, y):
    """Return x · y."""
    return (x[0] * y[0] + x[1] * y[1] + x[2] * y[2]) + (x[3] * y[3] + x[4] * y[4] + x[5] * y[5])


@jit_forceinline
def add_scaled(x, a, y):
    """Return x + a y."""
    return (
        x[0] + a * y[0],
        x[1] + a * y[1],
        x[2] + a * y[2],
        x[3] + a * y[3],
        x[4] + a * y[4],
        x[5] + a * y[5],
    )
