"""The next trial of a descent, from what is known at the best place: a step for each rule."""

from __future__ import annotations

import math

from exactik.kernels.calculus.sums import EXACT, GAUSS_NEWTON
from exactik.kernels.descent import state as at
from exactik.kernels.descent.single_dof import next_dof
from exactik.kernels.linear.box import box_step, hold, project, rows_product
from exactik.kernels.linear.region import bounded_step
from exactik.kernels.tree.integrate import integrate
from exactik.spatial import jit, jit_inline_always

__all__ = ["LEAST", "flatten", "line_trial", "look_again", "move", "propose", "raise_damping"]

STEP_TRIES = 64
LEAST = 1e-6  # damping, once there is any
LONGEST_LINE = 1e6


@jit
def move(tree, box, q, length, search):
    """Trial = q ⊕ length · step, moved into the limits; search.right keeps length · step."""
    for i in range(search.step.shape[0]):
        search.right[i] = length * search.step[i]
    integrate(tree, q, search.right, search.trial)
    project(box.plain, search.low, search.high, search.trial)


@jit_inline_always
def look_again(q, order, search):
    """Evaluate at the best place once more: other numbers are needed there, or they were lost."""
    search.state[at.NEXT], search.state[at.ORDER] = at.AGAIN, order
    for j in range(q.shape[0]):
        search.trial[j] = q[j]


@jit_inline_always
def raise_damping(state):
    """4, 8, 16 … times as much."""
    state[at.DAMPING] = max(state[at.GROWTH] * state[at.DAMPING], LEAST)
    state[at.GROWTH] *= 2.0


@jit_inline_always
def flatten(options, state):
    """Go on with Gauss–Newton's curvature, as from the start, until a step is accepted.

    The exact curvature may vanish, as where a goal is a quarter turn away.
    """
    state[at.FLATTENED], state[at.DAMPING], state[at.GROWTH] = 1.0, options[at.FIRST_DAMPING], 4.0


@jit_inline_always
def shorten(box, step):
    """Scale the step so that no dof turns by more than half a turn: no model holds so far."""
    longest = 0.0
    for i in range(step.shape[0]):
        longest = max(longest, abs(box.turns[i] * step[i]))
    share = math.pi / max(longest, math.pi)
    for i in range(step.shape[0]):
        step[i] *= share
    return share


@jit_inline_always
def line_trial(tree, box, options, q, search):
    """The trial of a line search, and the fall that the slope promises there."""
    state = search.state
    move(tree, box, q, state[at.LENGTH], search)
    if options[at.RULE] == at.LINE:  # inside the box all along
        state[at.PREDICTED] = state[at.LENGTH] * state[at.PROMISE]
        return
    promise = 0.0  # −g·(trial − q), clipped on the way, where step = −strength² g
    for i in range(search.step.shape[0]):
        j = box.plain[i]
        moved = search.trial[j] - q[j] if j >= 0 else search.right[i]
        promise += moved * search.step[i] / (box.strength[i] * box.strength[i])
    state[at.PREDICTED] = promise


@jit_inline_always
def predict(pattern, g, H, search):
    """Return the fall of the cost that the undamped model predicts for search.step."""
    state = search.state
    rows_product(pattern, H, search.step, search.level, search.right)
    predicted, longest, promise = 0.0, 0.0, 0.0
    for i in range(g.shape[0]):
        predicted -= search.step[i] * (g[i] + 0.5 * search.right[i])
        promise -= search.step[i] * g[i]
        longest = max(longest, abs(search.step[i]))
    state[at.PREDICTED], state[at.PROMISE], state[at.LONGEST] = predicted, promise, longest
    return predicted


@jit_inline_always
def propose(tree, pattern, box, options, q, g, H, search):
    """Write the next step and trial."""
    state, rule = search.state, options[at.RULE]
    state[at.NEXT], state[at.TRIES] = at.TRIAL, 0.0
    if rule == at.CCD:
        next_dof(pattern, box, q, g, H, search)
        move(tree, box, q, 1.0, search)
    elif rule == at.GRADIENT_ONLY:
        state[at.LONGEST] = 0.0
        for i in range(g.shape[0]):
            step = -g[i] * box.strength[i] * box.strength[i]
            search.step[i] = step if search.held[i] == 0.0 else 0.0
            state[at.LONGEST] = max(state[at.LONGEST], abs(search.step[i]))
        longest = min(LONGEST_LINE, options[at.LONGEST_STEP] / max(state[at.LONGEST], 1e-300))
        state[at.LENGTH] = min(2.0 * state[at.LENGTH], longest)
        line_trial(tree, box, options, q, search)
    elif model_step(pattern, box, options, q, g, H, search):
        state[at.LENGTH] = 1.0
        if rule == at.LINE:
            line_trial(tree, box, options, q, search)
        else:
            move(tree, box, q, 1.0, search)


@jit_inline_always
def model_step(pattern, box, options, q, g, H, search):
    """Write the step of a second-order rule; False if there is none."""
    state, rule = search.state, options[at.RULE]
    damping = 0.0 if rule == at.LINE else state[at.DAMPING]
    for _ in range(STEP_TRIES):
        if rule == at.RADIUS_BOUND:
            done = bounded_step(pattern, box, q, g, H, search)
            damping = state[at.DAMPING]
        else:
            smallest = box_step(
                pattern, box.plain, search.low, search.high, q, g, H, damping, search
            )
            done = smallest > 0.0
        if done:
            state[at.SIZE] *= shorten(box, search.step)
        if done and predict(pattern, g, H, search) > 0.0:
            convex = state[at.KNOWN] == EXACT and damping == 0.0
            state[at.CONVEX] = 1.0 if convex else 0.0
            return True
        # Limits met on the way can spoil a long step, and a matrix need not be positive definite.
        hold(box.plain, search.low, search.high, box.free, q, g, search.held)
        if rule == at.LINE:
            damping = max(100.0 * damping, 1e-12)
        elif rule == at.RADIUS_BOUND:
            state[at.RADIUS] *= 0.25
        elif rule == at.FLETCHER:
            damping = state[at.DAMPING] = max(4.0 * state[at.DAMPING], LEAST)
        else:
            raise_damping(state)
            damping = state[at.DAMPING]
    if options[at.CURVATURE] == at.MIXED and state[at.FLATTENED] == 0.0:
        flatten(options, state)
        look_again(q, GAUSS_NEWTON, search)
    else:
        state[at.STANDING] = at.STALLED
    return False
