"""Functions in files of OpenSim: constants, lines, polynomials, splines, and multiples of these.

Constant                   value
LinearFunction             coefficients: slope, intercept
PolynomialFunction         coefficients: highest power first
SimmSpline                 points; also NaturalCubicSpline and natCubicSpline, its old names
PiecewiseLinearFunction    points
MultiplierFunction         scale × another function
"""

from __future__ import annotations

from exactik.errors import ModelError
from exactik.io._xml import Element
from exactik.model.functions import (
    Constant,
    CoordinateFunction,
    CubicSpline,
    Linear,
    PiecewiseLinear,
    Polynomial,
    Scaled,
)

SPLINE_TAGS = ("SimmSpline", "NaturalCubicSpline", "natCubicSpline")
POINT_TAGS = (*SPLINE_TAGS, "PiecewiseLinearFunction")
FUNCTION_TAGS = (
    "Constant",
    "LinearFunction",
    "PolynomialFunction",
    *POINT_TAGS,
    "MultiplierFunction",
)
# Those that OpenSim has besides; named so that an error can say which one it is.
OTHER_TAGS = (
    "GCVSpline",
    "StepFunction",
    "PiecewiseConstantFunction",
    "MultivariatePolynomialFunction",
    "Sine",
    "SignalGenerator",
    "ExpressionBasedFunction",
)
MAX_NESTED = 16  # multiples of multiples; OpenSim's scaling makes one of each function


def find_function(owner: Element, *places: str) -> Element | None:
    """Return the element of a function: directly in its owner, or in a property of these names."""
    direct = next(owner.find_children(*FUNCTION_TAGS, *OTHER_TAGS), None)
    if direct is not None:
        return direct
    for place in places:
        holder = owner.first(place)
        if holder is not None and len(holder.children) > 0:
            return holder.children[0]
    return None


def find_moving_function(point: Element, axis: str) -> Element | None:
    """Return the function of x, y or z of a <MovingPathPoint>, None if it has none."""
    tag = f"{axis}_location"
    holder = point.first(tag)
    if holder is not None and len(holder.children) > 0:
        return holder.children[0]
    named = (f for f in point.find_children(*FUNCTION_TAGS) if f.plain_name == tag)
    return next(named, None)


def read_function(element: Element, depth: int = 0) -> CoordinateFunction:
    """Return the function that an element describes, or raise an error that names it."""
    tag = element.tag
    if tag not in FUNCTION_TAGS:
        known = ", ".join(FUNCTION_TAGS)
        raise element.error(
            f"a function of type {tag[:40]} cannot be read; expected one of {known}"
        )
    if tag == "MultiplierFunction":
        inner = find_function(element, "function")
        if inner is None:
            raise element.error("multiplies nothing; expected a function in it")
        if depth >= MAX_NESTED:
            raise element.error(f"multiples of multiples, more than {MAX_NESTED} deep")
        scale = element.finite_of("scale", 1.0)
        function = read_function(inner, depth + 1)
        return function if scale == 1.0 else Scaled(function, scale)
    if tag == "Constant":
        return Constant(element.finite_of("value", 0.0))
    try:
        return _read_points(element) if tag in POINT_TAGS else _read_polynomial(element)
    except ModelError as error:
        raise element.error(str(error)) from error


def _read_polynomial(element: Element) -> CoordinateFunction:
    coefficients = element.numbers_of("coefficients")
    if element.tag == "PolynomialFunction":
        if len(coefficients) == 0:
            raise element.error("no coefficients; expected at least one")
        return Polynomial(coefficients[::-1])
    if len(coefficients) == 0:
        coefficients = (1.0, 0.0)
    if len(coefficients) != 2:
        n = len(coefficients)
        raise element.error(f"{n} coefficients; expected slope and intercept: one coordinate")
    slope, intercept = coefficients
    return Linear(slope, intercept)


def _read_points(element: Element) -> CoordinateFunction:
    x, y = element.numbers_of("x"), element.numbers_of("y")
    if len(x) < 2 or len(x) != len(y):
        raise element.error(
            f"{len(x)} values of x and {len(y)} of y; expected as many of both, at least 2"
        )
    return CubicSpline(x, y) if element.tag in SPLINE_TAGS else PiecewiseLinear(x, y)
