"""Whether a trial becomes the next place, and what follows if not.

    DAMPED         ratio > ¾: μ/10, none below `NEGLIGIBLE`;  < ¼: 4μ;  refused: 4μ, 8μ, 16μ …
    FLETCHER       ratio > ¾: μ/2;  < ¼ or refused: νμ,  ν = 2 + 2(f₊ − f)/(−g·s) between 2 and 10
    RADIUS_BOUND   ratio > ¾ at the rim: 2Δ;  < ¼ or refused: a quarter
    LINE, GRADIENT_ONLY   Armijo: a fall of at least `SUFFICIENT` of what the slope promises

Near a minimum with a residual the cost cannot tell good steps from bad: a fall below `UNSEEN` of it
drowns in rounding. There a step is judged by whether the projected gradient falls.
"""

from __future__ import annotations

import math

from exactik.kernels.calculus.sums import EXACT, GAUSS_NEWTON
from exactik.kernels.descent.options import (
    COORDINATE_DESCENT,
    CURVATURE,
    FLETCHER,
    GRADIENT_DESCENT,
    HYBRID,
    LINE_SEARCH,
    RULE,
    TRUST_REGION,
)
from exactik.kernels.descent.state import (
    CONVERGED,
    COST,
    DAMPING,
    DAMPING_GROWTH,
    EVALUATED_ORDER,
    FOR_ESCAPE,
    GAUSS_NEWTON_FALLBACK,
    IDLE_TRIALS,
    LINEAR_REDUCTION,
    PREDICTED_REDUCTION,
    PROJECTED_GRADIENT,
    PURPOSE,
    REJECTED_TRIALS,
    REQUESTED_ORDER,
    STALLED,
    STATUS,
    STEP_LENGTH,
    STEP_NORM,
    TRUST_RADIUS,
)
from exactik.kernels.descent.trials import (
    MIN_DAMPING,
    fall_back_to_gauss_newton,
    raise_damping,
    request_evaluation,
    set_line_search_trial,
    set_trial,
)
from exactik.kernels.linear.active_set import relative_projected_gradient, update_active_set
from exactik.spatial import jit_inline_always

__all__ = ["accept_trial", "reject_trial"]

NEGLIGIBLE_DAMPING, MAX_DAMPING = (
    1e-10,
    1e12,
)  # damping below which there is none, above which no step is left
MAX_EXACT_DAMPING = 1e6  # damping above which exact curvature is no guide
COST_RESOLUTION, COST_ROUNDING = 1e-11, 1e-13  # shares of the cost
ARMIJO_SHARE = 1e-4
MIN_STEP_LENGTH = 1e-16  # length of a line descent, or radius, that has failed
MAX_ESCAPE_TRIALS, MAX_CCD_TRIALS, MAX_UNRESOLVED_TRIALS = 16.0, 6.0, 4.0


@jit_inline_always
def accept_trial(box, options, value, g, descent):
    """Whether the trial is to be the next place; adapts damping or radius where it is."""
    state, rule = descent.state, options[RULE]
    cost, predicted = state[COST], state[PREDICTED_REDUCTION]
    if not math.isfinite(value):
        return False
    if state[PURPOSE] == FOR_ESCAPE:
        return value < cost * (1.0 - 1e-9)
    if rule == COORDINATE_DESCENT:
        return value < cost
    if predicted <= COST_RESOLUTION * cost:
        if value > cost * (1.0 + COST_ROUNDING):
            return False
        update_active_set(
            box.coordinate,
            descent.lower,
            descent.upper,
            box.free,
            descent.trial,
            g,
            descent.active_set,
        )
        return (
            relative_projected_gradient(g, descent.active_set, descent.max_curvature, cost)
            < 0.95 * state[PROJECTED_GRADIENT]
        )
    if rule == LINE_SEARCH or rule == GRADIENT_DESCENT:
        return value <= cost - ARMIJO_SHARE * predicted
    if not value < cost:
        return False
    ratio = (cost - value) / predicted
    if rule == TRUST_REGION:
        if ratio > 0.75 and state[STEP_NORM] >= 0.9 * state[TRUST_RADIUS]:
            state[TRUST_RADIUS] *= 2.0
        elif ratio < 0.25:
            state[TRUST_RADIUS] = 0.25 * min(state[STEP_NORM], state[TRUST_RADIUS])
    elif rule == FLETCHER:
        if ratio > 0.75:
            state[DAMPING] *= 0.5
        elif ratio < 0.25:
            state[DAMPING] *= fletcher_growth(value, state)
    elif ratio > 0.75:
        state[DAMPING] *= 0.1 if state[DAMPING] > NEGLIGIBLE_DAMPING else 0.0
    elif ratio < 0.25:
        state[DAMPING] = max(4.0 * state[DAMPING], 10.0 * NEGLIGIBLE_DAMPING)
    state[DAMPING_GROWTH] = 4.0
    return True


@jit_inline_always
def fletcher_growth(value, state):
    """Return ν."""
    promise = state[LINEAR_REDUCTION]
    rise = 2.0 * (value - state[COST]) / promise if promise > 0.0 else 8.0
    return min(max(2.0 + rise, 2.0), 10.0) if math.isfinite(value) else 10.0


@jit_inline_always
def reject_trial(tree, box, options, q, value, descent):
    """A shorter trial along the same step, or the old place again for another step."""
    state, rule = descent.state, options[RULE]
    state[REJECTED_TRIALS] += 1.0
    if state[PURPOSE] == FOR_ESCAPE:
        # One way, the other way, both half as far …
        state[STEP_LENGTH] *= -1.0 if state[REJECTED_TRIALS] % 2.0 == 1.0 else -0.5
        set_trial(tree, box, q, state[STEP_LENGTH], descent)
        if state[REJECTED_TRIALS] > MAX_ESCAPE_TRIALS:
            state[STATUS] = CONVERGED
    elif rule == COORDINATE_DESCENT:
        state[STEP_LENGTH] *= 0.5
        set_trial(tree, box, q, state[STEP_LENGTH], descent)
        if state[REJECTED_TRIALS] > MAX_CCD_TRIALS:
            state[IDLE_TRIALS] += 1.0
            request_evaluation(q, state[REQUESTED_ORDER], descent)
        if state[IDLE_TRIALS] > 2.0 * descent.step.shape[0]:
            state[STATUS] = STALLED
    elif rule == LINE_SEARCH or rule == GRADIENT_DESCENT:
        unseen = state[PREDICTED_REDUCTION] <= COST_RESOLUTION * state[COST]  # what is left to gain
        state[STEP_LENGTH] *= 0.5
        set_line_search_trial(tree, box, options, q, descent)
        if unseen or state[STEP_LENGTH] < MIN_STEP_LENGTH:
            state[STATUS] = STALLED
    else:
        order, hopeless = state[EVALUATED_ORDER], False
        if rule == TRUST_REGION:
            state[TRUST_RADIUS] = 0.25 * min(state[STEP_NORM], state[TRUST_RADIUS])
            hopeless = state[TRUST_RADIUS] < MIN_STEP_LENGTH
        elif rule == FLETCHER:
            state[DAMPING] = max(fletcher_growth(value, state) * state[DAMPING], MIN_DAMPING)
            hopeless = state[DAMPING] > MAX_DAMPING
        else:
            raise_damping(state)
            hopeless = state[DAMPING] > MAX_DAMPING
            if options[CURVATURE] == HYBRID:
                if state[GAUSS_NEWTON_FALLBACK] == 0.0 and state[DAMPING] > MAX_EXACT_DAMPING:
                    fall_back_to_gauss_newton(options, state)
                    hopeless = False
                order = GAUSS_NEWTON if state[GAUSS_NEWTON_FALLBACK] != 0.0 else EXACT
        if state[PREDICTED_REDUCTION] <= COST_RESOLUTION * state[COST]:
            state[IDLE_TRIALS] += 1.0  # what is left to gain cannot be seen
        if hopeless or state[IDLE_TRIALS] > MAX_UNRESOLVED_TRIALS:
            state[STATUS] = STALLED
        request_evaluation(q, order, descent)
