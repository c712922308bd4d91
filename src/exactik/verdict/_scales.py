"""The proportions of a fitted figure against those that people have."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from exactik.calibration import compare_with_anthropometry
from exactik.model import Skeleton

__all__ = ["SegmentDeviation", "find_deviations", "is_person", "measure_stature"]


class SegmentDeviation(NamedTuple):
    """How far the length of a segment is from what adults of that stature have.

    Attributes:
        name: "left thigh", "trunk".
        ratio: of its length to the usual one.
        z: how many standard deviations of adults that is.
    """

    name: str
    ratio: float
    z: float


def is_person(skeleton: Skeleton) -> bool:
    """Whether a figure has the bones of a person, so that it has a stature."""
    return bool(np.isfinite(compare_with_anthropometry(skeleton).stature))


def measure_stature(skeleton: Skeleton) -> float:
    """Return the stature of a figure [m]: what its bones suggest, else its longest extent."""
    stature = compare_with_anthropometry(skeleton).stature
    if np.isfinite(stature):
        return float(stature)
    pose = skeleton.forward(skeleton.neutral())
    points = np.concatenate([pose.positions, pose.markers])
    return float(np.ptp(points, axis=0).max())


def find_deviations(
    skeleton: Skeleton, instrumented: Collection[str]
) -> tuple[SegmentDeviation, ...]:
    """Return how far the segments that markers tell of are from what adults have, the worst first.

    Args:
        skeleton: the figure as fitted.
        instrumented: bones with markers on them or beyond them.
    """
    segments = compare_with_anthropometry(skeleton).segments
    known = [
        SegmentDeviation(segment.name, segment.share / segment.expected, segment.z)
        for segment in segments
        if segment.bone in instrumented
    ]
    return tuple(sorted(known, key=lambda segment: -abs(segment.z)))
