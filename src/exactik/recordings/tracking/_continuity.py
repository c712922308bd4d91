"""Continuity of a path: which steps are jumps, what they are charged, which of two paths is better.

A path may change its solution from one frame to the next though no marker jumps. A step is a jump
where a bone turns, or a marker moves against its target, by more than a limit that grows with
what the same bone or marker does in the steps before and after it. The smaller of these two counts,
or the two large steps of a flip to and back would raise each other's limit.

No frame is moved to hide a jump: a pose between two solutions fits neither. Smoothing spreads what
it can at a price that the markers set; what is left is listed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.kernels.descent.options import MAX_ITERATIONS
from exactik.model.motion import Segment, find_segments
from exactik.recordings.tracking._frame_solver import FrameSolutions, TrackingRun, solve_frames
from exactik.recordings.tracking._options import DEFAULT_OPTIONS, TrackingOptions
from exactik.recordings.tracking._problem import CHUNK_FRAMES, TrackingProblem
from exactik.spatial import angle_between
from exactik.typing import Array, BoolArray, IntArray

NEIGHBOUR_RATIO = 1.5
"""Times as much as in the steps before and after, that is no jump, so that fast motions are none.
By hand."""


def find_jumps(
    problem: TrackingProblem, q: Array, options: TrackingOptions = DEFAULT_OPTIONS
) -> IntArray:
    """Return the frames t, (k,), from which the path q, (T, nq), jumps to t + 1."""
    return np.flatnonzero(find_jumping_bones(problem, q, options).any(axis=1))


def find_jumping_bones(
    problem: TrackingProblem, q: Array, options: TrackingOptions = DEFAULT_OPTIONS
) -> BoolArray:
    """Return which bones jump from each frame to the next, (T, B), by themselves or their markers.

    Args:
        problem: targets of all frames.
        q: poses of all frames, (T, nq).
        options: what is a jump.
    """
    jumping = np.zeros((len(q), len(problem.skeleton.bones)), dtype=bool)
    for start in range(0, max(len(q) - 1, 0), CHUNK_FRAMES):
        # One frame more on both sides, for the neighbours of the steps at the ends.
        first, end = max(start - 1, 0), min(start + CHUNK_FRAMES + 2, len(q))
        steps = _find_in_chunk(problem, q[first:end], np.arange(first, end), options)
        steps = steps[start - first :][:CHUNK_FRAMES]
        jumping[start : start + len(steps)] = steps
    return jumping


def _find_in_chunk(
    problem: TrackingProblem, q: Array, frames: IntArray, options: TrackingOptions
) -> BoolArray:
    """Return which bones jump in each step between consecutive frames, (n − 1, B)."""
    skeleton, dt = problem.skeleton, 1.0 / problem.rate
    rotations = skeleton.forward(q).rotations
    bone_turn = angle_between(rotations[:-1], rotations[1:])
    residual = problem.residuals(q, frames)
    if len(problem.targets.robust_weight) > 0:  # ignored markers may jump
        residual *= np.sqrt(problem.targets.robust_weight[frames])[:, :, None]
    marker_move = np.linalg.norm(np.diff(residual, axis=0), axis=2)  # not a number beside a gap
    ratio = NEIGHBOUR_RATIO
    jumping = bone_turn > options.max_turn_rate * dt + ratio * _smaller_neighbour(bone_turn)
    moved = marker_move > options.max_marker_rate * dt + ratio * _smaller_neighbour(marker_move)
    moved &= problem.counts  # what is only measured may jump
    for name, steps in zip(problem.names, moved.T, strict=True):
        jumping[:, skeleton.bone_index(skeleton.marker(name)[0])] |= steps
    return jumping


def _smaller_neighbour(steps: Array) -> Array:
    """Return the smaller of the steps before and after each, (n, k); the only one at an end."""
    around = np.full((len(steps) + 2, steps.shape[1]), np.inf)
    around[1:-1] = np.where(np.isnan(steps), np.inf, steps)
    smaller = np.minimum(around[:-2], around[2:])
    return np.where(np.isinf(smaller), 0.0, smaller)


class FramePoses(NamedTuple):
    """Poses of some frames."""

    frames: IntArray  # (n,)
    q: Array  # (n, nq)
    residual: Array  # of the markers [m], (n, M, 3)

    def take(self, rows: slice | BoolArray) -> FramePoses:
        """Return some of them."""
        return FramePoses(self.frames[rows], self.q[rows], self.residual[rows])


def compute_step_charges(run: TrackingRun, start: FramePoses, end: FramePoses) -> Array:
    """Return what steps between poses of neighbouring frames are charged, (n,).

    What a pose half-way would cost more than the two, against markers half-way, for as many frames
    as smoothing would spread a jump over: nothing for a motion, much for a jump between two
    solutions, nothing for a jump of what no marker determines.

    Args:
        run: problem and options.
        start: from which poses.
        end: to which poses, each a frame before or after, in coordinates near to those of `start`.
    """
    problem, position = run.problem, run.problem.targets.position
    dof_step = problem.skeleton.difference(end.q, start.q)
    middle = problem.skeleton.integrate(start.q, 0.5 * dof_step)
    half_way = problem.residuals(middle, start.frames)
    half_way += 0.5 * (position[end.frames] - position[start.frames])
    excess = (half_way**2 - 0.5 * (start.residual**2 + end.residual**2)).sum(axis=2)
    cost = 0.5 * np.nansum(problem.targets.weight * excess, axis=1)
    return run.options.crossing_seconds * problem.rate * np.maximum(cost, 0.0)


def take_better_segments(
    run: TrackingRun,
    recorded: TrackingProblem,
    plain: FrameSolutions,
    branched: FrameSolutions,
    changed: BoolArray,
) -> None:
    """Put the segments of a branched path into the plain one in which it is better.

    Better is what costs less with the charges of its steps, and fits the recorded markers no worse:
    neither their mean nor their mean square error rises.

    Args:
        run: problem and options.
        recorded: the problem of what was recorded, by which errors are measured.
        plain: of all frames; changed in place.
        branched: of all frames.
        changed: frames in which the two differ, (T,).
    """
    for segment in find_segments(changed):
        frames = np.arange(segment.first, segment.last + 1)
        paths = (plain, branched)
        total, branched_total = (_compute_total(run, path, segment) for path in paths)
        errors, branched_errors = (_measure_errors(recorded, path.q, frames) for path in paths)
        if branched_total < total and (branched_errors <= errors).all():
            plain.put(frames, branched.take(frames))


def _compute_total(run: TrackingRun, path: FrameSolutions, segment: Segment) -> float:
    """Return what a segment of a path costs with its steps, those to its sides among them.

    Pulls towards the course of a gap are left out: the two paths have different ones.
    """
    first, last = max(segment.first - 1, 0), min(segment.last + 1, len(path.q) - 1)
    frames, inside = np.arange(first, last + 1), np.arange(segment.first, segment.last + 1)
    only_evaluate = run.warm_start.copy()
    only_evaluate[MAX_ITERATIONS] = 0
    cost = solve_frames(run.problem, only_evaluate, inside, path.q[inside]).cost.sum()
    q, residual = path.q[frames], run.problem.residuals(path.q[frames], frames)
    start = FramePoses(frames[:-1], q[:-1], residual[:-1])
    charges = compute_step_charges(run, start, FramePoses(frames[1:], q[1:], residual[1:]))
    return float(cost + charges.sum())


def _measure_errors(recorded: TrackingProblem, q: Array, frames: IntArray) -> Array:
    """Return the sums of the markers' distances [m] and of their squares [m²], (2,).

    With a robust loss none counts more than its width: what lies further off is ignored.
    """
    distance = np.linalg.norm(recorded.residuals(q[frames], frames), axis=2)
    if recorded.robust is not None:
        distance = np.minimum(distance, recorded.loss_width)
    weight = recorded.targets.weight
    return np.array([np.nansum(weight * distance), np.nansum(weight * distance**2)])
