"""A plain damped Newton iteration, compiled end to end.

    (H + μ diag(1/strength²)) s = −g ,      q ← q ⊕ s  if the cost falls

μ is raised while a pivot of LᵀDL is not positive or the cost does not fall, and lowered after each
success, down to zero: then the iteration is Newton's own. Locked dofs get a unit diagonal and stay.
Hard limits are not regarded; soft ones are a goal like others.
"""

from __future__ import annotations

import numpy as np

from exactik.kernels.evaluate import evaluate
from exactik.kernels.integrate import integrate
from exactik.kernels.ltdl import factor, solve
from exactik.kernels.sums import EXACT
from exactik.spatial import inlined, jit

__all__ = ["newton", "newton_step"]

ROUNDING = 1e-15  # a rise of the cost that may be nothing but rounding
SMALLEST_DAMPING = 1e-9  # of the largest diagonal entry of H; below it damping is switched off


@inlined
def newton_step(tree, goals, strength, damping, step, work):
    """Write the damped Newton step (nv,) and return the smallest pivot; work.H is overwritten."""
    for i in range(step.shape[0]):
        level = np.int64(tree.level[i])
        if goals.free[i] == 0.0:
            work.H[i, level] = 1.0
        else:
            work.H[i, level] += damping / (strength[i] * strength[i])
        step[i] = -work.g[i]
    smallest = factor(tree, work.H)
    solve(tree, work.H, step, work.path[0])
    return smallest


@jit
def newton(tree, goals, q, strength, passes, tolerance, history, trial, step, work):
    """Improve q (nq,) in place until max |g| ≤ tolerance; return the number of passes made.

    A pass evaluates the figure once: at a new place, or again where it was if the step from there
    failed, because factoring overwrote H. `history` (passes + 1, 3) receives cost, max |g| and
    damping after each; `trial` (nq,) and `step` (nv,) are scratch.
    """
    order = np.int64(EXACT)  # the bare constant would compile all of `evaluate` a second time
    cost, slope, damping, again = np.inf, np.inf, 0.0, False
    for i in range(q.shape[0]):
        trial[i] = q[i]
    for n in range(passes + 1):
        value = evaluate(tree, goals, trial, order, work)
        largest, scale = 0.0, 0.0
        for i in range(step.shape[0]):
            largest = max(largest, abs(work.g[i]))
            scale = max(scale, abs(work.H[i, np.int64(tree.level[i])]))
        failed = not value <= cost + ROUNDING * abs(cost)  # not a number fails too
        if not failed:
            if not again and n > 0:
                damping = 0.1 * damping if damping > SMALLEST_DAMPING * scale else 0.0
            cost, slope = value, largest
            for i in range(q.shape[0]):
                q[i] = trial[i]
            if slope > tolerance:
                failed = not newton_step(tree, goals, strength, damping, step, work) > 0.0
                integrate(tree, q, step, trial)
        history[n, 0], history[n, 1], history[n, 2] = cost, slope, damping
        if slope <= tolerance:
            return n
        if failed:
            damping = max(4.0 * damping, 1e-3 * max(scale, slope))  # H may be nothing at all
            for i in range(q.shape[0]):
                trial[i] = q[i]
        again = failed
    return passes
