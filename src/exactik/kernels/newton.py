"""A plain damped Newton iteration, compiled end to end.

    (H + μ diag(1/strength²)) s = −g ,      q ← q ⊕ s  if the cost falls

μ is raised while a pivot of LᵀDL is not positive or the cost does not fall, and lowered after each success, down to
zero: then the iteration is Newton's own. Locked dofs get a unit diagonal and stay. Limits are not regarded.
"""

from __future__ import annotations

import numpy as np

from exactik.kernels.evaluate import evaluate
from exactik.kernels.integrate import integrate
from exactik.kernels.ltdl import factor, solve
from exactik.kernels.sums import EXACT
from exactik.spatial import jit

__all__ = ["newton", "newton_step"]

ROUNDING = 1e-15  # a rise of the cost that may be nothing but rounding
SMALLEST_DAMPING = 1e-9  # below this, relative to the largest diagonal entry of H, damping is switched off


@jit
def newton_step(tree, goals, strength, damping, step, work):
    """Write the damped Newton step (nv,) from work.g and work.H, which is overwritten; return the smallest pivot."""
    for i in range(step.shape[0]):
        level = np.int64(tree.level[i])
        work.H[i, level] += damping / (strength[i] * strength[i])
        if goals.free[i] == 0.0:
            work.H[i, level] = 1.0
        step[i] = -work.g[i]
    smallest = factor(tree, work.H)
    solve(tree, work.H, step, work.path[0])
    return smallest


@jit
def newton(tree, goals, q, strength, iterations, tolerance, history, trial, step, work):
    """Improve q (nq,) in place until max |g| ≤ tolerance; return the number of iterations made.

    `history` (iterations + 1, 3) receives cost, max |g| and damping; `trial` (nq,) and `step` (nv,) are scratch.
    """
    cost = evaluate(tree, goals, q, EXACT, work)
    damping = 0.0
    for n in range(iterations + 1):
        slope, scale = 0.0, 0.0
        for i in range(step.shape[0]):
            slope = max(slope, abs(work.g[i]))
            scale = max(scale, abs(work.H[i, np.int64(tree.level[i])]))
        history[n, 0], history[n, 1], history[n, 2] = cost, slope, damping
        if slope <= tolerance or n == iterations:
            return n
        smallest = newton_step(tree, goals, strength, damping, step, work)
        better = False
        if smallest > 0.0:
            integrate(tree, q, step, trial)
            value = evaluate(tree, goals, trial, EXACT, work)
            better = value <= cost + ROUNDING * abs(cost)
        if better:
            cost = value
            for i in range(q.shape[0]):
                q[i] = trial[i]
            damping = damping * 0.1 if damping > SMALLEST_DAMPING * scale else 0.0
        else:
            damping = max(4.0 * damping, 1e-3 * scale)
            evaluate(tree, goals, q, EXACT, work)
    return iterations
