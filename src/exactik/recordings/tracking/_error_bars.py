"""How far to trust a track: noise of the markers, error bars, quality of values, minima or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactik._threads import run_in_threads
from exactik.kernels.linear.variances import new_variance_scratch
from exactik.kernels.recording import combination_error_bars as combinations
from exactik.kernels.recording import error_bars as kernel
from exactik.model import Skeleton
from exactik.recordings.tracking._problem import (
    ASSUMED_NOISE,
    UNKNOWN_SD,
    TrackingProblem,
    split_into_chunks,
)
from exactik.recordings.tracking.smoothing import Smoothing, compute_smooth_variances
from exactik.typing import Array, BoolArray, IntArray

FLAT_CURVATURE = 1e-7  # share of a dof's curvature that counts as none: rounding of the Hessian
MIN_NOISE = 1e-6  # [m] what fits exactly still has rounding
MIN_LASTING_SHARE = 0.06
"""Of σ², that smoothing does not lessen: motion comes in bursts, and one strength is for all of it.
With it 90 % bands hold the truth in 89 to 94 % of the cases (0.5 to 2 mm of noise), without in 57
to 71 %; test_bones_turn_as_in_truth."""
POSE_CHUNK_FRAMES = 4096  # whose distances from some poses are in memory at once
SAME_POSE = 1e-2  # [rad] rms of the dofs within which poses count as the same
CHUNK_FRAMES = 512  # whose error bars are computed in one call, for the threads to share the work


def estimate_noise(errors: Array, nv: int) -> float:
    """Return the markers' standard deviation along each axis [m], as residuals tell.

    Args:
        errors: distance of every marker from its place [m], (T, M), not a number where missing.
        nv: number of dofs that were fitted to each frame.
    """
    total, degrees = 0.0, 0
    for frames in split_into_chunks(len(errors), CHUNK_FRAMES):
        chunk = errors[frames]
        surplus = 3 * np.isfinite(chunk).sum(axis=1) - nv
        degrees += int(np.maximum(surplus, 0).sum())
        total += float(np.nansum(chunk[surplus > 0] ** 2))
    return float(np.sqrt(total / degrees)) if degrees > 0 else ASSUMED_NOISE


def measure_frame_errors(errors: Array) -> tuple[Array, Array]:
    """Return mean and largest marker error of each frame [m], (T,) each; NaN without markers.

    Args:
        errors: distance of every marker from its place [m], (T, M), not a number where missing.
    """
    seen = np.isfinite(errors)
    known, count = np.where(seen, errors, 0.0), seen.sum(axis=1)
    mean = np.where(count > 0, known.sum(axis=1) / np.maximum(count, 1), np.nan)
    return mean, np.where(count > 0, known.max(axis=1, initial=0.0), np.nan)


def compute_standard_deviations(
    problem: TrackingProblem,
    q: Array,
    sigma: float,
    threads: int,
    smoothing: Smoothing | None = None,
) -> Array:
    """Return the standard deviation of every dof in every frame [rad or m], (T, nv).

    No more than that of an angle of which nothing is known. Dofs at a limit have none. Smoothing
    lessens what comes of noise that changes from frame to frame; the rest of sigma is what is wrong
    with the figure, and stays.
    """
    if smoothing is not None:
        lasting = max(sigma**2 - smoothing.noise**2, MIN_LASTING_SHARE * sigma**2)
        sd = compute_standard_deviations(problem, q, float(np.sqrt(lasting)), threads)
        passing = compute_smooth_variances(problem, q, smoothing, threads)
        return np.minimum(np.sqrt(sd**2 + passing), UNKNOWN_SD)
    return _estimate_deviations(problem, q, sigma, threads, problem.skeleton.nv, None)


def compute_combination_deviations(
    problem: TrackingProblem,
    q: Array,
    sigma: float,
    threads: int,
    count: int,
    compute_rows: Callable[[IntArray], Array],
) -> Array:
    """Return the standard deviation of `count` combinations of dofs in every frame, (T, count).

    No more than that of an angle of which nothing is known.

    Args:
        problem: what was solved.
        q: its solution, (T, nq).
        sigma: of the markers along each axis [m].
        threads: to use.
        count: of the combinations.
        compute_rows: returns the combinations, (n, count, nv), in some of the frames, (n,).
    """
    return _estimate_deviations(problem, q, sigma, threads, count, compute_rows)


def _estimate_deviations(
    problem: TrackingProblem,
    q: Array,
    sigma: float,
    threads: int,
    count: int,
    compute_rows: Callable[[IntArray], Array] | None,
) -> Array:
    """Return the standard deviation of combinations of dofs, or of each dof if None, (T, count)."""
    sigma = max(sigma, MIN_NOISE)
    prior = np.full(problem.skeleton.nv, sigma**2 / UNKNOWN_SD**2)
    sd = np.zeros((len(q), count))

    def compute_chunk(frames: IntArray) -> None:
        buffers, targets = problem.buffers, problem.targets
        noise, chunk_sd = np.full(len(frames), sigma), np.empty((len(frames), count))
        model = (problem.skeleton.tree, buffers.goals, problem.frame_problem.box, targets)
        poses = (prior, noise, frames, q[frames])
        results = (chunk_sd, buffers.descent_state, buffers.workspace)
        if compute_rows is None:
            scratch = new_variance_scratch(problem.skeleton.tree)
            kernel.estimate_standard_deviations(*model, *poses, scratch, *results)
        else:
            rows = compute_rows(frames)
            combinations.estimate_combination_deviations(*model, *poses, rows, *results)
        sd[frames] = np.minimum(chunk_sd, UNKNOWN_SD)

    run_in_threads(threads, compute_chunk, split_into_chunks(len(q), CHUNK_FRAMES))
    return sd


def are_minima(problem: TrackingProblem, q: Array, frames: IntArray | None = None) -> BoolArray:
    """Return whether the exact Hessian of the free dofs has no negative curvature, (n,).

    Of all frames, or of some, (n,), at poses q, (n, nq).
    """
    frames = np.arange(len(q)) if frames is None else frames
    is_minimum, buffers = np.zeros(len(q)), problem.buffers
    kernel.check_convexity(
        problem.skeleton.tree,
        buffers.goals,
        problem.frame_problem.box,
        problem.targets,
        FLAT_CURVATURE,
        frames,
        q,
        is_minimum,
        buffers.descent_state,
        buffers.workspace,
    )
    return is_minimum != 0.0


class FigureErrors(NamedTuple):
    """Errors of the dofs that come of the figure, at some poses that differ as much as can be."""

    skeleton: Skeleton  # the figure
    q: Array  # the poses, (F, nq)
    covariance: Array  # of the dofs of each, (F, nv, nv) [rad² or m²]

    def to_dict(self) -> dict[str, Any]:
        """Return poses and lower triangles of the covariances, to four digits, for JSON."""
        rows = np.tril_indices(self.skeleton.nv)
        tables = {"q": self.q, "covariance": self.covariance[:, *rows]}
        return {
            name: [[float(f"{x:.4g}") for x in row] for row in table.tolist()]
            for name, table in tables.items()
        }

    @classmethod
    def from_dict(cls, skeleton: Skeleton, facts: Mapping[str, Any]) -> FigureErrors:
        """Return what `to_dict` wrote of this figure.

        Raises:
            KeyError, TypeError, ValueError: it is something else.
        """
        q, rows = np.array(facts["q"], dtype=float), np.tril_indices(skeleton.nv)
        covariance = np.zeros((len(q), skeleton.nv, skeleton.nv))
        covariance[:, *rows] = np.array(facts["covariance"], dtype=float)
        covariance[:, *rows[::-1]] = covariance[:, *rows]
        if q.shape != (len(q), skeleton.nq) or not np.isfinite([q.sum(), covariance.sum()]).all():
            raise ValueError("these are no errors of this figure")
        return cls(skeleton, q, covariance)

    def compute_dof_variances(self, q: Array) -> Array:
        """Return the variance of each dof at poses (T, nq), (T, nv) [rad² or m²]."""
        return self.interpolate(np.diagonal(self.covariance, axis1=1, axis2=2), q)

    def compute_combination_variances(self, rows: Array, q: Array) -> Array:
        """Return the variances of combinations of dofs at poses (T, nq), (T, n).

        Args:
            rows: the combinations at the poses of `self.q`, (F, n, nv).
            q: the poses, (T, nq).
        """
        return self.interpolate(np.einsum("fni,fij,fnj->fn", rows, self.covariance, rows), q)

    def interpolate(self, values: Array, q: Array) -> Array:
        """Return what has these values (F, n) at the poses of `self.q` at others, (T, n).

        Weights are inverse squares of squared distances: near poses decide. Where the whole body
        is, and how it is turned, makes no difference.
        """
        inner = self.skeleton.turns & (self.skeleton.parents[self.skeleton.dof_bones] >= 0)
        here, result = self._place(self.q, inner), np.empty((len(q), values.shape[1]))
        for first in range(0, len(q), POSE_CHUNK_FRAMES):
            there = self._place(q[first : first + POSE_CHUNK_FRAMES], inner)
            squares = (there**2).sum(axis=1)[:, None] + (here**2).sum(axis=1)
            squares = np.maximum(squares - 2.0 * there @ here.T, 0.0) / max(here.shape[1], 1)
            weights = (squares + SAME_POSE**2) ** -2
            weights /= weights.sum(axis=1, keepdims=True)
            result[first : first + POSE_CHUNK_FRAMES] = weights @ values
        return result

    def _place(self, q: Array, inner: BoolArray) -> Array:
        """Return poses as rows in which distances mean something, from the first of `self.q`."""
        away = self.skeleton.difference(q, np.broadcast_to(self.q[0], q.shape))[:, inner]
        return np.arctan2(np.sin(away), np.cos(away))


class Quality(IntEnum):
    """What a value of one dof in one frame is worth.

    Attributes:
        MEASURED: markers determine it, see `AssessmentOptions.measured_sd`.
        INFERRED: it follows from before and after a gap, or from the usual posture as much as from
            markers.
        DOUBTFUL: a finding concerns it.
        OPEN: nothing determines it.
        BOUND: it is a limit or a lock, no measurement.
    """

    MEASURED = 0
    INFERRED = 1
    DOUBTFUL = 2
    OPEN = 3
    BOUND = 4


GRAVITY = (Quality.MEASURED, Quality.BOUND, Quality.INFERRED, Quality.DOUBTFUL, Quality.OPEN)
"""From the least grave to the gravest: a value to which several apply has the last of them."""

QualityArray = NDArray[np.uint8]
_RANKS = np.argsort(GRAVITY).astype(np.uint8)  # of each quality


def raise_quality(quality: QualityArray, new: Quality) -> NDArray[np.bool_]:
    """Make all cells of an array of this quality where it is graver; return which it was of."""
    changed = _RANKS[quality] < _RANKS[new]
    quality[changed] = new
    return changed


def find_worst_quality(quality: QualityArray, members: BoolArray) -> QualityArray:
    """Return the worst quality of some dofs each, (T, n) of (T, nv); MEASURED where there is none.

    Args:
        quality: of the dofs, (T, nv).
        members: which dofs belong together, (n, nv).
    """
    worst = np.zeros((len(quality), len(members)), dtype=np.uint8)
    for k, own in enumerate(members):
        for dof in np.flatnonzero(own):
            worst[:, k] = np.maximum(worst[:, k], _RANKS[quality[:, dof]])
    return np.array(GRAVITY, dtype=np.uint8)[worst]
