"""Shapes that stand for bodies where they must not touch: read from files, or fitted."""

from exactik.model.shapes._fit import fit_capsule, fit_shapes
from exactik.model.shapes._shape import (
    Capsule,
    CollisionShape,
    Cuboid,
    HalfSpace,
    LazyShapes,
    Shapes,
    Sphere,
    find_segment_distances,
    split_box,
)

__all__ = [
    "Capsule",
    "CollisionShape",
    "Cuboid",
    "HalfSpace",
    "LazyShapes",
    "Shapes",
    "Sphere",
    "find_segment_distances",
    "fit_capsule",
    "fit_shapes",
    "split_box",
]
