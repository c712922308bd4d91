"""Derivatives of a residual that is only a black box: high-order central differences.

Along a line, values at ±h … ±7h determine the second derivative up to an error of order h¹⁴. For a
smooth function a step of a tenth is then both long enough to lose few digits in the subtraction
and short enough for the formula; since the scale of the function is unknown, a ladder of steps is
tried and the one kept whose neighbour agrees best.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from exactik.typing import Array

_REACH = 7  # points on either side
_STEPS = 0.16 * 0.5 ** np.arange(5)  # the ladder


def _compute_weights() -> tuple[Array, Array]:
    """Return the weights of odd and even differences that annihilate all other powers."""
    k = np.arange(1, _REACH + 1, dtype=float)
    power = np.arange(_REACH)
    first = np.linalg.solve((k / _REACH) ** (2 * power[:, None] + 1), np.eye(_REACH)[0] / 2)
    second = np.linalg.solve((k / _REACH) ** (2 * power[:, None] + 2), np.eye(_REACH)[0])
    return first / _REACH, second / _REACH**2


_FIRST, _SECOND = _compute_weights()


def _differentiate_line(line: Callable[[float], Array], value: Array) -> tuple[Array, Array]:
    """Return first and second derivative of `line` at 0, one pair per step of the ladder."""
    first, second = [], []
    for h in _STEPS:
        plus = np.array([line(k * h) for k in range(1, _REACH + 1)])
        minus = np.array([line(-k * h) for k in range(1, _REACH + 1)])
        first.append(_FIRST @ (plus - minus) / h)
        second.append(_SECOND @ ((plus - value) + (minus - value)) / h**2)
    return np.array(first), np.array(second)


def _choose_step(ladder: Array) -> Array:
    """Return the derivatives of the step that differ least from those of the next one."""
    differences = np.abs(np.diff(ladder, axis=0)).reshape(len(ladder) - 1, -1)
    return ladder[int(np.argmin(differences.max(axis=1, initial=0.0)))]


def differentiate(residual: Callable[[Array], Array], dimension: int) -> tuple[Array, Array, Array]:
    """Return the residual, (m,), and its derivatives at x = 0, (m, d) and (m, d, d).

    Args:
        residual: function of x, shape (d,), smooth over a few tenths around 0.
        dimension: d.
    """
    d = dimension
    value = np.asarray(residual(np.zeros(d)), dtype=float)
    e = np.eye(d)

    def differentiate_along(direction: Array) -> tuple[Array, Array]:
        return _differentiate_line(
            lambda t: np.asarray(residual(t * direction), dtype=float), value
        )

    shape = (len(_STEPS), len(value), d)
    first, second = np.empty(shape), np.empty((*shape, d))
    for i in range(d):
        first[..., i], second[..., i, i] = differentiate_along(e[i])
    for i in range(d):
        for j in range(i):
            # Along e_i + e_j the second derivative is f_ii + 2 f_ij + f_jj.
            _, mixed = differentiate_along(e[i] + e[j])
            second[..., i, j] = 0.5 * (mixed - second[..., i, i] - second[..., j, j])
            second[..., j, i] = second[..., i, j]
    return value, _choose_step(first), _choose_step(second)
