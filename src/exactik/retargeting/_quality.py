"""A retargeting in a few numbers, each beside what is in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from exactik.retargeting._result import MAX_CROSSING, MAX_HAND_ERROR, MAX_SLIDE

if TYPE_CHECKING:
    from exactik.retargeting._result import Retargeting

LIMIT_TOLERANCE = 1e-6  # [rad or m] from a limit at which a coordinate touches it
ALLOWED: Mapping[str, float] = {
    "slide_mm": 1e3 * MAX_SLIDE,
    "wrist_percent": 100.0 * MAX_HAND_ERROR,
    "speed_percent": 100.0,
    "cross_mm": 1e3 * MAX_CROSSING,
    "jumps": 0.0,
}
"""Largest values that are in order; the other figures have none."""


class ClipQuality(NamedTuple):
    """How a motion was taken over."""

    slide_mm: float  # largest slide of a standing foot [mm]
    # Largest distance of a wrist from its place [% of the arm], beyond what the body is in the way
    wrist_percent: float
    limit_percent: float  # frames in which a joint is at its limit [%]
    speed_percent: float  # of the fastest hinge, beside what its motor does [%]
    cross_mm: float  # how deep shapes of a robot cross at most [mm]
    jumps: int  # how often a limb or the trunk turns as the source's does not

    @property
    def faults(self) -> tuple[str, ...]:
        """Figures beyond what is in order."""
        return tuple(name for name, most in ALLOWED.items() if getattr(self, name) > most)

    @property
    def worst(self) -> float:
        """The largest figure in units of what is in order; a jump counts as one beyond it."""
        shares = [getattr(self, name) / most for name, most in ALLOWED.items() if most > 0.0]
        return float(max(*shares, 1.0 + self.jumps if self.jumps > 0 else 0.0))


def measure_quality(result: Retargeting) -> ClipQuality:
    """Return the figures of a result."""
    skeleton = result.motion.skeleton
    limited = skeleton.plain_q >= 0
    q = result.motion.q[:, skeleton.plain_q[limited]]
    room = np.minimum(q - skeleton.lower[limited], skeleton.upper[limited] - q)
    return ClipQuality(
        slide_mm=1e3 * float(result.foot_slides.max(initial=0.0)),
        wrist_percent=100.0 * max(float(errors.max()) for errors in result.hand_misses.values()),
        limit_percent=100.0 * float((room <= LIMIT_TOLERANCE).any(axis=1).mean()),
        speed_percent=100.0 * max((hinge.share for hinge in result.hinge_speeds), default=0.0),
        cross_mm=1e3 * max(0.0, -float(result.crossings.gaps.min(initial=0.0))),
        jumps=sum(map(len, result.jumps.values())),
    )
