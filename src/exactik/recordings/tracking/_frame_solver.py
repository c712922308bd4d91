"""Calls of the compiled loop over frames, many courses of them at once: on threads or a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from exactik._threads import run_in_threads
from exactik.kernels.cuda import GPU_RULES, choose_gpu
from exactik.kernels.descent.options import RULE
from exactik.kernels.descent.results import FRAME_RESULT_SIZE, RESULT_COST
from exactik.kernels.recording.sequence import solve_sequence
from exactik.kernels.tree.equivalent_coordinates import to_nearest_equivalent, unwrap_coordinates
from exactik.model import Skeleton
from exactik.recordings.tracking._options import TrackingOptions
from exactik.recordings.tracking._problem import TrackingProblem
from exactik.typing import Array, IntArray

MIN_GPU_COURSES = 2048
"""With fewer a GPU, where a thread follows a course, is no faster than some cores."""


class FrameSolutions(NamedTuple):
    """Poses of frames, and how their descents ended."""

    q: Array  # (n, nq)
    outcomes: Array  # (n, FRAME_RESULT_SIZE), see `kernels.descent.results`

    @property
    def cost(self) -> Array:
        """Cost of each frame with its loss and posture, (n,); a view."""
        return self.outcomes[:, RESULT_COST]

    def copy(self) -> FrameSolutions:
        """Return the same in new arrays."""
        return FrameSolutions(self.q.copy(), self.outcomes.copy())

    def take(self, rows: IntArray | slice) -> FrameSolutions:
        """Return some rows: a view if they are a slice, else a copy."""
        return FrameSolutions(self.q[rows], self.outcomes[rows])

    def put(self, rows: IntArray | slice, other: FrameSolutions) -> None:
        """Replace some rows."""
        self.q[rows], self.outcomes[rows] = other


@dataclass(frozen=True, eq=False)
class TrackingRun:
    """What the stages of `track` share."""

    problem: TrackingProblem  # targets of all frames
    # Options of descents from the pose of a frame nearby, see `kernels.descent.options`
    warm_start: Array
    cold_start: Array  # options of descents from elsewhere
    options: TrackingOptions  # of the stages
    threads: int  # how many
    on_gpu: bool = False  # whether many courses are followed on a GPU


def follow_frames(
    problem: TrackingProblem, descent_options: Array, frames: IntArray, start: Array
) -> FrameSolutions:
    """Solve frames one after the other, each from the solution before it.

    Args:
        problem: targets of all frames.
        descent_options: see `kernels.descent.options`.
        frames: in the order to be solved, (n,).
        start: pose that the first one starts from, (nq,).
    """
    q = np.empty((len(frames), len(start)))
    q[:1] = start
    return _solve(problem, descent_options, frames, q, from_previous=True)


def solve_frames(
    problem: TrackingProblem, descent_options: Array, frames: IntArray, q: Array
) -> FrameSolutions:
    """Solve frames, (n,), each by itself from its row of q, (n, nq)."""
    q = np.array(q, dtype=float, order="C")
    return _solve(problem, descent_options, frames, q, from_previous=False)


def follow_branch(
    problem: TrackingProblem,
    descent_options: Array,
    frames: IntArray,
    start: Array,
    path_residual: Array,
    path_cost: Array,
    same_distance: float,
    max_loss: float,
) -> FrameSolutions:
    """Follow another solution beside a path until it meets the path or costs too much.

    Args:
        problem: targets of all frames.
        descent_options: see `kernels.descent.options`.
        frames: in the order to be solved, at most, (n,).
        start: pose at the first, (nq,).
        path_residual: of the path, in the same frames and order [m], (n, M, 3).
        path_cost: of the path, (n,).
        same_distance: ends where every marker is nearer than this to the path's [m].
        max_loss: ends where so much cost has been lost against the path since its best moment.

    Returns:
        As many frames as were followed.
    """
    q = np.empty((len(frames), len(start)))
    q[:1] = start
    beside = (path_residual, path_cost, same_distance, max_loss)
    return _solve(problem, descent_options, frames, q, from_previous=True, beside=beside)


def _solve(
    problem: TrackingProblem,
    descent_options: Array,
    frames: IntArray,
    q: Array,
    *,
    from_previous: bool,
    beside: tuple[Array, Array, float, float] | None = None,
) -> FrameSolutions:
    buffers, outcomes = problem.buffers, np.zeros((len(frames), FRAME_RESULT_SIZE))
    residual, cost, same_distance, max_loss = beside or (
        np.empty((0, 0, 3)),
        np.empty(0),
        0.0,
        np.inf,
    )
    count = solve_sequence(
        problem.tree,
        buffers.goals,
        problem.frame_problem.box,
        descent_options,
        problem.targets,
        np.ascontiguousarray(frames),
        from_previous,
        np.ascontiguousarray(residual),
        np.ascontiguousarray(cost),
        same_distance,
        max_loss,
        q,
        outcomes,
        buffers.descent_state,
        buffers.workspace,
    )
    return FrameSolutions(q[:count], outcomes[:count])


def find_nearest_equivalents(problem: TrackingProblem, q: Array, reference: Array) -> Array:
    """Return the coordinates of the same poses q that are nearest to a reference, (n, nq)."""
    q, (lower, upper) = np.array(q, dtype=float, order="C"), _find_limits_of_changes(problem)
    to_nearest_equivalent(problem.skeleton.tree, lower, upper, np.ascontiguousarray(reference), q)
    return q


def unwrap_motion(skeleton: Skeleton, q: Array, limited: bool) -> None:
    """Remove whole turns between neighbouring frames from coordinates q, (n, nq), in place.

    Args:
        skeleton: the figure.
        q: what is changed.
        limited: whether it stays within the limits.
    """
    free = np.full(skeleton.nv, np.inf)
    lower = np.array(skeleton.lower) if limited else -free
    upper = np.array(skeleton.upper) if limited else free
    unwrap_coordinates(skeleton.tree, lower, upper, q)


def unwrap_path(problem: TrackingProblem, q: Array) -> None:
    """Remove whole turns between neighbouring frames from coordinates q, (n, nq), in place."""
    lower, upper = _find_limits_of_changes(problem)
    unwrap_coordinates(problem.skeleton.tree, lower, upper, q)


def _find_limits_of_changes(problem: TrackingProblem) -> tuple[Array, Array]:
    """Return the limits of other coordinates of the same pose, (nv,); NaN for those to be kept.

    Custom joints keep theirs: what their coordinates mean is not for us to say, and in a real
    recording the second solution of a shoulder's angles led to limits that held it.
    """
    box, skeleton = problem.frame_problem.box, problem.skeleton
    custom = np.array([bone.joint.kind == "custom" for bone in skeleton.bones])
    kept = custom[skeleton.dof_bones]
    return np.where(kept, np.nan, box.lower), np.where(kept, np.nan, box.upper)


class FrameRun(NamedTuple):
    """Frames to solve one after the other."""

    frames: IntArray  # in the order to be solved, (n,)
    start: Array  # pose that the first one starts from, (nq,)


def choose_tracking_gpu(
    device: str, problem: TrackingProblem, descent_options: Sequence[Array], courses: int
) -> str | None:
    """Return the name of the GPU that is to follow so many courses; None for the CPU."""

    def find_obstacle() -> str | None:
        if any(options[RULE] not in GPU_RULES for options in descent_options):
            return "the method does not run on a GPU"
        from exactik.kernels.cuda.follow import can_follow_on_gpu

        goals = problem.frame_problem.packed.arrays
        if not can_follow_on_gpu(problem.skeleton.tree, goals, problem.targets):
            return f"a figure with {problem.skeleton.nv} dofs is too large for a thread of a GPU"
        return None

    return choose_gpu(device, courses >= MIN_GPU_COURSES, find_obstacle, stacklevel=4)


def follow_courses(
    run: TrackingRun,
    courses: Sequence[FrameRun],
    path: FrameSolutions,
    report_frames: Callable[[int], None],
) -> None:
    """Follow courses with the options of warm starts; write what they find to their rows of a path.

    Args:
        run: problem and options.
        courses: no two of them share a frame.
        path: of all frames.
        report_frames: is called with the number of frames solved since its last call.
    """

    def follow(course: FrameRun) -> None:
        solutions = follow_frames(run.problem, run.warm_start, course.frames, course.start)
        path.put(course.frames, solutions)
        report_frames(len(course.frames))

    if not run.on_gpu:
        run_in_threads(run.threads, follow, courses)
        return
    ends = np.cumsum([0, *(len(course.frames) for course in courses)])
    frames = np.concatenate([course.frames for course in courses])
    q = np.empty((len(frames), run.problem.skeleton.nq))
    q[ends[:-1]] = [course.start for course in courses]
    path.put(frames, _solve_on_gpu(run.problem, run.warm_start, ends, frames, q, True))
    report_frames(len(frames))


def solve_frames_on_gpu(
    problem: TrackingProblem, descent_options: Array, frames: IntArray, q: Array
) -> FrameSolutions:
    """Solve frames, (n,), each by itself from its row of q, (n, nq)."""
    ends = np.arange(len(frames) + 1)
    return _solve_on_gpu(problem, descent_options, ends, frames, np.array(q, order="C"), False)


def _solve_on_gpu(
    problem: TrackingProblem,
    descent_options: Array,
    ends: IntArray,
    frames: IntArray,
    q: Array,
    warm_start: bool,
) -> FrameSolutions:
    from exactik.kernels.cuda.follow import Courses, follow_courses_on_gpu

    outcomes = np.zeros((len(frames), FRAME_RESULT_SIZE))
    follow_courses_on_gpu(
        problem.skeleton.tree,
        problem.frame_problem.packed.arrays,
        problem.frame_problem.box,
        descent_options,
        problem.targets,
        Courses(
            first=ends,
            frame=np.ascontiguousarray(frames),
            warm_start=np.array([int(warm_start)]),
        ),
        q,
        outcomes,
    )
    return FrameSolutions(q, outcomes)
