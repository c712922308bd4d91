"""σ, the noise of markers, and s_k: how strongly bones accelerate.

By the recording, s_k² is the mean square of the accelerations over a lag, in which noise has less
part, stretch by stretch, times what predicts best.

With a cut-off frequency f, s_k is such that a turn of the bone is halved at f. At the frequency f
second differences are (2 sin(π f/rate))² times the motion, so w is the curvature over the square.

σ is the noise of the markers, or what residuals change by within a moment, if that is more: what is
wrong with the figure for longer is no noise.

Samples are held out for that. A fifth of them has no weight while accelerations are taken lightly
and more lightly. After each step the distances of these samples from their places tell how well
that strength predicts them: noise is followed if accelerations are taken too lightly, and motion is
blunted if they are taken too seriously. So each bone in each stretch of frames gets the strongest
smoothing that predicts the markers on it, and on the bones that it carries, as well as any.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exactik.kernels.smoothing.accelerations import AccelerationPrior
from exactik.kernels.smoothing.variances import estimate_variances
from exactik.model import Skeleton
from exactik.model.motion import choose_even_frames
from exactik.problem import GAUSS_NEWTON
from exactik.recordings.tracking._problem import UNKNOWN_SD, TrackingProblem
from exactik.recordings.tracking.smoothing._prior import AccelerationSquares
from exactik.recordings.tracking.smoothing._smoother import Chunk, Smoother
from exactik.typing import Array, BoolArray, IntArray

LAG_SECONDS = 0.1
"""[s] over which accelerations are estimated: 0.1 s takes the noise of frames at 120 Hz down by
144, and motion of 3 Hz by a quarter."""
LEAST_TURN = 2.0
"""[rad/s²] angular acceleration of a bone that hardly moves: a seventh of that of a trunk at a
walk."""
LEAST_SHIFT = 1.0
"""[m/s²] the same of the root."""


LEAST_LEVER = 0.005
"""[m] by which markers hold a bone that they tell of. Necks of three joints are held by 1 to 2 mm,
hands by 7, forearms by 50."""
LOOSE_SHARE = 0.5
"""Of their accelerations that smoothed poses have, squared, that count as motion: the rest is
trembling still; test_bones_turn_as_in_truth."""
LEVER_FRAMES = 24  # by which that is judged

MIN_OWN_CURVATURE = 0.1
"""Of the curvature of a bone and all below it: what it has itself at least, if it has no marker."""
NOISE_LAG_SECONDS = 0.05
"""[s] within which residuals change by noise, and hardly by the motion: a third of a step of a
run."""
ASSUMED_NOISE = 0.001
"""[m] of markers from frame to frame where no marker is seen five frames long."""
NOISE_FRAMES = 500
"""By which that is judged, spread over the recording."""
WHITE_NOISE_SAMPLES = 10_000
"""Of every marker, each of five frames in a row, spread over the recording, by which its noise is
judged: bounds the memory, and the median of so many is right to a hundredth. A tenth of them would
do, ten times as many only cost memory."""

FOURTH_DIFFERENCE = (1.0, -4.0, 6.0, -4.0, 1.0)
VARIANCE_OF_FOURTH_DIFFERENCES = 70.0  # 1 + 16 + 36 + 16 + 1 times that of independent values
NORMAL_QUARTILE = 0.6745  # of a normal distribution: half of it is nearer to the middle, in σ
MIN_NOISE = 1e-6  # [m] recordings without noise still have rounding
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


def estimate_strength(
    smoother: Smoother, q: Array, prior: AccelerationPrior, chunks: Sequence[Chunk]
) -> AccelerationSquares:
    """Return the mean squares of accelerations over a lag, of poses q, (T, nq), in each stretch."""
    lag = smoother.count_lag(LAG_SECONDS)
    sums, counts = smoother.measure_accelerations(q, prior, chunks, lag)
    least = _compute_least_strength(smoother.problem)
    turn_count = np.maximum(prior.turn_count, 1)
    return AccelerationSquares(
        turn=np.maximum(_average(sums.turn, counts) / turn_count, least.turn),
        shift=np.maximum(_average(sums.shift, counts), least.shift),
    )


def find_loose_bones(
    smoother: Smoother, q: Array, prior: AccelerationPrior, noise: float
) -> BoolArray:
    """Return the bones, (n + 1,), whose turn in the world markers hardly tell at poses q, (T, nq).

    That of a bone is Σ_i c_i y_i in the coordinates of a frame (`kernels/smoothing/coordinates`),
    of variances σ²/h_i: a lever of length l would give it σ²/l².
    """
    skeleton, work = smoother.problem.skeleton, smoother.workspace
    tree, damping = skeleton.tree, np.full(skeleton.nv, (noise / UNKNOWN_SD) ** 2)
    squares = []
    for t in choose_even_frames(len(q), LEVER_FRAMES):
        smoother.evaluate(q[t : t + 1], int(t), prior, GAUSS_NEWTON)
        estimate_variances(
            tree, smoother.box, prior, damping, q[t : t + 1], work, np.empty((1, skeleton.nv))
        )
        square = np.zeros(len(tree.parent))
        for b in np.flatnonzero(prior.turn_count):
            dof = int(prior.last_dof[b])
            for level in range(int(tree.dof_level[dof]), -1, -1):
                turn = work.bone_turn[b, :, level]
                square[b] += float(turn @ turn) / work.curvature[0, dof]
                dof = int(tree.dof_parent[dof])
        squares.append(square)
    return np.asarray(np.median(squares, axis=0) > LEAST_LEVER**-2)


def _average(sums: Array, counts: IntArray) -> Array:
    """Return the means of stretches, (S, …), no less than that of all: bursts are short."""
    whole = sums.sum(axis=0) / max(int(counts.sum()), 1)
    own = sums / np.maximum(counts, 1)[:, None]
    return np.maximum(own, whole)


def _compute_least_strength(problem: TrackingProblem) -> AccelerationSquares:
    """Return the squares of the least accelerations that anything alive has."""
    per_frame, skeleton = problem.rate**-2, problem.skeleton
    return AccelerationSquares(
        turn=np.full((1, len(skeleton.tree.parent)), (LEAST_TURN * per_frame) ** 2),
        shift=np.full((1, skeleton.nv), (LEAST_SHIFT * per_frame) ** 2),
    )


def compute_strength_of_cutoff(
    problem: TrackingProblem,
    cutoff: float,
    information: Array,
    noise: float,
    prior: AccelerationPrior,
) -> AccelerationSquares:
    """Return the mean squares of accelerations that halve a motion of the cut-off frequency [Hz].

    A dof is halved at it if the weights of all bones below add up to its curvature over
    (2 sin(π f/rate))⁴: so each bone has what its own markers add to the curvature.

    Args:
        problem: markers and figure.
        cutoff: f [Hz].
        information: what markers say about dofs, (M, nv), see `compute_marker_information`.
        noise: σ [m].
        prior: which dofs turn and which shift.
    """
    skeleton, curvature = problem.skeleton, information.sum(axis=0)
    tree = skeleton.tree
    least = 1e-9 * float(curvature.max(initial=1.0))  # of what no marker is on: not zero
    of_bone = np.zeros(len(tree.parent))
    for b in np.flatnonzero(prior.turn_count):
        own = (skeleton.dof_bones == b - 1) & skeleton.turns
        of_bone[b] = curvature[own].mean()
    own = of_bone.copy()
    for b in range(1, len(own)):
        own[int(tree.parent[b])] -= of_bone[b]
    own = np.maximum(own, MIN_OWN_CURVATURE * of_bone)
    factor = noise**2 * (2.0 * np.sin(np.pi * cutoff / problem.rate)) ** 4
    return AccelerationSquares(
        turn=factor / np.maximum(own, least)[None],
        shift=factor / np.maximum(curvature, least)[None],
    )


def estimate_noise_between_frames(problem: TrackingProblem, q: Array, information: Array) -> float:
    """Return σ [m] of the markers along each axis.

    Args:
        problem: markers and figure.
        q: poses found for them, (T, nq).
        information: what markers say about dofs, (M, nv), see `compute_marker_information`.
    """
    changing = _estimate_changing_noise(problem, q, information)
    return max(estimate_white_noise(problem), changing)


def estimate_white_noise(problem: TrackingProblem) -> float:
    """Return what markers change by from frame to frame beyond their motion: its sd [m].

    By fourth differences in time, in which motions have next to no part. Half of the samples
    decide, so that spikes and impacts do not. Of long recordings some are taken, spread over it.
    """
    position, used = problem.targets.position, problem.counts
    last = len(FOURTH_DIFFERENCE) - 1
    first = choose_even_frames(max(len(position) - last, 0), WHITE_NOISE_SAMPLES)
    differences = np.zeros((len(first), *position.shape[1:]))
    for n, factor in enumerate(FOURTH_DIFFERENCE):
        differences += factor * position[first + n]
    values = np.abs(differences[:, used])
    values = values[np.isfinite(values)]
    if len(values) == 0:
        return ASSUMED_NOISE
    scale = NORMAL_QUARTILE * np.sqrt(VARIANCE_OF_FOURTH_DIFFERENCES)
    return max(float(np.median(values)) / scale, MIN_NOISE)


def _estimate_changing_noise(problem: TrackingProblem, q: Array, information: Array) -> float:
    """Return by how much residuals change within a moment, as the sd of markers [m]; 0 if unknown.

    Files are often filtered and have next to no white noise left; skin that moves and a figure that
    fits badly are then what makes badly determined joints wander. What is wrong for longer than a
    moment is not counted: it is no reason to smooth.
    """
    lag = max(round(NOISE_LAG_SECONDS * problem.rate), 1)
    if len(q) <= lag:
        return 0.0
    frames = choose_even_frames(len(q) - lag, NOISE_FRAMES)
    change = problem.residuals(q[frames + lag], frames + lag) - problem.residuals(q[frames], frames)
    change = change[:, problem.counts]
    # Each dof takes one number out of the residuals; only what is left over tells of noise.
    moves = (information.sum(axis=0) > 0.0) & ~problem.frame_problem.locked
    surplus = np.isfinite(change).sum(axis=(1, 2)) - int(moves.sum())
    usable = surplus > 0
    if not usable.any():
        return 0.0
    # A difference of two has twice the variance; the median leaves out jumps and swapped names.
    squares = np.nansum(change[usable] ** 2, axis=(1, 2)) / (2.0 * surplus[usable])
    return float(np.sqrt(np.median(squares)))


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
        self.held_out = real & _choose_held_out(problem)
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
        judges = _find_judges(self.problem.skeleton, self.problem.names).astype(float)
        totals, counts = self.totals @ judges.T, self.counts @ judges.T
        whole = totals.sum(axis=1, keepdims=True) / np.maximum(counts.sum(axis=0), 1.0)
        loss = _add_neighbours(totals) + WHOLE_SAMPLES * whole
        loss /= _add_neighbours(counts) + WHOLE_SAMPLES
        is_as_good = loss <= (1.0 + TOLERANCE) * loss.min(axis=0)
        return np.asarray(TRIALS)[np.argmax(is_as_good, axis=0)]


def _choose_held_out(problem: TrackingProblem) -> BoolArray:
    """Return which samples are held out, (T, M): each marker in one block of `PERIOD`.

    Markers on the same bone take turns, so that it keeps the others.
    """
    skeleton, names = problem.skeleton, problem.names
    bones = [skeleton.bone_index(skeleton.marker(name)[0]) for name in names]
    turn = np.argsort(np.argsort(bones, kind="stable")) % PERIOD
    block = np.arange(len(problem)) // max(round(BLOCK_SECONDS * problem.rate), 1) % PERIOD
    return np.asarray(block[:, None] == turn)


def _find_judges(skeleton: Skeleton, names: Sequence[str]) -> BoolArray:
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
