"""Frames in which labels are sought from nothing."""

from __future__ import annotations

import numpy as np

from exactik.errors import UsageError
from exactik.model.motion import Markers, choose_even_frames
from exactik.typing import IntArray

MIN_POINTS = 6  # in a frame: of fewer no shape is told
MIN_SEEN_SHARE = 0.8  # of the most points that any frame has, which a frame must have


def choose_seed_frames(markers: Markers, count: int) -> IntArray:
    """Return frames, evenly spread, that have most of the points that any frame has, (n,)."""
    seen = np.isfinite(markers.positions).all(axis=2).sum(axis=1)
    most = int(seen.max(initial=0))
    if most < MIN_POINTS:
        raise UsageError(
            f"no frame of the recording has {MIN_POINTS} points; labels by shape need as many"
        )
    good = np.flatnonzero(seen >= max(MIN_POINTS, MIN_SEEN_SHARE * most))
    return good[choose_even_frames(len(good), count)]
