"""A solved recording beside the truth, which only a made one has."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exactik.synthetic._recorded import Recorded
from exactik.tracking import Track

__all__ = ["Judged", "judged"]

NINETY = 1.645  # standard deviations to both sides that hold 90 % of a normal distribution
KNOWN = 0.5  # [rad or m] standard deviation above which a dof is not determined


@dataclass(frozen=True)
class Judged:
    """How near a solved recording is to the truth.

    Attributes:
        joint_error: mean distance of a joint from where it was [m].
        joint_error_95: the same, below which 95 % are [m].
        angle_error: median error of the angles that the markers determine [rad].
        within_band: share of determined dofs whose truth lies within their 90 % band.
        determined: share of dofs that the markers determine, over all frames.
    """

    joint_error: float
    joint_error_95: float
    angle_error: float
    within_band: float
    determined: float


def judged(track: Track, recorded: Recorded) -> Judged:
    """Compare a solved recording with the truth that it was made of."""
    skeleton, truth = track.skeleton, recorded.truth
    away = np.linalg.norm(
        track.motion.forward().positions - truth.forward().positions, axis=2
    ).ravel()
    off = np.abs(skeleton.difference(np.array(track.motion.q), np.array(truth.q)))
    # A dof that rests on its limit has no band, one without markers none that means anything.
    known = ~track.undetermined & ~track.at_limits & (track.sd > 0.0) & (track.sd < KNOWN)
    angles = known & skeleton.turns
    return Judged(
        joint_error=float(away.mean()),
        joint_error_95=float(np.percentile(away, 95.0)),
        angle_error=float(np.median(off[angles])),
        within_band=float((off <= NINETY * track.sd)[known].mean()),
        determined=float(known.mean()),
    )
