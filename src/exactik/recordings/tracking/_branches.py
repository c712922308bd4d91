"""Better solutions beside the path, and the best continuous path through them.

Markers can fit a figure in several ways, and a path that follows one from frame to frame stays with
it when another has become better. At every few frames each limb is put to other poses and the frame
solved again. Where that costs less, the new solution is followed both ways beside the path, a
branch, until it meets the path or has lost what it gained. The path then takes the part of the
branch that saves most, each change of solution being charged with what a way between the two would
cost (`compute_step_charges`), so that a path jumps only where staying would cost more. In the end
every segment in which the path with branches differs from the path without is compared once more,
gaps filled, and kept only where it is better (`take_better_segments`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from exactik._threads import run_in_threads
from exactik.kernels.descent.options import NEGLIGIBLE_COST
from exactik.model import Skeleton
from exactik.model.motion import Segment, cut_into_segments, find_segments
from exactik.recordings.tracking._continuity import FramePoses, compute_step_charges
from exactik.recordings.tracking._frame_solver import (
    FrameSolutions,
    TrackingRun,
    find_nearest_equivalents,
    follow_branch,
    solve_frames,
)
from exactik.recordings.tracking._problem import TrackingProblem
from exactik.typing import Array, BoolArray, IntArray

ROUNDS = 2
"""Of looking, each at frames between those before and with other ends of segments."""
WORTHWHILE_COST = 0.995
"""Share of a frame's cost below which a solution is followed: gains of less than half a percent do
not show. Following all takes three times as long."""
SAME_SOLUTION_DISTANCE = 1e-3
"""[m] of the markers below which two solutions are one: as far as markers can tell."""
MAX_LOST_FRAMES = 3.0
"""Cost, in usual frames, that a branch may lose after its best moment before it is given up. By
hand; ten times as many find a little more in a quarter more time."""
SAME_ERROR = 0.999
"""Share of the median error from which a frame fits no better than it: of frames that fit alike
rounding chooses none."""
UNLIMITED_RANGE = 1.5
"""[rad or m] how far from neutral to look where there is no limit. By hand; limits leave little of
it."""
MIN_LIMB_DOFS = 4
"""Below which a branch of the tree is no limb of its own, as a thumb."""


def improve_poor_segments(run: TrackingRun, path: FrameSolutions, least_cost: Array) -> None:
    """Look for better solutions where a path has gone wrong: frames that cost far more than others.

    Frames of each such segment, its ends among them, are solved from other poses.

    Args:
        run: problem and options.
        path: of all frames; changed in place.
        least_cost: of the best solution that was found for each frame, (T,); lowered in place.
    """
    options = run.options
    last_frame, margin = len(path.q) - 1, run.options.segment_frames // 2
    threshold = options.poor_cost * np.median(path.cost)
    poor = path.cost > threshold + float(run.warm_start[NEGLIGIBLE_COST])
    segments = find_segments(poor, join=2)
    segments = sorted(segments, key=lambda segment: segment.frame_count, reverse=True)
    for first, last in segments[: options.max_poor_segments]:
        step = max(1, min(options.interval_frames, (last - first) // 4))
        frames = np.unique(np.append(np.arange(first, last + 1, step), last))
        window = Segment(max(first - margin, 0), min(last + margin, last_frame))
        _search_at_frames(PathWindow.around(run, path, window, least_cost), frames, seed=0)


def search_branches(
    run: TrackingRun,
    path: FrameSolutions,
    least_cost: Array,
    report_frames: Callable[[int], None],
) -> None:
    """Look for better solutions beside a path at every few frames, and take those that save.

    Args:
        run: problem and options.
        path: of all frames; changed in place.
        least_cost: of the best solution that was found for each frame, (T,); lowered in place.
        report_frames: is called with the number of frames gone through since its last call.
    """
    options, length = run.options, run.options.segment_frames
    for n in range(ROUNDS):
        # Ends of segments stay as they are, so every second round has others.
        segments = cut_into_segments(len(path.q), length, shift=length // 2 * (n % 2))

        def search_segment(segment: Segment, n: int = n) -> None:
            offset = (n * options.interval_frames) // ROUNDS
            frames = np.arange(segment.first + offset, segment.last + 1, options.interval_frames)
            _search_at_frames(PathWindow.around(run, path, segment, least_cost), frames, seed=n)
            report_frames(segment.frame_count // ROUNDS)

        run_in_threads(run.threads, search_segment, segments)


class PathWindow(NamedTuple):
    """Frames of a path that may be changed."""

    run: TrackingRun  # problem and options
    path: FrameSolutions  # of all frames
    residual: Array  # of the path from `first` to `last` [m], (n, M, 3)
    usual_cost: float  # of a frame in it: the median
    first: int  # frame; stays as it is unless it is the recording's first
    last: int  # frame; likewise
    least_cost: Array  # of the best solution that was found for each frame, (T,)

    @classmethod
    def around(
        cls, run: TrackingRun, path: FrameSolutions, segment: Segment, least_cost: Array
    ) -> PathWindow:
        """Return the window of a segment, with the current residuals of the path."""
        first, last = segment
        frames = np.arange(first, last + 1)
        return cls(
            run=run,
            path=path,
            residual=run.problem.residuals(path.q[first : last + 1], frames),
            usual_cost=float(np.median(path.cost[first : last + 1])),
            first=first,
            last=last,
            least_cost=least_cost,
        )

    def take_poses(self, frames: IntArray) -> FramePoses:
        """Return the path's poses in some frames, (n,)."""
        return FramePoses(frames, self.path.q[frames], self.residual[frames - self.first])

    def iterate_directions(self, t: int) -> Iterator[tuple[int, IntArray]]:
        """Yield 1 and −1, and the frames that may change from t on in that direction."""
        last_frame = len(self.path.q) - 1
        yield 1, np.arange(t, self.last + (self.last == last_frame))
        yield -1, np.arange(t, self.first - (self.first == 0), -1)


def _search_at_frames(window: PathWindow, frames: IntArray, seed: int) -> None:
    """Solve frames from other poses; where that costs less, take what saves of the new branch."""
    run, path = window.run, window.path
    poses, frames = make_other_poses(window, frames, seed)
    if len(frames) == 0:
        return
    solutions = solve_frames(run.problem.with_wide_loss(), run.cold_start, frames, poses)
    # The largest gain first: what it improves on the way fails the test below.
    for k in np.argsort(solutions.cost - path.cost[frames], kind="stable"):
        t = int(frames[k])
        if solutions.cost[k] < WORTHWHILE_COST * path.cost[t]:
            splice_branch(window, t, solutions.q[k])


def make_other_poses(window: PathWindow, frames: IntArray, seed: int) -> tuple[Array, IntArray]:
    """Return poses with one limb elsewhere, (n, nq), and the frame of each, (n,).

    Where a limb fits worse than it usually does. Half of the poses have it as in the neutral pose,
    or as in another frame if that was tried; the others anywhere.
    """
    problem, path = window.run.problem, window.path
    rng, skeleton = np.random.default_rng([seed, window.first]), problem.skeleton
    # Limits may lie beyond that range, as those of a dof that is held far from zero.
    reach = UNLIMITED_RANGE
    lower = np.clip(problem.frame_problem.lower, -reach, reach)
    upper = np.clip(problem.frame_problem.upper, -reach, reach)
    neutral, poses, pose_frames = skeleton.neutral()[None], [], []
    for dofs, markers in _find_limbs_and_markers(problem):
        limb_frames = frames
        if len(markers) > 0:
            error = np.nansum(window.residual[:, markers] ** 2, axis=(1, 2))
            limb_frames = frames[error[frames - window.first] >= SAME_ERROR * np.median(error)]
        count = len(limb_frames)
        random_frames = rng.integers(window.first, window.last + 1, count)
        neutrals = np.repeat(neutral, count, axis=0)
        known = neutrals if seed == 0 else path.q[random_frames]
        for target, spread in ((known, 0.0), (neutrals, 1.0)):
            step = np.zeros((count, skeleton.nv))
            anywhere = rng.uniform(lower[dofs], upper[dofs], (count, len(dofs)))
            to_target = skeleton.difference(target, path.q[limb_frames])
            step[:, dofs] = to_target[:, dofs] + spread * anywhere
            poses.append(skeleton.integrate(path.q[limb_frames], step))
            pose_frames.append(limb_frames)
    if len(poses) == 0:  # all dofs that are not the root's are locked
        return np.empty((0, skeleton.nq)), np.empty(0, dtype=np.int64)
    return np.concatenate(poses), np.concatenate(pose_frames)


class BranchPath(NamedTuple):
    """A part of a branch that a path may take."""

    frames: IntArray  # away from the frame at which the branch was found, (n,)
    solutions: FrameSolutions  # of these frames
    residual: Array  # of the same [m], (n, M, 3)


def splice_branch(window: PathWindow, t: int, start: Array) -> bool:
    """Follow the solution `start` of frame t both ways; return whether the path took any of it."""
    run, path = window.run, window.path
    start = find_nearest_equivalents(run.problem, start[None], path.q[t : t + 1])[0]
    change, parts = 0.0, list[BranchPath]()
    for direction, frames in window.iterate_directions(t):
        if len(frames) == 0:
            return False
        branch = follow_branch(
            run.problem,
            run.warm_start,
            frames,
            start,
            path_residual=window.residual[frames - window.first],
            path_cost=path.cost[frames],
            same_distance=SAME_SOLUTION_DISTANCE,
            max_loss=MAX_LOST_FRAMES * window.usual_cost,
        )
        frames = frames[: len(branch.q)]
        window.least_cost[frames] = np.minimum(window.least_cost[frames], branch.cost)
        residual = run.problem.residuals(branch.q, frames)
        total = np.cumsum(branch.cost - path.cost[frames])
        poses = FramePoses(frames, branch.q, residual)
        total += _compute_return_charges(window, poses, direction)
        end = int(np.argmin(total)) + 1
        change += float(total[end - 1])
        parts.append(BranchPath(frames[:end], branch.take(slice(end)), residual[:end]))
    change -= float(parts[0].solutions.cost[0] - path.cost[t])  # frame t was counted twice
    if change >= 0.0:
        return False
    for part in parts:
        path.put(part.frames, part.solutions)
        window.residual[part.frames - window.first] = part.residual
    return True


def _compute_return_charges(window: PathWindow, branch: FramePoses, direction: int) -> Array:
    """Return the charge for going from the branch at each of its frames back to the path, (n,).

    Less what the path itself is charged for the same step.
    """
    charge, next_frames = np.zeros(len(branch.frames)), branch.frames + direction
    inside = (next_frames >= window.first) & (next_frames <= window.last)
    end = window.take_poses(next_frames[inside])
    on_path = window.take_poses(branch.frames[inside])
    on_branch = branch.take(inside)
    for sign, start in ((1.0, on_branch), (-1.0, on_path)):
        start = start._replace(q=find_nearest_equivalents(window.run.problem, start.q, end.q))
        charge[inside] += sign * compute_step_charges(window.run, start, end)
    return charge


def _find_limbs_and_markers(problem: TrackingProblem) -> list[tuple[IntArray, IntArray]]:
    """Return the dofs of every limb, and the markers on it."""

    def find_pairs() -> list[tuple[IntArray, IntArray]]:
        skeleton, limbs = problem.skeleton, []
        marker_bones = np.array([skeleton.bone_index(skeleton.marker(n)[0]) for n in problem.names])
        first = np.asarray(skeleton.tree.first_v, dtype=np.int64)
        locked = problem.frame_problem.locked
        for dofs in find_limbs(skeleton, locked, MIN_LIMB_DOFS):
            bones = np.unique(np.searchsorted(first, dofs, side="right") - 2)
            limbs.append((dofs, np.flatnonzero(np.isin(marker_bones, bones))))
        return limbs

    return problem.frame_problem.remember(f"limbs of {MIN_LIMB_DOFS} dofs", find_pairs)


def find_limbs(skeleton: Skeleton, locked: BoolArray, min_dofs: int) -> list[IntArray]:
    """Return the free dofs of every limb; those of roots belong to none.

    Limbs are the parts of a figure that can be right or wrong by themselves: trunk, neck, arms,
    legs. The tree is cut where it forks into branches of at least `min_dofs`.
    """
    parents, first = skeleton.parents, skeleton.tree.first_v
    count = len(parents)
    bone_dofs = [np.arange(int(first[k + 1]), int(first[k + 2])) for k in range(count)]
    dofs_below = np.array([int((~locked[dofs]).sum()) for dofs in bone_dofs])
    for k in range(count - 1, -1, -1):
        if parents[k] >= 0:
            dofs_below[parents[k]] += dofs_below[k]
    forks = np.zeros(count, dtype=np.int64)
    for k in range(count):
        if parents[k] >= 0 and dofs_below[k] >= min_dofs:
            forks[parents[k]] += 1
    limb_of_bone, limbs = np.full(count, -1), []
    for k in range(count):
        parent = parents[k]
        if parent < 0:
            continue
        if limb_of_bone[parent] < 0 or (forks[parent] > 1 and dofs_below[k] >= min_dofs):
            limb_of_bone[k] = len(limbs)
            limbs.append([])
        else:
            limb_of_bone[k] = limb_of_bone[parent]
        limbs[limb_of_bone[k]].extend(dof for dof in bone_dofs[k] if not locked[dof])
    return [np.array(dofs, dtype=np.int64) for dofs in limbs if len(dofs) > 0]
