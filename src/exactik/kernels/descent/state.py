"""The state of one descent as plain arrays: it can be interrupted and resumed at any evaluation.

Slots of `DescentState.state`:

    STATUS                  one of the statuses below
    PURPOSE                 what the next evaluation is for, one of the purposes below
    REQUESTED_ORDER         order of derivatives to evaluate at `trial` next
    EVALUATED_ORDER         order of the last evaluation
    COST                    of the best configuration
    PROJECTED_GRADIENT      relative, there
    ITERATIONS              accepted steps; a step of one dof counts 1/nv
    EVALUATIONS             of the cost, with or without derivatives
    PREDICTED_REDUCTION     of the cost by the step, after the quadratic model
    LINEAR_REDUCTION        −g·s, after the linear model
    STEP_LARGEST_ENTRY      [rad or m] largest |entry| of `step`
    DAMPING                 μ
    DAMPING_GROWTH          factor of μ at the next rejection
    TRUST_RADIUS            Δ
    STEP_LENGTH             α of a line descent: trial = q ⊕ α · step
    STEP_NORM               |s|_D of a trust-region step
    CURRENT_DOF             position in `dof_order` that coordinate descent has come to
    REJECTED_TRIALS         along the current step
    IDLE_TRIALS             since the last accepted step, without a gain that could be resolved
    IS_CONVEX               1 where the exact Hessian of the free dofs proved positive definite
    ACCEPTED_LARGEST_ENTRY  [rad or m] largest change of a dof in the last accepted step
    GAUSS_NEWTON_FALLBACK   1 while HYBRID curvature does without the exact one
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.compile import jit, jit_forceinline
from exactik.kernels.calculus.workspace import aligned_zeros
from exactik.kernels.descent.options import (
    CURVATURE,
    INITIAL_DAMPING,
    INITIAL_STEP_LENGTH,
    INITIAL_TRUST_RADIUS,
    LAYOUT,
)
from exactik.kernels.goals.sums import EXACT, GAUSS_NEWTON
from exactik.kernels.tree.packed import Tree
from exactik.typing import Array, IntArray

STATUS, PURPOSE, REQUESTED_ORDER, EVALUATED_ORDER = range(4)
COST, PROJECTED_GRADIENT, ITERATIONS, EVALUATIONS = range(4, 8)
PREDICTED_REDUCTION, LINEAR_REDUCTION, STEP_LARGEST_ENTRY = range(8, 11)
DAMPING, DAMPING_GROWTH, TRUST_RADIUS, STEP_LENGTH, STEP_NORM = range(11, 16)
CURRENT_DOF, REJECTED_TRIALS, IDLE_TRIALS, IS_CONVEX = range(16, 20)
ACCEPTED_LARGEST_ENTRY, GAUSS_NEWTON_FALLBACK = range(20, 22)
REQUESTED_LAYOUT, EVALUATED_LAYOUT, STATE_SIZE = range(22, 25)

RUNNING, CONVERGED, STALLED, ITERATION_LIMIT = range(4)
"""Values of STATUS: going on; the projected gradient or the cost vanished; no step lowers the cost;
no more iterations allowed."""

FOR_START, FOR_STEP, FOR_DERIVATIVES, FOR_ESCAPE = range(4)
"""Values of PURPOSE: the start; the trial of a step; derivatives at the best configuration once
more; a trial along negative curvature."""


class Box(NamedTuple):
    """Limits and strengths of the dofs."""

    coordinate: IntArray  # (nv,) index of the coordinate that the dof adds to; −1 for a quaternion
    lower: Array  #         (nv,)
    upper: Array  #         (nv,)
    free: Array  #          (nv,) 0 for a locked dof, else 1
    strength: Array  #      (nv,)
    is_rotation: Array  #   (nv,) 1 for a rotation, 0 for a shift
    period: Array  #        (nv,) after which a dof is where it was, 2π for angles; 0 for none
    inverse_square_strength: Array  # (nv,)


class DescentState(NamedTuple):
    """State and scratch of a descent; one per thread."""

    state: Array  #         (STATE_SIZE,) slots, see above
    lower: Array  #         (nv,) limits of this descent: the box's, or none
    upper: Array  #         (nv,)
    trial: Array  #         (nq,) where to evaluate next
    step: Array  #          (nv,)
    rhs: Array  #           (nv,) right-hand side of the linear solves, and other scratch
    active_set: Array  #    (nv,) 1 for dofs that are locked or held at a limit in this step
    max_curvature: Array  # (nv,) largest curvature seen of each dof
    scale: Array  #         (nv,) D, the metric of the damping
    path: Array  #          (width,) scratch: one number per level of the current path
    L: Array  #             (nv, width) ancestor rows that are factored
    absorbed: Array  #      (6 (n+1), 8) what frames have absorbed, see `linear.articulated`
    U: Array  #             (nv, 8) likewise
    inverse_pivot: Array  # (nv,) likewise; 0 in the active set
    V: Array  #             (n+1, 8) likewise: twists that a step gives to the frames
    best_q: Array  #        (nq,) for callers that compare descents
    start_q: Array  #       (nq,) likewise


def new_descent_state(tree: Tree, width: int) -> DescentState:
    """Return the state of descents on a tree whose curvature has ancestor rows of this width."""
    nv, nq = int(tree.first_v[-1]), int(tree.first_q[-1])
    return DescentState(
        state=np.zeros(STATE_SIZE),
        lower=np.zeros(nv),
        upper=np.zeros(nv),
        trial=np.zeros(nq),
        step=np.zeros(nv),
        rhs=np.zeros(nv),
        active_set=np.zeros(nv),
        max_curvature=np.zeros(nv),
        scale=np.zeros(nv),
        path=np.zeros(width),
        L=np.zeros((nv, width)),
        absorbed=aligned_zeros(6 * len(tree.parent), 8),
        U=aligned_zeros(nv, 8),
        inverse_pivot=np.zeros(nv),
        V=aligned_zeros(len(tree.parent), 8),
        best_q=np.zeros(nq),
        start_q=np.zeros(nq),
    )


@jit_forceinline
def find_order(options):
    """Return the order of derivatives that steps are made of; HYBRID may fall back from it."""
    return GAUSS_NEWTON if options[CURVATURE] == GAUSS_NEWTON else EXACT


@jit
def start_descent(box, options, limited, q, descent):
    """Prepare a descent from q (nq,), clipped to the limits, or without them if not `limited`."""
    state = descent.state
    for i in range(STATE_SIZE):
        state[i] = 0.0
    state[REQUESTED_ORDER] = find_order(options)
    state[REQUESTED_LAYOUT] = options[LAYOUT]
    state[COST], state[PROJECTED_GRADIENT] = np.inf, np.inf
    state[DAMPING], state[TRUST_RADIUS] = options[INITIAL_DAMPING], options[INITIAL_TRUST_RADIUS]
    state[STEP_LENGTH], state[DAMPING_GROWTH] = options[INITIAL_STEP_LENGTH], 4.0
    for i in range(descent.max_curvature.shape[0]):
        descent.lower[i] = box.lower[i] if limited else -np.inf
        descent.upper[i] = box.upper[i] if limited else np.inf
        descent.max_curvature[i] = 0.0
        j = box.coordinate[i]
        if limited and j >= 0:
            q[j] = min(max(q[j], box.lower[i]), box.upper[i])
    for j in range(q.shape[0]):
        descent.trial[j] = q[j]
