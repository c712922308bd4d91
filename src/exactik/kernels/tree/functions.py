"""Functions of one coordinate, with their first and second derivative.

A function is a row (kind, first, count) of `table`, and numbers in `data` from `first` on:

| kind       | count                     | data                                                    |
|------------|---------------------------|---------------------------------------------------------|
| POLYNOMIAL | number of coefficients    | a₀, a₁, …:  y = Σ a_k x^k                               |
| PIECES     | number n ≥ 2 of points    | x (n), then y, b, c, d (n each)                         |
| SINE       | 4                         | a, ω, φ, o:  y = a sin(ωx + φ) + o                      |

PIECES is y + t(b + t(c + t d)), t = x − x_k, between points k and k + 1, and straight on with the
slopes b of the first and the last point outside them.
"""

from __future__ import annotations

import math

import numpy as np

from exactik.compile import jit

POLYNOMIAL, PIECES, SINE = 0, 1, 2


@jit
def evaluate_function(table, data, f, x):
    """Return value, first and second derivative of function f at x."""
    kind, first, count = table[f, 0], np.int64(table[f, 1]), np.int64(table[f, 2])
    if kind == POLYNOMIAL:
        y, slope, bend = 0.0, 0.0, 0.0
        for back in range(1, count + 1):
            bend = bend * x + 2.0 * slope
            slope = slope * x + y
            y = y * x + data[first + count - back]
        return y, slope, bend
    if kind == SINE:
        a, w = data[first], data[first + 1]
        s, c = math.sin(w * x + data[first + 2]), math.cos(w * x + data[first + 2])
        return a * s + data[first + 3], a * w * c, -a * w * w * s
    last = count - 1
    if x < data[first] or x > data[first + last]:
        k = 0 if x < data[first] else last
        slope = data[first + 2 * count + k]
        return data[first + count + k] + (x - data[first + k]) * slope, slope, 0.0
    low, high = 0, last  # x_low ≤ x ≤ x_high
    while high - low > 1:
        middle = (low + high) // 2
        if x < data[first + middle]:
            high = middle
        else:
            low = middle
    t, k = x - data[first + low], first + count + low
    y, b, c, d = data[k], data[k + count], data[k + 2 * count], data[k + 3 * count]
    return (
        y + t * (b + t * (c + t * d)),
        b + t * (2.0 * c + 3.0 * t * d),
        2.0 * c + 6.0 * t * d,
    )


@jit
def evaluate_function_batch(table, data, f, x, out):
    """Write value and derivatives of function f at x (n,) to `out` (n, 3)."""
    for i in range(x.shape[0]):
        y, slope, bend = evaluate_function(table, data, f, x[i])
        out[i, 0], out[i, 1], out[i, 2] = y, slope, bend
