"""What is assumed of a subject before the markers are looked at."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.calibration.fitting._scaled_skeleton import ScaledSkeleton
from exactik.typing import Array

__all__ = ["WHOLE_SCALE_SD", "Prior"]

WHOLE_SCALE_SD = 0.2  # how far people and animals of one kind differ in size, in log scale


class Prior(NamedTuple):
    """What is assumed of the parameters before the markers are looked at.

    Attributes:
        scale_sd: of the log scale of each group from that of the whole figure.
        offset_sd: of each marker's point from its old one, which grows with its bone [m], (M,).
        sigma: of the markers from a figure that is right [m]; None: estimated from the residuals.
    """

    scale_sd: float
    offset_sd: Array
    sigma: float | None

    def precision(self, scaled: ScaledSkeleton) -> Array:
        """Return P, (n, n)."""
        groups, n = len(scaled.scale_groups), scaled.parameter_count
        P = np.zeros((n, n))
        # Scales are those of the whole figure times a share of each group's own, so that a bone
        # that no marker tells of grows with the rest.
        covariance = self.scale_sd**2 * np.eye(groups) + WHOLE_SCALE_SD**2
        P[:groups, :groups] = np.linalg.inv(covariance)
        points = np.repeat(self.offset_sd[scaled.movable] ** -2.0, 3)
        P[groups:, groups:] = np.diag(points)
        return P
