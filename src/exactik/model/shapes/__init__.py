"""Shapes that stand for bodies where they must not touch: read from files, or fitted."""

from exactik.model.shapes._fit import fit_capsule, fit_shapes
from exactik.model.shapes._shape import (
    Capsule,
    Cuboid,
    HalfSpace,
    LazyShapes,
    Shape,
    Shapes,
    Sphere,
    split_box,
)

__all__ = [
    "Capsule",
    "Cuboid",
    "HalfSpace",
    "LazyShapes",
    "Shape",
    "Shapes",
    "Sphere",
    "fit_capsule",
    "fit_shapes",
    "split_box",
]
