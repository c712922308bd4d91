"""What is wrong with a fitted figure, and lasts: how far it turns the joints of each pose."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.model import Skeleton
from exactik.typing import Array, BoolArray

CHUNK_FRAMES = 4096  # whose distances from the poses are in memory at once
NEARNESS = 1e-2  # [rad] rms of the dofs within which poses count as the same


class FigureErrors(NamedTuple):
    """Errors of the dofs that come of the figure, at some poses that differ as much as can be.

    Attributes:
        skeleton: the figure.
        q: the poses, (F, nq).
        covariance: of the dofs of each, (F, nv, nv) [rad² or m²].
    """

    skeleton: Skeleton
    q: Array
    covariance: Array

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
        for first in range(0, len(q), CHUNK_FRAMES):
            there = self._place(q[first : first + CHUNK_FRAMES], inner)
            squares = (there**2).sum(axis=1)[:, None] + (here**2).sum(axis=1)
            squares = np.maximum(squares - 2.0 * there @ here.T, 0.0) / max(here.shape[1], 1)
            weights = (squares + NEARNESS**2) ** -2
            weights /= weights.sum(axis=1, keepdims=True)
            result[first : first + CHUNK_FRAMES] = weights @ values
        return result

    def _place(self, q: Array, inner: BoolArray) -> Array:
        """Return poses as rows in which distances mean something, from the first of `self.q`."""
        away = self.skeleton.difference(q, np.broadcast_to(self.q[0], q.shape))[:, inner]
        return np.arctan2(np.sin(away), np.cos(away))
