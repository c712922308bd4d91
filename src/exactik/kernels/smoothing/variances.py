"""Posterior variances of a smoothed motion, and of its accelerations.

In the coordinates of `coordinates.py` they are sums of squares: one with κ/h = ρ that never changes
has (σ²/h) g(ρ), and its second differences have (σ²/κ) (1 − g(ρ)), with

    g(ρ) = ∫ dω/2π  1 / (1 + ρ (2 − 2 cos ω)²) = Re 1/√(1 + 4i√ρ)

So frames are taken one by one, each as if it had the same neighbours without end.
"""

from __future__ import annotations

import math

import numpy as np

from exactik.compile import jit, jit_nogil
from exactik.kernels.linear.active_set import update_active_set
from exactik.kernels.linear.ltdl import AncestorPattern
from exactik.kernels.smoothing.accelerations import project
from exactik.kernels.smoothing.coordinates import factor_frame


@jit_nogil
def estimate_variances(tree, box, prior, damping, q, sequence, turn_sum, shift_sum, variance):
    """Write the posterior variance of every dof at poses q (T, nq), which were evaluated.

    Args:
        tree: the skeleton.
        box: limits.
        prior: weights of accelerations.
        damping: (nv,) is added to the curvature.
        q: poses.
        sequence: as `evaluate_sequence` left it, with GAUSS_NEWTON.
        turn_sum: (n + 1,) to which those of the accelerations are added, see `add_variances`.
        shift_sum: (nv,) the same of shifts.
        variance: (T, nv) is written, per σ².
    """
    pattern = AncestorPattern(tree.dof_order, tree.dof_parent, tree.dof_level)
    for t in range(q.shape[0]):
        active_set, g = sequence.active_set[t], sequence.g[t]
        update_active_set(box.coordinate, box.lower, box.upper, box.free, q[t], g, active_set)
        factor_frame(tree, pattern, prior, damping, t, sequence)
        add_variances(tree, prior, t, sequence, turn_sum, shift_sum, variance[t])


@jit
def add_variances(tree, prior, t, sequence, turn_sum, shift_sum, variance):
    """Add the posterior variances of the accelerations of frame t, which was factored last.

    Per σ²: to `turn_sum` (n + 1,) those of P a of the bones, to `shift_sum` (nv,) those of the dofs
    that shift, both per frame⁴. Those of the dofs themselves are written to `variance` (nv,).
    """
    of_place, of_change = sequence.variance[0], sequence.variance[1]
    for i in range(variance.shape[0]):
        curvature, stiffness = sequence.curvature[t, i], sequence.stiffness[t, i]
        norm = math.sqrt(1.0 + 16.0 * stiffness / curvature)
        gain = math.sqrt(0.5 * (norm + 1.0)) / norm
        free = sequence.active_set[t, i] == 0.0
        of_place[i] = gain / curvature if free else 0.0
        of_change[i] = (1.0 - gain) / stiffness if free and stiffness > 0.0 else 0.0
    for b in range(1, tree.parent.shape[0]):
        if prior.turn_count[b] > 0:
            turn, dof = sequence.bone_turn[b], np.int64(prior.last_dof[b])
            for a in range(np.int64(tree.dof_level[dof]), -1, -1):
                x, y, z = turn[0, a], turn[1, a], turn[2, a]
                px, py, pz = project(tree, prior, b, sequence.axes[t], 1.0, x, y, z)
                turn_sum[b] += (px * x + py * y + pz * z) * of_change[dof]
                dof = np.int64(tree.dof_parent[dof])
    for i in range(variance.shape[0]):
        dof, place, change = i, 0.0, 0.0
        for a in range(np.int64(tree.dof_level[i]), -1, -1):
            square = sequence.inverse[i, a] ** 2
            place += square * of_place[dof]
            change += square * of_change[dof]
            dof = np.int64(tree.dof_parent[dof])
        variance[i] = place
        if prior.shift_coordinate[i] >= 0:
            shift_sum[i] += change
