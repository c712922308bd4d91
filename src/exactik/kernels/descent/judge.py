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
from exactik.kernels.descent import state as at
from exactik.kernels.descent.propose import (
    LEAST,
    flatten,
    line_trial,
    look_again,
    move,
    raise_damping,
)
from exactik.kernels.linear.box import hold, steepness
from exactik.spatial import jit_inline_always

__all__ = ["accepted", "refuse"]

NEGLIGIBLE, HOPELESS = 1e-10, 1e12  # damping below which there is none, above which no step is left
FLAT = 1e6  # damping above which exact curvature is no guide
UNSEEN, ROUNDING = 1e-11, 1e-13  # shares of the cost
SUFFICIENT = 1e-4
SHORTEST = 1e-16  # length of a line search, or radius, that has failed
ESCAPE_TRIES, CCD_TRIES, UNSEEN_TRIES = 16.0, 6.0, 4.0


@jit_inline_always
def accepted(box, options, value, g, search):
    """Whether the trial is to be the next place; adapts damping or radius where it is."""
    state, rule = search.state, options[at.RULE]
    cost, predicted = state[at.COST], state[at.PREDICTED]
    if not math.isfinite(value):
        return False
    if state[at.NEXT] == at.ESCAPE:
        return value < cost * (1.0 - 1e-9)
    if rule == at.CCD:
        return value < cost
    if predicted <= UNSEEN * cost:
        if value > cost * (1.0 + ROUNDING):
            return False
        hold(box.plain, search.low, search.high, box.free, search.trial, g, search.held)
        return steepness(g, search.held, search.curve, cost) < 0.95 * state[at.SLOPE]
    if rule == at.LINE or rule == at.GRADIENT_ONLY:
        return value <= cost - SUFFICIENT * predicted
    if not value < cost:
        return False
    ratio = (cost - value) / predicted
    if rule == at.RADIUS_BOUND:
        if ratio > 0.75 and state[at.SIZE] >= 0.9 * state[at.RADIUS]:
            state[at.RADIUS] *= 2.0
        elif ratio < 0.25:
            state[at.RADIUS] = 0.25 * min(state[at.SIZE], state[at.RADIUS])
    elif rule == at.FLETCHER:
        if ratio > 0.75:
            state[at.DAMPING] *= 0.5
        elif ratio < 0.25:
            state[at.DAMPING] *= fletcher_growth(value, state)
    elif ratio > 0.75:
        state[at.DAMPING] *= 0.1 if state[at.DAMPING] > NEGLIGIBLE else 0.0
    elif ratio < 0.25:
        state[at.DAMPING] = max(4.0 * state[at.DAMPING], 10.0 * NEGLIGIBLE)
    state[at.GROWTH] = 4.0
    return True


@jit_inline_always
def fletcher_growth(value, state):
    """Return ν."""
    promise = state[at.PROMISE]
    rise = 2.0 * (value - state[at.COST]) / promise if promise > 0.0 else 8.0
    return min(max(2.0 + rise, 2.0), 10.0) if math.isfinite(value) else 10.0


@jit_inline_always
def refuse(tree, box, options, q, value, search):
    """A shorter trial along the same step, or the old place again for another step."""
    state, rule = search.state, options[at.RULE]
    state[at.TRIES] += 1.0
    if state[at.NEXT] == at.ESCAPE:
        # One way, the other way, both half as far …
        state[at.LENGTH] *= -1.0 if state[at.TRIES] % 2.0 == 1.0 else -0.5
        move(tree, box, q, state[at.LENGTH], search)
        if state[at.TRIES] > ESCAPE_TRIES:
            state[at.STANDING] = at.AT_REST
    elif rule == at.CCD:
        state[at.LENGTH] *= 0.5
        move(tree, box, q, state[at.LENGTH], search)
        if state[at.TRIES] > CCD_TRIES:
            state[at.IDLE] += 1.0
            look_again(q, state[at.ORDER], search)
        if state[at.IDLE] > 2.0 * search.step.shape[0]:
            state[at.STANDING] = at.STALLED
    elif rule == at.LINE or rule == at.GRADIENT_ONLY:
        unseen = state[at.PREDICTED] <= UNSEEN * state[at.COST]  # what is left to gain
        state[at.LENGTH] *= 0.5
        line_trial(tree, box, options, q, search)
        if unseen or state[at.LENGTH] < SHORTEST:
            state[at.STANDING] = at.STALLED
    else:
        order, hopeless = state[at.KNOWN], False
        if rule == at.RADIUS_BOUND:
            state[at.RADIUS] = 0.25 * min(state[at.SIZE], state[at.RADIUS])
            hopeless = state[at.RADIUS] < SHORTEST
        elif rule == at.FLETCHER:
            state[at.DAMPING] = max(fletcher_growth(value, state) * state[at.DAMPING], LEAST)
            hopeless = state[at.DAMPING] > HOPELESS
        else:
            raise_damping(state)
            hopeless = state[at.DAMPING] > HOPELESS
            if options[at.CURVATURE] == at.MIXED:
                if state[at.FLATTENED] == 0.0 and state[at.DAMPING] > FLAT:
                    flatten(options, state)
                    hopeless = False
                order = GAUSS_NEWTON if state[at.FLATTENED] != 0.0 else EXACT
        if state[at.PREDICTED] <= UNSEEN * state[at.COST]:
            state[at.IDLE] += 1.0  # what is left to gain cannot be seen
        if hopeless or state[at.IDLE] > UNSEEN_TRIES:
            state[at.STANDING] = at.STALLED
        look_again(q, order, search)
