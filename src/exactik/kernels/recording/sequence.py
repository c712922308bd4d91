"""Many frames of a recording in one call: solved one after the other or each by itself; evaluated.

With warm starts a frame starts from the extrapolated motion of the two before it if that costs
about as little as the solution before it, else from that or the previous pose, whichever costs
less.
"""

from __future__ import annotations

import math

import numpy as np

from exactik.compile import jit, jit_nogil
from exactik.kernels.calculus.evaluate import evaluate
from exactik.kernels.calculus.workspace import update_kinematics_noinline
from exactik.kernels.descent.results import RESULT_COST
from exactik.kernels.linear.active_set import clip_to_limits
from exactik.kernels.recording.frames import (
    QUADRATIC,
    compute_cost,
    compute_marker_residual,
    set_frame,
    set_targets,
    solve_frame,
)
from exactik.kernels.tree.integrate import difference, integrate

NEAR_COST_RATIO = 2.0
"""Cost, in that of the solution before, up to which extrapolated motion is not compared with the
previous pose: either leads to the same minimum, so that ten times as much or as little changes the
time alone; comparing costs a twentieth of a frame."""


@jit_nogil
def solve_sequence(
    tree,
    goals,
    box,
    options,
    frames,
    frame_numbers,
    warm_start,
    other_residual,
    other_cost,
    min_distance,
    max_loss,
    q,
    results,
    descent,
    work,
):
    """Solve the frames `frame_numbers` (n,) in their order; return how many were solved.

    Args: `warm_start`: whether each starts from the solution before it; the first, or each without
    it, starts from its row of q (n, nq). The rows become the solutions; `results`
    (n, FRAME_RESULT_SIZE). Where the residuals `other_residual` (n or 0, M, 3) and costs
    `other_cost` (n,) of another solution are given, it ends where every marker is within
    `min_distance` [m] of the other solution's, or where the cost saved against the other is
    `max_loss` below its best.
    """
    gain, best_gain = 0.0, 0.0
    for k in range(q.shape[0]):
        t, pose = frame_numbers[k], q[k]
        if warm_start and k > 0:
            for j in range(pose.shape[0]):
                pose[j] = q[k - 1, j]
        set_frame(tree, goals, frames, t, pose)
        previous, near_cost = q[max(k - 1, 0)], np.inf
        if warm_start and k > 1:
            near_cost = NEAR_COST_RATIO * results[k - 1, RESULT_COST]
            extrapolate_pose(tree, box, previous, q[k - 2], pose, descent.rhs)
            if frames.loss[0] != QUADRATIC:
                take_nearer(tree, goals, previous, near_cost, pose, work)
                near_cost = np.inf
        solve_frame(
            tree,
            goals,
            box,
            options,
            frames,
            t,
            previous,
            near_cost,
            pose,
            results[k],
            descent,
            work,
        )
        if other_residual.shape[0] > 0:
            gain += other_cost[k] - results[k, RESULT_COST]
            best_gain = max(best_gain, gain)
            if (
                gain < best_gain - max_loss
                or largest_marker_distance(tree, goals, pose, other_residual[k], work)
                < min_distance
            ):
                return k + 1
    return q.shape[0]


@jit
def extrapolate_pose(tree, box, previous, earlier, pose, step):
    """Write the extrapolated motion of two poses to `pose`; `step` (nv,) is scratch."""
    difference(tree, previous, earlier, step)
    integrate(tree, previous, step, pose)
    clip_to_limits(box.coordinate, box.lower, box.upper, pose)


@jit
def take_nearer(tree, goals, previous, near_cost, pose, work):
    """Replace `pose` by the previous one if it costs more than that and than `near_cost`."""
    cost = compute_cost(tree, goals, pose, work)
    if not cost <= near_cost and not cost < compute_cost(tree, goals, previous, work):
        for j in range(pose.shape[0]):
            pose[j] = previous[j]


@jit
def largest_marker_distance(tree, goals, pose, other_residual, work):
    """Return the largest distance [m] of a marker from that of a pose with these residuals."""
    update_kinematics_noinline(tree, goals, pose, work)
    largest = 0.0
    for m in range(other_residual.shape[0]):
        if not math.isnan(other_residual[m, 0]):
            compute_marker_residual(goals, m, work)
            x, y = work.r[0] - other_residual[m, 0], work.r[1] - other_residual[m, 1]
            z = work.r[2] - other_residual[m, 2]
            largest = max(largest, x * x + y * y + z * z)
    return math.sqrt(largest)


@jit_nogil
def compute_residuals(tree, goals, frames, frame_numbers, q, residual, work):
    """Write target − model [m, world] of every marker, (n, M, 3), at poses q (n, nq).

    NaN where the marker is missing.
    """
    for k in range(q.shape[0]):
        set_targets(tree, goals, frames, frame_numbers[k], q[k])
        update_kinematics_noinline(tree, goals, q[k], work)
        for m in range(residual.shape[1]):
            compute_marker_residual(goals, m, work)
            missing = math.isnan(frames.position[frame_numbers[k], m, 0])
            for i in range(3):
                residual[k, m, i] = math.nan if missing else work.r[i]


@jit_nogil
def evaluate_frames(tree, goals, frames, order, frame_numbers, q, cost, g, H, work):
    """Write cost (n,), gradient (n, nv) and curvature (n, nv, width) at q (n, nq), to `order`."""
    for k in range(q.shape[0]):
        set_frame(tree, goals, frames, frame_numbers[k], q[k])
        cost[k] = evaluate(tree, goals, q[k], np.int64(order), work)
        for i in range(g.shape[1]):
            g[k, i] = work.g[i]
            for j in range(H.shape[2]):
                H[k, i, j] = work.H[i, j]
