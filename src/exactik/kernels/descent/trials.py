"""The next trial of a descent: a step for each rule, from the derivatives at the best q."""

from __future__ import annotations

import math

import numpy as np

from exactik.compile import jit, jit_forceinline
from exactik.kernels.calculus.joint_blocks import quadratic_form
from exactik.kernels.descent.options import (
    CURVATURE,
    DAMPED,
    FLETCHER,
    GRADIENT_DESCENT,
    GRADIENT_TOLERANCE,
    HYBRID,
    INITIAL_DAMPING,
    LINE_SEARCH,
    MAX_STEP_ENTRY,
    RULE,
    TRUST_REGION,
)
from exactik.kernels.descent.state import (
    ACCEPTED_LARGEST_ENTRY,
    COST,
    DAMPING,
    DAMPING_GROWTH,
    EVALUATED_LAYOUT,
    EVALUATED_ORDER,
    FOR_DERIVATIVES,
    GAUSS_NEWTON_FALLBACK,
    IS_CONVEX,
    LINEAR_REDUCTION,
    PREDICTED_REDUCTION,
    PROJECTED_GRADIENT,
    PURPOSE,
    REQUESTED_ORDER,
    STALLED,
    STATUS,
    STEP_LARGEST_ENTRY,
    STEP_LENGTH,
    STEP_NORM,
    TRUST_RADIUS,
)
from exactik.kernels.descent.trust_region import trust_region_step
from exactik.kernels.goals.sums import EXACT, GAUSS_NEWTON, GRADIENT
from exactik.kernels.linear.active_set import (
    box_step,
    clip_to_limits,
    multiply_ancestor_rows,
    update_active_set,
)
from exactik.kernels.linear.articulated import JOINT_BLOCKS
from exactik.kernels.linear.loops import has_loops, loop_quadratic_form
from exactik.kernels.tree.integrate import integrate

MAX_STEP_ATTEMPTS = 64  # at a step that the model predicts to lower the cost
MIN_DAMPING = 1e-6  # when damping is raised from none
MAX_STEP_LENGTH = 1e6  # τ of a gradient step


@jit
def write_trial(tree, box, rule, q, descent):
    """Write where to evaluate next: q ⊕ STEP_LENGTH · step, clipped to the limits; or q once more.

    For line searches, with the reduction that the gradient predicts.
    """
    state, step, moved = descent.state, descent.step, descent.rhs
    if state[PURPOSE] == FOR_DERIVATIVES:
        for j in range(q.shape[0]):
            descent.trial[j] = q[j]
        return
    for i in range(step.shape[0]):
        moved[i] = state[STEP_LENGTH] * step[i]
    integrate(tree, q, moved, descent.trial)
    clip_to_limits(box.coordinate, descent.lower, descent.upper, descent.trial)
    if rule == LINE_SEARCH:  # box steps need no clipping
        state[PREDICTED_REDUCTION] = state[STEP_LENGTH] * state[LINEAR_REDUCTION]
    elif rule == GRADIENT_DESCENT:
        linear = 0.0  # −g·(trial − q) of the clipped trial, where step = −strength² g
        for i in range(step.shape[0]):
            j = box.coordinate[i]
            change = descent.trial[j] - q[j] if j >= 0 else moved[i]
            linear += change * step[i] / (box.strength[i] * box.strength[i])
        state[PREDICTED_REDUCTION] = linear


@jit_forceinline
def request_evaluation(order, state):
    """Request derivatives at the best q again: of another order, or overwritten by a trial's."""
    state[PURPOSE], state[REQUESTED_ORDER] = FOR_DERIVATIVES, order


@jit_forceinline
def raise_damping(state):
    """Raise μ by a factor of 4, then of 8, 16 and so on."""
    state[DAMPING] = max(state[DAMPING_GROWTH] * state[DAMPING], MIN_DAMPING)
    state[DAMPING_GROWTH] *= 2.0


@jit_forceinline
def fall_back_to_gauss_newton(options, state):
    """Use Gauss–Newton's curvature, with the initial damping, until a step is accepted.

    The exact curvature may vanish, as where a goal is a quarter turn away.
    """
    state[GAUSS_NEWTON_FALLBACK] = 1.0
    state[DAMPING], state[DAMPING_GROWTH] = options[INITIAL_DAMPING], 4.0


@jit_forceinline
def limit_rotation(box, step):
    """Scale the step so that no dof turns by more than π, where no model holds; return by what."""
    largest = 0.0
    for i in range(step.shape[0]):
        largest = max(largest, abs(box.is_rotation[i] * step[i]))
    factor = math.pi / max(largest, math.pi)
    for i in range(step.shape[0]):
        step[i] *= factor
    return factor


@jit_forceinline
def predict_reduction(joints, pattern, layout, g, H, S, P, descent):
    """Return the predicted reduction of the cost by descent.step, without damping."""
    state, step, curvature = descent.state, descent.step, 0.0
    if layout == JOINT_BLOCKS:
        curvature = quadratic_form(joints, S, P, H, step, descent.V)
        if has_loops(joints):
            curvature += loop_quadratic_form(joints, descent.V)
    else:
        multiply_ancestor_rows(pattern, H, step, descent.path, descent.rhs)
    largest, linear = 0.0, 0.0
    for i in range(g.shape[0]):
        curvature += step[i] * descent.rhs[i] if layout != JOINT_BLOCKS else 0.0
        linear -= step[i] * g[i]
        largest = max(largest, abs(step[i]))
    predicted = linear - 0.5 * curvature
    state[PREDICTED_REDUCTION], state[LINEAR_REDUCTION] = predicted, linear
    state[STEP_LARGEST_ENTRY] = largest
    return predicted


@jit
def propose_gradient_step(box, options, g, descent):
    """Write −strength² g to descent.step, and a length twice the last."""
    state, largest = descent.state, 0.0
    for i in range(g.shape[0]):
        step = -g[i] * box.strength[i] * box.strength[i]
        descent.step[i] = step if descent.active_set[i] == 0.0 else 0.0
        largest = max(largest, abs(descent.step[i]))
    max_length = min(MAX_STEP_LENGTH, options[MAX_STEP_ENTRY] / max(largest, 1e-300))
    state[STEP_LARGEST_ENTRY] = largest
    state[STEP_LENGTH] = min(2.0 * state[STEP_LENGTH], max_length)


@jit_forceinline
def propose_model_step(joints, pattern, box, options, q, g, H, S, P, descent):
    """Write the step of a second-order rule, or stall where none was found."""
    state, rule = descent.state, options[RULE]
    layout = np.int64(state[EVALUATED_LAYOUT])
    damping = 0.0 if rule == LINE_SEARCH else state[DAMPING]
    for _ in range(MAX_STEP_ATTEMPTS):
        if rule == TRUST_REGION:
            has_step = trust_region_step(joints, pattern, box, layout, q, g, H, S, P, descent)
            damping = state[DAMPING]
        else:
            smallest_pivot = box_step(
                joints, pattern, box.coordinate, layout, q, g, H, S, P, damping, descent
            )
            has_step = smallest_pivot > 0.0
        if has_step and complete_model_step(
            joints, pattern, box, options, damping, g, H, S, P, descent
        ):
            return
        damping = shorten_model_step(box, rule, damping, q, g, descent)
    abandon_model_step(options, state)


@jit_forceinline
def should_be_last(options, damping, descent):
    """Return whether the gradient after descent.step should be within the tolerance.

    It has two parts. By the model, from (H + μD) s = −g, it is  g + H s = −μ D s.  What the model
    leaves out is of the order |s|²: the step before left the gradient that there is now.
    """
    state, tolerance = descent.state, options[GRADIENT_TOLERANCE]
    longest, longest_before = state[STEP_LARGEST_ENTRY], state[ACCEPTED_LARGEST_ENTRY]
    unmodelled = state[PROJECTED_GRADIENT] * longest * longest
    if unmodelled >= tolerance * longest_before * longest_before:
        return False
    bound = tolerance * tolerance * 2.0 * state[COST]
    for i in range(descent.step.shape[0]):
        left = damping * descent.scale[i] * descent.step[i]
        if left * left > bound * descent.max_curvature[i]:
            return False
    return True


@jit_forceinline
def complete_model_step(joints, pattern, box, options, damping, g, H, S, P, descent):
    """Return whether the model predicts that descent.step lowers the cost; if so, take it."""
    state = descent.state
    layout = np.int64(state[EVALUATED_LAYOUT])
    state[STEP_NORM] *= limit_rotation(box, descent.step)
    if not predict_reduction(joints, pattern, layout, g, H, S, P, descent) > 0.0:
        return False
    if options[RULE] == DAMPED and should_be_last(options, damping, descent):
        state[REQUESTED_ORDER] = GRADIENT
    convex = state[EVALUATED_ORDER] == EXACT and damping == 0.0
    state[IS_CONVEX] = 1.0 if convex else 0.0
    state[STEP_LENGTH] = 1.0
    return True


@jit_forceinline
def shorten_model_step(box, rule, damping, q, g, descent):
    """Return the damping of a shorter step.

    For a matrix that was not positive definite, or where limits spoiled a long step.
    """
    state = descent.state
    update_active_set(
        box.coordinate, descent.lower, descent.upper, box.free, q, g, descent.active_set
    )
    if rule == LINE_SEARCH:
        return max(100.0 * damping, 1e-12)
    if rule == TRUST_REGION:
        state[TRUST_RADIUS] *= 0.25
    elif rule == FLETCHER:
        state[DAMPING] = max(4.0 * state[DAMPING], MIN_DAMPING)
    else:
        raise_damping(state)
    return state[DAMPING]


@jit_forceinline
def abandon_model_step(options, state):
    """Do without the exact curvature, or stall where that was tried: no step was found."""
    if options[CURVATURE] == HYBRID and state[GAUSS_NEWTON_FALLBACK] == 0.0:
        fall_back_to_gauss_newton(options, state)
        request_evaluation(GAUSS_NEWTON, state)
    else:
        state[STATUS] = STALLED
