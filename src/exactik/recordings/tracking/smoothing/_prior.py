"""w_k = σ²/s_k²: what accelerations cost, by bones and by dofs that shift.

A bone counts by the dofs of its own joint that turn: the rest of its turn is its parent's. What no
marker is on or beyond has no weight, and so no say in how the rest moves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.kernels.smoothing.accelerations import AccelerationPrior
from exactik.model import Skeleton
from exactik.typing import Array, BoolArray, IntArray


class AccelerationSquares(NamedTuple):
    """Squares of accelerations [rad² or m², per frame⁴] in S stretches, sums or their mean, s²."""

    turn: Array  # of the bones in the world, (S, n + 1), numbered as in `Tree`
    shift: Array  # of the dofs, (S, nv); only those that shift are used


class Smoothing(NamedTuple):
    """How firmly accelerations were held.

    Attributes:
        prior: weights of accelerations, a row for each stretch of frames.
        noise: σ, standard deviation of the markers along each axis from frame to frame [m].
        stretch_frames: length of a stretch.
    """

    prior: AccelerationPrior
    noise: float
    stretch_frames: int

    def select(self, frames: IntArray) -> Smoothing:
        """Return that of some frames alone, (n,)."""
        rows = np.minimum(frames // self.stretch_frames, len(self.prior.turn) - 1)
        prior = self.prior._replace(turn=self.prior.turn[rows], shift=self.prior.shift[rows])
        return self._replace(prior=prior, stretch_frames=1)


def make_prior(skeleton: Skeleton) -> AccelerationPrior:
    """Return which dofs turn and which shift, with weights 0."""
    tree = skeleton.tree
    turn_count = np.zeros(len(tree.parent), dtype=np.uint32)
    first_turn = np.zeros(len(tree.parent), dtype=np.uint32)
    for b in range(1, len(tree.parent)):
        # What follows other bones has no accelerations of its own.
        own = skeleton.turns & (skeleton.dof_bones == b - 1)
        turn_count[b] = min(int(own.sum()), 3)
        first_turn[b] = tree.joint_v[b] + tree.shift_count[b]
    shift_coordinate = np.where(skeleton.turns, -1, skeleton.plain_q)
    return AccelerationPrior(
        turn=np.zeros((1, len(tree.parent))),
        shift=np.zeros((1, skeleton.nv)),
        turn_count=turn_count,
        first_turn=first_turn,
        last_dof=skeleton.last_dofs,
        shift_coordinate=shift_coordinate,
    )


def spread_prior(
    prior: AccelerationPrior, stretch_frames: int, first: int, end: int
) -> AccelerationPrior:
    """Return the prior of the frames from `first` to `end`, a row for each, of that of stretches.

    What has only one row holds for all frames.
    """
    rows = np.minimum(np.arange(first, end) // stretch_frames, len(prior.turn) - 1)
    return prior._replace(turn=prior.turn[rows], shift=prior.shift[rows])


def weigh_accelerations(
    skeleton: Skeleton,
    prior: AccelerationPrior,
    is_seen: BoolArray,
    noise: float,
    strength: AccelerationSquares,
) -> AccelerationPrior:
    """Return the prior with weights σ²/s² for what markers tell of, else 0.

    Args:
        skeleton: whose they are.
        prior: which dofs turn and which shift.
        is_seen: dofs that markers tell of, (nv,).
        noise: σ [m].
        strength: s² in each stretch.
    """
    turns, shifts = _find_seen_turns(skeleton, prior, is_seen), prior.shift_coordinate >= 0
    return prior._replace(
        turn=_weigh(noise, strength.turn, turns),
        shift=_weigh(noise, strength.shift, shifts & is_seen),
    )


def relax(skeleton: Skeleton, prior: AccelerationPrior, relaxations: Array) -> AccelerationPrior:
    """Return the prior that allows each bone, (S, n + 1), so many times the accelerations.

    A dof that shifts is allowed what its bone is.
    """
    return prior._replace(
        turn=prior.turn / relaxations**2,
        shift=prior.shift / relaxations[:, skeleton.dof_bones + 1] ** 2,
    )


def _weigh(noise: float, mean_square: Array, used: BoolArray) -> Array:
    """Return σ²/s² where it is used, else 0."""
    safe = np.where(used, mean_square, 1.0)
    return np.where(used, noise**2 / safe, 0.0)


def _find_seen_turns(skeleton: Skeleton, prior: AccelerationPrior, is_seen: BoolArray) -> BoolArray:
    """Return the bones, (n + 1,), with a turn that markers tell of, by dofs that they do, (nv,)."""
    seen = np.zeros(len(prior.turn_count), dtype=bool)
    np.logical_or.at(seen, skeleton.dof_bones + 1, is_seen & skeleton.turns)
    return seen
