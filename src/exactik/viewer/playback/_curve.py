"""The error of every frame as a curve under the timeline, with a dot where the motion is."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from exactik.motion import find_segments
from exactik.report import Bins, round_axis_end
from exactik.typing import Array
from exactik.viewer.playback._footage import Footage

__all__ = ["ErrorCurve", "pieces_of"]


POINTS = 240  # a frame that stands out is in one of them, whatever their number
PIECES = 6  # of a curve with gaps
WORST, MEAN, HERE = "#cc50a0", "#009e73", "#222222"


def pieces_of(values: Array, most: int = PIECES) -> list[Array]:
    """Return a curve in pieces between its longest gaps; each is NaN outside.

    The plot draws straight through what is not a number, so that a gap is the space between two
    curves.

    Args:
        values: (n,), not a number in gaps.
        most: number of pieces, at most; the shortest gaps are drawn through.
    """
    gaps = [
        run for run in find_segments(np.isnan(values)) if run[0] > 0 and run[1] < len(values) - 1
    ]
    longest = sorted(gaps, key=lambda run: run[0] - run[1])[: most - 1]
    edges = [0, *sorted(first for first, _ in longest), len(values)]
    pieces = []
    for first, end in pairwise(edges):
        piece = np.full(len(values), np.nan)
        piece[first:end] = values[first:end]
        pieces.append(piece)
    return pieces


class ErrorCurve:
    """Mean and largest marker error over time, in mm."""

    def __init__(self, server: Any, footage: Footage):
        """Add the plot."""
        self._bins = Bins.of(len(footage), POINTS)
        mean, most = (1e3 * self._bins.most(values) for values in footage.frame_errors)
        self._times, self._most = self._bins.edges / footage.motion.rate, most
        curves = [(WORST, 1, piece) for piece in pieces_of(most)]
        curves += [(MEAN, 2, piece) for piece in pieces_of(mean)]
        self._curves = [piece for _, _, piece in curves]
        self._shown = 0
        series = [{"stroke": stroke, "width": width} for stroke, width, _ in curves]
        dot = {"stroke": HERE, "points": {"show": True, "size": 9, "fill": HERE}}
        top = round_axis_end(float(np.nanmax(most))) if np.isfinite(most).any() else 1.0
        self._plot = server.gui.add_uplot(
            *(self.data(), ({"label": "s"}, *series, dot)),
            scales={"x": {"time": False}, "y": {"range": (0.0, top)}},
            axes=({"size": 28}, {"size": 38}),
            legend={"show": False},
            padding=(8, 20, 0, 0),
            height=96,
        )

    def data(self) -> tuple[Array, ...]:
        """Return times [s], pieces of the curves [mm], and the dot."""
        here = np.full(len(self._times), np.nan)
        here[self._shown] = np.nan_to_num(self._most[self._shown])
        return self._times, *self._curves, here

    def show(self, frame: int) -> None:
        """Move the dot to a frame, if it moves."""
        k = int(np.searchsorted(self._bins.edges, frame, side="right")) - 1
        if k != self._shown:
            self._shown = k
            self._plot.data = self.data()
