"""How arguments become arrays: one place for the checks and for the words of their errors."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exactik.errors import NonFiniteError, ShapeError
from exactik.typing import Array

__all__ = ["finite", "frozen", "numbers", "owned", "shaped"]


def numbers(name: str, value: ArrayLike) -> Array:
    """Return `value` as float64; raise `ShapeError` naming it if it is no array of numbers."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiub":
            raise TypeError
        return np.asarray(array, dtype=float)
    except (TypeError, ValueError):
        raise ShapeError(f"{name} is {value!r}, which is no array of real numbers") from None


def finite(name: str, value: ArrayLike) -> Array:
    """Return `value` as float64; raise `NonFiniteError` with its name and the first bad place."""
    array = numbers(name, value)
    good = np.isfinite(array)
    if not good.all():
        place = tuple(int(i) for i in np.argwhere(~good)[0])
        at = f"[{', '.join(map(str, place))}]" if len(place) > 0 else ""
        raise NonFiniteError(f"{name}{at} is {array[place]}; every entry of {name} must be finite")
    return array


def shaped(name: str, value: ArrayLike, *shape: int) -> Array:
    """Return `value` as finite float64 of exactly this shape (−1 matches any length)."""
    array = numbers(name, value)
    if array.ndim != len(shape) or any(
        s not in (-1, n) for s, n in zip(shape, array.shape, strict=True)
    ):
        wanted = str(shape).replace("-1", "…")
        raise ShapeError(f"{name} has shape {array.shape}; expected {wanted}")
    return finite(name, array)


def owned(array: NDArray) -> Array:
    """Return a copy of the one kind that the kernels are compiled for: contiguous and writable."""
    return np.array(array, dtype=float, order="C")


def frozen(array: NDArray) -> NDArray:
    """Return the array with its write flag cleared."""
    array.flags.writeable = False
    return array
