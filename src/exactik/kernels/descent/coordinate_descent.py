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

from exactik.kernels.descent.state import (
    COST,
    CURRENT_DOF,
    IDLE_TRIALS,
    PREDICTED_REDUCTION,
    STALLED,
    STATUS,
    STEP_LARGEST_ENTRY,
    STEP_LENGTH,
)
from exactik.spatial import jit_inline_always

__all__ = ["minimise_over_angle", "propose_coordinate_step"]


@jit_inline_always
def minimise_over_angle(slope, bend, low, high):
    """Return the δ in [low, high] (with 0 inside) with the least −A cos δ − B sin δ."""
    best = math.atan2(-slope, bend)
    for turn in (0.0, 2.0 * math.pi, -2.0 * math.pi):
        if low <= best + turn <= high:
            return best + turn
    # The limit that is nearer on the circle.
    return low if math.cos(low - best) > math.cos(high - best) else high


@jit_inline_always
def propose_coordinate_step(pattern, box, q, g, H, descent):
    """Write the step of the next dof that has something to gain; none left: state[STANDING]."""
    state, step, count = descent.state, descent.step, descent.step.shape[0]
    for i in range(count):
        step[i] = 0.0
    for _ in range(count):
        state[CURRENT_DOF] -= 1.0
        if state[CURRENT_DOF] < 0.0:
            state[CURRENT_DOF] = float(count - 1)
        i = np.int64(pattern.dof_order[np.int64(state[CURRENT_DOF])])
        j, slope, bend = box.coordinate[i], g[i], H[i, np.int64(pattern.dof_level[i])]
        low = descent.lower[i] - q[j] if j >= 0 else -np.inf
        high = descent.upper[i] - q[j] if j >= 0 else np.inf
        if descent.active_set[i] == 0.0 and box.is_rotation[i] != 0.0:
            move = minimise_over_angle(slope, bend, low, high)
            gain = bend * (math.cos(move) - 1.0) - slope * math.sin(move)
        elif descent.active_set[i] == 0.0 and bend > 0.0:
            move = min(max(-slope / bend, low), high)
            gain = -move * (slope + 0.5 * bend * move)
        else:
            move, gain = 0.0, 0.0
        if gain > 1e-14 * state[COST]:
            step[i] = move
            state[PREDICTED_REDUCTION], state[STEP_LARGEST_ENTRY], state[STEP_LENGTH] = (
                gain,
                abs(move),
                1.0,
            )
            return
        state[IDLE_TRIALS] += 1.0
    state[STATUS] = STALLED
