"""Jumps that markers do not show: found, and bridged.

A path may have to change from one solution to another. The change is then spread over some frames:
the dofs that jump are pulled to the middle between their neighbours in time, no more firmly and
over no more frames than it takes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from exactik.mocap._gaps import Postures, pulled
from exactik.mocap._passes import Path, try_starts
from exactik.mocap._recording import Recording

__all__ = ["bridge_jumps", "jumps_of"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

TURN_RATE = 60.0  # [rad/s] beyond what its neighbours do, a bone's turn is a jump
MARKER_RATE = 3.0  # [m/s] likewise, a marker's move against its target's
PULLS = (
    *((0.1, 0.04), (0.3, 0.06), (1.0, 0.08), (3.0, 0.1), (10.0, 0.12), (30.0, 0.15)),
    *((100.0, 0.2), (1e4, 0.2), (1e4, 0.2), (1e4, 0.2)),
)
"""How firmly, of the curvature of each dof, and over how long [s] to each side of a jump."""
SWEEPS = 8
FIRM = 3.0  # a pull from which on poses start between the two sides, which sweeps would not reach
TOO_MANY = 0.1  # of all frames
JUMPING = 0.05  # [rad or m] dofs that move less have no part in a jump
RAISED = 1.1  # cost of a frame, of what it was, above which continuity has a price
AT_ONCE = 4096  # frames placed in one go


def jumps_of(recording: Recording, q: Array, first: int = 0) -> Indices:
    """Return the frames t, (k,), from which the path q jumps to t + 1.

    Args:
        recording: whose frames they are.
        q: poses of the frames from `first` on, (n, nq).
        first: frame of q[0].
    """
    found = []
    for at in range(0, max(len(q) - 1, 0), AT_ONCE):
        # One frame more on both sides, for the neighbours of the steps at the ends.
        low, high = max(at - 1, 0), min(at + AT_ONCE + 2, len(q))
        steps = _jumping(recording, q[low:high], first + low) + low
        found.append(steps[(steps >= at) & (steps < at + AT_ONCE)])
    return np.concatenate(found) if len(found) > 0 else np.empty(0, np.int64)


def _jumping(recording: Recording, q: Array, first: int) -> Indices:
    rotations = recording.skeleton.forward(q).rotations
    # |A − B|² = 8 sin²(θ/2) for rotations by θ from each other.
    apart = np.sqrt(((rotations[1:] - rotations[:-1]) ** 2).sum(axis=(2, 3)) / 8.0)
    turn = 2.0 * np.arcsin(np.minimum(apart, 1.0))
    frames = np.arange(first, first + len(q))
    residual = recording.residuals(q, frames)
    if len(recording.frames.factor) > 0:  # what was left out as an error may jump as it likes
        residual *= np.sqrt(recording.frames.factor[frames])[:, :, None]
    move = np.nan_to_num(np.linalg.norm(np.diff(residual, axis=0), axis=2))
    dt = 1.0 / recording.rate
    turned = (turn > TURN_RATE * dt + 1.5 * _beside(turn)).any(axis=1)
    moved = (move > MARKER_RATE * dt + 1.5 * _beside(move)).any(axis=1)
    return np.flatnonzero(turned | moved)


def _beside(steps: Array) -> Array:
    """Return the larger of the steps before and after each, (n, k)."""
    out = np.zeros_like(steps)
    out[1:] = steps[:-1]
    out[:-1] = np.maximum(out[:-1], steps[1:])
    return out


def bridge_jumps(
    recording: Recording, options: Array, path: Path, postures: Postures, curvature: Array
) -> NDArray[np.bool_]:
    """Spread every jump of a path over some frames; return the frames that cost more for it, (T,).

    Args:
        recording: what the frames ask.
        options: of descents.
        path: changed in place.
        postures: that frames are pulled to anyway.
        curvature: of each dof, (nv,), as a measure of pulls.
    """
    before = path.cost.copy()
    kept: dict[int, Array] = {}  # pulls of earlier rounds: without them old jumps would come back
    for pull, seconds in PULLS:
        jumps = jumps_of(recording, path.q)
        if len(jumps) == 0 or len(jumps) > TOO_MANY * len(path.q):
            break  # none, or so many that they are the recording's own
        span = max(2, round(seconds * recording.rate))
        around = jumps[:, None] + np.arange(1 - span, 1 + span)
        near = np.unique(np.clip(around, 0, len(path.q) - 1))
        none = np.zeros(recording.skeleton.nv)
        firm = np.array([kept.get(int(t), none) for t in near])
        turns = recording.skeleton.difference(path.q[jumps + 1], path.q[jumps])
        # Only what jumps: the rest of the figure goes on as its markers say.
        turns[np.abs(turns) <= JUMPING] = 0.0
        for t, turn in zip(jumps, turns, strict=True):
            frames = np.arange(max(t + 1 - span, 0), min(t + 1 + span, len(path.q)))
            own = np.searchsorted(near, frames)
            firm[own] = np.maximum(firm[own], pull * curvature * (turn != 0.0))
            if pull >= FIRM:
                _fade(recording, path, frames, int(t), turn)
        kept.update(zip(near.tolist(), firm, strict=True))
        for _ in range(SWEEPS):
            for parity in (0, 1):
                mine = near % 2 == parity
                _pull_together(recording, options, path, postures, firm[mine], near[mine])
    return path.cost > RAISED * before


def _fade(recording: Recording, path: Path, frames: Indices, t: int, turn: Array) -> None:
    """Spread a jump (nv,) after frame t evenly: fade it in before and out after."""
    x = (frames - frames[0] + 1.0) / (len(frames) + 1.0)
    fade = x * x * (3.0 - 2.0 * x)
    share = np.where(frames <= t, fade, fade - 1.0)
    path.q[frames] = recording.skeleton.integrate(path.q[frames], share[:, None] * turn)


def _pull_together(
    recording: Recording,
    options: Array,
    path: Path,
    postures: Postures,
    firm: Array,
    which: Indices,
) -> None:
    """Solve frames again, each pulled to the middle between its neighbours as firmly as (n, nv)."""
    skeleton, end = recording.skeleton, len(path.q) - 1
    before, after = path.q[np.maximum(which - 1, 0)], path.q[np.minimum(which + 1, end)]
    middle = skeleton.integrate(before, 0.5 * skeleton.difference(after, before))
    rest, total = pulled(skeleton, *postures.of(which), middle, firm)
    asked = recording.asking(rest=rest, rest_weight=total).at(which)
    path.q[which], path.found[which] = try_starts(
        asked, options, np.arange(len(which)), path.q[which]
    )
    recording.keep_weights(which, asked)
