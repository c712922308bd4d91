"""Functions through points: a cubic spline as OpenSim's, and straight lines.

The spline is that of Forsythe, Malcolm and Moler, which OpenSim calls SimmSpline (and, in old
files, NaturalCubicSpline, though its second derivative does not vanish at the ends): piecewise
cubic with continuous second derivative, where the third derivative of the first and of the last
piece is that of the cubic through the four points at that end. With h_k = x_{k+1} − x_k and the
slopes δ_k of the chords, its second derivatives are 6σ, where

    h_{k−1} σ_{k−1} + 2(h_{k−1} + h_k) σ_k + h_k σ_{k+1} = δ_k − δ_{k−1}        inside
    −h_0 σ_0 + h_0 σ_1 = h_0² Δ³_first ,      h_{n−2} σ_{n−2} − h_{n−2} σ_{n−1} = −h_{n−2}² Δ³_last

with the third divided differences Δ³ (0 for three points, which give a parabola). Outside the
points the function goes on straight, with the slope of its end.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from exactik.errors import ModelError
from exactik.kernels.tree import functions as kernel
from exactik.model.functions._function import CoordinateFunction, PackedFunction, check_numbers
from exactik.typing import Array

MIN_SPACING = 1e-12
"""Between the x of two points [rad or m]; nearer ones, which OpenSim would divide by its own
smallest number, make a step and no slope."""


class _ThroughPoints(CoordinateFunction):
    """A function through points (x, y), x increasing."""

    x: tuple[float, ...]
    y: tuple[float, ...]

    def __post_init__(self) -> None:
        """Refuse points that make no function."""
        name = type(self).__name__
        x, y = check_numbers(f"x of a {name}", self.x), check_numbers(f"y of a {name}", self.y)
        if len(x) != len(y) or len(x) < 2:
            raise ModelError(
                f"a {name} has {len(x)} x and {len(y)} y; expected as many of both, at least two"
            )
        if not (np.diff(x) > MIN_SPACING).all():
            k = int(np.flatnonzero(~(np.diff(x) > MIN_SPACING))[0])
            raise ModelError(
                f"x of a {name} do not increase: {x[k + 1]:g} follows {x[k]:g} at point {k + 1}"
            )
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "y", y)

    def _pack_pieces(self, b: ArrayLike, c: ArrayLike, d: ArrayLike) -> tuple[PackedFunction, ...]:
        data = np.concatenate([self.x, self.y, np.asarray(b), np.asarray(c), np.asarray(d)])
        return (PackedFunction(kernel.PIECES, len(self.x), tuple(data.tolist())),)


@dataclass(frozen=True)
class CubicSpline(_ThroughPoints):
    """The cubic spline through points that OpenSim calls SimmSpline; straight on outside them.

    Attributes:
        x: coordinates of the points, increasing [rad or m].
        y: values there [rad or m].
    """

    x: tuple[float, ...]
    y: tuple[float, ...]

    def pack(self) -> tuple[PackedFunction, ...]:
        """Return the coefficients of its pieces."""
        x, y = np.array(self.x), np.array(self.y)
        h = np.diff(x)
        chord = np.diff(y) / h
        sigma = _solve_curvatures(x, h, chord)
        b = chord - h * (sigma[1:] + 2.0 * sigma[:-1])
        b = np.append(b, chord[-1] + h[-1] * (sigma[-2] + 2.0 * sigma[-1]))
        d = np.diff(sigma) / h
        return self._pack_pieces(b, 3.0 * sigma, np.append(d, d[-1]))


def _solve_curvatures(x: Array, h: Array, chord: Array) -> Array:
    """Return σ, a sixth of the second derivatives at the points."""
    n = len(x)
    if n == 2:
        return np.zeros(2)
    diagonal, off, rhs = np.empty(n), h.copy(), np.zeros(n)
    diagonal[0], diagonal[-1] = -h[0], -h[-1]
    diagonal[1:-1] = 2.0 * (h[:-1] + h[1:])
    rhs[1:-1] = np.diff(chord)
    if n > 3:
        second = rhs[1:-1] / (x[2:] - x[:-2])  # second divided differences
        rhs[0] = (second[1] - second[0]) / (x[3] - x[0]) * h[0] ** 2
        rhs[-1] = -(second[-1] - second[-2]) / (x[-1] - x[-4]) * h[-1] ** 2
    for i in range(1, n):
        ratio = off[i - 1] / diagonal[i - 1]
        diagonal[i] -= ratio * off[i - 1]
        rhs[i] -= ratio * rhs[i - 1]
    rhs[-1] /= diagonal[-1]
    for i in range(n - 2, -1, -1):
        rhs[i] = (rhs[i] - off[i] * rhs[i + 1]) / diagonal[i]
    return rhs


@dataclass(frozen=True)
class PiecewiseLinear(_ThroughPoints):
    """Straight lines between points, and on outside them.

    Its slope jumps at the points: a solver that comes to rest at one of them converges slowly, and
    a `UserWarning` says so where there are more than two. Prefer `CubicSpline`.

    Attributes:
        x: coordinates of the points, increasing [rad or m].
        y: values there [rad or m].
    """

    x: tuple[float, ...]
    y: tuple[float, ...]

    def __post_init__(self) -> None:
        """Check the points, and warn that this function has corners."""
        super().__post_init__()
        if not self.is_smooth:
            warnings.warn(
                "the slope of a piecewise linear function jumps at its points, where solvers "
                "converge slowly; a CubicSpline through them does not",
                stacklevel=3,
            )

    @property
    def is_smooth(self) -> bool:
        """Only a single line is."""
        return len(self.x) == 2

    def pack(self) -> tuple[PackedFunction, ...]:
        """Return the slopes of its pieces."""
        slope = np.diff(self.y) / np.diff(self.x)
        zero = np.zeros(len(self.x))
        return self._pack_pieces(np.append(slope, slope[-1]), zero, zero)
