"""How near a solved recording is to the truth, where that is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exactik.model.motion import Motion
from exactik.recordings.tracking import Track

SDS_FOR_90_PERCENT = 1.645  # a normal distribution has 90 % within so many to both sides


@dataclass(frozen=True)
class TruthComparison:
    """How near a solved recording is to the truth."""

    joint_error: float  # mean distance of a joint from where it was [m]
    joint_error_95: float  # the same, below which 95 % are [m]
    angle_error: float  # median error of the angles that the markers determine [rad]
    within_band: float  # share of determined dofs whose truth lies within their 90 % band
    determined: float  # share of dofs that the markers determine, over all frames


def compare_with_truth(track: Track, truth: Motion) -> TruthComparison:
    """Compare a solved recording with the motion that its markers were made of."""
    skeleton, open_sd = track.skeleton, track.options.assessment.open_sd
    distances = np.linalg.norm(
        track.motion.forward().positions - truth.forward().positions, axis=2
    ).ravel()
    errors = np.abs(skeleton.difference(np.array(track.motion.q), np.array(truth.q)))
    # A dof on its limit has no error bar, and one without markers none that is meaningful.
    determined = ~track.undetermined & ~track.at_limits
    determined &= (track.sd > 0.0) & (track.sd < open_sd)
    angles = determined & skeleton.turns
    return TruthComparison(
        joint_error=float(distances.mean()),
        joint_error_95=float(np.percentile(distances, 95.0)),
        angle_error=float(np.median(errors[angles])),
        within_band=float((errors <= SDS_FOR_90_PERCENT * track.sd)[determined].mean()),
        determined=float(determined.mean()),
    )
