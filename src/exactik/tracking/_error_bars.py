"""Noise of the markers, and what it does to the dofs of every frame."""

from __future__ import annotations

import numpy as np

from exactik.kernels.recording import error_bars as kernel
from exactik.tracking._frame_solver import run_in_threads
from exactik.tracking._options import DEFAULT_OPTIONS
from exactik.tracking._problem import TrackingProblem, split_into_chunks
from exactik.typing import Array, BoolArray, IntArray

__all__ = ["UNKNOWN_SD", "are_minima", "compute_standard_deviations", "estimate_noise"]


UNKNOWN_SD = np.pi / np.sqrt(3.0)
"""[rad or m] standard deviation of what nothing determines: of an angle anywhere from −π to π."""
FLAT_CURVATURE = 1e-7  # share of a dof's curvature that counts as none: rounding of the Hessian
MIN_NOISE = 1e-6  # [m] what fits exactly still has rounding
CHUNK_FRAMES = 512  # whose error bars are computed in one call, for the threads to share the work


def estimate_noise(
    errors: Array, nv: int, assumed_noise: float = DEFAULT_OPTIONS.preparation.assumed_noise
) -> float:
    """Return the markers' standard deviation along each axis [m], as residuals tell.

    Args:
        errors: distance of every marker from its place [m], (T, M), not a number where missing.
        nv: number of dofs that were fitted to each frame.
        assumed_noise: [m] answer where no frame has more coordinates of markers than dofs.
    """
    total, degrees = 0.0, 0
    for frames in split_into_chunks(len(errors), CHUNK_FRAMES):
        chunk = errors[frames]
        surplus = 3 * np.isfinite(chunk).sum(axis=1) - nv
        degrees += int(np.maximum(surplus, 0).sum())
        total += float(np.nansum(chunk[surplus > 0] ** 2))
    return float(np.sqrt(total / degrees)) if degrees > 0 else assumed_noise


def compute_standard_deviations(
    problem: TrackingProblem, q: Array, sigma: float, threads: int
) -> Array:
    """Return the standard deviation of every dof in every frame [rad or m], (T, nv).

    No more than that of an angle of which nothing is known. Dofs at a limit have none.
    """
    sigma = max(sigma, MIN_NOISE)
    sd = np.zeros((len(q), problem.skeleton.nv))
    prior = np.full(sd.shape[1], sigma**2 / UNKNOWN_SD**2)

    def compute_chunk(frames: IntArray) -> None:
        buffers = problem.buffers
        chunk_sd = np.empty((len(frames), sd.shape[1]))
        kernel.estimate_standard_deviations(
            problem.skeleton.tree,
            buffers.goals,
            problem.frame_problem.box,
            problem.targets,
            prior,
            np.full(len(frames), sigma),
            frames,
            q[frames],
            np.zeros_like(buffers.workspace.H),
            chunk_sd,
            buffers.descent_state,
            buffers.workspace,
        )
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
