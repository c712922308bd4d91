"""The next trial of a descent: a step for each rule, from the derivatives at the best q."""

from __future__ import annotations

import math

import numpy as np

from exactik.kernels.calculus.joint_blocks import quadratic_form
from exactik.kernels.calculus.sums import EXACT, GAUSS_NEWTON
from exactik.kernels.descent.coordinate_descent import propose_coordinate_step
from exactik.kernels.descent.options import (
    COORDINATE_DESCENT,
    CURVATURE,
    FLETCHER,
    GRADIENT_DESCENT,
    HYBRID,
    INITIAL_DAMPING,
    LINE_SEARCH,
    MAX_STEP_ENTRY,
    RULE,
    TRUST_REGION,
)
from exactik.kernels.descent.state import (
    DAMPING,
    DAMPING_GROWTH,
    EVALUATED_LAYOUT,
    EVALUATED_ORDER,
    FOR_DERIVATIVES,
    FOR_STEP,
    GAUSS_NEWTON_FALLBACK,
    IS_CONVEX,
    LINEAR_REDUCTION,
    PREDICTED_REDUCTION,
    PURPOSE,
    REJECTED_TRIALS,
    REQUESTED_ORDER,
    STALLED,
    STATUS,
    STEP_LARGEST_ENTRY,
    STEP_LENGTH,
    STEP_NORM,
    TRUST_RADIUS,
)
from exactik.kernels.linear.active_set import (
    box_step,
    clip_to_limits,
    multiply_ancestor_rows,
    update_active_set,
)
from exactik.kernels.linear.articulated import JOINT_BLOCKS, JointPattern
from exactik.kernels.linear.trust_region import trust_region_step
from exactik.kernels.tree.integrate import integrate
from exactik.spatial import jit, jit_inline_always

__all__ = [
    "MIN_DAMPING",
    "fall_back_to_gauss_newton",
    "propose_trial",
    "raise_damping",
    "request_evaluation",
    "set_line_search_trial",
    "set_trial",
]

MAX_STEP_ATTEMPTS = 64  # at a step that the model predicts to lower the cost
MIN_DAMPING = 1e-6  # when damping is raised from none
MAX_STEP_LENGTH = 1e6  # τ of a gradient step


@jit
def set_trial(tree, box, q, length, descent):
    """Write trial = q ⊕ length · step, clipped to the limits; descent.rhs keeps length · step."""
    for i in range(descent.step.shape[0]):
        descent.rhs[i] = length * descent.step[i]
    integrate(tree, q, descent.rhs, descent.trial)
    clip_to_limits(box.coordinate, descent.lower, descent.upper, descent.trial)


@jit_inline_always
def request_evaluation(q, order, descent):
    """Request derivatives at the best q again: of another order, or overwritten by a trial's."""
    descent.state[PURPOSE], descent.state[REQUESTED_ORDER] = FOR_DERIVATIVES, order
    for j in range(q.shape[0]):
        descent.trial[j] = q[j]


@jit_inline_always
def raise_damping(state):
    """Raise μ by a factor of 4, then of 8, 16 and so on."""
    state[DAMPING] = max(state[DAMPING_GROWTH] * state[DAMPING], MIN_DAMPING)
    state[DAMPING_GROWTH] *= 2.0


@jit_inline_always
def fall_back_to_gauss_newton(options, state):
    """Use Gauss–Newton's curvature, with the initial damping, until a step is accepted.

    The exact curvature may vanish, as where a goal is a quarter turn away.
    """
    state[GAUSS_NEWTON_FALLBACK] = 1.0
    state[DAMPING], state[DAMPING_GROWTH] = options[INITIAL_DAMPING], 4.0


@jit_inline_always
def limit_rotation(box, step):
    """Scale the step so that no dof turns by more than π, where no model holds; return by what."""
    largest = 0.0
    for i in range(step.shape[0]):
        largest = max(largest, abs(box.is_rotation[i] * step[i]))
    factor = math.pi / max(largest, math.pi)
    for i in range(step.shape[0]):
        step[i] *= factor
    return factor


@jit_inline_always
def set_line_search_trial(tree, box, options, q, descent):
    """Write the trial of a line search, and the reduction that the gradient predicts for it."""
    state = descent.state
    set_trial(tree, box, q, state[STEP_LENGTH], descent)
    if options[RULE] == LINE_SEARCH:  # box steps need no clipping
        state[PREDICTED_REDUCTION] = state[STEP_LENGTH] * state[LINEAR_REDUCTION]
        return
    linear = 0.0  # −g·(trial − q) of the clipped trial, where step = −strength² g
    for i in range(descent.step.shape[0]):
        j = box.coordinate[i]
        moved = descent.trial[j] - q[j] if j >= 0 else descent.rhs[i]
        linear += moved * descent.step[i] / (box.strength[i] * box.strength[i])
    state[PREDICTED_REDUCTION] = linear


@jit_inline_always
def predict_reduction(joints, pattern, layout, g, H, S, P, descent):
    """Return the predicted reduction of the cost by descent.step, without damping."""
    state, step, curvature = descent.state, descent.step, 0.0
    if layout == JOINT_BLOCKS:
        curvature = quadratic_form(joints, S, P, H, step, descent.V)
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


@jit_inline_always
def propose_trial(tree, pattern, box, options, q, g, H, S, P, descent):
    """Write the next step and trial."""
    state, rule = descent.state, options[RULE]
    state[PURPOSE], state[REJECTED_TRIALS] = FOR_STEP, 0.0
    if rule == COORDINATE_DESCENT:
        propose_coordinate_step(pattern, box, q, g, H, descent)
        set_trial(tree, box, q, 1.0, descent)
    elif rule == GRADIENT_DESCENT:
        state[STEP_LARGEST_ENTRY] = 0.0
        for i in range(g.shape[0]):
            step = -g[i] * box.strength[i] * box.strength[i]
            descent.step[i] = step if descent.active_set[i] == 0.0 else 0.0
            state[STEP_LARGEST_ENTRY] = max(state[STEP_LARGEST_ENTRY], abs(descent.step[i]))
        max_length = min(
            MAX_STEP_LENGTH, options[MAX_STEP_ENTRY] / max(state[STEP_LARGEST_ENTRY], 1e-300)
        )
        state[STEP_LENGTH] = min(2.0 * state[STEP_LENGTH], max_length)
        set_line_search_trial(tree, box, options, q, descent)
    elif compute_model_step(tree, pattern, box, options, q, g, H, S, P, descent):
        state[STEP_LENGTH] = 1.0
        if rule == LINE_SEARCH:
            set_line_search_trial(tree, box, options, q, descent)
        else:
            set_trial(tree, box, q, 1.0, descent)


@jit_inline_always
def compute_model_step(tree, pattern, box, options, q, g, H, S, P, descent):
    """Write the step of a second-order rule; return False if none was found."""
    state, rule = descent.state, options[RULE]
    layout = np.int64(state[EVALUATED_LAYOUT])
    joints = JointPattern(
        parent=tree.parent,
        last_child=tree.last_child,
        first_v=tree.first_v,
        depth=tree.depth,
    )
    damping = 0.0 if rule == LINE_SEARCH else state[DAMPING]
    for _ in range(MAX_STEP_ATTEMPTS):
        if rule == TRUST_REGION:
            has_step = trust_region_step(joints, pattern, box, q, g, H, S, P, descent)
            damping = state[DAMPING]
        else:
            smallest_pivot = box_step(
                joints, pattern, box.coordinate, layout, q, g, H, S, P, damping, descent
            )
            has_step = smallest_pivot > 0.0
        if has_step:
            state[STEP_NORM] *= limit_rotation(box, descent.step)
        if has_step and predict_reduction(joints, pattern, layout, g, H, S, P, descent) > 0.0:
            convex = state[EVALUATED_ORDER] == EXACT and damping == 0.0
            state[IS_CONVEX] = 1.0 if convex else 0.0
            return True
        # The matrix was not positive definite, or limits spoiled a long step: try a shorter one.
        update_active_set(
            box.coordinate, descent.lower, descent.upper, box.free, q, g, descent.active_set
        )
        if rule == LINE_SEARCH:
            damping = max(100.0 * damping, 1e-12)
        elif rule == TRUST_REGION:
            state[TRUST_RADIUS] *= 0.25
        elif rule == FLETCHER:
            damping = state[DAMPING] = max(4.0 * state[DAMPING], MIN_DAMPING)
        else:
            raise_damping(state)
            damping = state[DAMPING]
    if options[CURVATURE] == HYBRID and state[GAUSS_NEWTON_FALLBACK] == 0.0:
        fall_back_to_gauss_newton(options, state)
        request_evaluation(q, GAUSS_NEWTON, descent)
    else:
        state[STATUS] = STALLED
    return False
