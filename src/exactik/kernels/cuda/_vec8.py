"""Vectors of eight on a GPU, whose threads have no vector registers: seven numbers side by side.

The eighth is 0 wherever vectors are used. Twins of the functions of the same name in
`kernels.linear.vec8` and `articulated`, which have their docstrings.
"""

from __future__ import annotations


def make_vec8(a, b, c, d, e, f):
    return a, b, c, d, e, f, 0.0


def load_vec8(M, i):
    return M[i, 0], M[i, 1], M[i, 2], M[i, 3], M[i, 4], M[i, 5], M[i, 6]


def load_six(M, i):
    return M[i, 0], M[i, 1], M[i, 2], M[i, 3], M[i, 4], M[i, 5], 0.0


def store_vec8(M, i, x):
    M[i, 0], M[i, 1], M[i, 2], M[i, 3] = x[0], x[1], x[2], x[3]
    M[i, 4], M[i, 5], M[i, 6] = x[4], x[5], x[6]


def store_six(M, i, x):
    M[i, 0], M[i, 1], M[i, 2] = x[0], x[1], x[2]
    M[i, 3], M[i, 4], M[i, 5] = x[3], x[4], x[5]


def vec8_entry(x, c):
    return x[c]


def replace_entry(x, c, a):
    return (
        a if c == 0 else x[0],
        a if c == 1 else x[1],
        a if c == 2 else x[2],
        a if c == 3 else x[3],
        a if c == 4 else x[4],
        a if c == 5 else x[5],
        a if c == 6 else x[6],
    )


def scale_vec8(a, x):
    return a * x[0], a * x[1], a * x[2], a * x[3], a * x[4], a * x[5], a * x[6]


def add_vec8(x, y):
    return (
        x[0] + y[0],
        x[1] + y[1],
        x[2] + y[2],
        x[3] + y[3],
        x[4] + y[4],
        x[5] + y[5],
        x[6] + y[6],
    )


def add_scaled_vec8(x, a, y):
    return (
        x[0] + a * y[0],
        x[1] + a * y[1],
        x[2] + a * y[2],
        x[3] + a * y[3],
        x[4] + a * y[4],
        x[5] + a * y[5],
        x[6] + a * y[6],
    )


def dot_vec8(x, y):
    first = (x[0] * y[0] + x[4] * y[4]) + (x[2] * y[2] + x[6] * y[6])
    return first + ((x[1] * y[1] + x[5] * y[5]) + x[3] * y[3])


def load_absorbed(A, k):
    """Of a matrix that is symmetric but for rounding one half is kept: memory is dear."""
    n = 6 * k
    d01, d02, d03, d04, d05 = A[n, 1], A[n, 2], A[n, 3], A[n, 4], A[n, 5]
    d12, d13, d14, d15 = A[n + 1, 2], A[n + 1, 3], A[n + 1, 4], A[n + 1, 5]
    d23, d24, d25 = A[n + 2, 3], A[n + 2, 4], A[n + 2, 5]
    d34, d35, d45 = A[n + 3, 4], A[n + 3, 5], A[n + 4, 5]
    return (
        (A[n, 0], d01, d02, d03, d04, d05, A[n, 6]),
        (d01, A[n + 1, 1], d12, d13, d14, d15, A[n + 1, 6]),
        (d02, d12, A[n + 2, 2], d23, d24, d25, A[n + 2, 6]),
        (d03, d13, d23, A[n + 3, 3], d34, d35, A[n + 3, 6]),
        (d04, d14, d24, d34, A[n + 4, 4], d45, A[n + 4, 6]),
        (d05, d15, d25, d35, d45, A[n + 5, 5], A[n + 5, 6]),
    )


def store_absorbed(A, k, rows):
    x, n = rows[0], 6 * k
    A[n, 0], A[n, 1], A[n, 2], A[n, 3] = x[0], x[1], x[2], x[3]
    A[n, 4], A[n, 5], A[n, 6] = x[4], x[5], x[6]
    x, n = rows[1], n + 1
    A[n, 1], A[n, 2], A[n, 3], A[n, 4], A[n, 5], A[n, 6] = x[1], x[2], x[3], x[4], x[5], x[6]
    x, n = rows[2], n + 1
    A[n, 2], A[n, 3], A[n, 4], A[n, 5], A[n, 6] = x[2], x[3], x[4], x[5], x[6]
    x, n = rows[3], n + 1
    A[n, 3], A[n, 4], A[n, 5], A[n, 6] = x[3], x[4], x[5], x[6]
    x, n = rows[4], n + 1
    A[n, 4], A[n, 5], A[n, 6] = x[4], x[5], x[6]
    x, n = rows[5], n + 1
    A[n, 5], A[n, 6] = x[5], x[6]


VEC8_FUNCTIONS = (
    add_vec8,
    add_scaled_vec8,
    dot_vec8,
    load_absorbed,
    load_vec8,
    load_six,
    make_vec8,
    vec8_entry,
    replace_entry,
    scale_vec8,
    store_absorbed,
    store_vec8,
    store_six,
)
