"""Where the markers of a recording are, how large what they are on is, and where it goes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.model.motion import Markers, choose_even_frames
from exactik.studio.viewer.page.camera import FigureBox, find_floor
from exactik.typing import Array, BoolArray

KNOTS_PER_S = 2.0  # of the way of the cloud: steps of a gait, two a second, do not shake the view
MAX_KNOTS = 2000
INNER_SHARES = (0.05, 0.95)  # of the markers, along each axis, that tell the size; strays do not
REACH_OF_DIAGONAL = 0.75
"""Reach of a figure over the diagonal of the box of those markers: 1.45 m over 2.07 m of the
built-in human at rest, arms out, over 1.8 m with hanging arms. So markers are seen from as far away
as their figure."""
STRAY_SHARE = 0.5  # of that box, beyond it: a marker farther out is not to be in the picture


class CloudPath(NamedTuple):
    """The way of the middle of the markers."""

    # Around the markers where the recording begins; its points are those of all knots, as if the
    # middle stood where it begins
    box: FigureBox
    frames: Array  # knots, (n,)
    middles: Array  # of the markers there [m, world], (n, 3)
    distance: float  # farthest from the first knot, along the floor [m]

    def middle(self, frame: float) -> Array:
        """Return the middle at a frame [m, world], (3,); straight between knots."""
        return np.array([np.interp(frame, self.frames, column) for column in self.middles.T])


def measure_cloud(markers: Markers, measured: BoolArray) -> CloudPath:
    """Return where markers are, how large what they are on is, and where it goes.

    Computed points, and markers without a name, count where there is nothing else.

    Args:
        markers: z up; one is seen in one frame at least.
        measured: markers with a name of their own, (M,).
    """
    seen = np.asarray(np.isfinite(markers.positions).all(axis=2))
    named = seen & measured
    counted = named if named.any() else seen
    frames = np.flatnonzero(counted.any(axis=1))
    at_most = int(np.clip(KNOTS_PER_S * len(markers) / markers.rate, 1, MAX_KNOTS))
    knots = frames[choose_even_frames(len(frames), at_most)]
    boxes = np.array(
        [np.quantile(markers.positions[t, counted[t]], INNER_SHARES, axis=0) for t in knots]
    )
    middles, diagonals = boxes.mean(axis=1), np.linalg.norm(np.diff(boxes, axis=1)[:, 0], axis=1)
    size = REACH_OF_DIAGONAL * float(np.median(diagonals))
    size = size if size > 0.0 else 1.0  # a single marker
    floor = find_floor(float(np.median(boxes[:, 0, 2])), size)
    points = []
    for t, (low, high), middle in zip(knots, boxes, middles, strict=True):
        room = STRAY_SHARE * (high - low)
        places = markers.positions[t, counted[t]]
        inside = ((places >= low - room) & (places <= high + room)).all(axis=1)
        points.append(places[inside] - (middle - middles[0]) * (1.0, 1.0, 0.0))
    box = FigureBox(points=np.concatenate(points), middle=middles[0], size=size, floor=floor)
    distance = float(np.linalg.norm((middles - middles[0])[:, :2], axis=1).max())
    return CloudPath(box=box, frames=knots.astype(float), middles=middles, distance=distance)
