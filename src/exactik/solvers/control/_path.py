"""A path whose dofs are no faster than they may be: of all those, the one nearest to a given path.

For each dof, with y the given values of T frames and c the largest change from one to the next,

    minimise Σ ½ (x_t − y_t)²   so that   |x_t+1 − x_t| ≤ c

It is solved exactly by passing on the least cost of what came before, as a function of the present
value. Its derivative D_t is piecewise linear and increasing: between frames the part left of its
zero b_t moves by −c and the part right of it by +c, with zeros between, and x − y_t is added. Going
back, x_t is b_t, brought within c of x_t+1. (Johnson's dynamic programme for the fused lasso, which
is the dual: J. Comput. Graph. Stat. 22, 2013.) Values of a path inside limits stay inside them,
since bringing all of them inside would make any other nearer.

Where a joint has a quaternion its steps do not add up; they are looked at again, and at the end
each frame is brought within reach of the one before.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from exactik.errors import UsageError
from exactik.model import Skeleton
from exactik.problem import compute_dof_bounds
from exactik.typing import Array, BoolArray

MAX_ROUNDS = 8  # for quaternions; others need one
ROUNDING = 1e-9  # share of the largest change by which steps stay below it
OWN_SPEEDS = "file"  # those of the figure


Speeds = float | str | ArrayLike | Mapping[str, float]
"""What `SpeedOptions.max_speed` may be, but for None."""


def find_speeds(skeleton: Skeleton, max_speed: Speeds) -> Array:
    """Return the largest speed of each dof [rad/s or m/s], (nv,); see `SpeedOptions`."""
    known = skeleton.max_speed
    if not isinstance(max_speed, str):
        return compute_dof_bounds(skeleton, "max_speed", max_speed, known)
    if max_speed != OWN_SPEEDS:
        raise UsageError(f"max_speed is {max_speed!r}; expected speeds or {OWN_SPEEDS!r}")
    if not np.isfinite(known).any():
        raise UsageError(f"no speed of {skeleton.name!r} is known; give max_speed= as numbers")
    return known


def limit_speeds(
    skeleton: Skeleton,
    q: Array,
    rate: float,
    max_speed: Speeds,
) -> tuple[Array, BoolArray]:
    """Return the path nearest to q whose dofs keep their speeds, and which dofs were too fast.

    Args:
        skeleton: the figure.
        q: path, (T, nq).
        rate: frames a second [Hz].
        max_speed: see `SpeedOptions`.

    Returns:
        The path, (T, nq); whether each dof was faster than it may be, (nv,).
    """
    bound = find_speeds(skeleton, max_speed) / rate * (1.0 - ROUNDING)
    limited, was_fast = np.array(q), np.zeros(skeleton.nv, bool)
    for _ in range(MAX_ROUNDS):
        steps = skeleton.difference(limited[1:], limited[:-1])
        fast = (np.abs(steps) > bound * (1.0 + 0.5 * ROUNDING)).any(axis=0)
        if not fast.any():
            return limited, was_fast
        was_fast |= fast
        change = np.zeros((len(q), skeleton.nv))
        for dof in np.flatnonzero(fast):
            values = np.concatenate([[0.0], np.cumsum(steps[:, dof])])
            change[:, dof] = limit_changes(values, float(bound[dof])) - values
        limited = skeleton.integrate(limited, change)
    for t in range(1, len(q)):
        step = skeleton.difference(limited[t], limited[t - 1])
        limited[t] = skeleton.integrate(limited[t - 1], np.clip(step, -bound, bound))
    return limited, was_fast


def limit_changes(values: Array, largest: float) -> Array:
    """Return the nearest numbers, (T,), of which neighbours differ by `largest` at most."""
    derivative, zeros = _Derivative(float(values[0])), [float(values[0])]
    for y in values[1:].tolist():
        derivative.pass_on(largest)
        zeros.append(derivative.add(y))
    limited = np.array(zeros)
    for t in range(len(limited) - 2, -1, -1):
        ahead = limited[t + 1]
        limited[t] = min(max(limited[t], ahead - largest), ahead + largest)
    return limited


class _Derivative:
    """D: its zero, its slope there, and its knots on both sides, the nearest last.

    Knots are pairs: where they were before their side moved, and by how much the slope grows beyond
    them.
    """

    def __init__(self, y: float):
        self.zero, self.slope, self.moved = y, 1.0, 0.0
        self.left: list[tuple[float, float]] = []
        self.right: list[tuple[float, float]] = []

    def pass_on(self, largest: float) -> None:
        """Make it that of the least cost with a change of so much."""
        self.left.append((self.zero + self.moved, self.slope))
        self.right.append((self.zero - self.moved, self.slope))
        self.moved += largest
        self.slope = 0.0

    def add(self, y: float) -> float:
        """Add x − y to it where it is flat at its zero; return where it is zero then."""
        self.zero, self.slope = y, 1.0
        while len(self.left) > 0 and self.zero < self.left[-1][0] - self.moved:
            place, growth = self.left.pop()
            place -= self.moved
            self._cross(place, growth)
            self.right.append((place - self.moved, -growth))
        while len(self.right) > 0 and self.zero > self.right[-1][0] + self.moved:
            place, growth = self.right.pop()
            place += self.moved
            self._cross(place, growth)
            self.left.append((place + self.moved, -growth))
        return self.zero

    def _cross(self, place: float, growth: float) -> None:
        """Find the zero of the next piece, whose slope is greater by so much."""
        value = self.slope * (place - self.zero)
        self.slope += growth
        self.zero = place - value / self.slope
