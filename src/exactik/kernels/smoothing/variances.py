"""Posterior variances of a smoothed motion.

In the coordinates of `coordinates.py` they are sums of squares: one with κ/h = ρ that never changes
has (σ²/h) g(ρ) with

    g(ρ) = ∫ dω/2π  1 / (1 + ρ (2 − 2 cos ω)²) = Re 1/√(1 + 4i√ρ)

So frames are taken one by one, each as if it had the same neighbours without end.
"""

from __future__ import annotations

import math

import numpy as np

from exactik.compile import jit_nogil
from exactik.kernels.linear.active_set import update_active_set
from exactik.kernels.linear.ltdl import AncestorPattern
from exactik.kernels.smoothing.coordinates import factor_frame


@jit_nogil
def estimate_variances(tree, box, prior, damping, q, sequence, variance):
    """Write the posterior variance of every dof at poses q (T, nq), which were evaluated.

    Args:
        tree: the skeleton.
        box: limits.
        prior: weights of accelerations.
        damping: (nv,) is added to the curvature.
        q: poses.
        sequence: as `evaluate_sequence` left it, with GAUSS_NEWTON.
        variance: (T, nv) is written, per σ².
    """
    pattern = AncestorPattern(tree.dof_order, tree.dof_parent, tree.dof_level)
    for t in range(q.shape[0]):
        active_set, g = sequence.active_set[t], sequence.g[t]
        update_active_set(box.coordinate, box.lower, box.upper, box.free, q[t], g, active_set)
        factor_frame(tree, pattern, prior, damping, t, sequence)
        of_place = sequence.variance
        for i in range(variance.shape[1]):
            curvature, stiffness = sequence.curvature[t, i], sequence.stiffness[t, i]
            norm = math.sqrt(1.0 + 16.0 * stiffness / curvature)
            gain = math.sqrt(0.5 * (norm + 1.0)) / norm
            of_place[i] = gain / curvature if active_set[i] == 0.0 else 0.0
        for i in range(variance.shape[1]):
            dof, place = i, 0.0
            for a in range(np.int64(tree.dof_level[i]), -1, -1):
                place += sequence.inverse[i, a] ** 2 * of_place[dof]
                dof = np.int64(tree.dof_parent[dof])
            variance[t, i] = place
