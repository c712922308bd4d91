"""One frame of a recording: its goals, and the pose that solves them.

A marker that is missing has no weight in its frame: its bone's cloud is made of the others.

With a robust loss a frame is solved several times, each time with weights from the residuals of the
last, which never raises  Σ w ρ(|r|)  (docs/maths.md §15):

    quadratic    weight 1
    Huber        1 up to c, then c/|r|: far markers pull with a constant force
    Tukey        (1 − r²/c²)² up to c, then 0, plus `TUKEY_HUBER_SHARE` times Huber's: far markers
                 hardly pull, but a limb that has lost all of its markers finds back

From a distant start the first rounds take a wider c: markers that the pose has yet to come near to
are not outliers.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from exactik.compile import jit
from exactik.kernels.calculus.evaluate import add_goals
from exactik.kernels.calculus.workspace import update_kinematics_noinline
from exactik.kernels.descent.descend import UNTIL_ITS_END, run_descent
from exactik.kernels.descent.results import (
    RESULT_COST,
    RESULT_EVALUATIONS,
    RESULT_ITERATIONS,
    RESULT_PROJECTED_GRADIENT,
    RESULT_STATUS,
)
from exactik.kernels.descent.state import (
    COST,
    EVALUATIONS,
    ITERATIONS,
    PROJECTED_GRADIENT,
    RUNNING,
    STATUS,
    start_descent,
)
from exactik.kernels.goals.clouds import reduce_to_clouds
from exactik.kernels.goals.coordinates import add_coordinates
from exactik.kernels.goals.sums import VALUE
from exactik.kernels.tree.fk import root_position
from exactik.typing import Array

QUADRATIC, HUBER, TUKEY = 0, 1, 2
TUKEY_HUBER_SHARE = 0.02
MAX_REWEIGHTINGS = 12
WEIGHT_TOLERANCE = 1e-2  # largest change of a weight at which the rounds end


class FrameTargets(NamedTuple):
    """Targets and weights of n markers in T frames; they are all terms of the goals."""

    position: Array  #      (T, n, 3) [m, world], NaN where missing
    weight: Array  #        (n,)
    confidence: Array  #    (0 or T, n) share of the weight that a marker has in a frame
    point: Array  #         (1 or T, n, 3) of the marker in its bone [m], for all frames or each
    rest: Array  #          (1 or T, nq) posture to stay near
    rest_weight: Array  #   (1 or T, nv) how firmly
    loss: Array  #          (3,) kind, c [m], how many times wider in the first round
    robust_weight: Array  # (0 or T, n) of the weights: read if the loss is quadratic, else written


@jit
def set_frame(tree, goals, frames, t, q):
    """Write frame t into `goals`, relative to the root of the pose q (nq,)."""
    set_targets(tree, goals, frames, t, q)
    reduce_to_clouds(goals.terms, goals.cloud_of_frame, goals.clouds)


@jit
def set_targets(tree, goals, frames, t, q):
    """As `set_frame`, but for the clouds: for residuals, which are those of terms."""
    if tree.driven.shape[0] == 0:
        root_position(tree, q, 1, goals.origin)
    else:  # q does not say where it is; any place near the skeleton will do
        for i in range(3):
            goals.origin[i] = tree.offset[1, i]
    point = frames.point[t if frames.point.shape[0] > 1 else 0]
    trusted = frames.confidence.shape[0] > 0
    weighted = frames.robust_weight.shape[0] > 0 and frames.loss[0] == QUADRATIC
    for m in range(frames.position.shape[1]):
        position = frames.position[t, m]
        missing = math.isnan(position[0] + position[1] + position[2])
        weight = frames.weight[m] * (frames.confidence[t, m] if trusted else 1.0)
        weight *= frames.robust_weight[t, m] if weighted else 1.0
        for i in range(3):
            goals.terms.weight[m, i, i] = 0.0 if missing else weight
            goals.terms.point[m, i] = point[m, i]
            goals.terms.target[m, i] = 0.0 if missing else position[i] - goals.origin[i]
    rest = frames.rest[t if frames.rest.shape[0] > 1 else 0]
    rest_weight = frames.rest_weight[t if frames.rest_weight.shape[0] > 1 else 0]
    for j in range(rest.shape[0]):
        goals.coordinates.rest[0, j] = rest[j]
    for i in range(rest_weight.shape[0]):
        goals.coordinates.rest_weight[0, i] = rest_weight[i]


@jit
def compute_cost(tree, goals, q, work):
    """Return the cost of pose q, with the weights that are set."""
    update_kinematics_noinline(tree, goals, q, work)
    return add_goals(goals, np.int64(VALUE), work) + add_coordinates(
        tree, goals.coordinates, q, np.int64(VALUE), goals.free, work.g, work.H, work.D, work.X
    )


@jit
def compute_marker_residual(goals, m, work):
    """Write target − model of marker m [m, world] to work.r, for the frames in `work`; its norm."""
    k = np.int64(goals.terms.frame[m])
    x, y, z = goals.terms.point[m, 0], goals.terms.point[m, 1], goals.terms.point[m, 2]
    for i in range(3):
        rotated = work.R[k, i, 0] * x + work.R[k, i, 1] * y + work.R[k, i, 2] * z
        work.r[i] = goals.terms.target[m, i] - (work.shift[i] + work.p[k, i] + rotated)
    return math.sqrt(work.r[0] ** 2 + work.r[1] ** 2 + work.r[2] ** 2)


@jit
def update_robust_weights(tree, goals, frames, t, width, pose, work):
    """Set the robust weights of the residuals at `pose` (nq,); return their largest change."""
    update_kinematics_noinline(tree, goals, pose, work)
    change, trusted = 0.0, frames.confidence.shape[0] > 0
    for m in range(frames.position.shape[1]):
        if math.isnan(frames.position[t, m, 0]):
            frames.robust_weight[t, m] = 0.0
            continue
        share = compute_marker_residual(goals, m, work) / (width * frames.loss[1])
        loss_weight = 1.0 if share <= 1.0 else 1.0 / share
        if frames.loss[0] == TUKEY:
            inside = max(1.0 - share * share, 0.0)
            loss_weight = inside * inside + TUKEY_HUBER_SHARE * loss_weight
        change = max(change, abs(loss_weight - frames.robust_weight[t, m]))
        frames.robust_weight[t, m] = loss_weight
        weight = frames.weight[m] * (frames.confidence[t, m] if trusted else 1.0)
        for i in range(3):
            goals.terms.weight[m, i, i] = loss_weight * weight
    reduce_to_clouds(goals.terms, goals.cloud_of_frame, goals.clouds)
    return change


@jit
def compute_robust_cost(tree, goals, frames, t, pose, work):
    """Return Σ w ρ(|r|) plus the cost of the posture."""
    update_kinematics_noinline(tree, goals, pose, work)
    total, c, trusted = 0.0, frames.loss[1], frames.confidence.shape[0] > 0
    for m in range(frames.position.shape[1]):
        if math.isnan(frames.position[t, m, 0]):
            continue
        r = compute_marker_residual(goals, m, work)
        weight = frames.weight[m] * (frames.confidence[t, m] if trusted else 1.0)
        value = 0.5 * r * r if r <= c else c * (r - 0.5 * c)
        if frames.loss[0] == TUKEY:
            inside = max(1.0 - (r / c) ** 2, 0.0)
            value = c * c / 6.0 * (1.0 - inside**3) + TUKEY_HUBER_SHARE * value
        total += weight * value
    return total + add_coordinates(
        tree, goals.coordinates, pose, np.int64(VALUE), goals.free, work.g, work.H, work.D, work.X
    )


@jit
def descend_from_nearer(tree, goals, box, options, previous, near_cost, pose, descent, work):
    """Descend from `pose` (nq,), or from `previous` if `pose` costs more than that and `near_cost`.

    The first pass of a descent tells what its start costs.
    """
    start_descent(box, options, True, pose, descent)
    passes = np.int64(1) if near_cost < np.inf else UNTIL_ITS_END
    while True:
        run_descent(tree, goals, box, options, pose, passes, descent, work)
        if passes == UNTIL_ITS_END:
            return
        cost, passes = descent.state[COST], UNTIL_ITS_END
        if not cost <= near_cost and not cost < compute_cost(tree, goals, previous, work):
            for j in range(pose.shape[0]):
                pose[j] = previous[j]
            start_descent(box, options, True, pose, descent)
        elif descent.state[STATUS] != RUNNING:
            return


@jit
def solve_frame(
    tree, goals, box, options, frames, t, previous, near_cost, pose, result, descent, work
):
    """Solve frame t, which `set_frame` wrote, from `pose` (nq,), which becomes the solution.

    Args: `previous`, `near_cost`: see `descend_from_nearer`; ∞ with a robust loss, of which only
    the descents know the weights.
    """
    result[RESULT_ITERATIONS], result[RESULT_EVALUATIONS], n = 0.0, 0.0, 0
    while needs_descent(tree, goals, frames, t, n, pose, work):
        descend_from_nearer(tree, goals, box, options, previous, near_cost, pose, descent, work)
        count_descent(result, descent)
        n += 1
    end_frame(tree, goals, frames, t, pose, result, work)


@jit
def needs_descent(tree, goals, frames, t, n, pose, work):
    """Whether a frame needs a descent after n of them; weighs the markers for it."""
    robust = frames.loss[0] != QUADRATIC
    if n >= (MAX_REWEIGHTINGS if robust else 1):
        return False
    if robust:
        width = max(frames.loss[2] / (1 << n), 1.0)
        change = update_robust_weights(tree, goals, frames, t, width, pose, work)
        if n > 0 and width == 1.0 and change < WEIGHT_TOLERANCE:
            return False
    return True


@jit
def count_descent(result, descent):
    """Write how a descent of a frame ended, and add its iterations and evaluations."""
    result[RESULT_STATUS], result[RESULT_COST] = descent.state[STATUS], descent.state[COST]
    result[RESULT_PROJECTED_GRADIENT] = descent.state[PROJECTED_GRADIENT]
    result[RESULT_ITERATIONS] += descent.state[ITERATIONS]
    result[RESULT_EVALUATIONS] += descent.state[EVALUATIONS]


@jit
def end_frame(tree, goals, frames, t, pose, result, work):
    """Write the cost of a frame with its robust loss."""
    if frames.loss[0] != QUADRATIC:
        result[RESULT_COST] = compute_robust_cost(tree, goals, frames, t, pose, work)
