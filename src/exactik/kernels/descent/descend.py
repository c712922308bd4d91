"""Descent inside a box of limits, one evaluation a pass.

A caller evaluates the problem at descent.trial, to order descent.state[REQUESTED_ORDER], and hands
cost and derivatives to `advance`, which accepts or rejects the trial (`acceptance`) and writes the
next one (`trials`); `run_descent` does both until the descent ends. All state is in arrays: a
descent can be interrupted after any pass and resumed, and a problem that only Python can evaluate
takes the same steps.

Rules (docs/maths.md §14):

    DAMPED              (curvature + μD) s = −g; μ follows actual / predicted reduction
    FLETCHER            the same with Marquardt's D and Fletcher's rule for μ
    TRUST_REGION        the model's minimiser in a ball, whose radius follows that ratio
    LINE_SEARCH         undamped steps, halved until the cost falls enough (Armijo)
    GRADIENT_DESCENT    q ← clip(q − τ g), τ halved until the cost falls enough, doubled on success
    COORDINATE_DESCENT  one dof at a time, from the leaves to the root, to its own minimum

Curvature is Gauss–Newton's, exact, or HYBRID: exact, but Gauss–Newton's after a step that leaves
less than a tenth of the cost. Then the residual is going to zero, where the two agree and
Gauss–Newton's is never indefinite (after Fletcher and Xu). Far away the exact curvature finds more
of the solutions: where it is not positive definite on the free dofs, damping makes it so.

Where a step is so short that it should be the last, its trial is evaluated to the gradient only,
which is all that ending takes; if it was not the last, curvature follows.
"""

from __future__ import annotations

import math

import numpy as np

from exactik.compile import jit, jit_forceinline
from exactik.kernels.calculus.evaluate import (
    begin_evaluation,
    find_evaluated_layout,
    finish_evaluation,
)
from exactik.kernels.descent.acceptance import (
    MAX_UNRESOLVED_TRIALS,
    accept_trial,
    reject_trial,
)
from exactik.kernels.descent.coordinate_descent import propose_coordinate_step
from exactik.kernels.descent.options import (
    COORDINATE_DESCENT,
    CURVATURE,
    CURVATURE_OF_KIND,
    DAMPED,
    ESCAPE_SADDLES,
    FLETCHER,
    GRADIENT_DESCENT,
    GRADIENT_TOLERANCE,
    HYBRID,
    LAYOUT,
    MAX_ITERATIONS,
    METRIC,
    NEGLIGIBLE_COST,
    RULE,
    TRUST_REGION,
)
from exactik.kernels.descent.saddles import is_convex_by_blocks, open_descent_direction
from exactik.kernels.descent.state import (
    ACCEPTED_LARGEST_ENTRY,
    CONVERGED,
    COST,
    EVALUATED_LAYOUT,
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
    REQUESTED_LAYOUT,
    REQUESTED_ORDER,
    RUNNING,
    STALLED,
    STATUS,
    STEP_LARGEST_ENTRY,
    STEP_LENGTH,
    find_order,
)
from exactik.kernels.descent.trials import (
    propose_gradient_step,
    propose_model_step,
    request_evaluation,
    write_trial,
)
from exactik.kernels.goals.sums import EXACT, GAUSS_NEWTON, GRADIENT
from exactik.kernels.linear.active_set import relative_projected_gradient, update_active_set
from exactik.kernels.linear.articulated import JOINT_BLOCKS, WHOLE_ROWS
from exactik.kernels.linear.loops import make_joint_pattern
from exactik.kernels.linear.ltdl import AncestorPattern

VANISHING_COST_RATIO = 0.1  # a step that leaves less of the cost: the residual goes to zero
TOUCHED_LIMIT_GRADIENT = 1e-6  # relative gradient below which a limit does not hold its dof
PUSH_PER_GRADIENT = 10.0  # times the relative gradient that is left: the same
ITERATION_ROUNDING = 1e-9  # of a count that is a sum of fractions
# Passes: the options allow fewer iterations. (Of a Python int Numba would make a type of its own.)
UNTIL_ITS_END = np.int64(2**62)
INITIAL_ESCAPE_STEP = 0.5  # [rad or m] first step away from a saddle

NOTHING, NEW_STEP, STATIONARY = range(3)
"""What is to be done before the next trial: nothing, descent.step is as it should be, or the
descent ended; a new step is to be made; the point is stationary, and to be examined."""


@jit
def run_descent(tree, goals, box, options, q, passes, descent, work):
    """Make passes of a descent that `start_descent` prepared, at most so many; return how many.

    q (nq,) is the best configuration so far.
    """
    H, pattern = work.H, goals.pattern
    for n in range(passes):
        order = np.int64(descent.state[REQUESTED_ORDER])
        layout = np.int64(descent.state[REQUESTED_LAYOUT])
        value = begin_evaluation(tree, goals, descent.trial, order, work)
        layout = find_evaluated_layout(tree, goals, order, layout, work)
        value += finish_evaluation(tree, goals, descent.trial, order, layout, work)
        if goals.pair_terms.shape[0] != 0:
            descent.state[REQUESTED_LAYOUT] = layout
            H, pattern = work.pair_H, goals.pattern
            if layout == JOINT_BLOCKS:
                H = work.H
                pattern = AncestorPattern(tree.dof_order, tree.dof_parent, tree.dof_level)
        if not advance(tree, pattern, box, options, q, value, work.g, H, work, descent):
            return n + 1
    return passes


@jit
def advance(tree, pattern, box, options, q, value, g, H, work, descent):
    """Process cost, gradient and curvature at descent.trial; return whether to continue.

    Of `work` twists and momenta of the dofs and the loops are read, for the layout JOINT_BLOCKS.
    """
    state = descent.state
    S, P, joints = work.S, work.P, make_joint_pattern(tree, work)
    verdict = judge_trial(pattern, box, options, q, value, g, H, descent)
    if verdict == STATIONARY:
        if examine_stationary_point(box, options, g, descent):
            if state[EVALUATED_LAYOUT] == JOINT_BLOCKS:
                is_convex = is_convex_by_blocks(joints, S, P, g, H, descent)
                end_if_convex(is_convex, options, state)
            else:
                escape_saddle(pattern, box, options, q, g, H, descent)
    elif verdict == NEW_STEP:
        if options[RULE] == COORDINATE_DESCENT:
            propose_coordinate_step(pattern, box, q, g, H, descent)
        elif options[RULE] == GRADIENT_DESCENT:
            propose_gradient_step(box, options, g, descent)
        else:
            propose_model_step(joints, pattern, box, options, q, g, H, S, P, descent)
    if state[STATUS] == RUNNING:
        write_trial(tree, box, options[RULE], q, descent)
    return state[STATUS] == RUNNING


@jit_forceinline
def judge_trial(pattern, box, options, q, value, g, H, descent):
    """Accept or reject the trial, or end the descent; return what is to be done before the next."""
    state = descent.state
    state[EVALUATIONS] += 1.0
    state[EVALUATED_ORDER] = state[REQUESTED_ORDER]
    state[EVALUATED_LAYOUT] = state[REQUESTED_LAYOUT]
    state[REQUESTED_LAYOUT] = options[LAYOUT]
    purpose, best_cost = state[PURPOSE], state[COST]
    if purpose == FOR_STEP or purpose == FOR_ESCAPE:
        if not accept_trial(box, options, value, g, descent):
            reject_trial(options, value, state, g.shape[0])
            return NOTHING
        state[ITERATIONS] += 1.0 / g.shape[0] if options[RULE] == COORDINATE_DESCENT else 1.0
        state[ACCEPTED_LARGEST_ENTRY] = state[STEP_LARGEST_ENTRY] * abs(state[STEP_LENGTH])
        state[GAUSS_NEWTON_FALLBACK], state[IDLE_TRIALS] = 0.0, 0.0
    if purpose != FOR_DERIVATIVES:
        state[COST] = value
        for j in range(q.shape[0]):
            q[j] = descent.trial[j]
    update_active_set(
        box.coordinate, descent.lower, descent.upper, box.free, q, g, descent.active_set
    )
    if state[EVALUATED_ORDER] > GRADIENT:
        update_scale(pattern, box, options, H, descent)
    state[PROJECTED_GRADIENT] = relative_projected_gradient(
        g, descent.active_set, descent.max_curvature, state[COST]
    )
    is_stationary = state[PROJECTED_GRADIENT] <= options[GRADIENT_TOLERANCE]
    # Next to a saddle what a step gains drowns in rounding; along negative curvature it grows.
    is_stuck = state[IDLE_TRIALS] > MAX_UNRESOLVED_TRIALS and options[ESCAPE_SADDLES] != 0.0
    if not math.isfinite(value):
        state[STATUS] = STALLED
    elif state[COST] <= options[NEGLIGIBLE_COST]:
        state[STATUS] = CONVERGED
    elif is_stationary or is_stuck:
        return STATIONARY
    elif state[ITERATIONS] + ITERATION_ROUNDING >= options[MAX_ITERATIONS]:
        state[STATUS] = ITERATION_LIMIT
    elif state[EVALUATED_ORDER] == GRADIENT:
        request_evaluation(find_order(options), state)
    else:
        if options[CURVATURE] == HYBRID:
            vanishing = purpose == FOR_STEP and value < VANISHING_COST_RATIO * best_cost
            state[REQUESTED_ORDER] = GAUSS_NEWTON if vanishing else EXACT
        state[PURPOSE], state[REJECTED_TRIALS] = FOR_STEP, 0.0
        return NEW_STEP
    return NOTHING


@jit_forceinline
def update_scale(pattern, box, options, H, descent):
    """Update the largest curvature seen of each dof, and D, the metric of the rule."""
    max_curvature, scale, rule = descent.max_curvature, descent.scale, options[RULE]
    by_kind = rule == DAMPED and options[METRIC] == CURVATURE_OF_KIND
    largest, largest_turn, largest_shift = 0.0, 0.0, 0.0
    for i in range(max_curvature.shape[0]):
        curvature = abs(H[i, np.int64(pattern.dof_level[i])])
        max_curvature[i] = curvature if rule == FLETCHER else max(max_curvature[i], curvature)
        if box.is_rotation[i] != 0.0:
            largest_turn = max(largest_turn, max_curvature[i])
        else:
            largest_shift = max(largest_shift, max_curvature[i])
    for i in range(max_curvature.shape[0]):
        curvature = max_curvature[i]
        if by_kind:
            curvature = largest_turn if box.is_rotation[i] != 0.0 else largest_shift
        largest = max(largest, curvature * box.inverse_square_strength[i])
    least = (1e-6 if rule == FLETCHER else 1e-3) * largest if largest > 0.0 else 1.0
    for i in range(max_curvature.shape[0]):
        curvature = max_curvature[i]
        if by_kind:
            curvature = largest_turn if box.is_rotation[i] != 0.0 else largest_shift
        metric = box.inverse_square_strength[i]
        scale[i] = metric if rule == TRUST_REGION else max(curvature * metric, least)


@jit
def examine_stationary_point(box, options, g, descent):
    """End there, or request what is missing; return whether the curvature is to be looked at."""
    state = descent.state
    # A limit that nothing pushes against holds nothing: the way down may lead away from it. Where a
    # method stops early, a push of the size of the gradient that is left is nothing, either.
    touch = max(TOUCHED_LIMIT_GRADIENT, PUSH_PER_GRADIENT * state[PROJECTED_GRADIENT])
    for i in range(g.shape[0]):
        slack = touch * math.sqrt(2.0 * state[COST] * descent.max_curvature[i])
        if descent.active_set[i] != 0.0 and box.free[i] != 0.0 and abs(g[i]) <= slack:
            descent.active_set[i], state[IS_CONVEX] = 0.0, 0.0
    last = state[ITERATIONS] + ITERATION_ROUNDING >= options[MAX_ITERATIONS]
    if last or options[ESCAPE_SADDLES] == 0.0 or state[IS_CONVEX] != 0.0:
        end_at_stationary_point(options, state)
    elif state[EVALUATED_ORDER] != EXACT:
        request_evaluation(EXACT, state)
    else:
        return True
    return False


@jit_forceinline
def end_at_stationary_point(options, state):
    """End: converged, or stalled where the gradient does not vanish to the tolerance."""
    is_stationary = state[PROJECTED_GRADIENT] <= options[GRADIENT_TOLERANCE]
    state[STATUS] = CONVERGED if is_stationary else STALLED


@jit_forceinline
def end_if_convex(is_convex, options, state):
    """End at a stationary point that is a minimum; else request all rows of H."""
    if is_convex:
        end_at_stationary_point(options, state)
    else:
        request_evaluation(EXACT, state)
        state[REQUESTED_LAYOUT] = WHOLE_ROWS


@jit
def escape_saddle(pattern, box, options, q, g, H, descent):
    """Begin to leave a saddle; end at a stationary point that is none. H has all of its rows."""
    state = descent.state
    if open_descent_direction(pattern, box, q, g, H, descent):
        state[PURPOSE], state[REJECTED_TRIALS] = FOR_ESCAPE, 0.0
        state[STEP_LENGTH], state[STEP_LARGEST_ENTRY] = INITIAL_ESCAPE_STEP, 1.0
    else:
        end_at_stationary_point(options, state)
