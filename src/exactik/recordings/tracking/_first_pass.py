"""A first path through all frames: cold starts some way apart, followed until they meet.

Recordings are cut into segments of a fixed length, whatever the number of threads, so that the
answer does not depend on it. Each segment is followed from the frame of it that shows most markers,
forwards and backwards; where two neighbours do not agree on the pose at their seam, one solution is
followed into the other's segment until they do, whichever costs less.

A cold start finds the pose of a frame from nothing but its markers: the neutral pose and others
spread over the limits are brought to the markers as rigid wholes (Kabsch), all are solved, and the
least cost is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from exactik._threads import run_in_threads
from exactik.kernels.descent.results import FRAME_RESULT_SIZE
from exactik.model.motion import Segment, cut_into_segments
from exactik.recordings.tracking._branches import PathWindow, splice_branch
from exactik.recordings.tracking._frame_solver import (
    FrameRun,
    FrameSolutions,
    TrackingRun,
    find_nearest_equivalents,
    follow_courses,
    solve_frames,
    solve_frames_on_gpu,
    unwrap_path,
)
from exactik.recordings.tracking._problem import TrackingProblem
from exactik.solvers import make_start_table
from exactik.spatial import fit_rigid_transforms
from exactik.typing import Array, IntArray

COLD_START_SPREAD = 0.3
"""Share of the limits, or of a whole turn where there are none, over which cold starts are spread:
people seldom are at the ends of their range. By hand; test_frames_from_nothing."""


def first_pass(
    run: TrackingRun, starts: int, report_frames: Callable[[int], None]
) -> FrameSolutions:
    """Return a path through all frames.

    Args:
        run: problem and options.
        starts: how many poses to try at a cold start.
        report_frames: is called with the number of frames solved since its last call.
    """
    segments = cut_into_segments(len(run.problem), run.options.segment_frames)
    path = solve_segments(run, segments, starts, report_frames)
    join_segments(run, path, segments)
    return path


def solve_segments(
    run: TrackingRun,
    segments: Sequence[Segment],
    starts: int,
    report_frames: Callable[[int], None],
) -> FrameSolutions:
    """Return solutions of all frames, of each segment by itself; see `first_pass`."""
    problem, count = run.problem, len(run.problem)
    path = FrameSolutions(
        q=np.empty((count, problem.skeleton.nq)), outcomes=np.zeros((count, FRAME_RESULT_SIZE))
    )
    seen_count = problem.seen.sum(axis=1)
    begins = np.array(
        [s.first + int(np.argmax(seen_count[s.first : s.last + 1])) for s in segments]
    )
    start_q = _solve_first_frames(run, begins, starts)
    follow_courses(
        run,
        [
            FrameRun(frames=np.arange(t, segment.last + 1), start=start)
            for t, segment, start in zip(begins, segments, start_q, strict=True)
        ],
        path,
        report_frames,
    )
    follow_courses(
        run,
        [
            FrameRun(frames=np.arange(t, segment.first - 1, -1), start=path.q[t].copy())
            for t, segment in zip(begins, segments, strict=True)
        ],
        path,
        report_frames,
    )
    return path


def _solve_first_frames(run: TrackingRun, frames: IntArray, starts: int) -> Array:
    """Return poses of frames by cold starts, nearest to the neutral one, (n, nq)."""
    problem = run.problem
    q = np.empty((len(frames), problem.skeleton.nq))
    if run.on_gpu:
        poses = make_start_poses(problem, starts)
        each = np.repeat(frames, len(poses))
        aligned = align_to_markers(problem, np.tile(poses, (len(frames), 1)), each)
        wide = problem.with_wide_loss()
        found = solve_frames_on_gpu(wide, run.cold_start, each, aligned)
        best = np.argmin(found.cost.reshape(len(frames), len(poses)), axis=1)
        q[:] = found.q.reshape(len(frames), len(poses), -1)[np.arange(len(frames)), best]
    else:

        def solve_first_frame(n: int) -> None:
            one = frames[n : n + 1]
            q[n] = solve_cold_start(problem, run.cold_start, one, starts).q[0]

        run_in_threads(run.threads, solve_first_frame, range(len(frames)))
    neutral = np.broadcast_to(problem.skeleton.neutral(), q.shape)
    return find_nearest_equivalents(problem, q, neutral)


def join_segments(run: TrackingRun, path: FrameSolutions, segments: Sequence[Segment]) -> None:
    """Continue solutions of segments into their neighbours as far as that saves."""
    for left, right in pairwise(segments):
        join_two_segments(run, path, left, right)


def join_two_segments(
    run: TrackingRun, path: FrameSolutions, left: Segment, right: Segment
) -> None:
    """Continue one segment's solution into its neighbour as far as that saves."""
    unwrap_path(run.problem, path.q[left.last : right.last + 1])
    least_cost = np.full(len(path.q), np.inf)  # a window needs it; joining does not
    window = PathWindow.around(run, path, Segment(left.first, right.last), least_cost)
    if not splice_branch(window, right.first, path.q[left.last].copy()):
        splice_branch(window, left.last, path.q[right.first].copy())


def solve_cold_start(
    problem: TrackingProblem,
    descent_options: Array,
    frames: IntArray,
    starts: int,
    small_cost: float = 0.0,
) -> FrameSolutions:
    """Return the best pose of each frame, each solved independently.

    Args:
        problem: targets of all frames.
        descent_options: see `kernels.descent.options`.
        frames: (n,).
        starts: how many poses to start from.
        small_cost: at which a frame needs no further start; 0 to try all of them.
    """
    poses = make_start_poses(problem, starts)
    wide = problem.with_wide_loss()
    best = [_solve_from_poses(wide, descent_options, int(t), poses, small_cost) for t in frames]
    return FrameSolutions(
        q=np.concatenate([solution.q for solution in best]),
        outcomes=np.concatenate([solution.outcomes for solution in best]),
    )


def _solve_from_poses(
    problem: TrackingProblem, descent_options: Array, t: int, poses: Array, small_cost: float
) -> FrameSolutions:
    """Return the best solution of frame t, or the first whose cost is small, as a single row."""
    frames = np.full(len(poses), t)
    starts = align_to_markers(problem, poses, frames)
    if small_cost == 0.0:
        solutions = solve_frames(problem, descent_options, frames, starts)
        k = int(np.argmin(solutions.cost))
        return solutions.take(slice(k, k + 1))
    residual = problem.residuals(starts, frames)
    best: FrameSolutions | None = None
    for k in np.argsort(np.nansum(residual**2, axis=(1, 2)), kind="stable"):
        solution = solve_frames(problem, descent_options, np.array([t]), starts[k : k + 1])
        if best is None or solution.cost[0] < best.cost[0]:
            best = solution
        if best.cost[0] <= small_cost:
            break
    assert best is not None
    return best


def make_start_poses(problem: TrackingProblem, count: int) -> Array:
    """Return poses to start from, the neutral one first, (count, nq)."""
    neutral = problem.skeleton.neutral()
    table = make_start_table(problem.frame_problem, max(count - 1, 0), 0).q
    anywhere = np.where(np.isnan(table), neutral, table)
    steps = problem.skeleton.difference(anywhere, neutral)
    spread_poses = problem.skeleton.integrate(neutral, COLD_START_SPREAD * steps)
    return np.concatenate([neutral[None], spread_poses])


def align_to_markers(problem: TrackingProblem, q: Array, frames: IntArray) -> Array:
    """Return poses, (n, nq), moved rigidly to fit the markers of frames (n,) best.

    Skeletons whose roots are not free to move keep their place, and so do all poses of frames with
    fewer than three markers.
    """
    skeleton, tree = problem.skeleton, problem.skeleton.tree
    roots = np.flatnonzero(skeleton.parents < 0)
    for k in roots:
        dofs = slice(int(tree.first_v[k + 1]), int(tree.first_v[k + 2]))
        if not skeleton.bones[k].joint.moves_freely or problem.frame_problem.locked[dofs].any():
            return q.copy()
    position = problem.targets.position[frames]
    seen = ~np.isnan(position[:, :, 0])
    target = np.where(seen[..., None], position, 0.0)
    residual = problem.residuals(np.ascontiguousarray(q), frames)
    model = np.where(seen[..., None], target - residual, 0.0)
    weight = seen * problem.targets.weight
    fit = fit_rigid_transforms(model, target, weight)
    pose, aligned = skeleton.forward(q), q.copy()
    # Only roots move; of the others the old coordinates are kept to the last digit.
    for k in roots:
        bone = skeleton.bones[k]
        coordinates = slice(int(tree.first_q[k + 1]), int(tree.first_q[k + 2]))
        pre, post = bone.constant_rotations
        from_center = pose.positions[:, k] - fit.source_center
        p_world_root = np.einsum("nij,nj->ni", fit.rotation, from_center) + fit.target_center
        aligned[:, coordinates] = bone.joint.coordinates_for(
            (p_world_root - bone.offset) @ pre,
            pre.T @ fit.rotation @ pose.rotations[:, k] @ post.T,
        )
    too_few = (seen.sum(axis=1) < 3) | (weight.sum(axis=1) == 0.0)
    aligned[too_few] = q[too_few]
    return aligned
