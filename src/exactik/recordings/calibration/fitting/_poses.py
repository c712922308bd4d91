"""Poses of the frames of a fit, and the equations of a step of parameters without them.

Frames that differ as much as can be have more than one minimum each, and a frame in the wrong one
spoils the bones. Cold starts find the right one from nothing, six descents a frame. Most frames do
with less: their neighbours in time are in the right one already.

The kernels of `kernels.fitting` sum the equations frame by frame, in parts of the frames that do
not depend on the threads. Dofs that are locked, or push against a limit, take no part.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik._threads import run_in_threads
from exactik.kernels.fitting.columns import FitScratch
from exactik.kernels.fitting.equations import add_fit_equations
from exactik.kernels.tree.packed import Tree
from exactik.recordings.calibration.fitting._columns import order_as_parameters
from exactik.recordings.calibration.fitting._scaled_skeleton import ScaledSkeleton
from exactik.recordings.tracking import (
    FrameSolutions,
    TrackingProblem,
    align_to_markers,
    make_start_poses,
    solve_frames,
)
from exactik.typing import Array, IntArray

# Of every frame in a cold start. From the neutral pose alone three frames in fifty of a recording
# stayed in a wrong pose, 51 mm off instead of 6.
COLD_STARTS = 6
BETTER_COST_RATIO = 0.99  # below which another pose replaces the one that a frame has
MAX_PARTS = 8  # of the frames, each a thread's: more threads would wait; sums need memory for each


def _split_frames(count: int) -> list[IntArray]:
    """Return the frames from 0 to count − 1 in parts that do not depend on the threads."""
    return np.array_split(np.arange(count), min(MAX_PARTS, max(count, 1)))


def solve_poses(problem: TrackingProblem, options: Array, q: Array, threads: int) -> FrameSolutions:
    """Return the pose of each frame, each by itself from its row of q, (F, nq)."""
    parts = _split_frames(len(q))
    solved: list[FrameSolutions | None] = [None] * len(parts)

    def solve_part(number: int) -> None:
        solved[number] = solve_frames(problem, options, parts[number], q[parts[number]])

    run_in_threads(threads, solve_part, range(len(parts)))
    found = [part for part in solved if part is not None]
    return FrameSolutions(
        q=np.concatenate([part.q for part in found]),
        outcomes=np.concatenate([part.outcomes for part in found]),
    )


def solve_from_poses(
    problem: TrackingProblem, options: Array, starts: list[Array], threads: int
) -> FrameSolutions:
    """Return the best of the poses from several starts of each frame, moved to its markers.

    Args:
        problem: targets of all frames.
        options: of the descents.
        starts: poses, (F, nq) each; those before win where others are no better.
        threads: how many.
    """
    frames, best = np.arange(len(problem)), None
    for q in starts:
        aligned = align_to_markers(problem, np.ascontiguousarray(q), frames)
        solutions = solve_poses(problem, options, aligned, threads)
        if best is None:
            best = solutions
        else:
            replace_poses(best, solutions, 1.0)
    assert best is not None
    return best


def solve_from_nothing(problem: TrackingProblem, options: Array, threads: int) -> FrameSolutions:
    """Return poses by cold starts."""
    poses = make_start_poses(problem, COLD_STARTS)
    starts = [np.tile(pose, (len(problem), 1)) for pose in poses]
    return solve_from_poses(problem, options, starts, threads)


def solve_between(
    problem: TrackingProblem, options: Array, rows: IntArray, q: Array, threads: int
) -> FrameSolutions:
    """Return poses of all frames from those of some, (n,) in order: from one before, one after."""
    frames = np.arange(len(problem))
    after = np.minimum(np.searchsorted(rows, frames), len(rows) - 1)
    before = np.maximum(np.searchsorted(rows, frames, side="right") - 1, 0)
    return solve_from_poses(problem, options, [q[before], q[after]], threads)


def improve_from_neighbours(
    problem: TrackingProblem, options: Array, solutions: FrameSolutions, threads: int
) -> bool:
    """Replace poses by better ones that neighbours lead to; whether there were any."""
    frames = np.arange(len(problem))
    starts = [
        solutions.q[np.maximum(frames - 1, 0)],
        solutions.q[np.minimum(frames + 1, frames[-1])],
    ]
    others = solve_from_poses(problem, options, starts, threads)
    return replace_poses(solutions, others, BETTER_COST_RATIO)


def replace_poses(solutions: FrameSolutions, others: FrameSolutions, ratio: float) -> bool:
    """Replace poses by others that cost less than `ratio` as much; whether there were any."""
    better = np.flatnonzero(others.cost < ratio * solutions.cost)
    solutions.put(better, others.take(better))
    return len(better) > 0


class _FitEquations(NamedTuple):
    """The equations of one step, poses eliminated; n parameters."""

    matrix: Array  # C − ΣBᵀA⁻¹B [m²], (n, n)
    rhs: Array  # c − ΣBᵀA⁻¹h [m²], (n,)
    pose_reduction: float  # Σ h·A⁻¹h [m²], twice what the poses alone would gain


def compute_fit_equations(
    scaled: ScaledSkeleton,
    theta: Array,
    problem: TrackingProblem,
    q: Array,
    *,
    threads: int = 1,
) -> _FitEquations:
    """Return the equations at parameters θ and poses q, (F, nq).

    Args:
        scaled: which parameters there are.
        theta: their values.
        problem: the frames, with the skeleton of these values.
        q: a pose for each frame.
        threads: how many.
    """
    tree, scales = problem.tree, len(scaled.scale_groups)
    lever = scaled.bone_scales(theta)[scaled.marker_bones, None] * scaled.marker_points
    columns, q = scaled.columns._replace(lever=lever), np.ascontiguousarray(q)
    parts, count = _split_frames(len(q)), scaled.parameter_count + 1
    sums = np.zeros((len(parts), count, count))

    def add_part(number: int) -> None:
        buffers, rows = problem.buffers, parts[number]
        add_fit_equations(
            tree,
            buffers.goals,
            problem.frame_problem.box,
            problem.targets,
            columns,
            rows,
            q[rows],
            sums[number],
            _new_scratch(tree, scales, count),
            buffers.descent_state,
            buffers.workspace,
        )

    run_in_threads(threads, add_part, range(len(parts)))
    upper = sums.sum(axis=0)
    whole = np.triu(upper) + np.triu(upper, 1).T
    of_theta = order_as_parameters(columns, scales)
    return _FitEquations(
        whole[np.ix_(of_theta, of_theta)], whole[of_theta, scales], -float(whole[scales, scales])
    )


def _new_scratch(tree: Tree, scales: int, count: int) -> FitScratch:
    n, nv = len(tree.parent), int(tree.first_v[-1])
    return FitScratch(
        motion=np.zeros((n, 3, scales)),
        lever=np.zeros((3, scales)),
        scales=np.zeros((n, 6, scales)),
        shifts=np.zeros((6, count)),
        Y=np.zeros((nv, count)),
    )
