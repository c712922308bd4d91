"""Courses of frames: from arrays on the host to arrays on the host, in chunks of whole courses."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from exactik.kernels.calculus.workspace import Goals, new_workspace
from exactik.kernels.cuda._cuda import cuda
from exactik.kernels.cuda._follow_pool import Courses, follow_pool
from exactik.kernels.cuda._replacements import find_replacements
from exactik.kernels.cuda._scratch import OwnFrame, ThreadArrays, choose_capacity
from exactik.kernels.cuda._variants import compile_kernel
from exactik.kernels.cuda.transfer import (
    allocate_or_halve,
    choose_grid,
    count_rows_that_fit,
    map_arrays,
    quiet_and_pinned,
    to_device,
)
from exactik.kernels.descent.results import FRAME_RESULT_SIZE
from exactik.kernels.descent.state import Box, new_descent_state
from exactik.kernels.recording.frames import QUADRATIC, FrameTargets
from exactik.kernels.tree.packed import Tree
from exactik.typing import Array

CHUNK_COURSES = 524_288  # at most: ten for each thread of a large GPU, which even out
MAX_SPREAD = 4  # frames between the first and the last of a chunk, in rows: else they are gathered


class CourseChunk(NamedTuple):
    """Some of the courses, on the GPU."""

    course_count: int
    rows: slice  # of the host's q and results
    frames: Any
    courses: Any
    q: Any
    results: Any
    queue: Any


def follow_courses_on_gpu(
    tree: Tree,
    goals: Goals,
    box: Box,
    options: Array,
    frames: FrameTargets,
    courses: Courses,
    q: Array,
    results: Array,
) -> None:
    """Follow courses, each as `kernels.recording.sequence.solve_sequence`, which has the arguments.

    Robust weights of `frames` are read but not written.
    """
    if len(q) == 0:
        return
    like = make_thread_arrays(tree, goals, frames)
    is_robust = bool(frames.loss[0] != QUADRATIC)
    replacements = find_replacements(tree, goals, options, is_robust)
    kernel = compile_kernel(follow_pool, like, replacements)
    shared, thread_arrays = to_device((tree, goals, box, options)), to_device(like)
    row_bytes = sum(a.nbytes for a in frames) / len(frames.position) + q[0].nbytes
    size, first, number = count_rows_that_fit(row_bytes, len(q)), 0, 0
    streams = [cuda.stream(), cuda.stream()]
    with quiet_and_pinned([frames.position, q, results]):
        while first < len(courses.first) - 1:
            stream = streams[number % 2]

            def copy(fitting: int, begin: int = first, stream: Any = stream) -> CourseChunk:
                end = find_chunk_end(courses, begin, fitting)
                return copy_chunk(frames, courses, q, slice(begin, end), stream)

            chunk, size = allocate_or_halve(copy, size)
            kernel[*choose_grid(chunk.course_count), stream](
                *shared,
                chunk.frames,
                chunk.courses,
                chunk.q,
                chunk.results,
                thread_arrays,
                chunk.queue,
            )
            chunk.q.copy_to_host(q[chunk.rows], stream=stream)
            chunk.results.copy_to_host(results[chunk.rows], stream=stream)
            first, number = first + chunk.course_count, number + 1
        cuda.synchronize()


def can_follow_on_gpu(tree: Tree, goals: Goals, frames: FrameTargets) -> bool:
    """Whether there is room for the arrays of a thread."""
    return choose_capacity(make_thread_arrays(tree, goals, frames)) is not None


def make_thread_arrays(tree: Tree, goals: Goals, frames: FrameTargets) -> ThreadArrays:
    """Return arrays of the lengths that a thread needs."""
    work = new_workspace(tree)
    descent = new_descent_state(tree, work.H.shape[1])
    own = OwnFrame(
        origin=goals.origin,
        rows=goals.clouds.rows,
        rows_used=goals.clouds.rows_used,
        floor=goals.clouds.floor,
        point=goals.terms.point,
        target=goals.terms.target,
        weight=goals.terms.weight,
        rest=goals.coordinates.rest,
        rest_weight=goals.coordinates.rest_weight,
        robust_weight=frames.robust_weight[:1],
        place=descent.trial,
        previous=descent.trial,
    )
    return ThreadArrays(work=work, descent=descent, own=own)


def find_chunk_end(courses: Courses, begin: int, size: int) -> int:
    """Return one past the last of whole courses of about `size` rows, from course `begin` on."""
    last_row = courses.first[begin] + size
    end = int(np.searchsorted(courses.first, last_row, side="right")) - 1
    return min(max(end, begin + 1), begin + CHUNK_COURSES)


def copy_chunk(
    frames: FrameTargets, courses: Courses, q: Array, chunk: slice, stream: Any
) -> CourseChunk:
    """Copy some of the courses, and the frames that they need, to the GPU."""
    rows = slice(int(courses.first[chunk.start]), int(courses.first[chunk.stop]))
    frame, needed = select_frames(frames, courses.frame[rows])
    own = Courses(
        first=courses.first[chunk.start : chunk.stop + 1] - rows.start,
        frame=frame,
        warm_start=courses.warm_start,
    )
    frames_there, courses_there, q_there, queue = map_arrays(
        lambda a: cuda.to_device(np.ascontiguousarray(a), stream=stream),
        (needed, own, q[rows], np.zeros(1, np.int64)),
    )
    return CourseChunk(
        course_count=chunk.stop - chunk.start,
        rows=rows,
        frames=frames_there,
        courses=courses_there,
        q=q_there,
        results=cuda.device_array((len(q_there), FRAME_RESULT_SIZE), stream=stream),
        queue=queue,
    )


def select_frames(frames: FrameTargets, frame: Any) -> tuple[Any, FrameTargets]:
    """Return the numbers of frames (n,) in a selection of the targets, and that."""
    low, high = int(frame.min()), int(frame.max()) + 1
    count = len(frames.position)
    if high - low <= MAX_SPREAD * len(frame):
        picked: Any = slice(low, high)
        numbers = frame - low
    else:
        picked, numbers = np.unique(frame, return_inverse=True)
    needed = FrameTargets(*(a[picked] if len(a) == count > 1 else a for a in frames))
    return np.ascontiguousarray(numbers), needed._replace(weight=frames.weight, loss=frames.loss)
