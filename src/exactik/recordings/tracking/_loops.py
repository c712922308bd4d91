"""Closed loops of the figure: each pose goes to the nearest one in which they are closed.

Near is what the markers of the figure say: all stay where the path has them as well as they can, by
their weights. To first order that is the pose that fits the recording best among those that are
closed, and what smoothing and gaps found is kept.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from exactik.goals import MarkerGoal
from exactik.problem import Problem
from exactik.recordings.tracking._job import TrackOptions
from exactik.recordings.tracking._problem import TrackingProblem
from exactik.solvers import Auto
from exactik.solvers.batch import solve_batch
from exactik.typing import Array

CHUNK_FRAMES = 64  # whose results are in memory at once
METHOD = Auto(metric="dof", detour=False, escape=False)  # from the path, as warm starts are


def close_loops(
    problem: TrackingProblem,
    settings: TrackOptions,
    q: Array,
    threads: int,
    report_frames: Callable[[float], None],
) -> Array:
    """Return poses near those of a path, (T, nq), in which the loops are closed if they can be."""
    skeleton = problem.skeleton
    used = [k for k, counts in enumerate(problem.counts) if counts]
    names = [problem.names[k] for k in used]
    goals = [
        MarkerGoal(name, np.zeros(3), weight=float(problem.targets.weight[k]))
        for name, k in zip(names, used, strict=True)
    ]
    options = {key: getattr(settings, key) for key in ("limits", "lock", "strength")}
    closed, near = np.empty_like(q), Problem(skeleton, goals, **options)
    columns = [list(skeleton.markers).index(name) for name in names]
    for first in range(0, len(q), CHUNK_FRAMES):
        frames = slice(first, first + CHUNK_FRAMES)
        places = skeleton.forward(q[frames]).markers[:, columns]
        targets = {name: places[:, k] for k, name in enumerate(names)}
        batch = solve_batch(near, targets, q0=q[frames], solver=METHOD, threads=threads)
        closed[frames] = batch.q
        report_frames(len(places))
    return closed
