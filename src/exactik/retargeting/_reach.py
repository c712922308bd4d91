"""Points brought to their places exactly, while the pose stays near the one that was copied.

One problem a frame, from the copied pose: ½ Σ W |place − point|² plus ½ Σ w (q_copied − q)², with W
so much larger than w that points are missed only where limits or lengths leave no other way. Frames
do not depend on each other; places and copied poses that are continuous make motions that are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from exactik._threads import run_in_threads
from exactik.model import Skeleton
from exactik.motion import Markers, cut_into_segments
from exactik.retargeting._copy_orientations import find_root_dofs, find_stretching_dofs
from exactik.solvers import Auto
from exactik.tracking import make_tracking_problem, solve_frames
from exactik.typing import Array

__all__ = ["PointPath", "reach_places"]

CHUNK_FRAMES = 256  # a compiled call, between which Ctrl-C is seen; does not change the result
PLACE_WEIGHT = 1e5
"""Of a point against the root's place, 1: a decimetre that the pose would rather be elsewhere moves
the point by a micrometre."""
ROOT_TURN_WEIGHT = 1.0
"""Of the root's turn, in squared leg lengths: 10 cm of an adult's hips cost as much as 6°."""
JOINT_WEIGHT = 0.1
"""Of a joint's turn, in squared leg lengths: hips give way before knees bend by much, yet not
alone."""
REACH_METHOD = Auto(
    metric="dof", tolerance=1e-9, initial_damping=1e-3, detour=False, escape=False
)


class PointPath(NamedTuple):
    """Where a point of a bone should go.

    Attributes:
        bone: its name.
        point: in the bone's frame [m], (3,).
        places: [m, world], (T, 3).
    """

    bone: str
    point: Array
    places: Array


def reach_places(
    skeleton: Skeleton,
    q: Array,
    paths: Sequence[PointPath],
    *,
    size: float,
    rate: float,
    lock: Sequence[str] = (),
    threads: int = 1,
) -> Array:
    """Return poses, (T, nq), near the poses q, whose points are at their places.

    Args:
        skeleton: the figure.
        q: poses to stay near and to start from, (T, nq).
        paths: points and places.
        size: of the figure: its leg length [m].
        rate: frames a second [Hz].
        lock: bones that stay as they are in q.
        threads: number of threads.
    """
    names = [f"point {k}" for k in range(len(paths))]
    marked = skeleton.with_markers(
        {name: (path.bone, path.point) for name, path in zip(names, paths, strict=True)}
    )
    places = np.stack([path.places for path in paths], axis=1)
    problem = make_tracking_problem(marked, Markers(places, names, rate), lock=[*lock, *find_stretching_dofs(skeleton)], posture=0.0)
    root, turns = find_root_dofs(skeleton), skeleton.turns
    turn_weight = np.where(root, ROOT_TURN_WEIGHT, JOINT_WEIGHT) * size**2
    rest_weight = np.where(turns, turn_weight, np.where(root, 1.0, JOINT_WEIGHT))
    problem = problem.with_targets(
        weight=np.full(len(paths), PLACE_WEIGHT),
        rest=np.ascontiguousarray(q),
        rest_weight=np.ascontiguousarray(rest_weight[None]),
    )
    options = REACH_METHOD.options(problem.frame_problem)
    solved = np.empty_like(q)

    def solve_chunk(chunk: tuple[int, int]) -> None:
        frames = np.arange(chunk[0], chunk[1] + 1)
        solved[frames] = solve_frames(problem, options, frames, q[frames]).q

    run_in_threads(threads, solve_chunk, cut_into_segments(len(q), CHUNK_FRAMES))
    return solved
