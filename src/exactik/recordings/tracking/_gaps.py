"""Frames in which some joints have lost their markers.

Each marker determines the dofs above it. Where a dof has lost much of what determines it, its own
course from before to after the gap stands in: the frame is solved again with a pull towards it,
stronger the more is lost. The markers that are still seen count as before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik._threads import run_in_threads
from exactik.model import Skeleton
from exactik.model.motion import choose_even_frames
from exactik.recordings.tracking._frame_solver import FrameSolutions, TrackingRun, solve_frames
from exactik.recordings.tracking._options import TrackingOptions
from exactik.recordings.tracking._problem import TrackingProblem, split_into_chunks
from exactik.typing import Array, BoolArray, IntArray

INFORMATION_POSES = 24
"""Over which what markers say about dofs is averaged."""


def compute_marker_information(problem: TrackingProblem, q: Array) -> Array:
    """Return what every marker says about every dof, w |∂x/∂v|² on average over poses, (M, nv)."""
    count = len(problem.names)
    total = np.zeros((count, problem.skeleton.nv))
    chosen = choose_even_frames(len(q), INFORMATION_POSES)
    for pose in q[chosen]:
        J = problem.frame_problem.jacobian(pose)[: 3 * count]
        total += (J**2).reshape(count, 3, -1).sum(axis=1)
    return problem.targets.weight[:, None] * total / max(len(chosen), 1)


def compute_lost_share(seen: BoolArray, information: Array) -> Array:
    """Return how much of what determines each dof is missing, 0 to 1, (n, nv), by markers seen."""
    lost = (~seen).astype(float) @ information
    total = information.sum(axis=0)
    return np.divide(lost, total, out=np.zeros_like(lost), where=total > 0.0)


class FramePostures(NamedTuple):
    """What frames are pulled to besides their markers: all to neutral, some to their course."""

    skeleton: Skeleton  # whose they are
    neutral: Array  # for all frames or each, (1 or T, nq)
    neutral_weight: Array  # how firmly they are pulled to neutral, (1 or T, nv)
    frames: IntArray  # that have a course, (k,), in order
    course: Array  # of these, (k, nq)
    course_weight: Array  # how firmly they are pulled to it, (k, nv)
    undetermined: BoolArray  # dofs that go by their course, (T, nv)

    def combine(self, frames: IntArray) -> tuple[Array, Array]:
        """Return the one posture that each frame is pulled to, (n, nq), and how firmly, (n, nv)."""
        posture = self.neutral[frames if len(self.neutral) > 1 else np.zeros_like(frames)]
        weight = self.neutral_weight[
            frames if len(self.neutral_weight) > 1 else np.zeros_like(frames)
        ]
        k = np.searchsorted(self.frames, frames)
        has_course = k < len(self.frames)
        has_course[has_course] = self.frames[k[has_course]] == frames[has_course]
        k = k[has_course]
        posture[has_course], weight[has_course] = combine_postures(
            self.skeleton,
            posture[has_course],
            weight[has_course],
            self.course[k],
            self.course_weight[k],
        )
        return posture, weight

    def between(self, first: int, end: int) -> FramePostures:
        """Return those of the frames from `first` on, `end` excluded, counted from `first`."""
        inside = (self.frames >= first) & (self.frames < end)
        return self._replace(
            neutral=self.neutral[first:end] if len(self.neutral) > 1 else self.neutral,
            neutral_weight=(
                self.neutral_weight[first:end]
                if len(self.neutral_weight) > 1
                else self.neutral_weight
            ),
            frames=self.frames[inside] - first,
            course=self.course[inside],
            course_weight=self.course_weight[inside],
            undetermined=self.undetermined[first:end],
        )


def combine_postures(
    skeleton: Skeleton, posture: Array, weight: Array, other: Array, other_weight: Array
) -> tuple[Array, Array]:
    """Return the one posture that pulls as two do together, (n, nq), and how firmly, (n, nv)."""
    total = weight + other_weight
    share = np.divide(other_weight, total, out=np.zeros_like(total), where=total > 0.0)
    return skeleton.integrate(posture, share * skeleton.difference(other, posture)), total


def make_postures(
    problem: TrackingProblem, q: Array, information: Array, options: TrackingOptions
) -> FramePostures:
    """Return what frames are pulled to, given a path q, (T, nq), through all of them."""
    undetermined = np.zeros((len(q), problem.skeleton.nv), dtype=bool)
    frames = np.flatnonzero(~problem.seen.all(axis=1))
    share = compute_lost_share(problem.seen[frames], information)
    undetermined[frames] = share > options.max_lost_share
    share = share[undetermined[frames].any(axis=1)]
    frames = np.flatnonzero(undetermined.any(axis=1))
    course = q[:0]
    if len(frames) > 0:
        course = _interpolate_course(problem.skeleton, q, undetermined)[frames]
    curvature = information.sum(axis=0)
    return FramePostures(
        skeleton=problem.skeleton,
        neutral=problem.targets.rest,
        neutral_weight=problem.targets.rest_weight,
        frames=frames,
        course=course,
        course_weight=options.course_pull * curvature * share**2 * undetermined[frames],
        undetermined=undetermined,
    )


def solve_gap_frames(run: TrackingRun, path: FrameSolutions, postures: FramePostures) -> None:
    """Solve the frames that have a course again, from there."""
    problem, skeleton = run.problem, run.problem.skeleton

    def solve_chunk(rows: IntArray) -> None:
        frames, course = postures.frames[rows], postures.course[rows]
        posture, weight = postures.combine(frames)
        to_course = postures.undetermined[frames] * skeleton.difference(course, path.q[frames])
        chunk = problem.select(frames).with_targets(rest=posture, rest_weight=weight)
        start = skeleton.integrate(path.q[frames], to_course)
        path.put(frames, solve_frames(chunk, run.warm_start, np.arange(len(frames)), start))

    run_in_threads(run.threads, solve_chunk, split_into_chunks(len(postures.frames)))


def _interpolate_course(skeleton: Skeleton, q: Array, undetermined: BoolArray) -> Array:
    """Return q, (T, nq), with every undetermined dof drawn straight from before to after a gap."""
    course, times = q.copy(), np.arange(len(q))
    for i, j in enumerate(skeleton.plain_q):
        known = ~undetermined[:, i]
        if j >= 0 and not known.all() and known.any():
            course[:, j] = np.interp(times, times[known], q[known, j])
    for bone, j in skeleton.quaternions:
        end = int(skeleton.tree.first_v[skeleton.bone_index(bone) + 2])
        known = ~undetermined[:, end - 3 : end].any(axis=1)
        if not known.all() and known.any():
            for a in range(j, j + 4):
                course[:, a] = np.interp(times, times[known], q[known, a])
            norm = np.linalg.norm(course[:, j : j + 4], axis=1, keepdims=True)
            course[:, j : j + 4] /= np.maximum(norm, 1e-9)
    return course
