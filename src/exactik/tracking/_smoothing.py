"""A whole sequence at once: markers and smoothness weighed against each other.

    min  Σ_t cost_t(q_t) + ½ Σ_t Σ_i λ_i (q_{t−1} − 2 q_t + q_{t+1})_i²      within the limits

by Newton's method with exact curvature, Gauss–Newton's in frames where the exact one is not convex.
The Hessian is one block a frame, with neighbours coupled dof by dof: banded, factored in one go.
λ_i is set so that an ordinary motion of dof i is halved at a cut-off frequency f (docs/maths.md
§15):

    λ_i = h_i / (2 sin(π f / rate))⁴        h_i: curvature of the markers along dof i

Long recordings are solved in chunks that overlap; what a chunk does not see has died away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from exactik.errors import UsageError
from exactik.kernels.calculus.sums import EXACT, GAUSS_NEWTON, VALUE
from exactik.kernels.recording.frames import QUADRATIC
from exactik.kernels.recording.sequence import evaluate_frames
from exactik.tracking._assessment import are_minima
from exactik.tracking._frame_solver import FrameSolutions, TrackingRun, run_in_threads
from exactik.tracking._options import SmoothingOptions
from exactik.tracking._problem import TrackingProblem
from exactik.typing import Array, IntArray

__all__ = ["SequenceProblem", "require_cutoff", "smooth_path"]


def require_cutoff(cutoff: float | None, rate: float) -> None:
    """Raise unless frames at this rate [Hz] can show a cut-off frequency [Hz], or it is None."""
    if cutoff is not None and not 0.0 < cutoff < 0.5 * rate:
        raise UsageError(
            f"smooth is {cutoff!r}; it must be a frequency between 0 and {rate / 2:g} Hz"
        )


def smooth_path(
    run: TrackingRun,
    path: FrameSolutions,
    cutoff: float,
    information: Array,
    report_frames: Callable[[int], None],
) -> FrameSolutions:
    """Return the smoothed path.

    Args:
        run: problem and options.
        path: to start from.
        cutoff: frequency [Hz] above which motion is suppressed.
        information: what markers say about dofs, (M, nv), see `compute_marker_information`.
        report_frames: is called with the number of frames solved since its last call.
    """
    if len(path.q) < 3:
        return path
    options = run.options.smoothing
    # Weights of a robust loss stay as they were found.
    problem = run.problem.with_targets(loss=np.array([QUADRATIC, 1.0, 1.0]))
    curvature = information.sum(axis=0)
    curvature = np.maximum(curvature, 1e-9 * float(curvature.max(initial=1.0)))
    stiffness = curvature / (2.0 * np.sin(np.pi * cutoff / problem.rate)) ** 4
    smoothed = path.copy()

    def solve_chunk(first: int) -> None:
        end = min(first + options.chunk_frames, len(path.q))
        low = max(first - options.overlap_frames, 0)
        high = min(end + options.overlap_frames, len(path.q))
        sequence = SequenceProblem(
            problem=problem,
            frames=np.arange(low, high),
            stiffness=stiffness,
            curvature=curvature,
            options=options,
        )
        q, cost = sequence.solve(path.q[low:high])
        smoothed.q[first:end] = q[first - low : end - low]
        smoothed.cost[first:end] = cost[first - low : end - low]
        report_frames(end - first)

    run_in_threads(run.threads, solve_chunk, range(0, len(path.q), options.chunk_frames))
    return smoothed


class Evaluation(NamedTuple):
    """A sequence at some poses.

    Attributes:
        total: the sum to minimise.
        cost: of the markers of each frame, (n,).
        g: gradient of the sum, (n, nv).
        H: curvature of each frame's cost by ancestor rows, (n, nv, width).
    """

    total: float
    cost: Array
    g: Array
    H: Array


@dataclass(eq=False)
class SequenceProblem:
    """Frames to be solved together.

    Attributes:
        problem: targets of all frames.
        frames: (n,).
        stiffness: λ, (nv,).
        curvature: h, (nv,).
        options: of smoothing.
    """

    problem: TrackingProblem
    frames: IntArray
    stiffness: Array
    curvature: Array
    options: SmoothingOptions

    def solve(self, q: Array) -> tuple[Array, Array]:
        """Return the poses, (n, nq), and what the markers of each frame cost, (n,)."""
        q, skeleton = q.copy(), self.problem.skeleton
        current = self.evaluate(q, EXACT)
        for _ in range(self.options.max_steps):
            concave = ~are_minima(self.problem, q, self.frames)
            if concave.any():
                concave_frames = replace(self, frames=self.frames[concave])
                current.H[concave] = concave_frames.evaluate(q[concave], GAUSS_NEWTON).H
            step = self.compute_step(q, current.g, current.H)
            for halvings in range(self.options.max_halvings):
                trial = self.clip(skeleton.integrate(q, 0.5**halvings * step))
                if self.evaluate(trial, VALUE).total < current.total:
                    break
            else:
                break
            total_before = current.total
            q = trial
            current = self.evaluate(q, EXACT)
            if total_before - current.total < self.options.min_gain * total_before:
                break
        return q, current.cost

    def clip(self, q: Array) -> Array:
        """Return the poses moved into the limits."""
        box = self.problem.frame_problem.box
        limited = box.coordinate >= 0
        columns = box.coordinate[limited]
        q[:, columns] = np.clip(q[:, columns], box.lower[limited], box.upper[limited])
        return q

    def evaluate(self, q: Array, order: int) -> Evaluation:
        """Return the sum to minimise at poses q, (n, nq), with derivatives up to `order`."""
        skeleton, buffers = self.problem.skeleton, self.problem.buffers
        shape = buffers.workspace.H.shape if order > VALUE else (0, 0)
        cost, g = np.empty(len(q)), np.zeros((len(q), skeleton.nv))
        H = np.empty((len(q), *shape))
        evaluate_frames(
            skeleton.tree,
            buffers.goals,
            self.problem.targets,
            order,
            self.frames,
            q,
            cost,
            g,
            H,
            buffers.workspace,
        )
        acceleration = np.diff(skeleton.difference(q[1:], q[:-1]), axis=0)
        force = self.stiffness * acceleration
        total = float(cost.sum() + 0.5 * (force * acceleration).sum())
        g[:-2] += force
        g[1:-1] -= 2.0 * force
        g[2:] += force
        return Evaluation(total=total, cost=cost, g=g, H=H)

    def compute_step(self, q: Array, g: Array, H: Array) -> Array:
        """Return Newton's step, (n, nv)."""
        from scipy.linalg import cho_solve_banded, cholesky_banded  # slow to import

        box, nv = self.problem.frame_problem.box, g.shape[1]
        coordinates = q[:, np.maximum(box.coordinate, 0)]
        pushed = (coordinates <= box.lower) & (g > 0.0) | (coordinates >= box.upper) & (g < 0.0)
        active = ((pushed & (box.coordinate >= 0)) | (box.free == 0.0)).ravel()
        band = self.assemble_band(H)
        for k in range(len(band)):
            # Rows and columns of dofs in the active set; the last k entries of row k are none.
            count = band.shape[1] - k
            band[k, :count] *= ~(active[:count] | active[k:])
        band[0, active] = 1.0
        factor = cholesky_banded(band, overwrite_ab=True, lower=True, check_finite=False)
        right = np.where(active, 0.0, -g.ravel())
        return cho_solve_banded((factor, True), right, check_finite=False).reshape(-1, nv)

    def assemble_band(self, H: Array) -> Array:
        """Return the Hessian in lower banded form, (2 nv + 1, n nv)."""
        count, nv = len(H), H.shape[1]
        band = np.zeros((2 * nv + 1, count, nv))
        dof, level, above = self.problem.skeleton.ancestor_pairs
        low, high = np.minimum(dof, above), np.maximum(dof, above)
        band[high - low, :, low] = H[:, dof, level].T
        # Second differences, squared: 1 −4 6 −4 1, less at the ends.
        if count < 5:
            second = np.diff(np.eye(count), 2, axis=0)
            squared = second.T @ second
            rows = [np.append(np.diag(squared, -k), np.zeros(k)) for k in range(3)]
        else:
            rows = [np.full(count, value) for value in (6.0, -4.0, 1.0)]
            rows[0][[0, -1]], rows[0][[1, -2]] = 1.0, 5.0
            rows[1][[0, -2]], rows[1][-1], rows[2][-2:] = -2.0, 0.0, 0.0
        for k, row in enumerate(rows):
            band[k * nv] += row[:, None] * self.stiffness
        band[0] += self.options.damping * self.curvature
        return band.reshape(2 * nv + 1, count * nv)
