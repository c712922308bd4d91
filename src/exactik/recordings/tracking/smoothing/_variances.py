"""What the noise of markers leaves in a smoothed motion (`kernels/smoothing/variances.py`)."""

from __future__ import annotations

import numpy as np

from exactik._threads import run_in_threads
from exactik.kernels.smoothing.variances import estimate_variances
from exactik.problem import GAUSS_NEWTON
from exactik.recordings.tracking._problem import UNKNOWN_SD, TrackingProblem, split_into_chunks
from exactik.recordings.tracking.smoothing._prior import Smoothing
from exactik.recordings.tracking.smoothing._smoother import Smoother, make_smoothing_problem
from exactik.typing import Array, IntArray

CHUNK_FRAMES = 256  # whose variances are computed in one call; they need no overlap


def compute_smooth_variances(
    problem: TrackingProblem, q: Array, smoothing: Smoothing, threads: int
) -> Array:
    """Return the variance that noise leaves in every dof of a motion [rad² or m²], (T, nv).

    Args:
        problem: markers and figure.
        q: smoothed poses, (T, nq).
        smoothing: how they were smoothed.
        threads: how many.
    """
    problem = make_smoothing_problem(problem, smoothing.noise)
    smoother = Smoother(problem, CHUNK_FRAMES, threads)
    skeleton, box = problem.skeleton, problem.frame_problem.box
    damping = np.full(skeleton.nv, (smoothing.noise / UNKNOWN_SD) ** 2)
    variance = np.empty((len(q), skeleton.nv))

    def compute_chunk(frames: IntArray) -> None:
        first, chunk = int(frames[0]), np.ascontiguousarray(q[frames])
        prior = smoothing.select(frames).prior
        smoother.evaluate(chunk, first, prior, GAUSS_NEWTON)
        values = np.empty((len(frames), skeleton.nv))
        estimate_variances(
            skeleton.tree,
            box,
            prior,
            damping,
            chunk,
            smoother.workspace,
            values,
        )
        variance[frames] = smoothing.noise**2 * values

    run_in_threads(threads, compute_chunk, split_into_chunks(len(q), CHUNK_FRAMES))
    return variance
