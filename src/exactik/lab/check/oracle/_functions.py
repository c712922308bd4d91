"""Functions of coordinates, once more, on jets: from their public description alone."""

from __future__ import annotations

import numpy as np

from exactik.lab.check.oracle.jet import Jet, chain, constant, series, sin
from exactik.model.functions import (
    Constant,
    CoordinateFunction,
    CubicSpline,
    Linear,
    PiecewiseLinear,
    Polynomial,
    Product,
    Scaled,
    Sine,
)
from exactik.typing import Array


def apply_function(function: CoordinateFunction, x: list[Jet], n: int) -> Jet:
    """Return the value of a function at scalar jets x, one for each coordinate it takes."""
    if isinstance(function, Constant):
        return constant(function.value, n)
    if isinstance(function, Scaled):
        return apply_function(function.function, x, n) * function.factor
    if isinstance(function, Product):
        first, second = x
        return apply_function(function.first, [first], n) * apply_function(
            function.second, [second], n
        )
    (at,) = x
    if isinstance(function, Linear):
        return at * function.slope + function.intercept
    if isinstance(function, Polynomial):
        return series(function.coefficients, at)
    if isinstance(function, Sine):
        return sin(at * function.frequency + function.phase) * function.amplitude + function.offset
    if isinstance(function, CubicSpline):
        points = np.array(function.x)
        return _follow_pieces(points, _solve_pieces(points, np.array(function.y)), at)
    if isinstance(function, PiecewiseLinear):
        points, y = np.array(function.x), np.array(function.y)
        slope = np.diff(y) / np.diff(points)
        return _follow_pieces(points, np.stack([y[:-1], slope, 0 * slope, 0 * slope], 1), at)
    raise NotImplementedError(f"the oracle knows no function {function}")


def _follow_pieces(points: Array, pieces: Array, at: Jet) -> Jet:
    """Return the polynomial of the piece around `at`; beyond the ends, its tangent there."""
    x = float(at.value)
    k = int(np.clip(np.searchsorted(points, x, side="right") - 1, 0, len(pieces) - 1))
    polynomial = np.polynomial.Polynomial(pieces[k])
    inside = float(np.clip(x, points[0], points[-1])) - points[k]
    value, slope = polynomial(inside), polynomial.deriv(1)(inside)
    if x < points[0] or x > points[-1]:
        return chain(at, value + slope * (x - inside - points[k]), slope, 0.0)
    return chain(at, value, slope, polynomial.deriv(2)(inside))


def _solve_pieces(x: Array, y: Array) -> Array:
    """Return the coefficients a + b t + c t² + d t³ of each piece, from all conditions at once.

    Values at both ends of every piece; slope and second derivative continuous; the third derivative
    of the first and of the last piece that of the cubic through the four points there.
    """
    pieces, h = len(x) - 1, np.diff(x)
    rows, right = [], []

    def require(entries: dict[tuple[int, int], float], value: float) -> None:
        row = np.zeros((pieces, 4))
        for (piece, power), coefficient in entries.items():
            row[piece, power] = coefficient
        rows.append(row.reshape(-1))
        right.append(value)

    for k in range(pieces):
        require({(k, 0): 1.0}, y[k])
        require({(k, p): h[k] ** p for p in range(4)}, y[k + 1])
    for k in range(pieces - 1):
        require({(k, 1): 1.0, (k, 2): 2 * h[k], (k, 3): 3 * h[k] ** 2, (k + 1, 1): -1.0}, 0.0)
        require({(k, 2): 2.0, (k, 3): 6 * h[k], (k + 1, 2): -2.0}, 0.0)
    if pieces == 1:
        require({(0, 2): 1.0}, 0.0)
        require({(0, 3): 1.0}, 0.0)
    elif pieces == 2:
        require({(0, 3): 1.0}, 0.0)
        require({(1, 3): 1.0}, 0.0)
    else:
        for piece, four in ((0, slice(0, 4)), (pieces - 1, slice(-4, None))):
            cubic = np.linalg.solve(np.vander(x[four] - x[four][0], 4), y[four])
            require({(piece, 3): 1.0}, cubic[0])
    return np.linalg.solve(np.array(rows), np.array(right)).reshape(pieces, 4)
