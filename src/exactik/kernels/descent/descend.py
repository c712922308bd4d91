"""Descent inside a box of limits, one evaluation a pass.

A caller evaluates the problem at descent.trial, to the order descent.state[ORDER], and hands the
numbers to `advance`, which judges them (`judge`) and writes the next trial (`propose`); `run` does
both until the descent ends. All state is in arrays: a descent can be stopped after any pass and
taken up again, and a problem that only Python can evaluate takes the same steps.

Rules (docs/maths.md §14):

    DAMPED         (curvature + μD) s = −g; μ follows the ratio of actual to predicted fall
    FLETCHER       the same with Marquardt's D and Fletcher's rule for μ
    RADIUS_BOUND   the model's minimiser in a ball, whose radius follows the ratio (`region`)
    LINE           undamped steps, halved until the cost falls enough (Armijo)
    GRADIENT_ONLY  q ← clip(q − τ g), τ halved until the cost falls enough, doubled after success
    CCD            one dof at a time, from the tips to the root, to its own minimum (`single`)

Curvature is Gauss–Newton's, exact, or MIXED: exact, but Gauss–Newton's after a step that leaves
less than a tenth of the cost. Then the residual is going to zero, where the two agree and
Gauss–Newton's is never indefinite (after Fletcher and Xu). Far away the exact curvature finds more
of the solutions: where it is not positive definite on the free dofs, damping makes it so.
"""

from __future__ import annotations

import math

import numpy as np

from exactik.kernels.calculus.evaluate import evaluate
from exactik.kernels.calculus.sums import EXACT, GAUSS_NEWTON
from exactik.kernels.descent.acceptance import accept_trial, reject_trial
from exactik.kernels.descent.options import (
    COORDINATE_DESCENT,
    CURVATURE,
    ESCAPE_SADDLES,
    FLETCHER,
    GRADIENT_TOLERANCE,
    HYBRID,
    MAX_ITERATIONS,
    NEGLIGIBLE_COST,
    RULE,
    TRUST_REGION,
)
from exactik.kernels.descent.saddles import negative_curvature_direction
from exactik.kernels.descent.state import (
    ACCEPTED_LARGEST_ENTRY,
    CONVERGED,
    COST,
    EVALUATED_ORDER,
    EVALUATIONS,
    FOR_DERIVATIVES,
    FOR_ESCAPE,
    FOR_STEP,
    GAUSS_NEWTON_FALLBACK,
    IDLE_TRIALS,
    IS_CONVEX,
    ITERATION_LIMIT,
    ITERATIONS,
    PROJECTED_GRADIENT,
    PURPOSE,
    REJECTED_TRIALS,
    REQUESTED_ORDER,
    RUNNING,
    STALLED,
    STATUS,
    STEP_LARGEST_ENTRY,
    STEP_LENGTH,
)
from exactik.kernels.descent.trials import propose_trial, request_evaluation, set_trial
from exactik.kernels.linear.active_set import relative_projected_gradient, update_active_set
from exactik.kernels.linear.ltdl import AncestorPattern
from exactik.spatial import jit, jit_inline_always

__all__ = ["advance", "run_descent"]

VANISHING_COST_RATIO = (
    0.1  # a step that leaves no more of the cost than this: the residual goes to zero
)
TOUCHED_LIMIT_GRADIENT = 1e-6  # relative gradient up to which a limit is touched only
ITERATION_ROUNDING = 1e-9  # of a count of iterations made of parts
INITIAL_ESCAPE_STEP = 0.5  # [rad or m] how far to go from a saddle at first


@jit
def run_descent(tree, goals, box, options, q, passes, descent, work):
    """Descend from where `restart` or an earlier run left off, to q; return the passes made."""
    pattern = AncestorPattern(tree.dof_order, tree.dof_parent, tree.dof_level)
    for n in range(passes):
        order = np.int64(descent.state[REQUESTED_ORDER])
        value = evaluate(tree, goals, descent.trial, order, work)
        if not advance(tree, pattern, box, options, q, value, work.g, work.H, descent):
            return n + 1
    return passes


@jit
def advance(tree, pattern, box, options, q, value, g, H, descent):
    """Judge the value, gradient and curvature found at descent.trial; return whether to go on."""
    state = descent.state
    state[EVALUATIONS] += 1.0
    state[EVALUATED_ORDER] = state[REQUESTED_ORDER]
    mode, best = state[PURPOSE], state[COST]
    if mode == FOR_STEP or mode == FOR_ESCAPE:
        if not accept_trial(box, options, value, g, descent):
            reject_trial(tree, box, options, q, value, descent)
            return state[STATUS] == RUNNING
        state[ITERATIONS] += 1.0 / g.shape[0] if options[RULE] == COORDINATE_DESCENT else 1.0
        state[ACCEPTED_LARGEST_ENTRY] = state[STEP_LARGEST_ENTRY] * abs(state[STEP_LENGTH])
        state[GAUSS_NEWTON_FALLBACK], state[IDLE_TRIALS] = 0.0, 0.0
    if mode != FOR_DERIVATIVES:
        state[COST] = value
        for j in range(q.shape[0]):
            q[j] = descent.trial[j]
    update_active_set(
        box.coordinate, descent.lower, descent.upper, box.free, q, g, descent.active_set
    )
    update_scale(pattern, box, options, H, descent)
    state[PROJECTED_GRADIENT] = relative_projected_gradient(
        g, descent.active_set, descent.max_curvature, state[COST]
    )
    if not math.isfinite(value):
        state[STATUS] = STALLED
    elif state[COST] <= options[NEGLIGIBLE_COST]:
        state[STATUS] = CONVERGED
    elif state[PROJECTED_GRADIENT] <= options[GRADIENT_TOLERANCE]:
        handle_stationary_point(tree, pattern, box, options, q, g, H, descent)
    elif state[ITERATIONS] + ITERATION_ROUNDING >= options[MAX_ITERATIONS]:
        state[STATUS] = ITERATION_LIMIT
    else:
        if options[CURVATURE] == HYBRID:
            falling = mode == FOR_STEP and value < VANISHING_COST_RATIO * best
            state[REQUESTED_ORDER] = GAUSS_NEWTON if falling else EXACT
        propose_trial(tree, pattern, box, options, q, g, H, descent)
    return state[STATUS] == RUNNING


@jit_inline_always
def update_scale(pattern, box, options, H, descent):
    """Update the largest curvatures seen, and from them D, the metric of the rule."""
    curve, scale, rule = descent.max_curvature, descent.scale, options[RULE]
    largest = 0.0
    for i in range(curve.shape[0]):
        own = abs(H[i, np.int64(pattern.dof_level[i])])
        curve[i] = own if rule == FLETCHER else max(curve[i], own)
        scale[i] = curve[i] / (box.strength[i] * box.strength[i])
        largest = max(largest, scale[i])
    for i in range(curve.shape[0]):
        if rule == TRUST_REGION:
            scale[i] = 1.0 / (box.strength[i] * box.strength[i])
        elif rule == FLETCHER:
            scale[i] = max(scale[i], 1e-6 * largest if largest > 0.0 else 1.0)
        else:
            scale[i] = max(scale[i], 1e-3 * largest if largest > 0.0 else 1.0)


@jit_inline_always
def handle_stationary_point(tree, pattern, box, options, q, g, H, descent):
    """At a stationary point: done, unless it is a saddle and the method leaves those."""
    state = descent.state
    for i in range(g.shape[0]):
        # A limit that is touched without push holds nothing: the way down may lead away from it.
        slack = TOUCHED_LIMIT_GRADIENT * math.sqrt(2.0 * state[COST] * descent.max_curvature[i])
        if descent.active_set[i] != 0.0 and box.free[i] != 0.0 and abs(g[i]) <= slack:
            descent.active_set[i], state[IS_CONVEX] = 0.0, 0.0
    last = state[ITERATIONS] + ITERATION_ROUNDING >= options[MAX_ITERATIONS]
    if last or options[ESCAPE_SADDLES] == 0.0 or state[IS_CONVEX] != 0.0:
        state[STATUS] = CONVERGED
    elif state[EVALUATED_ORDER] != EXACT:
        request_evaluation(q, EXACT, descent)
    elif negative_curvature_direction(pattern, g, H, descent):
        state[PURPOSE], state[REJECTED_TRIALS], state[STEP_LENGTH] = (
            FOR_ESCAPE,
            0.0,
            INITIAL_ESCAPE_STEP,
        )
        state[STEP_LARGEST_ENTRY] = 1.0
        set_trial(tree, box, q, INITIAL_ESCAPE_STEP, descent)
    else:
        state[STATUS] = CONVERGED
