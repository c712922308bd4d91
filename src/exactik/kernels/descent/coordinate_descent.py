"""Cyclic coordinate descent: each dof in turn to its own minimum, from the leaves to the root.

Turned by δ about a dof's axis, points and directions below it cost

    f(δ) = const − A cos δ − B sin δ        B = −∂f/∂θ ,  A = ∂²f/∂θ²  at δ = 0

so that gradient and exact Hessian's diagonal give the minimiser atan2(B, A) in closed form, for any
number of goals (docs/maths.md §14). For a slider f is quadratic, δ = −g/H. Angles and postures are
not of this form; then δ is a guess that the loop shortens until the cost falls.
"""

from __future__ import annotations

import math

import numpy as np

from exactik.compile import jit, jit_forceinline
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

NEGLIGIBLE_REDUCTION = 1e-14  # of the cost: below its rounding


@jit_forceinline
def minimise_over_angle(gradient, curvature, lower, upper):
    """Return the δ in [lower, upper], which contains 0, of least −A cos δ − B sin δ."""
    best = math.atan2(-gradient, curvature)
    for turn in (0.0, 2.0 * math.pi, -2.0 * math.pi):
        if lower <= best + turn <= upper:
            return best + turn
    # The limit that is nearer on the circle.
    return lower if math.cos(lower - best) > math.cos(upper - best) else upper


@jit
def propose_coordinate_step(pattern, box, q, g, H, descent):
    """Write the step of the next dof that lowers the cost; where there is none, stall."""
    state, step, count = descent.state, descent.step, descent.step.shape[0]
    for i in range(count):
        step[i] = 0.0
    for _ in range(count):
        state[CURRENT_DOF] -= 1.0
        if state[CURRENT_DOF] < 0.0:
            state[CURRENT_DOF] = float(count - 1)
        i = np.int64(pattern.dof_order[np.int64(state[CURRENT_DOF])])
        j, gradient, curvature = box.coordinate[i], g[i], H[i, np.int64(pattern.dof_level[i])]
        lower = descent.lower[i] - q[j] if j >= 0 else -np.inf
        upper = descent.upper[i] - q[j] if j >= 0 else np.inf
        if descent.active_set[i] == 0.0 and box.is_rotation[i] != 0.0:
            delta = minimise_over_angle(gradient, curvature, lower, upper)
            reduction = curvature * (math.cos(delta) - 1.0) - gradient * math.sin(delta)
        elif descent.active_set[i] == 0.0 and curvature > 0.0:
            delta = min(max(-gradient / curvature, lower), upper)
            reduction = -delta * (gradient + 0.5 * curvature * delta)
        else:
            delta, reduction = 0.0, 0.0
        if reduction > NEGLIGIBLE_REDUCTION * state[COST]:
            step[i] = delta
            state[PREDICTED_REDUCTION] = reduction
            state[STEP_LARGEST_ENTRY], state[STEP_LENGTH] = abs(delta), 1.0
            return
        state[IDLE_TRIALS] += 1.0
    state[STATUS] = STALLED
