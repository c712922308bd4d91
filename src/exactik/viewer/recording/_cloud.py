"""Where the markers of a recording are, how large what they are on is, and where it goes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.motion import Markers, choose_even_frames
from exactik.typing import Array, BoolArray
from exactik.viewer.page import FigureBox, find_floor

__all__ = ["CloudPath", "measure_cloud"]

KNOTS_PER_S = 2.0  # of the way of the cloud: steps of a gait, two a second, do not shake the view
MAX_KNOTS = 2000
NEAR_SHARE = 0.9  # of the markers, which tell the size; the rest may be strays far away
REACH_OF_RADIUS = 1.45
"""Reach of a figure over the distance from its middle within which 0.9 of its markers are: 1.45 m
over 0.99 m of the built-in human at rest. Markers alone are so seen from as far as a figure."""
LOW_SHARE = 0.02  # of the markers that may be below the floor: reflections are


class CloudPath(NamedTuple):
    """The way of the middle of the markers.

    Attributes:
        box: around the markers where the recording begins.
        frames: knots, (n,).
        middles: of the markers there [m, world], (n, 3).
        distance: farthest from the first knot, along the floor [m].
    """

    box: FigureBox
    frames: Array
    middles: Array
    distance: float

    def middle(self, frame: float) -> Array:
        """Return the middle at a frame [m, world], (3,); straight between knots."""
        return np.array([np.interp(frame, self.frames, column) for column in self.middles.T])


def measure_cloud(markers: Markers, unnamed: BoolArray) -> CloudPath:
    """Return where markers are, how large what they are on is, and where it goes.

    Medians decide, so that strays do not. Markers without a name count where none has one.

    Args:
        markers: z up; one is seen in one frame at least.
        unnamed: markers without a name of their own, (M,).
    """
    seen = np.asarray(np.isfinite(markers.positions).all(axis=2))
    named = seen & ~unnamed
    counted = named if named.any() else seen
    frames = np.flatnonzero(counted.any(axis=1))
    at_most = int(np.clip(KNOTS_PER_S * len(markers) / markers.rate, 1, MAX_KNOTS))
    knots = frames[choose_even_frames(len(frames), at_most)]
    middles, radii, lows = np.empty((len(knots), 3)), np.empty(len(knots)), np.empty(len(knots))
    for n, t in enumerate(knots):
        places = markers.positions[t, counted[t]]
        middles[n] = np.median(places, axis=0)
        radii[n] = np.quantile(np.linalg.norm(places - middles[n], axis=1), NEAR_SHARE)
        lows[n] = np.quantile(places[:, 2], LOW_SHARE)
    size = REACH_OF_RADIUS * float(np.median(radii))
    size = size if size > 0.0 else 1.0  # a single marker
    box = FigureBox(middle=middles[0], size=size, floor=find_floor(float(np.median(lows)), size))
    distance = float(np.linalg.norm((middles - middles[0])[:, :2], axis=1).max())
    return CloudPath(box=box, frames=knots.astype(float), middles=middles, distance=distance)
