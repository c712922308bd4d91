"""Convert arguments to arrays: one place for the checks and the wording of their errors."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exactik.errors import NonFiniteError, ShapeError
from exactik.typing import Array

__all__ = ["as_floats", "contiguous_copy", "freeze", "require_finite", "require_shape"]


def as_floats(name: str, value: ArrayLike) -> Array:
    """Return `value` as float64; raise `ShapeError` naming it if it is no array of numbers."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiub":
            raise TypeError
        return np.asarray(array, dtype=float)
    except (TypeError, ValueError):
        raise ShapeError(f"{name} is {value!r}, which is no array of real numbers") from None


def require_finite(name: str, value: ArrayLike) -> Array:
    """Return `value` as float64; raise `NonFiniteError` naming the first bad entry."""
    array = as_floats(name, value)
    is_finite = np.isfinite(array)
    if not is_finite.all():
        index = tuple(int(i) for i in np.argwhere(~is_finite)[0])
        entry = f"{name}[{', '.join(map(str, index))}]" if len(index) > 0 else name
        raise NonFiniteError(f"{entry} is {array[index]}; every entry of {name} must be finite")
    return array


def require_shape(name: str, value: ArrayLike, *shape: int) -> Array:
    """Return `value` as finite float64 of exactly this shape (−1 matches any length)."""
    array = as_floats(name, value)
    if array.ndim != len(shape) or any(
        s not in (-1, n) for s, n in zip(shape, array.shape, strict=True)
    ):
        expected = str(shape).replace("-1", "…")
        raise ShapeError(f"{name} has shape {array.shape}; expected {expected}")
    return require_finite(name, array)


def contiguous_copy(array: NDArray) -> Array:
    """Return a contiguous, writable float64 copy: the only kind that kernels are compiled for."""
    return np.array(array, dtype=float, order="C")


def freeze(array: NDArray) -> NDArray:
    """Make the array read-only, and return it."""
    array.flags.writeable = False
    return array
