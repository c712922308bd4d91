"""Whether a trial is accepted, and what follows if not; ratio = actual / predicted reduction.

    DAMPED         ratio > ¾: μ/10, or 0 below `NEGLIGIBLE_DAMPING`;  < ¼: 4μ;  rejected: 4μ, 8μ …
                   with CURVATURE_OF_KIND only μ/3, unless the step at least halves the cost
    FLETCHER       ratio > ¾: μ/2;  < ¼ or rejected: νμ,  ν = 2 + 2(f₊ − f)/(−g·s) in [2, 10]
    TRUST_REGION   ratio > ¾ at the boundary: 2Δ;  < ¼ or rejected: Δ/4
    LINE_SEARCH, GRADIENT_DESCENT   accepted if the reduction is at least `ARMIJO` of −g·s

From afar, where the exact curvature is indefinite, μ/10 overshoots: H + μD is hardly positive
definite then, and the long step that follows lowers the cost far less than predicted, but enough
to be accepted in the valley of another minimum (docs/maths.md §14).

Near a minimum with a residual the cost cannot tell good steps from bad: a reduction below
`COST_RESOLUTION` of it drowns in rounding. There a step is accepted if it lowers the projected
gradient. One that does not, but does not raise the cost either, was too short and not too long.
In both cases DAMPED lowers μ, else steps beside a minimum would stay as short as those from afar.
"""

from __future__ import annotations

import math

from exactik.compile import jit, jit_forceinline
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
    LINE_SEARCH,
    METRIC,
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
    find_order,
)
from exactik.kernels.descent.trials import (
    MIN_DAMPING,
    fall_back_to_gauss_newton,
    raise_damping,
    request_evaluation,
)
from exactik.kernels.goals.sums import EXACT, GAUSS_NEWTON, GRADIENT
from exactik.kernels.linear.active_set import relative_projected_gradient, update_active_set

NEGLIGIBLE_DAMPING = 1e-10  # μ below it changes no step
MAX_DAMPING = 1e12  # μ above it leaves no step
MAX_EXACT_DAMPING = 1e6  # μ above which HYBRID curvature falls back to Gauss–Newton's
COST_RESOLUTION = 1e-11  # share of the cost below which a reduction cannot be measured
COST_ROUNDING = 1e-13  # share of the cost by which rounding may raise it
SLOW_COST_RATIO = 0.5  # a step that leaves more of the cost: damping is lowered gently
ARMIJO = 1e-4
MIN_STEP_LENGTH = 1e-16  # step length or trust radius at which a method has failed
MAX_ESCAPE_TRIALS = 16.0
MAX_HALVINGS = 6.0  # of a step of one dof
MAX_UNRESOLVED_TRIALS = 4.0


@jit_forceinline
def accept_trial(box, options, value, g, descent):
    """Return whether to accept the trial; adapt damping or trust radius if so."""
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
        gradient = relative_projected_gradient(g, descent.active_set, descent.max_curvature, cost)
        is_better = gradient < 0.95 * state[PROJECTED_GRADIENT]
        if is_better and rule == DAMPED:
            lower_damping(0.1, state)
            state[DAMPING_GROWTH] = 4.0
        return is_better
    if rule == LINE_SEARCH or rule == GRADIENT_DESCENT:
        return value <= cost - ARMIJO * predicted
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
        gently = options[METRIC] == CURVATURE_OF_KIND and value > SLOW_COST_RATIO * cost
        lower_damping(1.0 / 3.0 if gently else 0.1, state)
    elif ratio < 0.25:
        state[DAMPING] = max(4.0 * state[DAMPING], 10.0 * NEGLIGIBLE_DAMPING)
    state[DAMPING_GROWTH] = 4.0
    return True


@jit_forceinline
def lower_damping(factor, state):
    """Multiply μ by a factor below 1; μ that changes no step becomes 0."""
    state[DAMPING] *= factor if state[DAMPING] > NEGLIGIBLE_DAMPING else 0.0


@jit_forceinline
def fletcher_growth(value, state):
    """Return ν of Fletcher's rule."""
    linear = state[LINEAR_REDUCTION]
    rise = 2.0 * (value - state[COST]) / linear if linear > 0.0 else 8.0
    return min(max(2.0 + rise, 2.0), 10.0) if math.isfinite(value) else 10.0


@jit
def reject_trial(options, value, state, dof_count):
    """Shorten the step, or request derivatives at the best q for another one."""
    rule = options[RULE]
    state[REJECTED_TRIALS] += 1.0
    if state[PURPOSE] == FOR_ESCAPE:
        # Forward, backward, both half as far …
        state[STEP_LENGTH] *= -1.0 if state[REJECTED_TRIALS] % 2.0 == 1.0 else -0.5
        if state[REJECTED_TRIALS] > MAX_ESCAPE_TRIALS:
            converged = state[PROJECTED_GRADIENT] <= options[GRADIENT_TOLERANCE]
            state[STATUS] = CONVERGED if converged else STALLED
    elif rule == COORDINATE_DESCENT:
        state[STEP_LENGTH] *= 0.5
        if state[REJECTED_TRIALS] > MAX_HALVINGS:
            state[IDLE_TRIALS] += 1.0
            request_evaluation(state[REQUESTED_ORDER], state)
        if state[IDLE_TRIALS] > 2.0 * dof_count:
            state[STATUS] = STALLED
    elif rule == LINE_SEARCH or rule == GRADIENT_DESCENT:
        unresolved = state[PREDICTED_REDUCTION] <= COST_RESOLUTION * state[COST]
        state[STEP_LENGTH] *= 0.5
        if unresolved or state[STEP_LENGTH] < MIN_STEP_LENGTH:
            state[STATUS] = STALLED
    else:
        order, failed = state[EVALUATED_ORDER], False
        if order == GRADIENT:
            order = find_order(options)
        is_unresolved = state[PREDICTED_REDUCTION] <= COST_RESOLUTION * state[COST]
        is_too_short = is_unresolved and value <= state[COST] * (1.0 + COST_ROUNDING)
        if rule == TRUST_REGION:
            state[TRUST_RADIUS] = 0.25 * min(state[STEP_NORM], state[TRUST_RADIUS])
            failed = state[TRUST_RADIUS] < MIN_STEP_LENGTH
        elif rule == FLETCHER:
            state[DAMPING] = max(fletcher_growth(value, state) * state[DAMPING], MIN_DAMPING)
            failed = state[DAMPING] > MAX_DAMPING
        elif is_too_short:
            lower_damping(0.1, state)
        else:
            raise_damping(state)
            failed = state[DAMPING] > MAX_DAMPING
            if (
                options[CURVATURE] == HYBRID
                and state[GAUSS_NEWTON_FALLBACK] == 0.0
                and state[DAMPING] > MAX_EXACT_DAMPING
            ):
                fall_back_to_gauss_newton(options, state)
                failed = False
        if rule == DAMPED and options[CURVATURE] == HYBRID:
            order = GAUSS_NEWTON if state[GAUSS_NEWTON_FALLBACK] != 0.0 else EXACT
        if is_unresolved:
            state[IDLE_TRIALS] += 1.0
        is_idle = state[IDLE_TRIALS] > MAX_UNRESOLVED_TRIALS
        if failed or (is_idle and options[ESCAPE_SADDLES] == 0.0):
            state[STATUS] = STALLED
        request_evaluation(EXACT if is_idle else order, state)
