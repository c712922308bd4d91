"""The state of one descent as plain arrays: it can be left and taken up again at any pass."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.kernels.tree.packed import Tree
from exactik.spatial import jit
from exactik.typing import Array, IntArray

__all__ = [
    "AT_REST",
    "CCD",
    "DAMPED",
    "FLETCHER",
    "GRADIENT_ONLY",
    "LINE",
    "RADIUS_BOUND",
    "RUNNING",
    "STALLED",
    "Box",
    "Search",
    "new_search",
    "restart",
]


DAMPED, FLETCHER, RADIUS_BOUND, LINE, GRADIENT_ONLY, CCD = 0, 1, 2, 3, 4, 5
"""Rules of a descent, see `descend`."""

RUNNING, AT_REST, STALLED, USED_UP = 0, 1, 2, 3
"""How it stands: going on; the projected gradient vanished; no step lowers the cost; no more
iterations allowed."""

# Options: what a method sets.
RULE, CURVATURE, TOLERANCE, SMALL, ITERATIONS_ALLOWED, FIRST_DAMPING, FIRST_RADIUS = range(7)
FIRST_LENGTH, LONGEST_STEP, ESCAPES, DETOUR, OPTION_COUNT = range(7, 12)

# State.
STANDING, NEXT, ORDER, KNOWN, COST, SLOPE, ITERATIONS, EVALUATIONS = range(8)
PREDICTED, PROMISE, LONGEST, DAMPING, GROWTH, RADIUS, LENGTH, SIZE = range(8, 16)
DOF, TRIES, IDLE, CONVEX, TAKEN, FLATTENED, STATE_COUNT = range(16, 23)
MIXED = 4
"""A value of CURVATURE, beside GAUSS_NEWTON and EXACT of `sums`."""
FIRST, TRIAL, AGAIN, ESCAPE = 0, 1, 2, 3
"""Values of NEXT: what the next evaluation is for."""


class Box(NamedTuple):
    """Limits and strengths of the dofs."""

    plain: IntArray  #  (nv,) coordinate that the dof adds to; −1 for a quaternion's
    lower: Array  #             (nv,)
    upper: Array  #             (nv,)
    free: Array  #              (nv,) 0 for a locked dof, else 1
    strength: Array  #          (nv,)
    turns: Array  #             (nv,) 1 for a rotation, 0 for a shift
    period: Array  #            (nv,) after which a dof is where it was, 2π for angles; 0 for none


class Search(NamedTuple):
    """State and scratch of a descent; one per thread."""

    state: Array  #  (STATE_COUNT,)
    low: Array  #    (nv,) limits that this descent regards
    high: Array  #   (nv,)
    trial: Array  #  (nq,) where to evaluate next
    step: Array  #   (nv,)
    right: Array  #  (nv,)
    held: Array  #   (nv,) 1 where the dof does not move freely in this step
    curve: Array  #  (nv,) largest curvature seen of each dof
    scale: Array  #  (nv,) D, the metric of the damping
    level: Array  #  (width,) one number per level of the current path
    L: Array  #      (nv, width) what is factored
    best: Array  #   (nq,) for whoever compares descents
    start: Array  #  (nq,)


def new_search(tree: Tree, width: int) -> Search:
    """Return scratch for descents on a tree whose curvature has rows of this width."""
    nv, nq = int(tree.first_v[-1]), int(tree.first_q[-1])
    sizes: dict[str, int | tuple[int, int]] = {
        **{"state": STATE_COUNT, "level": width, "L": (nv, width)},
        **dict.fromkeys(("low", "high", "step", "right", "held", "curve", "scale"), nv),
        **dict.fromkeys(("trial", "best", "start"), nq),
    }
    return Search(**{name: np.zeros(size) for name, size in sizes.items()})


@jit
def restart(box, options, order, limited, q, search):
    """Make ready for a descent from q (nq,); with or without the limits."""
    state = search.state
    for i in range(STATE_COUNT):
        state[i] = 0.0
    state[ORDER], state[COST], state[SLOPE] = order, np.inf, np.inf
    state[DAMPING], state[RADIUS] = options[FIRST_DAMPING], options[FIRST_RADIUS]
    state[LENGTH], state[GROWTH] = options[FIRST_LENGTH], 4.0
    for i in range(search.curve.shape[0]):
        search.low[i] = box.lower[i] if limited else -np.inf
        search.high[i] = box.upper[i] if limited else np.inf
        search.curve[i] = 0.0
        j = box.plain[i]
        if limited and j >= 0:
            q[j] = min(max(q[j], box.lower[i]), box.upper[i])
    for j in range(q.shape[0]):
        search.trial[j] = q[j]
