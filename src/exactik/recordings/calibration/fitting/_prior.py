"""What is assumed of a subject before the markers are looked at."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.recordings.calibration.fitting._scaled_skeleton import ScaledSkeleton
from exactik.typing import Array

WHOLE_SCALE_SD = 0.2  # how far people and animals of one kind differ in size, in log scale
# Bones of `human` whose size varies less than `scale_sd` says, and by which share of it. The
# distance of the hips follows that of its spines within 5 mm each (Harrington et al. 2007,
# J. Biomech. 40:595). Belly and belt under its markers move in step with the legs and would widen
# it by a quarter: 0.225 m between the hips of HDM05's subject, whose own skeleton has 0.185.
BONE_SCALE_SHARES = {"pelvis": 0.5}


class Prior(NamedTuple):
    """What is assumed of the parameters before the markers are looked at."""

    scale_sd: float  # of the log scale of each bone from that of the whole figure
    offset_sd: Array  # of each marker's point from its old one, which grows with its bone [m], (M,)
    # Of the markers from a figure that is right [m]; None: estimated from the residuals
    sigma: float | None

    def scale_sds(self, scaled: ScaledSkeleton) -> Array:
        """Return the standard deviation of each group's log scale from the whole figure's, (n,)."""
        shares = [
            np.mean([BONE_SCALE_SHARES.get(bone, 1.0) for bone in group])
            for group in scaled.scale_groups
        ]
        return self.scale_sd * np.array(shares, dtype=float)

    def precision(self, scaled: ScaledSkeleton) -> Array:
        """Return P, (n, n)."""
        groups, n = len(scaled.scale_groups), scaled.parameter_count
        P = np.zeros((n, n))
        # Scales are those of the whole figure times a share of each group's own, so that a bone
        # that no marker tells of grows with the rest.
        covariance = np.diag(self.scale_sds(scaled) ** 2) + WHOLE_SCALE_SD**2
        P[:groups, :groups] = np.linalg.inv(covariance)
        points = np.repeat(self.offset_sd[scaled.movable] ** -2.0, 3)
        P[groups:, groups:] = np.diag(points)
        return P
