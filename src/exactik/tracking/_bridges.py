"""Jumps of a path, and bridges over them.

A path may change its solution from one frame to the next though no marker jumps. A step is a jump
where a bone turns, or a marker moves against its target, by more than a limit that grows with
what the same bone or marker does in the steps before and after it. The smaller of these two counts,
or the two large steps of a flip to and back would raise each other's limit.

A bridge spreads a jump over some frames: the dofs that jump are pulled to the middle between their
neighbours in time, no more firmly and over no more frames than it takes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.kernels.descent.options import MAX_ITERATIONS
from exactik.tracking._frame_solver import FrameSolutions, TrackingRun, solve_frames
from exactik.tracking._gaps import FramePostures, combine_postures
from exactik.tracking._options import DEFAULT_OPTIONS, JumpOptions
from exactik.tracking._problem import CHUNK_FRAMES, TrackingProblem
from exactik.typing import Array, BoolArray, IntArray

__all__ = ["Bridge", "PathPieces", "find_jumps"]


def find_jumps(
    problem: TrackingProblem, q: Array, first: int = 0, options: JumpOptions = DEFAULT_OPTIONS.jumps
) -> IntArray:
    """Return the frames t, (k,), from which the path q jumps to t + 1.

    Args:
        problem: targets of all frames.
        q: poses of the frames from `first` on, (n, nq).
        first: frame of q[0].
        options: what is a jump.
    """
    frames = np.arange(first, first + len(q))
    return _find_jump_rows(problem, q, frames, np.zeros(len(q), np.int64), options)


def _find_jump_rows(
    problem: TrackingProblem, q: Array, frames: IntArray, piece: IntArray, options: JumpOptions
) -> IntArray:
    """Return the rows k, (n,), from which pieces of paths jump to row k + 1.

    Args:
        problem: targets of all frames.
        q: poses, (n, nq).
        frames: of the rows, (n,), one after the other within a piece.
        piece: number of the piece that each belongs to, (n,).
        options: what is a jump.
    """
    jumps = [np.empty(0, np.int64)]
    for start in range(0, max(len(q) - 1, 0), CHUNK_FRAMES):
        # One row more on both sides, for the neighbours of the steps at the ends.
        rows = slice(max(start - 1, 0), min(start + CHUNK_FRAMES + 2, len(q)))
        chunk = rows.start + _find_jumps_in_chunk(
            problem, q[rows], frames[rows], piece[rows], options
        )
        jumps.append(chunk[(chunk >= start) & (chunk < start + CHUNK_FRAMES)])
    return np.concatenate(jumps)


def _find_jumps_in_chunk(
    problem: TrackingProblem, q: Array, frames: IntArray, piece: IntArray, options: JumpOptions
) -> IntArray:
    rotations = problem.skeleton.forward(q).rotations
    # |A − B|² = 8 sin²(θ/2) for rotations by θ from each other.
    half_sine = np.sqrt(((rotations[1:] - rotations[:-1]) ** 2).sum(axis=(2, 3)) / 8.0)
    bone_turn = 2.0 * np.arcsin(np.minimum(half_sine, 1.0))
    residual = problem.residuals(q, frames)
    if len(problem.targets.robust_weight) > 0:  # ignored markers may jump
        residual *= np.sqrt(problem.targets.robust_weight[frames])[:, :, None]
    marker_move = np.linalg.norm(np.diff(residual, axis=0), axis=2)  # not a number beside a gap
    dt, seam = 1.0 / problem.rate, piece[1:] != piece[:-1]
    ratio = options.neighbour_ratio
    max_turn = options.max_turn_rate * dt + ratio * _smaller_neighbour(bone_turn, seam)
    max_move = options.max_marker_rate * dt + ratio * _smaller_neighbour(marker_move, seam)
    bone_jumps = (bone_turn > max_turn).any(axis=1)
    marker_jumps = (marker_move > max_move).any(axis=1)
    return np.flatnonzero((bone_jumps | marker_jumps) & ~seam)


def _smaller_neighbour(steps: Array, seam: BoolArray) -> Array:
    """Return the smaller of the steps before and after each, (n, k); the only one at an end."""
    around = np.full((len(steps) + 2, steps.shape[1]), np.inf)
    around[1:-1] = np.where(seam[:, None] | np.isnan(steps), np.inf, steps)
    smaller = np.minimum(around[:-2], around[2:])
    return np.where(np.isinf(smaller), 0.0, smaller)


class PathPieces(NamedTuple):
    """Pieces of paths, one behind the other.

    Attributes:
        solutions: of all rows; changed in place.
        frames: of the rows, (n,), one after the other within a piece.
        piece: number of the piece of each row, (n,).
        bridged: rows that are part of a bridge, (n,).
    """

    solutions: FrameSolutions
    frames: IntArray
    piece: IntArray
    bridged: BoolArray

    @classmethod
    def single(cls, solutions: FrameSolutions, bridged: BoolArray) -> PathPieces:
        """Return one path through all frames as a single piece."""
        count = len(solutions.q)
        return cls(
            solutions=solutions,
            frames=np.arange(count),
            piece=np.zeros(count, np.int64),
            bridged=bridged,
        )

    def select_changeable(self, rows: IntArray, frame_count: int) -> IntArray:
        """Return those rows that may change: all but ends of pieces inside the recording."""
        end = len(self.frames) - 1
        before, after = np.maximum(rows - 1, 0), np.minimum(rows + 1, end)
        first = (self.piece[before] != self.piece[rows]) | (rows == 0)
        last = (self.piece[after] != self.piece[rows]) | (rows == end)
        inside_before, inside_after = self.frames[rows] > 0, self.frames[rows] < frame_count - 1
        return rows[~((first & inside_before) | (last & inside_after))]


class Bridge(NamedTuple):
    """Spreads the jumps of paths over some frames.

    Attributes:
        run: problem and options.
        postures: that frames are pulled to anyway.
        curvature: of each dof, (nv,), as a measure of pulls.
    """

    run: TrackingRun
    postures: FramePostures
    curvature: Array

    def apply(self, pieces: PathPieces, max_costs: Array | None = None) -> IntArray:
        """Spread every jump over some frames; return the rows from which there is still one.

        Args:
            pieces: changed in place; their costs become those without the pulls.
            max_costs: of each piece, above which it is given up with its jumps; None if never.
        """
        problem, options = self.run.problem, self.run.options.bridges
        solutions, count = pieces.solutions, len(pieces.frames)
        # Kept from pull to pull: without earlier ones old jumps would come back.
        weight = np.zeros((count, problem.skeleton.nv))
        jump_options = self.run.options.jumps
        jumps = _find_jump_rows(problem, solutions.q, pieces.frames, pieces.piece, jump_options)
        given_up = []
        pulls = options.pulls if max_costs is None else options.pulls[: options.candidate_pulls]
        for pull, seconds in pulls:
            too_many = max_costs is None and len(jumps) > options.max_jump_share * count
            if len(jumps) == 0 or too_many:
                break  # so many must be in the recording itself
            span = max(2, round(seconds * problem.rate))
            rows = self._add_pulls(pieces, jumps, pull, span, weight)
            pieces.bridged[rows] = True
            self._sweep(pieces, rows, weight, firm=pull >= options.firm_pull)
            self._update_costs(pieces, rows)
            jumps = self._find_jumps_near(pieces, rows)
            if max_costs is not None:
                worth_it = np.bincount(pieces.piece, solutions.cost) <= max_costs
                goes_on = worth_it[pieces.piece[jumps]]
                given_up.extend(jumps[~goes_on])
                jumps = jumps[goes_on]
        return np.array([*given_up, *jumps], dtype=np.int64)

    def _add_pulls(
        self, pieces: PathPieces, jumps: IntArray, pull: float, span: int, weight: Array
    ) -> IntArray:
        """Raise `weight`, (n, nv), around jumps; return the rows that are pulled.

        Firm pulls also spread the poses evenly between the two sides.
        """
        problem, options = self.run.problem, self.run.options.bridges
        q, firm = pieces.solutions.q, pull >= options.firm_pull
        dof_steps = problem.skeleton.difference(q[jumps + 1], q[jumps])
        # Only what jumps: the rest of the figure goes on as its markers say.
        if firm:
            min_step = 0.1 * options.min_dof_step
        else:
            usual_step = self._compute_usual_steps(pieces, jumps)
            min_step = options.min_dof_step + options.usual_ratio * usual_step
        dof_steps[np.abs(dof_steps) <= min_step] = 0.0
        pulled = []
        for k, dof_step in zip(jumps, dof_steps, strict=True):
            rows = np.arange(max(k + 1 - span, 0), min(k + 1 + span, len(q)))
            rows = rows[pieces.piece[rows] == pieces.piece[k]]
            rows = pieces.select_changeable(rows, len(problem))
            moving = dof_step != 0.0
            level = float(np.median(self.curvature[moving])) if moving.any() else 0.0
            measure = np.maximum(self.curvature, level) if firm else level
            weight[rows] = np.maximum(weight[rows], pull * measure * moving)
            pulled.append(rows)
            if firm:
                _spread_step(problem, pieces.solutions, rows, int(k), dof_step)
        return np.unique(np.concatenate(pulled))

    def _sweep(self, pieces: PathPieces, rows: IntArray, weight: Array, firm: bool) -> None:
        """Solve rows again and again, even and odd ones in turn, between their neighbours."""
        options, descent_options = self.run.options.bridges, self.run.warm_start
        hasty = descent_options.copy()
        hasty[MAX_ITERATIONS] = min(options.hasty_iterations, descent_options[MAX_ITERATIONS])
        sweeps = 2 * options.sweeps if firm else options.sweeps
        for n in range(sweeps):
            sweep_options = descent_options if n == sweeps - 1 or firm else hasty
            for parity in (0, 1):
                half = rows[rows % 2 == parity]
                self._pull_to_middle(pieces, half, weight[half], sweep_options)

    def _pull_to_middle(
        self, pieces: PathPieces, rows: IntArray, weight: Array, descent_options: Array
    ) -> None:
        """Solve rows again, each pulled to the middle between its neighbours by weight (n, nv)."""
        skeleton, solutions, piece = self.run.problem.skeleton, pieces.solutions, pieces.piece
        before, after = np.maximum(rows - 1, 0), np.minimum(rows + 1, len(piece) - 1)
        before = np.where(piece[before] == piece[rows], before, rows)
        after = np.where(piece[after] == piece[rows], after, rows)
        across = skeleton.difference(solutions.q[after], solutions.q[before])
        middle = skeleton.integrate(solutions.q[before], 0.5 * across)
        frames = pieces.frames[rows]
        posture, total = combine_postures(skeleton, *self.postures.combine(frames), middle, weight)
        pulled = self.run.problem.with_targets(rest=posture, rest_weight=total).select(frames)
        solutions.put(
            rows, solve_frames(pulled, descent_options, np.arange(len(rows)), solutions.q[rows])
        )

    def _update_costs(self, pieces: PathPieces, rows: IntArray) -> None:
        """Set the costs of rows to those without pulls, loss and posture included."""
        frames, no_iterations = pieces.frames[rows], self.run.warm_start.copy()
        no_iterations[MAX_ITERATIONS] = 0
        posture, weight = self.postures.combine(frames)
        without_pulls = self.run.problem.with_targets(rest=posture, rest_weight=weight)
        every_row = np.arange(len(rows))
        problem, q = without_pulls.select(frames), pieces.solutions.q[rows]
        solutions = solve_frames(problem, no_iterations, every_row, q)
        pieces.solutions.cost[rows] = solutions.cost

    def _compute_usual_steps(self, pieces: PathPieces, jumps: IntArray) -> Array:
        """Return how far each dof usually goes in a step around jumps, (n, nv)."""
        seconds, end = self.run.options.bridges.usual_seconds, len(pieces.frames) - 2
        span = max(2, round(seconds * self.run.problem.rate))
        rows = np.clip(jumps[:, None] + np.arange(-span, span + 1), 0, end)
        q = pieces.solutions.q
        steps = np.abs(self.run.problem.skeleton.difference(q[rows.ravel() + 1], q[rows.ravel()]))
        steps = steps.reshape(*rows.shape, -1)
        steps[pieces.piece[rows] != pieces.piece[jumps][:, None]] = 0.0
        return np.median(steps, axis=1)

    def _find_jumps_near(self, pieces: PathPieces, rows: IntArray) -> IntArray:
        """Return the jumps among rows that were changed, (n,) in order, and right beside them."""
        near_rows = np.unique(np.clip(rows[:, None] + np.arange(-3, 4), 0, len(pieces.frames) - 1))
        cut = (np.diff(near_rows) > 1) | (np.diff(pieces.piece[near_rows]) != 0)
        part = np.concatenate([[0], np.cumsum(cut)])
        frames, q = pieces.frames[near_rows], pieces.solutions.q[near_rows]
        jumps = near_rows[
            _find_jump_rows(self.run.problem, q, frames, part, self.run.options.jumps)
        ]
        return jumps[np.isin(jumps, rows) | np.isin(jumps + 1, rows)]


def _spread_step(
    problem: TrackingProblem, solutions: FrameSolutions, rows: IntArray, k: int, dof_step: Array
) -> None:
    """Spread a jump (nv,) after row k evenly: fade it in before and out after."""
    x = (rows - rows[0] + 1.0) / (len(rows) + 1.0)
    fade = x * x * (3.0 - 2.0 * x)
    share = np.where(rows <= k, fade, fade - 1.0)
    solutions.q[rows] = problem.skeleton.integrate(solutions.q[rows], share[:, None] * dof_step)
