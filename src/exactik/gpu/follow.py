"""Courses of frames: from arrays on the host to arrays on the host, in chunks of whole courses."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from exactik.gpu._cuda import cuda
from exactik.gpu._follow_pool import Courses, follow_pool
from exactik.gpu._replacements import find_replacements
from exactik.gpu._scratch import OwnFrame, ThreadArrays, choose_capacity
from exactik.gpu._transfer import (
    choose_grid,
    count_rows_that_fit,
    map_arrays,
    quiet_and_pinned,
    to_device,
)
from exactik.gpu._variants import compile_kernel
from exactik.kernels.calculus.workspace import Goals, new_workspace
from exactik.kernels.descent.state import Box, new_descent_state
from exactik.kernels.recording.frames import FrameTargets
from exactik.kernels.tree.packed import Tree
from exactik.typing import Array

__all__ = ["Courses", "can_follow_on_gpu", "follow_courses_on_gpu"]

CHUNK_COURSES = 65_536  # at most: more than there are threads on a large GPU
MAX_SPREAD = 4  # frames between the first and the last of a chunk, in rows: else they are gathered


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
    kernel = compile_kernel(follow_pool, like, find_replacements(tree, goals, options))
    shared, thread_arrays = to_device((tree, goals, box, options)), to_device(like)
    row_bytes = sum(a.nbytes for a in frames) / len(frames.position) + q[0].nbytes
    size = count_rows_that_fit(row_bytes, len(q))
    streams = [cuda.stream(), cuda.stream()]
    with quiet_and_pinned([frames.position, q, results]):
        for n, chunk in enumerate(cut_courses(courses, size)):
            stream = streams[n % 2]
            rows = slice(int(courses.first[chunk.start]), int(courses.first[chunk.stop]))
            frame, needed = select_frames(frames, courses.frame[rows])
            host = (
                needed,
                Courses(
                    first=courses.first[chunk.start : chunk.stop + 1] - rows.start,
                    frame=frame,
                    warm_start=courses.warm_start,
                ),
                q[rows],
                np.zeros(1, np.int64),
            )
            device = map_arrays(
                lambda a, stream=stream: cuda.to_device(np.ascontiguousarray(a), stream=stream),
                host,
            )
            blocks, threads = choose_grid(chunk.stop - chunk.start)
            targets, own_courses, own_q, queue = device
            own_results = cuda.device_array(results[rows].shape, results.dtype, stream=stream)
            kernel[blocks, threads, stream](
                *shared, targets, own_courses, own_q, own_results, thread_arrays, queue
            )
            own_q.copy_to_host(q[rows], stream=stream)
            own_results.copy_to_host(results[rows], stream=stream)
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


def cut_courses(courses: Courses, size: int) -> list[slice]:
    """Return whole courses in chunks of about `size` rows."""
    cuts = [0]
    while cuts[-1] < len(courses.first) - 1:
        end = int(np.searchsorted(courses.first, courses.first[cuts[-1]] + size, side="right")) - 1
        cuts.append(min(max(end, cuts[-1] + 1), cuts[-1] + CHUNK_COURSES))
    return [slice(a, b) for a, b in pairwise(cuts)]


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
