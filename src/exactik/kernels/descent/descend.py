"""Descent inside a box of limits, one evaluation a pass.

A caller evaluates the problem at search.trial, to the order search.state[ORDER], and hands the
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
from exactik.kernels.descent import state as at
from exactik.kernels.descent.judge import accepted, refuse
from exactik.kernels.descent.propose import look_again, move, propose
from exactik.kernels.descent.saddles import downhill_bend
from exactik.kernels.linear.box import hold, steepness
from exactik.kernels.linear.ltdl import Pattern
from exactik.spatial import jit, jit_inline_always

__all__ = ["advance", "run"]

VANISHING = 0.1  # a step that leaves no more of the cost than this: the residual goes to zero
TOUCH = 1e-6  # relative gradient up to which a limit is touched only
ROUNDING = 1e-9  # of a count of iterations made of parts
FIRST_ESCAPE = 0.5  # [rad or m] how far to go from a saddle at first


@jit
def run(tree, goals, box, options, q, passes, search, work):
    """Descend from where `restart` or an earlier run left off, to q; return the passes made."""
    pattern = Pattern(tree.order, tree.upward, tree.level)
    for n in range(passes):
        order = np.int64(search.state[at.ORDER])
        value = evaluate(tree, goals, search.trial, order, work)
        if not advance(tree, pattern, box, options, q, value, work.g, work.H, search):
            return n + 1
    return passes


@jit
def advance(tree, pattern, box, options, q, value, g, H, search):
    """Judge the value, gradient and curvature found at search.trial; return whether to go on."""
    state = search.state
    state[at.EVALUATIONS] += 1.0
    state[at.KNOWN] = state[at.ORDER]
    mode, best = state[at.NEXT], state[at.COST]
    if mode == at.TRIAL or mode == at.ESCAPE:
        if not accepted(box, options, value, g, search):
            refuse(tree, box, options, q, value, search)
            return state[at.STANDING] == at.RUNNING
        state[at.ITERATIONS] += 1.0 / g.shape[0] if options[at.RULE] == at.CCD else 1.0
        state[at.TAKEN] = state[at.LONGEST] * abs(state[at.LENGTH])
        state[at.FLATTENED], state[at.IDLE] = 0.0, 0.0
    if mode != at.AGAIN:
        state[at.COST] = value
        for j in range(q.shape[0]):
            q[j] = search.trial[j]
    hold(box.plain, search.low, search.high, box.free, q, g, search.held)
    measure(pattern, box, options, H, search)
    state[at.SLOPE] = steepness(g, search.held, search.curve, state[at.COST])
    if not math.isfinite(value):
        state[at.STANDING] = at.STALLED
    elif state[at.COST] <= options[at.SMALL]:
        state[at.STANDING] = at.AT_REST
    elif state[at.SLOPE] <= options[at.TOLERANCE]:
        rest(tree, pattern, box, options, q, g, H, search)
    elif state[at.ITERATIONS] + ROUNDING >= options[at.ITERATIONS_ALLOWED]:
        state[at.STANDING] = at.USED_UP
    else:
        if options[at.CURVATURE] == at.MIXED:
            falling = mode == at.TRIAL and value < VANISHING * best
            state[at.ORDER] = GAUSS_NEWTON if falling else EXACT
        propose(tree, pattern, box, options, q, g, H, search)
    return state[at.STANDING] == at.RUNNING


@jit_inline_always
def measure(pattern, box, options, H, search):
    """Update the largest curvatures seen, and from them D, the metric of the rule."""
    curve, scale, rule = search.curve, search.scale, options[at.RULE]
    largest = 0.0
    for i in range(curve.shape[0]):
        own = abs(H[i, np.int64(pattern.level[i])])
        curve[i] = own if rule == at.FLETCHER else max(curve[i], own)
        scale[i] = curve[i] / (box.strength[i] * box.strength[i])
        largest = max(largest, scale[i])
    for i in range(curve.shape[0]):
        if rule == at.RADIUS_BOUND:
            scale[i] = 1.0 / (box.strength[i] * box.strength[i])
        elif rule == at.FLETCHER:
            scale[i] = max(scale[i], 1e-6 * largest if largest > 0.0 else 1.0)
        else:
            scale[i] = max(scale[i], 1e-3 * largest if largest > 0.0 else 1.0)


@jit_inline_always
def rest(tree, pattern, box, options, q, g, H, search):
    """At a stationary point: done, unless it is a saddle and the method leaves those."""
    state = search.state
    for i in range(g.shape[0]):
        # A limit that is touched without push holds nothing: the way down may lead away from it.
        slack = TOUCH * math.sqrt(2.0 * state[at.COST] * search.curve[i])
        if search.held[i] != 0.0 and box.free[i] != 0.0 and abs(g[i]) <= slack:
            search.held[i], state[at.CONVEX] = 0.0, 0.0
    last = state[at.ITERATIONS] + ROUNDING >= options[at.ITERATIONS_ALLOWED]
    if last or options[at.ESCAPES] == 0.0 or state[at.CONVEX] != 0.0:
        state[at.STANDING] = at.AT_REST
    elif state[at.KNOWN] != EXACT:
        look_again(q, EXACT, search)
    elif downhill_bend(pattern, g, H, search):
        state[at.NEXT], state[at.TRIES], state[at.LENGTH] = at.ESCAPE, 0.0, FIRST_ESCAPE
        state[at.LONGEST] = 1.0
        move(tree, box, q, FIRST_ESCAPE, search)
    else:
        state[at.STANDING] = at.AT_REST
