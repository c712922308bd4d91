"""Cyclic coordinate descent: each dof in turn to its own minimum, from the tips to the root.

Turned by δ about a dof's axis, points and directions below it cost

    f(δ) = const − A cos δ − B sin δ        B = −∂f/∂θ ,  A = ∂²f/∂θ²  at δ = 0

so that gradient and exact Hessian's diagonal give the minimiser atan2(B, A) in closed form, for any
number of goals (docs/maths.md §14). For a slider f is quadratic, δ = −g/H. Angles and postures are
not of this form; then δ is a guess that the loop shortens until the cost falls.
"""

from __future__ import annotations

import math

import numpy as np

from exactik.kernels.descent import state as at
from exactik.spatial import jit_inline_always

__all__ = ["best_turn", "next_dof"]


@jit_inline_always
def best_turn(slope, bend, low, high):
    """Return the δ in [low, high] (with 0 inside) with the least −A cos δ − B sin δ."""
    best = math.atan2(-slope, bend)
    for turn in (0.0, 2.0 * math.pi, -2.0 * math.pi):
        if low <= best + turn <= high:
            return best + turn
    # The limit that is nearer on the circle.
    return low if math.cos(low - best) > math.cos(high - best) else high


@jit_inline_always
def next_dof(pattern, box, q, g, H, search):
    """Write the step of the next dof that has something to gain; none left: state[STANDING]."""
    state, step, count = search.state, search.step, search.step.shape[0]
    for i in range(count):
        step[i] = 0.0
    for _ in range(count):
        state[at.DOF] -= 1.0
        if state[at.DOF] < 0.0:
            state[at.DOF] = float(count - 1)
        i = np.int64(pattern.order[np.int64(state[at.DOF])])
        j, slope, bend = box.plain[i], g[i], H[i, np.int64(pattern.level[i])]
        low = search.low[i] - q[j] if j >= 0 else -np.inf
        high = search.high[i] - q[j] if j >= 0 else np.inf
        if search.held[i] == 0.0 and box.turns[i] != 0.0:
            move = best_turn(slope, bend, low, high)
            gain = bend * (math.cos(move) - 1.0) - slope * math.sin(move)
        elif search.held[i] == 0.0 and bend > 0.0:
            move = min(max(-slope / bend, low), high)
            gain = -move * (slope + 0.5 * bend * move)
        else:
            move, gain = 0.0, 0.0
        if gain > 1e-14 * state[at.COST]:
            step[i] = move
            state[at.PREDICTED], state[at.LONGEST], state[at.LENGTH] = gain, abs(move), 1.0
            return
        state[at.IDLE] += 1.0
    state[at.STANDING] = at.STALLED
