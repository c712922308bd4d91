"""Markers that are far from the figure for a while: reflections, lost and wrongly named markers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from exactik.motion import find_segments
from exactik.report._swaps import ExaminedSwap
from exactik.typing import IntArray

if TYPE_CHECKING:
    from exactik.tracking import Track

__all__ = ["FarMarker", "find_far_markers"]

FAR_ERROR_M, FAR_ERROR_RATIO = 0.02, 5.0  # [m] and times its usual error
FAR_BEYOND_P95_RATIO = 1.5  # times what 95 % of all markers keep within
MIN_FAR_FRAMES, JOIN_FAR_FRAMES = 3, 4  # frames of a stretch, and between two parts of one
MAX_FAR_SHARE = 0.25  # of the markers: where more are far off it is the pose that is wrong


class FarMarker(NamedTuple):
    """A marker that is far from its place.

    Attributes:
        name: of the marker.
        first: frame, counted from 0.
        last: frame.
        off: median distance from its place meanwhile [m].
        most: largest.
        usual: median distance over the recording.
        left_out: whether a robust loss gave it no weight.
    """

    name: str
    first: int
    last: int
    off: float
    most: float
    usual: float
    left_out: bool

    def facts(self) -> dict[str, Any]:
        """Return the same but for the frames, in millimetres."""
        lengths = {"off_mm": self.off, "max_mm": self.most, "usual_mm": self.usual}
        rounded = {key: round(1e3 * value, 3) for key, value in lengths.items()}
        return {"name": self.name, **rounded, "left_out": self.left_out}


def find_far_markers(track: Track, swaps: Sequence[ExaminedSwap] = ()) -> list[FarMarker]:
    """Return markers that are far off for some frames, the worst first.

    Args:
        track: the solved recording.
        swaps: what likely ones among them explain is left out.
    """
    errors = track.marker_errors
    seen = np.isfinite(errors)
    usual = np.array(
        [np.median(e[s]) if s.any() else 0.0 for e, s in zip(errors.T, seen.T, strict=True)]
    )
    most = FAR_BEYOND_P95_RATIO * float(np.percentile(errors[seen], 95.0)) if seen.any() else 0.0
    far = np.nan_to_num(errors) > np.maximum(max(FAR_ERROR_M, most), FAR_ERROR_RATIO * usual)
    far[far.sum(axis=1) > np.maximum(MAX_FAR_SHARE * seen.sum(axis=1), 2)] = False
    likely = [swap for swap in swaps if swap.verdict == "likely"]
    found = []
    for m, name in enumerate(track.names):
        for first, last in find_segments(far[:, m], join=JOIN_FAR_FRAMES):
            own = errors[first : last + 1, m][far[first : last + 1, m]]
            if len(own) < MIN_FAR_FRAMES or _is_explained(
                first, last, float(np.median(own)), likely
            ):
                continue
            left_out = _is_left_out(track, m, np.arange(first, last + 1)[far[first : last + 1, m]])
            sizes = (float(np.median(own)), float(own.max()), float(usual[m]))
            found.append(FarMarker(name, first, last, *sizes, left_out))
    return sorted(found, key=lambda each: -each.off * (each.last - each.first + 1))


def _is_left_out(track: Track, m: int, which: IntArray) -> bool:
    weights = track.marker_weights
    return weights is not None and bool(
        (weights[which, m] < track.options.assessment.ignored_weight).mean() > 0.5
    )


def _is_explained(first: int, last: int, off: float, swaps: Sequence[ExaminedSwap]) -> bool:
    """Return whether a swap covers most of a stretch: it pulls on the markers around, too."""
    for swap in swaps:
        common = min(last, swap.last) - max(first, swap.first) + 1
        if common > 0.5 * (last - first + 1) and off <= 1.5 * (swap.error or swap.distance):
            return True
    return False
