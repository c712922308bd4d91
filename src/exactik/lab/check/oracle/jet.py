"""Second-order forward automatic differentiation with arrays.

A jet carries a value of any shape S together with its first and second derivatives with respect to
n variables, shapes (*S, n) and (*S, n, n). Each operation below applies the rule of Taylor:

    f(x)   :  f'(x) dx,              f'(x) d²x + f''(x) dx dxᵀ
    x · y  :  dx y + x dy,           d²x y + dx dyᵀ + dy dxᵀ + x d²y

so that a program written in these operations yields its own exact first two derivatives. With n = 0
it is the plain program.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from exactik.typing import Array


@dataclass(frozen=True, eq=False)
class Jet:
    """A value with its first two derivatives."""

    value: Array  # any shape S
    gradient: Array  # shape (*S, n)
    hessian: Array  # shape (*S, n, n), symmetric in the last two axes

    __array_ufunc__ = None  # an array on the left of an operator leaves the work to the jet

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.gradient.shape[-1]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value."""
        return self.value.shape

    @property
    def T(self) -> Jet:
        """The transpose of a matrix."""
        return Jet(self.value.T, self.gradient.swapaxes(0, 1), self.hessian.swapaxes(0, 1))

    def __getitem__(self, key: Any) -> Jet:
        """Index the axes of the value; `...` is not understood."""
        return Jet(np.asarray(self.value[key]), self.gradient[key], self.hessian[key])

    def __neg__(self) -> Jet:
        return Jet(-self.value, -self.gradient, -self.hessian)

    def __add__(self, other: Jet | ArrayLike) -> Jet:
        other = constant(other, self.n)
        return Jet(
            self.value + other.value,
            self.gradient + other.gradient,
            self.hessian + other.hessian,
        )

    __radd__ = __add__

    def __sub__(self, other: Jet | ArrayLike) -> Jet:
        return self + (-other if isinstance(other, Jet) else -np.asarray(other))

    def __rsub__(self, other: ArrayLike) -> Jet:
        return -self + other

    def __mul__(self, other: Jet | ArrayLike) -> Jet:
        if not isinstance(other, Jet):
            k = np.asarray(other, dtype=float)
            return Jet(
                self.value * k,
                self.gradient * k[..., None],
                self.hessian * k[..., None, None],
            )
        a, b = self, other
        both = a.gradient[..., :, None] * b.gradient[..., None, :]
        return Jet(
            a.value * b.value,
            a.gradient * b.value[..., None] + a.value[..., None] * b.gradient,
            a.hessian * b.value[..., None, None]
            + a.value[..., None, None] * b.hessian
            + both
            + both.swapaxes(-1, -2),
        )

    __rmul__ = __mul__

    def __truediv__(self, other: Jet | ArrayLike) -> Jet:
        return self * (other**-1 if isinstance(other, Jet) else 1.0 / np.asarray(other))

    def __rtruediv__(self, other: ArrayLike) -> Jet:
        return self**-1 * other

    def __pow__(self, p: float) -> Jet:
        x = self.value
        return chain(self, x**p, p * x ** (p - 1), p * (p - 1) * x ** (p - 2))

    def __matmul__(self, other: Jet | ArrayLike) -> Jet:
        """Matrix times matrix or vector."""
        columns = "" if len(np.shape(_value(other))) == 1 else "c"
        return contract(f"ab,b{columns}->a{columns}", self, constant(other, self.n))

    def __rmatmul__(self, other: ArrayLike) -> Jet:
        return constant(other, self.n) @ self


def _value(x: Jet | ArrayLike) -> ArrayLike:
    return x.value if isinstance(x, Jet) else x


def constant(x: Jet | ArrayLike, n: int) -> Jet:
    """Return x as a jet of n variables; one that is a jet already stays what it is."""
    if isinstance(x, Jet):
        return x
    value = np.asarray(x, dtype=float)
    return Jet(value, np.zeros((*value.shape, n)), np.zeros((*value.shape, n, n)))


def variables(x: ArrayLike) -> Jet:
    """Return the vector x, shape (n,), as the n variables themselves."""
    value = np.asarray(x, dtype=float)
    n = len(value)
    return Jet(value, np.eye(n), np.zeros((n, n, n)))


def chain(x: Jet, f: ArrayLike, df: ArrayLike, ddf: ArrayLike) -> Jet:
    """Return f(x) entry by entry, given f, f' and f'' at x."""
    f, df, ddf = (np.asarray(d, dtype=float) for d in (f, df, ddf))
    square = x.gradient[..., :, None] * x.gradient[..., None, :]
    return Jet(
        f,
        df[..., None] * x.gradient,
        df[..., None, None] * x.hessian + ddf[..., None, None] * square,
    )


def contract(spec: str, a: Jet, b: Jet) -> Jet:
    """Return a product of two jets as `np.einsum` spells it ("ab,bc->ac"; y and z are taken)."""
    inputs, output = spec.split("->")
    left, right = inputs.split(",")

    def term(x: str, y: str, p: Array, q: Array) -> Array:
        return np.einsum(f"{left}{x},{right}{y}->{output}{x}{y}", p, q)

    both = term("y", "z", a.gradient, b.gradient)
    return Jet(
        np.asarray(term("", "", a.value, b.value)),
        term("z", "", a.gradient, b.value) + term("", "z", a.value, b.gradient),
        term("yz", "", a.hessian, b.value)
        + term("", "yz", a.value, b.hessian)
        + both
        + both.swapaxes(-1, -2),
    )


def transform(matrix: Array, x: Jet) -> Jet:
    """Return a constant matrix times a vector, by BLAS."""
    return Jet(
        matrix @ x.value,
        matrix @ x.gradient,
        (matrix @ x.hessian.reshape(len(x.value), x.n**2)).reshape(len(matrix), x.n, x.n),
    )


def stack(parts: Sequence[Jet]) -> Jet:
    """Return jets of equal shape along a new first axis."""
    return Jet(
        np.stack([p.value for p in parts]),
        np.stack([p.gradient for p in parts]),
        np.stack([p.hessian for p in parts]),
    )


def concatenate(parts: Sequence[Jet]) -> Jet:
    """Return vectors after each other."""
    return Jet(
        np.concatenate([p.value for p in parts]),
        np.concatenate([p.gradient for p in parts]),
        np.concatenate([p.hessian for p in parts]),
    )


def dot(a: Jet, b: Jet) -> Jet:
    """Return the scalar product of two vectors."""
    return contract("a,a->", a, b)


_EPSILON = np.zeros((3, 3, 3))
for _a in range(3):
    _b, _c = (_a + 1) % 3, (_a + 2) % 3
    _EPSILON[_a, _b, _c], _EPSILON[_a, _c, _b] = 1.0, -1.0


def cross(p: Jet) -> Jet:
    """Return the matrix [p] with [p]u = p × u."""
    return contract("cab,c->ab", constant(-_EPSILON, p.n), p)


def sqrt(x: Jet) -> Jet:
    """Return √x for x > 0."""
    return x**0.5


def sin(x: Jet) -> Jet:
    """Return sin x."""
    s = np.sin(x.value)
    return chain(x, s, np.cos(x.value), -s)


def cos(x: Jet) -> Jet:
    """Return cos x."""
    c = np.cos(x.value)
    return chain(x, c, -np.sin(x.value), -c)


def atan2(y: Jet, x: Jet) -> Jet:
    """Return the angle of (x, y), which must not be the origin."""
    angle = np.arctan2(y.value, x.value)
    c, s = np.cos(angle), np.sin(angle)
    # Turned onto the x axis, the angle is small and the arc tangent of u is u up to third order.
    small = (y * c - x * s) / (x * c + y * s)
    return Jet(angle, small.gradient, small.hessian)


def series(coefficients: Sequence[float], x: Jet) -> Jet:
    """Return Σ cₙ xⁿ, lowest power first."""
    c = np.polynomial.Polynomial(coefficients)
    return chain(x, c(x.value), c.deriv(1)(x.value), c.deriv(2)(x.value))


_SINC = [(-1.0) ** n / math.factorial(2 * n + 1) for n in range(12)]
_COSC = [(-1.0) ** n / math.factorial(2 * n + 2) for n in range(12)]
_ATANC = [(-1.0) ** n / (2 * n + 1) for n in range(20)]


def sinc(s: Jet) -> Jet:
    """Return sin(√s)/√s of a scalar s ≥ 0, smooth at 0."""
    if s.value < 1.0:
        return series(_SINC, s)
    angle = sqrt(s)
    return sin(angle) / angle


def cosc(s: Jet) -> Jet:
    """Return (1 − cos √s)/s of a scalar s ≥ 0, smooth at 0."""
    if s.value < 1.0:
        return series(_COSC, s)
    half = sin(sqrt(s) * 0.5)
    return half * half * 2.0 / s


def atanc(y: Jet, x: Jet) -> Jet:
    """Return atan2(√y, x)/√y of scalars y ≥ 0 and x ≥ 0, not both 0, smooth at y = 0."""
    if y.value < 0.1 * x.value**2:
        return series(_ATANC, y / (x * x)) / x
    root = sqrt(y)
    return atan2(root, x) / root
