"""Many courses of frames at once: on the threads of the CPU, or on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from exactik._threads import run_in_threads
from exactik.kernels.cuda import GPU_RULES, choose_gpu
from exactik.kernels.descent.options import RULE
from exactik.kernels.descent.results import FRAME_RESULT_SIZE
from exactik.recordings.tracking._frame_solver import (
    FrameSolutions,
    TrackingRun,
    follow_frames,
)
from exactik.recordings.tracking._problem import TrackingProblem
from exactik.typing import Array, IntArray

MIN_GPU_COURSES = 2048
"""With fewer a GPU, where a thread follows a course, is no faster than some cores."""


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
