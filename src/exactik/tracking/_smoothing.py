"""A whole sequence at once: markers and smoothness weighed against each other.

    min  Σ_t cost_t(q_t) + ½ Σ_t Σ_i λ_i (q_{t−1} − 2 q_t + q_{t+1})_i²      within the limits

by Newton's method with exact curvature, Gauss–Newton's in frames where the exact one is not convex.
The Hessian is one block a frame, with neighbours coupled
dof by dof: banded, factored in one go. λ_i is set so that an ordinary motion of dof i is halved at
a cut-off frequency f (docs/maths.md §15):

    λ_i = h_i / (2 sin(π f / rate))⁴        h_i: curvature of the markers along dof i

Long recordings are solved in parts that overlap; what a part does not see has died away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from exactik.errors import ModelError
from exactik.kernels.calculus.sums import EXACT, GAUSS_NEWTON, VALUE
from exactik.kernels.descent.results import RESULT_COST
from exactik.kernels.recording.frames import QUADRATIC
from exactik.kernels.recording.sequence import evaluate_frames
from exactik.tracking._error_bars import are_minima
from exactik.tracking._passes import FrameSolutions, run_in_threads
from exactik.tracking._recording import TrackingProblem
from exactik.typing import Array, IntArray

__all__ = ["checked_cutoff", "smooth_path"]


PART, OVERLAP = 1000, 50  # frames
STEPS = 12
ENOUGH = 2e-3  # share of the sum below which a step gains nothing more
HALVINGS = 6
DAMPING = 1e-3  # of each dof's curvature: keeps steps along what markers leave open short


def checked_cutoff(cutoff: float | None, rate: float) -> float | None:
    """Return a cut-off frequency [Hz] that frames at this rate [Hz] can show, or None."""
    if cutoff is not None and not 0.0 < cutoff < 0.5 * rate:
        raise ModelError(
            f"smooth is {cutoff!r}; it must be a frequency between 0 and {rate / 2:g} Hz"
        )
    return cutoff


def smooth_path(
    recording: TrackingProblem,
    path: FrameSolutions,
    cutoff: float,
    info: Array,
    threads: int,
    done: Callable[[int], None],
) -> FrameSolutions:
    """Return the smoothed path.

    Args:
        recording: what the frames ask.
        path: to start from.
        cutoff: frequency [Hz] above which motion is suppressed.
        info: what markers say about dofs, (M, nv), see `information`.
        threads: how many.
        done: is told of frames that are done.
    """
    if len(path.q) < 3:
        return path
    # Weights of a robust loss stay as they were found.
    asked = recording.with_targets(loss=np.array([QUADRATIC, 1.0, 1.0]))
    soft = np.maximum(info.sum(axis=0), 1e-9 * float(info.sum(axis=0).max(initial=1.0)))
    stiff = soft / (2.0 * np.sin(np.pi * cutoff / recording.rate)) ** 4
    out = path.copy()

    def solve(first: int) -> None:
        last = min(first + PART, len(path.q))
        low, high = max(first - OVERLAP, 0), min(last + OVERLAP, len(path.q))
        q, cost = Sequence(asked, np.arange(low, high), stiff, soft).solve(path.q[low:high])
        out.q[first:last] = q[first - low : last - low]
        out.outcomes[first:last, RESULT_COST] = cost[first - low : last - low]
        done(last - first)

    run_in_threads(threads, solve, range(0, len(path.q), PART))
    return out


@dataclass(eq=False)
class Sequence:
    """Frames to be solved together.

    Attributes:
        recording: what they ask.
        which: the frames, (n,).
        stiff: λ, (nv,).
        soft: h, (nv,).
    """

    recording: TrackingProblem
    which: IntArray
    stiff: Array
    soft: Array

    def solve(self, q: Array) -> tuple[Array, Array]:
        """Return the poses, (n, nq), and what the markers of each frame cost, (n,)."""
        q, skeleton = q.copy(), self.recording.skeleton
        total, cost, g, H = self.evaluate(q, EXACT)
        for _ in range(STEPS):
            bent = ~are_minima(self.recording, q, self.which)
            if bent.any():
                H[bent] = replace(self, which=self.which[bent]).evaluate(q[bent], GAUSS_NEWTON)[3]
            step = self.step(q, g, H)
            for halving in range(HALVINGS):
                trial = self.clip(skeleton.integrate(q, 0.5**halving * step))
                if self.evaluate(trial, VALUE)[0] < total:
                    break
            else:
                break
            before = total
            q = trial
            total, cost, g, H = self.evaluate(q, EXACT)
            if before - total < ENOUGH * before:
                break
        return q, cost

    def clip(self, q: Array) -> Array:
        """Return the poses moved into the limits."""
        box = self.recording.frame_problem.box
        inside = box.coordinate >= 0
        own = box.coordinate[inside]
        q[:, own] = np.clip(q[:, own], box.lower[inside], box.upper[inside])
        return q

    def evaluate(self, q: Array, order: int) -> tuple[float, Array, Array, Array]:
        """Return the sum to minimise, cost (n,), gradient (n, nv), curvature (n, nv, width)."""
        skeleton, scratch = self.recording.skeleton, self.recording.buffers
        rows = scratch.workspace.H.shape if order > VALUE else (0, 0)
        cost, g = np.empty(len(q)), np.zeros((len(q), skeleton.nv))
        H = np.empty((len(q), *rows))
        evaluate_frames(
            *(skeleton.tree, scratch.goals, self.recording.targets, order, self.which, q),
            *(cost, g, H, scratch.workspace),
        )
        bend = np.diff(skeleton.difference(q[1:], q[:-1]), axis=0)
        push = self.stiff * bend
        total = float(cost.sum() + 0.5 * (push * bend).sum())
        g[:-2] += push
        g[1:-1] -= 2.0 * push
        g[2:] += push
        return total, cost, g, H

    def step(self, q: Array, g: Array, H: Array) -> Array:
        """Return Newton's step, (n, nv)."""
        from scipy.linalg import cho_solve_banded, cholesky_banded  # heavy; not to import exactik

        box, nv = self.recording.frame_problem.box, g.shape[1]
        coordinates = q[:, np.maximum(box.coordinate, 0)]
        pushed = (coordinates <= box.lower) & (g > 0.0) | (coordinates >= box.upper) & (g < 0.0)
        held = ((pushed & (box.coordinate >= 0)) | (box.free == 0.0)).ravel()
        band = self.band(H)
        for k in range(len(band)):
            # Rows and columns of dofs that are held; the last k places of row k are none.
            count = band.shape[1] - k
            band[k, :count] *= ~(held[:count] | held[k:])
        band[0, held] = 1.0
        factor = cholesky_banded(band, overwrite_ab=True, lower=True, check_finite=False)
        right = np.where(held, 0.0, -g.ravel())
        return cho_solve_banded((factor, True), right, check_finite=False).reshape(-1, nv)

    def band(self, H: Array) -> Array:
        """Return the Hessian in lower banded form, (2 nv + 1, n nv)."""
        count, nv = len(H), H.shape[1]
        band = np.zeros((2 * nv + 1, count, nv))
        dof, level, above = self.recording.skeleton.ancestor_pairs
        low, high = np.minimum(dof, above), np.maximum(dof, above)
        band[high - low, :, low] = H[:, dof, level].T
        # Second differences, squared: 1 −4 6 −4 1, less at the ends.
        second = np.diff(np.eye(count), 2, axis=0) if count < 5 else None
        if second is not None:
            squared = second.T @ second
            rows = [np.append(np.diag(squared, -k), np.zeros(k)) for k in range(3)]
        else:
            rows = [np.full(count, value) for value in (6.0, -4.0, 1.0)]
            rows[0][[0, -1]], rows[0][[1, -2]] = 1.0, 5.0
            rows[1][[0, -2]], rows[1][-1], rows[2][-2:] = -2.0, 0.0, 0.0
        for k, row in enumerate(rows):
            band[k * nv] += row[:, None] * self.stiff
        band[0] += DAMPING * self.soft
        return band.reshape(2 * nv + 1, count * nv)
