"""Functions with a closed form, and functions made of others.

All of them are immutable, and their first and second derivatives are exact. The kernels see a
function as one or two `PackedFunction`s, whose product it is (`kernels.tree.functions`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import as_floats, contiguous_copy, require_finite
from exactik.errors import ModelError
from exactik.kernels.tree import functions as kernel
from exactik.typing import Array


class PackedFunction(NamedTuple):
    """A function of one coordinate as the kernels read it: `kernels.tree.functions` has the kinds.

    Attributes:
        kind: POLYNOMIAL, PIECES or SINE.
        length: number of coefficients or points.
        data: the numbers that follow from the kind.
    """

    kind: int
    length: int
    data: tuple[float, ...]


def check_numbers(name: str, values: ArrayLike) -> tuple[float, ...]:
    """Return finite numbers as a tuple; one number is a tuple of one."""
    array = require_finite(name, np.atleast_1d(as_floats(name, values)))
    if array.ndim != 1 or len(array) == 0:
        raise ModelError(f"{name} has shape {array.shape}; expected one or more numbers")
    return tuple(array.tolist())


class CoordinateFunction(ABC):
    """A function of one coordinate, or a product of functions of one coordinate each.

    Units are those of the dofs: a function takes and returns radians or metres.
    """

    @property
    def coordinate_count(self) -> int:
        """Number of coordinates that it takes: 0 for a constant, else 1 or 2."""
        return 1

    @property
    def is_smooth(self) -> bool:
        """Whether its slope is continuous; else solvers converge slowly at its corners."""
        return True

    @abstractmethod
    def pack(self) -> tuple[PackedFunction, ...]:
        """Return the factors, one for each coordinate, as the kernels read them."""

    def __call__(self, *x: ArrayLike) -> Array:
        """Return the value at the coordinates x, an array each; of their common shape."""
        parts = self.factors(*x)
        value = parts[0][..., 0]
        for part in parts[1:]:
            value = value * part[..., 0]
        return value

    def factors(self, *x: ArrayLike) -> list[Array]:
        """Return value, first and second derivative of each factor, of the shape of x and (3,)."""
        packed = self.pack()
        if self.coordinate_count == 0 and len(x) == 0:
            x = (0.0,)
        if len(x) != len(packed):
            raise ModelError(f"{self} takes {self.coordinate_count} coordinates, not {len(x)}")
        shape = np.broadcast_shapes(*(np.shape(part) for part in x))
        results = []
        for part, values in zip(packed, x, strict=True):
            flat = contiguous_copy(np.broadcast_to(as_floats("x", values), shape).reshape(-1))
            out = np.empty((len(flat), 3))
            table = np.array([[part.kind, 0, part.length]], np.uint32)
            kernel.evaluate_function_batch(table, np.array(part.data), 0, flat, out)
            results.append(out.reshape(*shape, 3))
        return results


@dataclass(frozen=True)
class Constant(CoordinateFunction):
    """The same value everywhere; it takes no coordinate."""

    value: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what is no number."""
        (value,) = check_numbers("value of a constant", self.value)
        object.__setattr__(self, "value", value)

    @property
    def coordinate_count(self) -> int:
        """None."""
        return 0

    def pack(self) -> tuple[PackedFunction, ...]:
        """Return a polynomial of degree 0."""
        return (PackedFunction(kernel.POLYNOMIAL, 1, (self.value,)),)


@dataclass(frozen=True)
class Linear(CoordinateFunction):
    """slope · x + intercept; without arguments the coordinate itself."""

    slope: float = 1.0
    intercept: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what are no numbers."""
        for name in ("slope", "intercept"):
            (value,) = check_numbers(f"{name} of a linear function", getattr(self, name))
            object.__setattr__(self, name, value)

    def pack(self) -> tuple[PackedFunction, ...]:
        """Return a polynomial of degree 1."""
        return (PackedFunction(kernel.POLYNOMIAL, 2, (self.intercept, self.slope)),)


@dataclass(frozen=True)
class Polynomial(CoordinateFunction):
    """Σ a_k x^k, the constant first: `Polynomial((1, 0, 2))` is 1 + 2x² (OpenSim's has it last)."""

    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        """Refuse what are no numbers."""
        checked = check_numbers("coefficients of a polynomial", self.coefficients)
        object.__setattr__(self, "coefficients", checked)

    def pack(self) -> tuple[PackedFunction, ...]:
        """Return it."""
        return (PackedFunction(kernel.POLYNOMIAL, len(self.coefficients), self.coefficients),)


@dataclass(frozen=True)
class Sine(CoordinateFunction):
    """amplitude · sin(frequency · x + phase) + offset."""

    amplitude: float = 1.0
    frequency: float = 1.0
    phase: float = 0.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what are no numbers."""
        for name in ("amplitude", "frequency", "phase", "offset"):
            (value,) = check_numbers(f"{name} of a sine", getattr(self, name))
            object.__setattr__(self, name, value)

    def pack(self) -> tuple[PackedFunction, ...]:
        """Return its four numbers."""
        data = (self.amplitude, self.frequency, self.phase, self.offset)
        return (PackedFunction(kernel.SINE, len(data), data),)


def _scale(packed: PackedFunction, factor: float) -> PackedFunction:
    """Return a packed function times a number."""
    points = packed.length if packed.kind == kernel.PIECES else 0  # x of the points stay
    kept = (1, 2) if packed.kind == kernel.SINE else range(points)
    data = [x if i in kept else factor * x for i, x in enumerate(packed.data)]
    return packed._replace(data=tuple(data))


@dataclass(frozen=True)
class Scaled(CoordinateFunction):
    """A multiple of another function."""

    function: CoordinateFunction
    factor: float

    def __post_init__(self) -> None:
        """Refuse what is no function or number."""
        _require_function(self.function)
        (factor,) = check_numbers("factor", self.factor)
        object.__setattr__(self, "factor", factor)

    @property
    def coordinate_count(self) -> int:
        """That of the function."""
        return self.function.coordinate_count

    @property
    def is_smooth(self) -> bool:
        """As the function."""
        return self.function.is_smooth

    def pack(self) -> tuple[PackedFunction, ...]:
        """Return the function with one factor scaled."""
        first, *others = self.function.pack()
        return (_scale(first, self.factor), *others)


@dataclass(frozen=True)
class Product(CoordinateFunction):
    """f(x₁) · g(x₂): a function of two coordinates, such as sin x₁ · cos x₂ on an ellipsoid."""

    first: CoordinateFunction
    second: CoordinateFunction

    def __post_init__(self) -> None:
        """Refuse what are no functions of one coordinate."""
        for function in (self.first, self.second):
            _require_function(function)
            if function.coordinate_count != 1:
                raise ModelError(
                    f"a product is made of two functions of one coordinate each, not of {function}"
                )

    @property
    def coordinate_count(self) -> int:
        """Two."""
        return 2

    @property
    def is_smooth(self) -> bool:
        """Whether both are."""
        return self.first.is_smooth and self.second.is_smooth

    def pack(self) -> tuple[PackedFunction, ...]:
        """Return both."""
        return (*self.first.pack(), *self.second.pack())


def _require_function(function: object) -> None:
    if not isinstance(function, CoordinateFunction):
        raise ModelError(f"{function!r} is no function; see exactik.model.functions")
