"""Noise of the markers, and what it does to the dofs of every frame."""

from __future__ import annotations

import numpy as np

from exactik.kernels.recording.error_bars import check_convexity, estimate_standard_deviations
from exactik.tracking._passes import run_in_threads
from exactik.tracking._recording import TrackingProblem
from exactik.typing import Array, BoolArray, IntArray

__all__ = ["ANYWHERE", "are_minima", "compute_standard_deviations", "estimate_noise"]


ASSUMED = 0.002  # [m] where residuals do not tell
ANYWHERE = np.pi / np.sqrt(3.0)  # [rad or m] standard deviation of what nothing determines
FLAT = 1e-7  # share of the curvature that counts as none
AT_ONCE = 512


def estimate_noise(errors: Array, nv: int) -> float:
    """Return the standard deviation of the markers along each axis [m] that residuals speak of.

    `ASSUMED` where frames have no more coordinates of markers than dofs.

    Args:
        errors: distance of every marker from its place [m], (T, M), not a number where missing.
        nv: number of dofs that were fitted to each frame.
    """
    total, rows = 0.0, 0
    for at in range(0, len(errors), AT_ONCE):
        own = errors[at : at + AT_ONCE]
        more = 3 * np.isfinite(own).sum(axis=1) - nv
        rows += int(np.maximum(more, 0).sum())
        total += float(np.nansum(own[more > 0] ** 2))
    return float(np.sqrt(total / rows)) if rows > 0 else ASSUMED


def compute_standard_deviations(
    recording: TrackingProblem, q: Array, sigma: float, threads: int
) -> Array:
    """Return the standard deviation of every dof in every frame [rad or m], (T, nv).

    No more than that of an angle of which nothing is known. Dofs at a limit have none.
    """
    sigma = max(sigma, 1e-6)  # what fits exactly still has rounding
    sd = np.zeros((len(q), recording.skeleton.nv))
    prior = np.full(sd.shape[1], sigma**2 / ANYWHERE**2)

    def work(part: IntArray) -> None:
        scratch = recording.buffers
        out, own = np.empty((len(part), sd.shape[1])), np.full(len(part), sigma)
        B = np.zeros_like(scratch.workspace.H)
        estimate_standard_deviations(
            *(
                recording.skeleton.tree,
                scratch.goals,
                recording.frame_problem.box,
                recording.targets,
            ),
            *(prior, own, part, q[part], B, out, scratch.descent_state, scratch.workspace),
        )
        sd[part] = np.minimum(out, ANYWHERE)

    run_in_threads(threads, work, _parts(len(q)))
    return sd


def are_minima(recording: TrackingProblem, q: Array, which: IntArray | None = None) -> BoolArray:
    """Return whether the exact Hessian of the free dofs has no negative curvature, (n,).

    Of all frames, or of frames `which`, (n,), at poses q, (n, nq).
    """
    which = np.arange(len(q)) if which is None else which
    found, scratch = np.zeros(len(q)), recording.buffers
    check_convexity(
        *(
            recording.skeleton.tree,
            scratch.goals,
            recording.frame_problem.box,
            recording.targets,
            FLAT,
        ),
        *(which, q, found, scratch.descent_state, scratch.workspace),
    )
    return found != 0.0


def _parts(count: int) -> list[IntArray]:
    return [np.arange(at, min(at + AT_ONCE, count)) for at in range(0, count, AT_ONCE)]
