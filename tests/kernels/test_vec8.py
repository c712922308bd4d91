"""Compiled vec8 do what the functions say in the interpreter."""

from __future__ import annotations

import numpy as np

from exactik.compile import jit
from exactik.kernels.linear.vec8 import (
    add_scaled_vec8,
    add_vec8,
    dot_vec8,
    load_six,
    load_vec8,
    make_vec8,
    replace_entry,
    scale_vec8,
    store_six,
    store_vec8,
    vec8_entry,
)
from exactik.typing import Array
from tests.support.descents import plain


@jit
def compute_rows(M, six, rows, found):
    """Write what each function makes of rows of M (n, 8) and of `six` (n, 6)."""
    x, y, short = load_vec8(M, 1), load_vec8(M, 2), load_six(six, 1)
    store_vec8(rows, 0, x)
    store_vec8(rows, 1, short)
    store_vec8(rows, 2, make_vec8(M[0, 0], M[0, 1], M[0, 2], M[0, 3], M[0, 4], M[0, 5]))
    store_vec8(rows, 3, replace_entry(replace_entry(x, 6, M[0, 0]), 2, -1.5))
    store_vec8(rows, 4, scale_vec8(M[0, 3], x))
    store_vec8(rows, 5, add_vec8(x, y))
    store_vec8(rows, 6, add_scaled_vec8(x, M[0, 7], y))
    store_six(six, 0, y)
    for c in range(8):
        found[c] = vec8_entry(x, c)
    found[8] = dot_vec8(x, y)
    found[9] = dot_vec8(short, y)


def run(function) -> tuple[Array, ...]:
    numbers = np.random.default_rng(0).normal(size=(3, 8))
    six = np.random.default_rng(1).normal(size=(2, 6))
    arrays = (numbers, six, np.full((8, 8), np.nan), np.full(10, np.nan))
    function(*arrays)
    return arrays


def test_compiled_vectors_do_as_they_say() -> None:
    for actual, expected in zip(run(compute_rows), run(plain(compute_rows)), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=0.0, atol=1e-15)
    M, six, rows, found = run(compute_rows)
    np.testing.assert_array_equal(rows[7], np.nan)  # stores end where they should
    np.testing.assert_array_equal(rows[1], [*six[1], 0.0, 0.0])
    np.testing.assert_array_equal(six[0], M[2, :6])
    np.testing.assert_allclose(found[8:], [M[1] @ M[2], six[1] @ M[2, :6]], rtol=0.0, atol=1e-14)
