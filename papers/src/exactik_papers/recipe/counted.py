"""Floating-point operations of a kernel, counted by running it with numbers that count.

The source of a compiled function runs in Python, and every function that it calls as well. What is
counted is what the kernel says, multiplications by zero included; a compiler may leave some out.
Sines and cosines are counted in pairs, apart from the rest.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactik.spatial import sincos

__all__ = ["Count", "count_operations", "make_counting", "make_plain"]


class Count:
    """How many operations there were.

    Attributes:
        flops: additions, subtractions, multiplications, divisions.
        turns: pairs of a sine and a cosine.
    """

    def __init__(self) -> None:
        """Start at nothing."""
        self.flops = self.turns = 0


class Number:
    """A float whose every operation is counted."""

    __array_ufunc__ = None  # numpy's scalars leave operations with it to it
    __slots__ = ("count", "value")

    def __init__(self, value: float, count: Count):
        self.value, self.count = float(value), count

    def _count(self, value: float) -> Number:
        self.count.flops += 1
        return Number(value, self.count)

    def __add__(self, other: Any) -> Number:
        return self._count(self.value + float(other))

    def __sub__(self, other: Any) -> Number:
        return self._count(self.value - float(other))

    def __rsub__(self, other: Any) -> Number:
        return self._count(float(other) - self.value)

    def __mul__(self, other: Any) -> Number:
        return self._count(self.value * float(other))

    def __truediv__(self, other: Any) -> Number:
        return self._count(self.value / float(other))

    def __neg__(self) -> Number:  # a sign costs nothing
        return Number(-self.value, self.count)

    def __float__(self) -> float:
        return self.value

    __radd__, __rmul__ = __add__, __mul__


def make_counting(values: Any, count: Count) -> NDArray[Any]:
    """Return an array of the same shape whose entries count."""
    array = np.asarray(values, dtype=float)
    made = np.empty(array.shape, dtype=object)
    for index in np.ndindex(array.shape):
        made[index] = Number(float(array[index]), count)
    return made


def make_plain(function: Any, count: Count) -> Any:
    """Return the Python source of a compiled function, calling the sources of others."""
    made: dict[int, Any] = {}

    def paired(x: Any, sine: Any, cosine: Any) -> None:
        for i, value in enumerate(x):
            count.turns += 1
            sine[i] = Number(np.sin(float(value)), count)
            cosine[i] = Number(np.cos(float(value)), count)

    def source(function: Any) -> Any:
        if function is sincos:
            return paired
        python = getattr(function, "py_func", function)
        if id(python) not in made:
            around = dict(python.__globals__)
            twin = FunctionType(python.__code__, around, python.__name__, python.__defaults__)
            made[id(python)] = twin
            for name in python.__code__.co_names:
                value = around.get(name)
                if hasattr(value, "py_func") or (
                    isinstance(value, FunctionType) and value.__module__.startswith("exactik.")
                ):
                    around[name] = source(value)
        return made[id(python)]

    return source(function)


def count_operations(function: Any, *arguments: Any) -> tuple[Count, list[Any]]:
    """Return the operations of a call, and its arguments afterwards.

    Float arrays become arrays of numbers that count; named tuples and all else stay as they are.
    """
    count = Count()
    counting_arguments = [
        make_counting(value, count)
        if isinstance(value, np.ndarray) and value.dtype == np.float64
        else value
        for value in arguments
    ]
    make_plain(function, count)(*counting_arguments)
    return count, counting_arguments
