"""Which strength predicts best: samples of markers are held out, and looked for at every strength.

A fifth of the samples has no weight while accelerations are taken lightly and more lightly. After
each step the distances of these samples from their places tell how well that strength predicts
them: noise is followed if accelerations are taken too lightly, and motion is blunted if they are
taken too seriously. So each bone in each stretch of frames gets the strongest smoothing that
predicts the markers on it, and on the bones that it carries, as well as any.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exactik.model import Skeleton
from exactik.recordings.tracking._problem import TrackingProblem
from exactik.typing import Array, BoolArray, IntArray

TRIALS = (1.0, 3.0, 10.0, 30.0, 100.0)
"""Times the accelerations that are allowed in the steps that are judged; with the last hardly
anything is smoothed."""
BLOCK_SECONDS = 0.05
"""[s] for which a marker is held out: longer than what changes from frame to frame lasts. What is
wrong with a marker for longer would be known from the frames beside it."""
PERIOD = 5
"""Blocks of which each marker is held out in one. With ten, recordings of half a second would leave
half of their markers unjudged."""
TOLERANCE = 0.01
"""Share by which a stronger smoothing may predict worse than the best: below what is by chance."""
NEIGHBOUR_SHARE = 0.5
"""Weight of the samples of the stretch before and the one after, beside a stretch's own."""
WHOLE_SAMPLES = 300.0
"""Number of samples that those of the whole recording count for in each stretch, which has some 50
for a bone: too few to tell by themselves, unless it moves otherwise than usual."""


class Trial:
    """How far samples that are held out are from their places, at each strength.

    Attributes:
        problem: with these samples at no weight.
        held_out: which they are, (T, M).
        stretch_frames: length of a stretch.
        counts: number of them in each stretch, (S, M).
        totals: sums of their distances [m] after the step of each of `TRIALS`, (R, S, M).
    """

    def __init__(self, problem: TrackingProblem, stretch_frames: int):
        targets = problem.targets
        trusted = (
            np.ones(problem.seen.shape) if len(targets.confidence) == 0 else targets.confidence
        )
        real = problem.seen & (trusted == 1.0) & problem.counts
        self.held_out = real & choose_held_out(problem)
        self.stretch_frames = stretch_frames
        self.problem = problem.with_targets(confidence=np.where(self.held_out, 0.0, trusted))
        starts = np.arange(0, len(problem), stretch_frames)
        self.counts = np.add.reduceat(self.held_out.astype(float), starts, axis=0)
        self.totals = np.zeros((len(TRIALS), *self.counts.shape))

    def measure(self, step: int, q: Array, frames: IntArray) -> None:
        """Add how far the samples of some frames, (n,), are from poses q, (n, nq)."""
        distance = np.linalg.norm(self.problem.residuals(q, frames), axis=2)
        distance = np.where(self.held_out[frames], distance, 0.0)
        starts = np.arange(0, len(frames), self.stretch_frames)  # chunks are of whole stretches
        first = int(frames[0]) // self.stretch_frames
        self.totals[step, first : first + len(starts)] = np.add.reduceat(distance, starts, axis=0)

    def choose(self) -> Array:
        """Return how many times the accelerations each bone is allowed in a stretch, (S, n + 1).

        Bones are numbered as in `Tree`.
        """
        judges = find_judges(self.problem.skeleton, self.problem.names).astype(float)
        totals, counts = self.totals @ judges.T, self.counts @ judges.T
        whole = totals.sum(axis=1, keepdims=True) / np.maximum(counts.sum(axis=0), 1.0)
        loss = _add_neighbours(totals) + WHOLE_SAMPLES * whole
        loss /= _add_neighbours(counts) + WHOLE_SAMPLES
        is_as_good = loss <= (1.0 + TOLERANCE) * loss.min(axis=0)
        return np.asarray(TRIALS)[np.argmax(is_as_good, axis=0)]


def choose_held_out(problem: TrackingProblem) -> BoolArray:
    """Return which samples are held out, (T, M): each marker in one block of `PERIOD`.

    Markers on the same bone take turns, so that it keeps the others.
    """
    skeleton, names = problem.skeleton, problem.names
    bones = [skeleton.bone_index(skeleton.marker(name)[0]) for name in names]
    turn = np.argsort(np.argsort(bones, kind="stable")) % PERIOD
    block = np.arange(len(problem)) // max(round(BLOCK_SECONDS * problem.rate), 1) % PERIOD
    return np.asarray(block[:, None] == turn)


def find_judges(skeleton: Skeleton, names: Sequence[str]) -> BoolArray:
    """Return which markers tell of each bone's strength, (n + 1, M), bones as in `Tree`.

    Those on it and on the bones that it carries, or on the nearest that these carry in turn.
    """
    bones = np.array([skeleton.bone_index(skeleton.marker(name)[0]) for name in names])
    count = len(skeleton.bones)
    judges = np.zeros((count + 1, len(names)), dtype=bool)
    for b in range(count):
        near = np.arange(count) == b
        for _ in range(count):
            near |= (skeleton.parents >= 0) & near[skeleton.parents]
            if near[bones].any():
                break
        judges[b + 1] = near[bones]
    return judges


def _add_neighbours(values: Array) -> Array:
    """Return values, (…, S, n), with shares of those of the stretches beside."""
    result = values.copy()
    result[..., 1:, :] += NEIGHBOUR_SHARE * values[..., :-1, :]
    result[..., :-1, :] += NEIGHBOUR_SHARE * values[..., 1:, :]
    return result
