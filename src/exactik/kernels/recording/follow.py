"""Frames of a recording in one call, each from where the one before ended, or each by itself.

Between two frames the figure is expected to go on as it moved; where the markers say that it did
not, the last pose itself is the start.
"""

from __future__ import annotations

import math

from exactik.kernels.calculus.workspace import place_apart
from exactik.kernels.linear.box import project
from exactik.kernels.linear.ltdl import Pattern
from exactik.kernels.recording.frames import (
    COST,
    cost_at,
    residual_at,
    set_frame,
    solve_frame,
)
from exactik.kernels.tree.integrate import difference, integrate
from exactik.spatial import jit_inline_always, jit_nogil

__all__ = ["follow", "measure"]


@jit_nogil
def follow(
    tree, goals, box, options, frames, which, warm, beside, bar, near, slack, q, found, search, work
):
    """Solve the frames `which` (n,) in their order; return how many were solved.

    Args: `warm`: whether each starts from the answer before it; the first, or each, starts from its
    own row of q (n, nq), which become the answers. `found` (n, FOUND_COUNT) says how each went.
    Beside a path of residuals `beside` (n or 0, M, 3) and costs `bar` (n,) it ends where no marker
    is further than `near` [m] from the path's, or has lost `slack` since its best moment.
    """
    pattern = Pattern(tree.order, tree.upward, tree.level)
    gain, best = 0.0, 0.0
    for k in range(q.shape[0]):
        t, pose = which[k], q[k]
        if warm and k > 0:
            for j in range(pose.shape[0]):
                pose[j] = q[k - 1, j]
        set_frame(tree, goals, frames, t, pose)
        if warm and k > 1:
            foresee(tree, goals, box, q[k - 1], q[k - 2], pose, search, work)
        solve_frame(tree, pattern, goals, box, options, frames, t, pose, found[k], search, work)
        if beside.shape[0] > 0:
            gain += bar[k] - found[k, COST]
            best = max(best, gain)
            if gain < best - slack or apart(tree, goals, pose, beside[k], work) < near:
                return k + 1
    return q.shape[0]


@jit_inline_always
def foresee(tree, goals, box, last, before, pose, search, work):
    """Write to `pose`, which holds the last pose, how the figure goes on if the markers agree."""
    difference(tree, last, before, search.right)
    integrate(tree, last, search.right, search.best)
    project(box.plain, box.lower, box.upper, search.best)
    if cost_at(tree, goals, search.best, work) < cost_at(tree, goals, pose, work):
        for j in range(pose.shape[0]):
            pose[j] = search.best[j]


@jit_inline_always
def apart(tree, goals, pose, residual, work):
    """Return how far the farthest marker is from where another pose of residuals (M, 3) has it."""
    place_apart(tree, goals, pose, work)
    farthest = 0.0
    for m in range(residual.shape[0]):
        if not math.isnan(residual[m, 0]):
            residual_at(goals, m, work)
            x, y = work.r[0] - residual[m, 0], work.r[1] - residual[m, 1]
            z = work.r[2] - residual[m, 2]
            farthest = max(farthest, x * x + y * y + z * z)
    return math.sqrt(farthest)


@jit_nogil
def measure(tree, goals, frames, which, q, residual, work):
    """Write target − model [m, world] of every marker, (n, M, 3), for poses q of frames `which`.

    Not a number where the marker is missing.
    """
    for k in range(q.shape[0]):
        set_frame(tree, goals, frames, which[k], q[k])
        place_apart(tree, goals, q[k], work)
        for m in range(residual.shape[1]):
            residual_at(goals, m, work)
            missing = math.isnan(frames.place[which[k], m, 0])
            for i in range(3):
                residual[k, m, i] = math.nan if missing else work.r[i]
