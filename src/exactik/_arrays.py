"""Convert arguments to arrays: one place for the checks and the wording of their errors."""

from __future__ import annotations

import math
from typing import TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exactik.errors import NonFiniteError, ShapeError
from exactik.typing import Array

SHORT_ARRAY = 64
"""Entries up to which plain numbers are looked at faster than arrays are made: 1 µs for a 4×4, not
4. Decides nothing else."""


def is_number(value: object) -> TypeGuard[float]:
    """Return whether it is one real number, Python's or numpy's; True and False are none."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def as_floats(name: str, value: ArrayLike) -> Array:
    """Return `value` as float64; raise `ShapeError` naming it if it is no array of numbers.

    A masked entry is unknown, which no caller can use: `NonFiniteError`. Where unknown entries have
    a meaning, call `fill_masked` first.
    """
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        entry = _name_entry(name, np.ma.getmaskarray(value))
        raise NonFiniteError(f"{entry} is masked; every entry of {name} must be known")
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiu":
            raise TypeError
        return np.asarray(array, dtype=float)
    except (TypeError, ValueError):
        raise ShapeError(f"{name} is {value!r}, which is no array of real numbers") from None


def fill_masked(value: ArrayLike) -> ArrayLike:
    """Return `value` with NaN for the entries that a masked array masks."""
    if not isinstance(value, np.ma.MaskedArray) or value.dtype.kind not in "fiu":
        return value
    return np.where(np.ma.getmaskarray(value), np.nan, value.data)


def require_finite(name: str, value: ArrayLike) -> Array:
    """Return `value` as float64; raise `NonFiniteError` naming the first bad entry."""
    array = as_floats(name, value)
    if array.size <= SHORT_ARRAY and all(map(math.isfinite, array.ravel().tolist())):
        return array
    is_finite = np.isfinite(array)
    if not is_finite.all():
        entry, value = _name_entry(name, ~is_finite), array[~is_finite][0]
        raise NonFiniteError(f"{entry} is {value}; every entry of {name} must be finite")
    return array


def _name_entry(name: str, wrong: NDArray[np.bool_]) -> str:
    """Return "name[2, 0]" for the first entry that is wrong."""
    index = np.argwhere(wrong)[0]
    return f"{name}[{', '.join(map(str, index.tolist()))}]" if len(index) > 0 else name


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
