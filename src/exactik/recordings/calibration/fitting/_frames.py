"""Which frames of a subject's trials to calibrate on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from exactik.errors import UsageError
from exactik.model.motion import Markers
from exactik.recordings.tracking import find_spikes
from exactik.spatial import fit_rigid_transforms
from exactik.typing import Array, IntArray

MAX_CANDIDATES = 2400  # frames among which to choose: every pair of shapes is compared
MIN_SEEN_SHARE = 0.7  # of the most markers that any frame of the trial has, which a frame must have
# Of all frames, the share that is given to the trials in equal parts, whatever they show: a static
# is one pose, but only it may have the markers of the inner knees and ankles.
EQUAL_SHARE = 0.5
SPIKE_REACH = 2  # frames before and after that `find_spikes` looks at


def align_shapes(positions: Array) -> Array:
    """Return the markers of each frame, aligned rigidly with one of the frames.

    Args:
        positions: [m], (F, M, 3), not a number where missing.

    Returns:
        The same [m], (F, M, 3), with the mean of the other frames where a marker is missing.
    """
    seen = ~np.isnan(positions[:, :, 0])
    filled = np.where(seen[..., None], positions, 0.0)
    first = int(np.argmax(seen.sum(axis=1)))
    reference, weight, shapes = filled[first], seen & seen[first], filled
    for _ in range(2):  # to that frame, then to the mean shape
        target = np.broadcast_to(reference, filled.shape)
        rigid = fit_rigid_transforms(filled, target, weight.astype(float))
        centred = filled - rigid.source_center[:, None]
        shapes = np.einsum("fij,fmj->fmi", rigid.rotation, centred) + rigid.target_center[:, None]
        counts = np.maximum(seen.sum(axis=0), 1)[:, None]
        reference, weight = np.where(seen[..., None], shapes, 0.0).sum(axis=0) / counts, seen
    return np.where(seen[..., None], shapes, reference)


class ChosenFrames(NamedTuple):
    """Frames to calibrate on, of one trial or several."""

    # Of these frames, one after the other, of all trials: missing where a trial has not got a
    # marker
    markers: Markers
    trials: IntArray  # number of the trial of each frame, (F,)
    frames: IntArray  # its number in that trial, (F,)

    def take(self, rows: IntArray) -> ChosenFrames:
        """Return some of them."""
        markers = replace(self.markers, positions=self.markers.positions[rows])
        return ChosenFrames(markers, self.trials[rows], self.frames[rows])


def choose_diverse_frames(trials: Sequence[Markers], count: int) -> ChosenFrames:
    """Return the frames whose poses differ most, trial by trial in the order of time.

    From the frame with the most ordinary shape on, the one farthest from all that are chosen is
    added, so that rare poses come in and the many that are alike do not. Of several trials each
    has an equal part of half of the frames.
    """
    candidates = _join_candidates(trials)
    size = len(candidates.frames)
    if size <= count:
        return candidates
    shapes = align_shapes(candidates.markers.positions).reshape(size, -1)
    median_shape = np.median(shapes, axis=0)
    chosen = [int(np.argmin(((shapes - median_shape) ** 2).sum(axis=1)))]
    distances = np.full(size, np.inf)
    equal_part = int(EQUAL_SHARE * count) // len(trials) if len(trials) > 1 else 0
    pools = [np.flatnonzero(candidates.trials == k) for k in range(len(trials))]
    parts = [(pool, min(equal_part, len(pool))) for pool in pools]
    for pool, part in [*parts, (np.arange(size), count)]:
        while len(chosen) < count and np.isin(pool, chosen).sum() < part:
            distances = np.minimum(distances, _mean_distance(shapes, shapes[chosen[-1]]))
            distances[chosen] = -1.0  # no frame twice
            chosen.append(int(pool[np.argmax(distances[pool])]))
    return candidates.take(np.sort(chosen))


def _join_candidates(trials: Sequence[Markers]) -> ChosenFrames:
    """Return the frames to choose from: of every trial those with most markers, without spikes."""
    names = tuple(dict.fromkeys(name for trial in trials for name in trial.names))
    positions, numbers, frames = [], [], []
    for k, trial in enumerate(trials):
        seen = (~trial.missing).sum(axis=1)
        enough = np.flatnonzero(seen >= max(MIN_SEEN_SHARE * seen.max(initial=0), 3))
        rows = enough[:: max(-(-len(enough) * len(trials) // MAX_CANDIDATES), 1)]
        without_spikes = _positions_without_spikes(trial, rows)
        usable = (~np.isnan(without_spikes).any(axis=2)).sum(axis=1) >= 3
        rows, without_spikes = rows[usable], without_spikes[usable]
        of_trial = np.full((len(rows), len(names), 3), np.nan)
        of_trial[:, [names.index(name) for name in trial.names]] = without_spikes
        positions.append(of_trial)
        numbers.append(np.full(len(rows), k))
        frames.append(rows)
    joined = Markers(np.concatenate(positions), names, trials[0].rate)
    if len(joined) == 0:
        raise UsageError(
            f"no frame has three of the {len(names)} markers that are known on the figure; "
            "calibration needs them"
        )
    return ChosenFrames(joined, np.concatenate(numbers), np.concatenate(frames))


def _positions_without_spikes(trial: Markers, rows: IntArray) -> Array:
    """Return the positions of some frames, missing where a marker jumps out of its path and back.

    Only what is around these frames is looked at: a recording may last an hour.
    """
    around = np.arange(-SPIKE_REACH, SPIKE_REACH + 1)
    inside = np.clip(rows, SPIKE_REACH, max(len(trial) - 1 - SPIKE_REACH, 0))
    if len(trial) <= 2 * SPIKE_REACH:
        return trial.positions[rows]
    windows = trial.positions[(inside[:, None] + around).ravel()]
    spikes = find_spikes(windows, trial.rate)[SPIKE_REACH :: len(around)]
    spikes &= (inside == rows)[:, None]
    return np.where(spikes[..., None], np.nan, trial.positions[rows])


def _mean_distance(shapes: Array, reference: Array) -> Array:
    """Return the mean distance of the markers of shapes, (F, 3 M), from a reference [m], (F,)."""
    difference = (shapes - reference).reshape(len(shapes), -1, 3)
    return np.sqrt((difference**2).sum(axis=2)).mean(axis=1)
