"""Functions of coordinates: their values, their derivatives, and OpenSim's spline."""

from __future__ import annotations

import numpy as np
import pytest

from exactik.errors import ModelError
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

X = (-1.5, -0.4, 0.3, 1.1, 2.0)
Y = (0.2, -0.3, 0.5, 0.1, 0.4)


def lines() -> PiecewiseLinear:
    with pytest.warns(UserWarning, match="slope of a piecewise linear function jumps"):
        return PiecewiseLinear(X, Y)


ONE: dict[str, CoordinateFunction] = {
    "linear": Linear(2.0, -1.0),
    "polynomial": Polynomial((1.0, 0.5, -2.0, 0.25)),
    "sine": Sine(0.5, 2.0, 0.3, 1.0),
    "spline": CubicSpline(X, Y),
    "scaled spline": Scaled(CubicSpline(X, Y), -3.0),
    "scaled sine": Scaled(Sine(0.5, 2.0, 0.3, 1.0), 4.0),
}


@pytest.mark.parametrize("name", ONE)
def test_derivatives_are_those_of_the_value(name: str):
    """Central differences inside and outside the points of a spline."""
    function, h = ONE[name], 1e-4
    x = np.array([-3.0, -1.0, 0.1, 0.7, 1.9, 5.0])
    (parts,) = function.factors(x)
    low, middle, high = function(x - h), function(x), function(x + h)
    np.testing.assert_array_equal(parts[:, 0], middle)
    np.testing.assert_allclose(parts[:, 1], (high - low) / (2 * h), atol=2e-7)
    np.testing.assert_allclose(parts[:, 2], (high - 2 * middle + low) / h**2, atol=1e-6)


def test_the_spline_goes_through_its_points_and_on_straight():
    spline = CubicSpline(X, Y)
    np.testing.assert_allclose(spline(X), Y, atol=1e-15)
    (ends,) = spline.factors([X[0] - 1e-12, X[-1] + 1e-12])
    np.testing.assert_allclose(spline(X[0] - 2.0), Y[0] - 2.0 * ends[0, 1])
    np.testing.assert_allclose(spline(X[-1] + 2.0), Y[-1] + 2.0 * ends[1, 1])
    (inner,) = spline.factors(np.array(X[1:-1])[:, None] + [-1e-9, 1e-9])
    np.testing.assert_allclose(inner[:, 0], inner[:, 1], atol=1e-7)  # slope and bend go on


def test_the_spline_is_exact_for_cubics():
    """Its end conditions, third derivatives of the cubic through four points, make it so."""
    cubic = Polynomial((0.3, -1.0, 0.7, 0.4))
    spline = CubicSpline(X, tuple(cubic(X).tolist()))
    x = np.linspace(X[0], X[-1], 50)
    np.testing.assert_allclose(spline(x), cubic(x), atol=1e-14)


def test_a_spline_of_two_or_three_points():
    assert CubicSpline((0, 2), (1, 5))(1.0) == pytest.approx(3.0)
    np.testing.assert_allclose(CubicSpline((0, 1, 3), (0, 1, 9))([2.0, 2.5]), [4.0, 6.25])


def test_lines_products_and_constants():
    np.testing.assert_allclose(lines()([-1.5, 0.7, 3.0]), [0.2, 0.3, 0.4 + 0.3 / 0.9])
    assert not lines().is_smooth and PiecewiseLinear((0, 1), (0, 1)).is_smooth
    product = Product(Sine(), Linear(2.0))
    np.testing.assert_allclose(product(0.5, [1.0, 2.0]), np.sin(0.5) * np.array([2.0, 4.0]))
    assert Scaled(product, 3.0)(0.5, 1.0) == pytest.approx(6.0 * np.sin(0.5))
    assert Constant(2.5)() == 2.5


def test_points_that_make_no_function():
    with pytest.raises(ModelError, match="do not increase: 1 follows 1 at point 1"):
        CubicSpline((1, 1, 2), (0, 1, 2))
    with pytest.raises(ModelError, match="has 1 x and 1 y"):
        CubicSpline((1,), (0,))
    with pytest.raises(ModelError, match="no function"):
        Scaled(2.0, 3.0)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ModelError, match="one coordinate each"):
        Product(Constant(1.0), Linear())
