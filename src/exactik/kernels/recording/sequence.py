"""Frames of a recording in one call, each from where the one before ended, or each by itself.

Between two frames the figure is expected to go on as it moved; where the markers say that it did
not, the last pose itself is the start.
"""

from __future__ import annotations

import math

import numpy as np

from exactik.kernels.calculus.evaluate import evaluate
from exactik.kernels.calculus.workspace import update_kinematics_noinline
from exactik.kernels.descent.results import RESULT_COST
from exactik.kernels.linear.active_set import clip_to_limits
from exactik.kernels.linear.ltdl import AncestorPattern
from exactik.kernels.recording.frames import (
    compute_cost,
    compute_marker_residual,
    set_frame,
    solve_frame,
)
from exactik.kernels.tree.integrate import difference, integrate
from exactik.spatial import jit_inline_always, jit_nogil

__all__ = ["compute_residuals", "evaluate_frames", "solve_sequence"]


@jit_nogil
def solve_sequence(
    tree,
    goals,
    box,
    options,
    frames,
    which,
    warm,
    beside,
    bar,
    near,
    slack,
    q,
    found,
    descent,
    work,
):
    """Solve the frames `which` (n,) in their order; return how many were solved.

    Args: `warm`: whether each starts from the answer before it; the first, or each, starts from its
    own row of q (n, nq), which become the answers. `found` (n, FOUND_COUNT) says how each went.
    Beside a path of residuals `beside` (n or 0, M, 3) and costs `bar` (n,) it ends where no marker
    is further than `near` [m] from the path's, or has lost `slack` since its best moment.
    """
    pattern = AncestorPattern(tree.dof_order, tree.dof_parent, tree.dof_level)
    gain, best = 0.0, 0.0
    for k in range(q.shape[0]):
        t, pose = which[k], q[k]
        if warm and k > 0:
            for j in range(pose.shape[0]):
                pose[j] = q[k - 1, j]
        set_frame(tree, goals, frames, t, pose)
        if warm and k > 1:
            extrapolate_pose(tree, goals, box, q[k - 1], q[k - 2], pose, descent, work)
        solve_frame(tree, pattern, goals, box, options, frames, t, pose, found[k], descent, work)
        if beside.shape[0] > 0:
            gain += bar[k] - found[k, RESULT_COST]
            best = max(best, gain)
            if (
                gain < best - slack
                or largest_marker_distance(tree, goals, pose, beside[k], work) < near
            ):
                return k + 1
    return q.shape[0]


@jit_inline_always
def extrapolate_pose(tree, goals, box, last, before, pose, descent, work):
    """Write to `pose`, which holds the last pose, how the figure goes on if the markers agree."""
    difference(tree, last, before, descent.rhs)
    integrate(tree, last, descent.rhs, descent.best_q)
    clip_to_limits(box.coordinate, box.lower, box.upper, descent.best_q)
    if compute_cost(tree, goals, descent.best_q, work) < compute_cost(tree, goals, pose, work):
        for j in range(pose.shape[0]):
            pose[j] = descent.best_q[j]


@jit_inline_always
def largest_marker_distance(tree, goals, pose, residual, work):
    """Return how far the farthest marker is from where another pose of residuals (M, 3) has it."""
    update_kinematics_noinline(tree, goals, pose, work)
    farthest = 0.0
    for m in range(residual.shape[0]):
        if not math.isnan(residual[m, 0]):
            compute_marker_residual(goals, m, work)
            x, y = work.r[0] - residual[m, 0], work.r[1] - residual[m, 1]
            z = work.r[2] - residual[m, 2]
            farthest = max(farthest, x * x + y * y + z * z)
    return math.sqrt(farthest)


@jit_nogil
def compute_residuals(tree, goals, frames, which, q, residual, work):
    """Write target − model [m, world] of every marker, (n, M, 3), for poses q of frames `which`.

    Not a number where the marker is missing.
    """
    for k in range(q.shape[0]):
        set_frame(tree, goals, frames, which[k], q[k])
        update_kinematics_noinline(tree, goals, q[k], work)
        for m in range(residual.shape[1]):
            compute_marker_residual(goals, m, work)
            missing = math.isnan(frames.position[which[k], m, 0])
            for i in range(3):
                residual[k, m, i] = math.nan if missing else work.r[i]


@jit_nogil
def evaluate_frames(tree, goals, frames, order, which, q, cost, g, H, work):
    """Write cost (n,), gradient (n, nv) and curvature (n, nv, width) at q (n, nq), to `order`."""
    for k in range(q.shape[0]):
        set_frame(tree, goals, frames, which[k], q[k])
        cost[k] = evaluate(tree, goals, q[k], np.int64(order), work)
        for i in range(g.shape[1]):
            g[k, i] = work.g[i]
            for j in range(H.shape[2]):
                H[k, i, j] = work.H[i, j]
