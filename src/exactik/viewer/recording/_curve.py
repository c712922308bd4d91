"""One marker over time: its coordinates, or its speed."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactik.report import Bins
from exactik.typing import Array
from exactik.viewer.page import TimeCurve, draw_time_line, draw_time_plot, find_round_ticks
from exactik.viewer.recording._overview import RecordingOverview

__all__ = ["POSITION", "QUANTITIES", "SPEED", "MarkerCurve", "draw_marker_curve", "sample_curve"]

POSITION, SPEED = QUANTITIES = ("position", "speed")
MAX_BINS = 200  # each shows the least and the largest value of its frames
COORDINATE_COLOURS = {"x": "#d55e00", "y": "#009e73", "z": "#0072b2"}
SPEED_COLOUR = "#7b4fb5"
PLOT_PIXELS = 130  # high
MIN_SPAN = 0.01  # [m or m/s] of the plot: noise of a marker that stands still is not blown up


def sample_curve(values: Array, bins: Bins) -> Array:
    """Return a curve with two values a bin, its least and its largest, (2 n,); NaN in gaps.

    A gap of one frame stays a gap, and a leap of one frame a leap.

    Args:
        values: (T,), NaN where missing.
        bins: of the frames.
    """
    low, high = bins.least(values), bins.most(values)
    has_gap = np.logical_or.reduceat(np.isnan(values), bins.edges)
    pairs = np.stack([low, np.where(has_gap, np.nan, high)], axis=1)
    return pairs.reshape(-1)


def draw_marker_curve(overview: RecordingOverview, marker: int, quantity: str) -> str:
    """Return a quantity of a marker over time, one of `QUANTITIES`, with its axes, as HTML."""
    markers = overview.markers
    if quantity == POSITION:
        named = dict(zip("xyz", markers.positions[:, marker].T, strict=True))
        colours, unit = COORDINATE_COLOURS, "m"
    else:
        named, colours, unit = {SPEED: overview.speeds(marker)}, {SPEED: SPEED_COLOUR}, "m/s"
    seen = np.concatenate([values[np.isfinite(values)] for values in named.values()])
    if len(seen) == 0:
        return '<div style="margin:4px 16px;font-size:12px">It is never seen long enough.</div>'
    bins = Bins.of(len(markers), MAX_BINS)
    ends = np.append(bins.edges[1:], len(markers))
    halves = np.stack([bins.edges + 0.5, 0.5 * (bins.edges + 0.5 + ends)], axis=1)
    times = np.asarray(halves.reshape(-1) / len(markers), dtype=float)
    curves = [
        TimeCurve(name, colours[name], times, sample_curve(values, bins))
        for name, values in named.items()
    ]
    return draw_time_plot(
        f"{overview.labels[marker]}, {quantity} [{unit}]",
        curves,
        find_round_ticks(float(seen.min()), float(seen.max()), MIN_SPAN),
        len(markers) / markers.rate,
        height=PLOT_PIXELS,
        name="exactik-marker",
    )


class MarkerCurve:
    """The plot of the chosen marker on the page, with a line at the current frame."""

    def __init__(self, gui: Any, overview: RecordingOverview):
        """Add the plot to a panel; it is empty until a marker is chosen."""
        self.overview = overview
        self._line, self.plot = gui.add_html(""), gui.add_html("")

    def choose(self, marker: int | None, quantity: str) -> None:
        """Plot a quantity of a marker; nothing if None."""
        self.plot.content = (
            "" if marker is None else draw_marker_curve(self.overview, marker, quantity)
        )
        if marker is None:
            self._line.content = ""

    def show(self, frame: int) -> None:
        """Move the line to a frame of the recording."""
        share = (frame + 0.5) / len(self.overview.markers)
        line = draw_time_line(share, PLOT_PIXELS)
        if line != self._line.content:
            self._line.content = line
