"""Bridges over the jumps of a path.

A path may have to change from one solution to another. The change is then spread over some frames:
the dofs that jump are pulled to the middle between their neighbours in time, no more firmly and
over no more frames than it takes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.kernels.descent.options import MAX_ITERATIONS
from exactik.kernels.descent.results import RESULT_COST
from exactik.tracking._gaps import Postures, pulled
from exactik.tracking._jumps import jumping
from exactik.tracking._passes import FrameSolutions, solve_frames
from exactik.tracking._recording import TrackingProblem
from exactik.typing import Array, BoolArray, IntArray

__all__ = ["MARGIN", "Pieces", "bridge", "costs_of"]


PULLS = (
    *((0.03, 0.05), (0.1, 0.05), (0.3, 0.06), (1.0, 0.08), (4.0, 0.1), (10.0, 0.12)),
    *((30.0, 0.15), (100.0, 0.2), (1e4, 0.2), (1e4, 0.2), (1e4, 0.2)),
)
"""How firmly, of the usual curvature of the dofs that jump, and over how long [s] to each side."""
TRIED = 5  # pulls, where a bridge is only one of several
SWEEPS, HASTY = 4, 2  # iterations of all but the last
FIRM = 3.0  # a pull from which on poses start between the two sides, which sweeps would not reach
TOO_MANY = 0.1  # of all frames
JUMPING = 0.05  # [rad or m] dofs that move less beyond their usual have no part in a jump
AROUND, FASTER = 0.15, 2.0  # [s] to each side that tell the usual; times that
MARGIN = 0.25  # [s] to each side of a jump, that a bridge never leaves


class Pieces(NamedTuple):
    """Stretches of paths, one behind the other.

    Attributes:
        path: poses of all rows, and how they were found; changed in place.
        which: frame of each row, (n,), one after the other within a piece.
        piece: number of the piece of each row, (n,).
        touched: rows that are part of a bridge, (n,).
    """

    path: FrameSolutions
    which: IntArray
    piece: IntArray
    touched: BoolArray

    def inner(self, rows: IntArray, count: int) -> IntArray:
        """Return those rows that may change: all but ends of pieces inside a recording of count."""
        end = len(self.which) - 1
        before, after = np.maximum(rows - 1, 0), np.minimum(rows + 1, end)
        first = (self.piece[before] != self.piece[rows]) | (rows == 0)
        last = (self.piece[after] != self.piece[rows]) | (rows == end)
        fixed = (first & (self.which[rows] > 0)) | (last & (self.which[rows] < count - 1))
        return rows[~fixed]


def costs_of(
    recording: TrackingProblem, options: Array, postures: Postures, which: IntArray, q: Array
) -> Array:
    """Return what poses q, (n, nq), of frames `which` cost, loss and posture included, (n,)."""
    still = options.copy()
    still[MAX_ITERATIONS] = 0
    rest, firm = postures.of(which)
    asked = recording.with_targets(rest=rest, rest_weight=firm).select(which)
    return solve_frames(asked, still, np.arange(len(which)), q).cost


def bridge(
    recording: TrackingProblem,
    options: Array,
    pieces: Pieces,
    postures: Postures,
    curvature: Array,
    bars: Array | None = None,
) -> IntArray:
    """Spread every jump over some frames; return the rows from which there is still one.

    Args:
        recording: what the frames ask.
        options: of descents.
        pieces: changed in place; their costs become those without the pulls.
        postures: that frames are pulled to anyway.
        curvature: of each dof, (nv,), as a measure of pulls.
        bars: cost of each piece above which it is given up, jumps and all; None if never.
    """
    skeleton, path, count = recording.skeleton, pieces.path, len(pieces.which)
    firm = np.zeros((count, skeleton.nv))  # kept: without earlier pulls old jumps would come back
    hasty = options.copy()
    hasty[MAX_ITERATIONS] = min(HASTY, options[MAX_ITERATIONS])
    jumps, left = jumping(recording, path.q, pieces.which, pieces.piece), []
    for pull, seconds in PULLS if bars is None else PULLS[:TRIED]:
        if len(jumps) == 0 or (bars is None and len(jumps) > TOO_MANY * count):
            break  # none, or so many that they are the recording's own
        span = max(2, round(seconds * recording.rate))
        turns = skeleton.difference(path.q[jumps + 1], path.q[jumps])
        # Only what jumps: the rest of the figure goes on as its markers say.
        least = (
            JUMPING + FASTER * _usual(recording, pieces, jumps) if pull < FIRM else 0.1 * JUMPING
        )
        turns[np.abs(turns) <= least] = 0.0
        near = []
        for k, turn in zip(jumps, turns, strict=True):
            rows = np.arange(max(k + 1 - span, 0), min(k + 1 + span, count))
            rows = pieces.inner(rows[pieces.piece[rows] == pieces.piece[k]], len(recording))
            moving = turn != 0.0
            level = float(np.median(curvature[moving])) if moving.any() else 0.0
            measure = np.maximum(curvature, level) if pull >= FIRM else level
            firm[rows] = np.maximum(firm[rows], pull * measure * moving)
            near.append(rows)
            if pull >= FIRM:
                _fade(recording, path, rows, int(k), turn)
        rows = np.unique(np.concatenate(near))
        pieces.touched[rows] = True
        sweeps = SWEEPS if pull < FIRM else 2 * SWEEPS
        for n in range(sweeps):
            for parity in (0, 1):
                mine = rows[rows % 2 == parity]
                how = options if n == sweeps - 1 or pull >= FIRM else hasty
                _pull_together(recording, how, pieces, postures, firm[mine], mine)
        own = pieces.which[rows]
        path.outcomes[rows, RESULT_COST] = costs_of(recording, options, postures, own, path.q[rows])
        jumps = _jumps_near(recording, pieces, rows)
        if bars is not None:
            worth = np.bincount(pieces.piece, path.cost) <= bars
            left.extend(jumps[~worth[pieces.piece[jumps]]])
            jumps = jumps[worth[pieces.piece[jumps]]]
    return np.array([*left, *jumps], dtype=np.int64)


def _usual(recording: TrackingProblem, pieces: Pieces, jumps: IntArray) -> Array:
    """Return how far each dof usually goes in a step around jumps, (n, nv)."""
    span, end = max(2, round(AROUND * recording.rate)), len(pieces.which) - 2
    rows = np.clip(jumps[:, None] + np.arange(-span, span + 1), 0, end)
    q = pieces.path.q
    steps = np.abs(recording.skeleton.difference(q[rows.ravel() + 1], q[rows.ravel()]))
    steps = steps.reshape(*rows.shape, -1)
    steps[pieces.piece[rows] != pieces.piece[jumps][:, None]] = 0.0
    return np.median(steps, axis=1)


def _jumps_near(recording: TrackingProblem, pieces: Pieces, rows: IntArray) -> IntArray:
    """Return the jumps among rows, (n,), in order, that were changed, and right beside them."""
    wide = np.unique(np.clip(rows[:, None] + np.arange(-3, 4), 0, len(pieces.which) - 1))
    cut = (np.diff(wide) > 1) | (np.diff(pieces.piece[wide]) != 0)
    part = np.concatenate([[0], np.cumsum(cut)])
    found = jumping(recording, pieces.path.q[wide], pieces.which[wide], part)
    jumps = wide[found]
    return jumps[np.isin(jumps, rows) | np.isin(jumps + 1, rows)]


def _fade(
    recording: TrackingProblem, path: FrameSolutions, rows: IntArray, k: int, turn: Array
) -> None:
    """Spread a jump (nv,) after row k evenly: fade it in before and out after."""
    x = (rows - rows[0] + 1.0) / (len(rows) + 1.0)
    fade = x * x * (3.0 - 2.0 * x)
    share = np.where(rows <= k, fade, fade - 1.0)
    path.q[rows] = recording.skeleton.integrate(path.q[rows], share[:, None] * turn)


def _pull_together(
    recording: TrackingProblem,
    options: Array,
    pieces: Pieces,
    postures: Postures,
    firm: Array,
    rows: IntArray,
) -> None:
    """Solve rows again, each pulled to the middle between its neighbours as firmly as (n, nv)."""
    skeleton, path, piece = recording.skeleton, pieces.path, pieces.piece
    before, after = np.maximum(rows - 1, 0), np.minimum(rows + 1, len(piece) - 1)
    before = np.where(piece[before] == piece[rows], before, rows)
    after = np.where(piece[after] == piece[rows], after, rows)
    middle = skeleton.integrate(
        path.q[before], 0.5 * skeleton.difference(path.q[after], path.q[before])
    )
    which = pieces.which[rows]
    rest, total = pulled(skeleton, *postures.of(which), middle, firm)
    asked = recording.with_targets(rest=rest, rest_weight=total).select(which)
    path.q[rows], path.outcomes[rows] = solve_frames(
        asked, options, np.arange(len(rows)), path.q[rows]
    )
