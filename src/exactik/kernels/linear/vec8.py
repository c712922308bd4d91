"""Eight numbers that are computed with at once: rows of small matrices, in vector registers.

In the interpreter a vec8 is a tuple. The compiler takes these functions for instructions on LLVM's
vectors of eight (`kernels.instructions`).
"""

from __future__ import annotations

LENGTH = 8


def make_vec8(a, b, c, d, e, f):
    """Return (a, b, c, d, e, f, 0, 0)."""
    return a, b, c, d, e, f, 0.0, 0.0


def load_vec8(M, i):
    """Return row i of M (n, 8)."""
    return tuple(M[i, c] for c in range(LENGTH))


def load_six(M, i):
    """Return the first six numbers of row i of M, and two zeros."""
    return make_vec8(M[i, 0], M[i, 1], M[i, 2], M[i, 3], M[i, 4], M[i, 5])


def store_vec8(M, i, x):
    """Write x to row i of M (n, 8)."""
    for c in range(LENGTH):
        M[i, c] = x[c]


def store_six(M, i, x):
    """Write the first six entries of x to row i of M."""
    for c in range(6):
        M[i, c] = x[c]


def vec8_entry(x, c):
    """Return entry c of x."""
    return x[c]


def replace_entry(x, c, a):
    """Return x with a as its entry c."""
    return *x[:c], a, *x[c + 1 :]


def scale_vec8(a, x):
    """Return a x."""
    return tuple(a * entry for entry in x)


def add_vec8(x, y):
    """Return x + y."""
    return tuple(a + b for a, b in zip(x, y, strict=True))


def add_scaled_vec8(x, a, y):
    """Return x + a y."""
    return tuple(b + a * c for b, c in zip(x, y, strict=True))


def dot_vec8(x, y):
    """Return x · y."""
    a, b, c, d, e, f, g, h = (first * second for first, second in zip(x, y, strict=True))
    return ((a + e) + (c + g)) + ((b + f) + (d + h))
