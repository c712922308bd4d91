"""Poses of a path, each brought to the nearest one that keeps what the path did not regard.

Near is what markers of the figure say: all stay where the path has them as well as they can, by
their weights. To first order that is the pose that fits a recording best among those allowed, and
what smoothing and gaps found is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from exactik.goals import Goal, MarkerGoal
from exactik.model import Skeleton
from exactik.problem import Problem
from exactik.solvers.batch._batch import solve_batch
from exactik.solvers.methods import Auto
from exactik.typing import Array

CHUNK_FRAMES = 64  # whose results are in memory at once
METHOD = Auto(metric="dof", detour=False, escape=False)  # from the path, as warm starts are


def settle_path(
    skeleton: Skeleton,
    q: Array,
    weights: Mapping[str, float],
    *,
    goals: Sequence[Goal] = (),
    threads: int | None = 1,
    report_frames: Callable[[float], None] = lambda frames: None,
    **dof_options: Any,
) -> Array:
    """Return poses near those of a path, (T, nq), in which loops are closed if they can be.

    Args:
        skeleton: with its loops.
        q: the path, (T, nq).
        weights: name of a marker → its weight.
        goals: others, such as `Collisions`.
        threads: as for `solve_batch`.
        report_frames: is called with the number of frames done.
        dof_options: fields of `DofOptions`, and `strength`.
    """
    pulls = [MarkerGoal(name, np.zeros(3), weight=weight) for name, weight in weights.items()]
    near = Problem(skeleton, [*pulls, *goals], **dof_options)
    columns = [list(skeleton.markers).index(name) for name in weights]
    settled = np.empty_like(q)
    for first in range(0, len(q), CHUNK_FRAMES):
        frames = slice(first, first + CHUNK_FRAMES)
        places = skeleton.forward(q[frames]).markers[:, columns]
        targets = {name: places[:, k] for k, name in enumerate(weights)}
        batch = solve_batch(near, targets, q0=q[frames], solver=METHOD, threads=threads)
        settled[frames] = batch.q
        report_frames(len(places))
    return settled
