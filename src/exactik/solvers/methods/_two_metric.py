"""What methods written in Python do near limits: two metrics (Bertsekas 1982), and ending on them.

Cutting a Newton step off at the limits need not go down. So dofs within ε of a limit that the
gradient pushes them to (`find_blocked_dofs`) move by a diagonal metric alone; the others take the
Newton step of what is left of the matrix, without those that it would push over a limit they are on
(`compute_open_step`). That goes down along clip(q ⊕ τ d). ε falls with the projected gradient: in
the end the blocked dofs are those that limits really hold. Dofs that end a hair's breadth from a
limit are put on it (`snap_to_limits`), because the stopping test knows only dofs that are on a
limit and those that are free.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from exactik.solvers._view import Iterate, View
from exactik.typing import Array, BoolArray

JUST_BEYOND = 1.0 + 1e-12  # q + (limit − q) may fall short of the limit by rounding
MAX_BLOCKING_DISTANCE = 1e-3  # [rad or m] greatest ε
SNAP_DISTANCE = 1e-6  # of the range of the dof, or of 1 rad or m where that is less
COST_ROUNDING = 1e-15  # of the cost


def find_blocked_dofs(view: View, iterate: Iterate, diagonal: Array) -> BoolArray:
    """Return the dofs that are locked, or within ε of a limit that the gradient pushes them to.

    Args:
        diagonal: of an inverse Hessian, (nv,); ε is at most the longest step −diagonal·g that the
            limits allow, which is zero at a constrained minimum.
    """
    low, high = view.room(iterate.q)
    g = iterate.gradient
    allowed = clip_to_limits(view, iterate, -diagonal * g)
    width = min(MAX_BLOCKING_DISTANCE, float(np.abs(allowed).max(initial=0.0)))
    return iterate.active | ((g != 0.0) & (np.where(g > 0.0, -low, high) <= width))


def compute_open_step(
    view: View,
    iterate: Iterate,
    free: BoolArray,
    newton: Callable[[BoolArray], Array],
) -> Array:
    """Return the step of the free dofs without those that it would push over the limit they are on.

    Args:
        free: (nv,) which dofs may move.
        newton: returns the step of all dofs, (nv,), if those of a mask (nv,) alone may move.
    """
    low, high = view.room(iterate.q)
    while True:
        d = newton(free)
        out = ((low == 0.0) & (d < 0.0)) | ((high == 0.0) & (d > 0.0))
        if not out.any():
            return d
        free = free & ~out


def clip_to_limits(view: View, iterate: Iterate, d: Array) -> Array:
    """Return the step d cut off at the limits; slightly beyond, so that `move` ends on them."""
    low, high = view.room(iterate.q)
    return np.clip(d, JUST_BEYOND * low, JUST_BEYOND * high)


def snap_to_limits(view: View, iterate: Iterate) -> Iterate:
    """Return the place with dofs that are about to end on a limit put on it."""
    low, high = view.room(iterate.q)
    down = iterate.gradient > 0.0
    to_limit = np.where(down, low, high)
    near_limit = np.abs(to_limit) <= SNAP_DISTANCE * np.minimum(high - low, 1.0)
    near_limit &= ~iterate.active & (iterate.gradient != 0.0)
    while near_limit.any():
        # Twice the way: `move` cuts off at the limit, where rounding might fall short of it.
        trial = view.at(view.move(iterate.q, np.where(near_limit, 2.0 * to_limit, 0.0)))
        stay = near_limit & trial.active
        if np.array_equal(stay, near_limit):
            return trial if trial.cost <= iterate.cost * (1.0 + COST_ROUNDING) else iterate
        near_limit = stay
    return iterate
