"""Octets on a GPU, whose threads have no vector registers: eight numbers side by side.

Twins of the functions of the same name in `kernels.linear.octets`, which has their docstrings.
"""

from __future__ import annotations

__all__ = ["OCTET_FUNCTIONS"]


def make_octet(a, b, c, d, e, f):
    return a, b, c, d, e, f, 0.0, 0.0


def load_octet(M, i):
    return M[i, 0], M[i, 1], M[i, 2], M[i, 3], M[i, 4], M[i, 5], M[i, 6], M[i, 7]


def load_six(M, i):
    return M[i, 0], M[i, 1], M[i, 2], M[i, 3], M[i, 4], M[i, 5], 0.0, 0.0


def store_octet(M, i, x):
    M[i, 0], M[i, 1], M[i, 2], M[i, 3] = x[0], x[1], x[2], x[3]
    M[i, 4], M[i, 5], M[i, 6], M[i, 7] = x[4], x[5], x[6], x[7]


def store_six(M, i, x):
    M[i, 0], M[i, 1], M[i, 2] = x[0], x[1], x[2]
    M[i, 3], M[i, 4], M[i, 5] = x[3], x[4], x[5]


def octet_entry(x, c):
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
        a if c == 7 else x[7],
    )


def scale_octet(a, x):
    return a * x[0], a * x[1], a * x[2], a * x[3], a * x[4], a * x[5], a * x[6], a * x[7]


def add_octets(x, y):
    return (
        x[0] + y[0],
        x[1] + y[1],
        x[2] + y[2],
        x[3] + y[3],
        x[4] + y[4],
        x[5] + y[5],
        x[6] + y[6],
        x[7] + y[7],
    )


def add_scaled_octet(x, a, y):
    return (
        x[0] + a * y[0],
        x[1] + a * y[1],
        x[2] + a * y[2],
        x[3] + a * y[3],
        x[4] + a * y[4],
        x[5] + a * y[5],
        x[6] + a * y[6],
        x[7] + a * y[7],
    )


def dot_octets(x, y):
    first = (x[0] * y[0] + x[4] * y[4]) + (x[2] * y[2] + x[6] * y[6])
    return first + ((x[1] * y[1] + x[5] * y[5]) + (x[3] * y[3] + x[7] * y[7]))


OCTET_FUNCTIONS = (
    add_octets,
    add_scaled_octet,
    dot_octets,
    load_octet,
    load_six,
    make_octet,
    octet_entry,
    replace_entry,
    scale_octet,
    store_octet,
    store_six,
)
