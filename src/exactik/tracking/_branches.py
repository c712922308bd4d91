"""Better solutions beside the path, and the best way through them.

Markers can fit a figure in several ways, and a path that follows one from frame to frame stays with
it when another has become better. At every few frames each limb is put to other poses and the frame
solved again. Where that costs less, the new solution is followed both ways beside the path, a
strand, until it meets the path or has lost what it gained. The path then takes the part of the
strand that saves most, a change of solution that shows being charged with

    κ ½ Σ |Δr|² + τ ½ Σ Δq²        Δr, Δq: the jump of the residuals and of the dofs

so that a path jumps only where staying would cost more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from exactik.kernels.descent.results import RESULT_COST
from exactik.tracking._limbs import find_limbs
from exactik.tracking._passes import (
    FrameSolutions,
    follow_branch,
    nearest_equivalents,
    solve_frames,
)
from exactik.tracking._recording import TrackingProblem
from exactik.typing import Array, IntArray

__all__ = ["NEAR", "Stretch", "charges", "improve", "splice"]


JUMP = 5.0  # κ
TURN = 0.2  # τ, in the cost of an ordinary frame: what a limb that turns by one radian has to save
BETTER = 0.995  # share of the cost below which a solution is worth following
NEAR = 1e-3  # [m] at which two solutions are one, as far as markers can tell
SLACK = 3.0  # frames' worth of cost that a strand may lose before it is given up
LEAST = 0.02  # of a frame's cost, that a strand has to save
LONGEST = 1200  # frames that a strand is followed
UNLIMITED = 1.5  # [rad or m] how far from neutral to look where there is no limit


def improve(
    recording: TrackingProblem,
    options: Array,
    cold: Array,
    path: FrameSolutions,
    first: int,
    last: int,
    which: IntArray,
    seed: int,
    least: Array,
) -> int:
    """Look for better solutions between `first` and `last`; return how many were taken.

    Args:
        recording: what the frames ask.
        options: of descents along strands.
        cold: of descents from other poses.
        path: of all frames; changed in place. The two end frames stay, but at a recording's ends.
        first: frame.
        last: frame.
        which: frames at which to look.
        seed: of the poses to look from.
        least: cost of the best solution that was found for each frame, (T,); lowered in place.
    """
    residual = recording.residuals(path.q[first : last + 1], np.arange(first, last + 1))
    stretch = Stretch(recording, options, path, residual, first, last, least)
    poses, frames = _other_poses(stretch, which, seed)
    if len(frames) == 0:
        return 0
    tried = solve_frames(recording.with_wide_loss, cold, frames, poses)
    np.minimum.at(least, frames, tried.cost)
    taken = 0
    # The largest gain first: what it mends need not be looked at again.
    for k in np.argsort(tried.cost - path.cost[frames], kind="stable"):
        t = int(frames[k])
        if tried.cost[k] < BETTER * path.cost[t]:
            taken += splice(stretch, t, tried.q[k])
    return taken


def _other_poses(stretch: Stretch, which: IntArray, seed: int) -> tuple[Array, IntArray]:
    """Return poses with one limb elsewhere, (n, nq), and the frame of each, (n,).

    Where a limb fits worse than it usually does. Half of the poses have it as in the neutral pose,
    or as in another frame if that was tried; the others anywhere.
    """
    rng, (recording, _, path, *_) = np.random.default_rng([seed, stretch.first]), stretch
    problem, skeleton = recording.frame_problem, recording.skeleton
    low, high = np.maximum(problem.lower, -UNLIMITED), np.minimum(problem.upper, UNLIMITED)
    neutral, poses, frames = skeleton.neutral()[None], [], []
    for dofs, markers in _limbs(recording):
        own = which
        if len(markers) > 0:
            miss = np.nansum(stretch.residual[:, markers] ** 2, axis=(1, 2))
            own = which[miss[which - stretch.first] >= np.median(miss)]
        other = rng.integers(stretch.first, stretch.last + 1, len(own))
        known = np.repeat(neutral, len(own), axis=0) if seed == 0 else path.q[other]
        for target, spread in ((known, 0.0), (np.repeat(neutral, len(own), axis=0), 1.0)):
            away = np.zeros((len(own), skeleton.nv))
            anywhere = rng.uniform(low[dofs], high[dofs], (len(own), len(dofs)))
            away[:, dofs] = skeleton.difference(target, path.q[own])[:, dofs] + spread * anywhere
            poses.append(skeleton.integrate(path.q[own], away))
            frames.append(own)
    return np.concatenate(poses), np.concatenate(frames)


def _limbs(recording: TrackingProblem) -> list[tuple[IntArray, IntArray]]:
    """Return the dofs of every limb, and the markers on it."""

    def find() -> list[tuple[IntArray, IntArray]]:
        skeleton, found = recording.skeleton, []
        bones = np.array([skeleton.bone_index(skeleton.marker(n)[0]) for n in recording.names])
        first = np.asarray(skeleton.tree.first_v, dtype=np.int64)
        for dofs in find_limbs(skeleton, recording.frame_problem.locked):
            own = np.unique(np.searchsorted(first, dofs, side="right") - 2)
            found.append((dofs, np.flatnonzero(np.isin(bones, own))))
        return found

    return recording.frame_problem.remember("limbs", find)


class Stretch(NamedTuple):
    """Frames of a path that may be changed.

    Attributes:
        recording: what they ask.
        options: of descents.
        path: of all frames.
        residual: of the path from `first` to `last` [m], (n, M, 3).
        first: frame; stays as it is unless it is the recording's.
        last: frame; likewise.
        least: cost of the best solution that was found for each frame, (T,).
    """

    recording: TrackingProblem
    options: Array
    path: FrameSolutions
    residual: Array
    first: int
    last: int
    least: Array

    def ways(self, t: int) -> Iterator[tuple[int, IntArray]]:
        """Yield 1 and −1, and the frames that may change from t on in that direction."""
        end = len(self.path.q) - 1
        yield 1, np.arange(t, min(self.last + (self.last == end), t + LONGEST))
        yield -1, np.arange(t, max(self.first - (self.first == 0), t - LONGEST), -1)


def splice(stretch: Stretch, t: int, start: Array) -> bool:
    """Follow the solution `start` of frame t both ways; take the part that saves; whether any."""
    recording, path = stretch.recording, stretch.path
    usual = float(np.median(path.cost[max(t - 60, 0) : t + 60]))
    start = nearest_equivalents(recording, start[None], path.q[t : t + 1])[0]
    gain, parts = 0.0, []
    for step, which in stretch.ways(t):
        if len(which) == 0:
            return False
        beside = stretch.residual[which - stretch.first], path.cost[which]
        strand = follow_branch(
            recording, stretch.options, which, start, *beside, NEAR, SLACK * usual
        )
        which = which[: len(strand.q)]
        stretch.least[which] = np.minimum(stretch.least[which], strand.cost)
        residual = recording.residuals(strand.q, which)
        total = np.cumsum(strand.cost - path.cost[which])
        total += _charges(stretch, which + step, which, strand, residual, usual)
        end = int(np.argmin(total)) + 1
        gain += float(total[end - 1])
        parts.append((which[:end], strand.q[:end], strand.outcomes[:end], residual[:end]))
    gain -= float(parts[0][2][0, RESULT_COST] - path.cost[t])  # frame t was counted twice
    if gain > -LEAST * path.cost[t]:
        return False
    for which, q, found, residual in parts:
        path.q[which], path.outcomes[which] = q, found
        stretch.residual[which - stretch.first] = residual
    return True


def _charges(
    stretch: Stretch,
    there: IntArray,
    here: IntArray,
    strand: FrameSolutions,
    residual: Array,
    usual: float,
) -> Array:
    """Return the charge for going back to the path `there` from `here`, less the path's own."""
    path, charge = stretch.path, np.zeros(len(here))
    inside = (there >= stretch.first) & (there <= stretch.last)
    here, there = here[inside], there[inside]
    back = stretch.residual[there - stretch.first]
    ways = (
        (1.0, strand.q[inside], residual[inside]),
        (-1.0, path.q[here], stretch.residual[here - stretch.first]),
    )
    for sign, q, own in ways:
        turn = stretch.recording.skeleton.difference(path.q[there], q)
        charge[inside] += sign * charges(back - own, turn, usual)
    return charge


def charges(away: Array, turn: Array, usual: float) -> Array:
    """Return the charge for jumps of residuals [m], (n, M, 3), and of dofs, (n, nv)."""
    moved = np.nansum(away**2, axis=(1, 2))
    return 0.5 * (JUMP * moved + TURN * usual * (turn**2).sum(axis=1))
