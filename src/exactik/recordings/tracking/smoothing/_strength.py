"""s_k: how strongly bones accelerate, by the recording or by a cut-off frequency.

By the recording, s_k² begins with the mean square of the accelerations over a lag, in which noise
has less part. Later it is what accelerations the solution has over the share of them that the
recording determines, with their posterior variance V (MacKay 1992):

    s² = Σ|a|² / Σ(1 − V/s²)

With a cut-off frequency f, s_k is such that a turn of the bone is halved at f. At the frequency f
second differences are (2 sin(π f/rate))² times the motion, so w is the curvature over the square.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exactik.kernels.smoothing.accelerations import AccelerationPrior
from exactik.recordings.tracking._problem import TrackingProblem
from exactik.recordings.tracking.smoothing._chunks import Chunk
from exactik.recordings.tracking.smoothing._prior import AccelerationSquares
from exactik.recordings.tracking.smoothing._smoother import SmoothedFrames, Smoother
from exactik.typing import Array

LAG_SECONDS = 0.1
"""[s] over which accelerations are first estimated: 0.1 s takes the noise of frames at 120 Hz down
by 144, and motion of 3 Hz by a quarter."""
MAX_GROWTH = 1.5
"""Times the first estimates, up to which later ones may grow. Motion of 4 Hz has 0.6 of its
accelerations over 0.1 s; a jump that is left has far more than it had."""
LEAST_TURN = 2.0
"""[rad/s²] angular acceleration of a bone that hardly moves: a seventh of that of a trunk at a
walk."""
LEAST_SHIFT = 1.0
"""[m/s²] the same of the root."""
LEAST_COUNT = 5.0
"""Number of accelerations that these count for in estimates."""

MIN_OWN_CURVATURE = 0.1
"""Of the curvature of a bone and all below it: what it has itself at least, if it has no marker."""


def estimate_strength(
    smoother: Smoother, q: Array, prior: AccelerationPrior, chunks: Sequence[Chunk]
) -> AccelerationSquares:
    """Return the mean squares of accelerations over a lag, of poses q, (T, nq), chunk by chunk."""
    lag = smoother.count_lag(LAG_SECONDS)
    mean = smoother.measure_accelerations(q, prior, chunks, lag)
    least = _compute_least_strength(smoother.problem)
    return AccelerationSquares(
        turn=np.maximum(mean.turn / np.maximum(prior.turn_count, 1), least.turn),
        shift=np.maximum(mean.shift, least.shift),
    )


def update_strength(
    smoother: Smoother,
    prior: AccelerationPrior,
    initial: AccelerationSquares,
    smoothed: SmoothedFrames,
) -> AccelerationSquares:
    """Return the mean squares of accelerations as the last solution has them.

    Args:
        smoother: whose solution it is.
        prior: which dofs turn and which shift.
        initial: first estimate. It limits later ones: a jump from one solution to another is no
            acceleration.
        smoothed: that solution, with its accelerations and the share of them that markers do not
            determine.
    """
    problem = smoother.problem
    most = MAX_GROWTH**2
    observed, undetermined = smoothed.observed, smoothed.undetermined
    extra = LEAST_COUNT / len(smoothed.q)
    least = _compute_least_strength(problem)
    turns = np.maximum(prior.turn_count - undetermined.turn, 0.0)
    shifts = np.maximum(1.0 - undetermined.shift, 0.0)
    return AccelerationSquares(
        turn=np.minimum(
            (observed.turn + extra * least.turn) / (turns + extra), most * initial.turn
        ),
        shift=np.minimum(
            (observed.shift + extra * least.shift) / (shifts + extra), most * initial.shift
        ),
    )


def _compute_least_strength(problem: TrackingProblem) -> AccelerationSquares:
    """Return the squares of the least accelerations that anything alive has."""
    per_frame, skeleton = problem.rate**-2, problem.skeleton
    return AccelerationSquares(
        turn=np.full(len(skeleton.tree.parent), (LEAST_TURN * per_frame) ** 2),
        shift=np.full(skeleton.nv, (LEAST_SHIFT * per_frame) ** 2),
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
        turn=factor / np.maximum(own, least), shift=factor / np.maximum(curvature, least)
    )
