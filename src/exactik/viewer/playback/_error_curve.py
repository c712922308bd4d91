"""Plot of the marker errors over time, with a dot at the current frame."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactik.report import Bins, round_axis_end
from exactik.typing import Array
from exactik.viewer.page import split_at_gaps
from exactik.viewer.playback._data import PlaybackData

__all__ = ["ErrorCurve"]


MAX_POINTS = 240  # each shows the largest error of its frames
LARGEST_COLOUR, MEAN_COLOUR, DOT_COLOUR = "#cc50a0", "#009e73", "#222222"


class ErrorCurve:
    """Mean and largest marker error over time, in mm."""

    def __init__(self, server: Any, playback: PlaybackData):
        """Add the plot."""
        self._bins = Bins.of(len(playback), MAX_POINTS)
        mean, largest = (1e3 * self._bins.most(values) for values in playback.frame_errors)
        self._times, self._largest = self._bins.edges / playback.rate, largest
        curves = [(LARGEST_COLOUR, 1, piece) for piece in split_at_gaps(largest)]
        curves += [(MEAN_COLOUR, 2, piece) for piece in split_at_gaps(mean)]
        self._curves = [piece for _, _, piece in curves]
        self._shown = 0
        series = [{"stroke": stroke, "width": width} for stroke, width, _ in curves]
        dot = {
            "stroke": DOT_COLOUR,
            "points": {"show": True, "size": 9, "fill": DOT_COLOUR},
        }
        top = round_axis_end(float(np.nanmax(largest))) if np.isfinite(largest).any() else 1.0
        self._plot = server.gui.add_uplot(
            self.make_data(),
            ({"label": "s"}, *series, dot),
            scales={"x": {"time": False}, "y": {"range": (0.0, top)}},
            axes=({"size": 28}, {"size": 38}),
            legend={"show": False},
            padding=(8, 20, 0, 0),
            height=96,
        )

    def make_data(self) -> tuple[Array, ...]:
        """Return times [s], pieces of the curves [mm], and the dot."""
        dot = np.full(len(self._times), np.nan)
        dot[self._shown] = np.nan_to_num(self._largest[self._shown])
        return self._times, *self._curves, dot

    def show(self, frame: int) -> None:
        """Move the dot to a frame, if it moves."""
        k = int(np.searchsorted(self._bins.edges, frame, side="right")) - 1
        if k != self._shown:
            self._shown = k
            self._plot.data = self.make_data()
