"""Functions of a coordinate: what drives the axes of a custom joint, or one dof by another."""

from exactik.model.functions._function import (
    Constant,
    CoordinateFunction,
    Linear,
    PackedFunction,
    Polynomial,
    Product,
    Scaled,
    Sine,
)
from exactik.model.functions._points import CubicSpline, PiecewiseLinear

__all__ = [
    "Constant",
    "CoordinateFunction",
    "CubicSpline",
    "Linear",
    "PackedFunction",
    "PiecewiseLinear",
    "Polynomial",
    "Product",
    "Scaled",
    "Sine",
]
