"""Plot of one marker over time: its coordinates, or its speed."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactik.report import Bins
from exactik.typing import Array
from exactik.viewer.page import split_at_gaps
from exactik.viewer.recording._overview import RecordingOverview

__all__ = ["POSITION", "QUANTITIES", "SPEED", "MarkerCurve", "sample_curve"]

POSITION, SPEED = QUANTITIES = ("position", "speed")
MAX_BINS = 200  # each shows the least and the largest value of its frames
COORDINATE_COLOURS = {"x": "#d55e00", "y": "#009e73", "z": "#0072b2"}
SPEED_COLOUR = "#7b4fb5"
PLOT_PIXELS = 150  # high
MARGIN_SHARE = 0.05  # of the range, above and below a curve
MIN_MARGIN = 0.005  # [m or m/s] likewise, for what does not move: noise is not blown up


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


class MarkerCurve:
    """The plot of the chosen marker, with dots at the current frame."""

    def __init__(self, gui: Any, overview: RecordingOverview):
        """Add the plot to a panel, hidden until a marker is chosen."""
        self.gui, self.overview = gui, overview
        self._bins = Bins.of(len(overview.markers), MAX_BINS)
        ends = np.append(self._bins.edges[1:], len(overview.markers))
        halves = np.stack([self._bins.edges, 0.5 * (self._bins.edges + ends)], axis=1)
        self._times: Array = np.asarray(halves.reshape(-1) / overview.markers.rate, dtype=float)
        self._marker, self._quantity = -1, POSITION
        self._values: list[Array] = []
        self._curves: list[Array] = []
        self._shown = 0
        self._plot: Any = None
        self._colours: dict[str, str] = {}
        self._holder = gui.add_folder("curve", visible=False)
        with self._holder:
            self._legend = gui.add_html("")

    def choose(self, marker: int, quantity: str) -> None:
        """Plot a quantity of a marker, one of `QUANTITIES`."""
        if (marker, quantity) == (self._marker, self._quantity):
            return
        self._marker, self._quantity = marker, quantity
        if quantity == POSITION:
            path = self.overview.markers.positions[:, marker]
            named = {axis: path[:, k] for k, axis in enumerate("xyz")}
            colours, unit = COORDINATE_COLOURS, "m"
        else:
            named, unit = {SPEED: self.overview.speeds(marker)}, "m/s"
            colours = {SPEED: SPEED_COLOUR}
        self._values, self._colours = list(named.values()), colours
        series: list[Any] = [{"label": "s"}]
        self._curves = []
        for name, values in named.items():
            for n, piece in enumerate(split_at_gaps(sample_curve(values, self._bins))):
                label = name if n == 0 else f"{name} "
                series.append({"label": label, "stroke": colours[name], "width": 1.5})
                self._curves.append(piece)
        for name in named:
            look = {"show": True, "size": 8, "fill": colours[name]}
            series.append({"label": "now", "stroke": colours[name], "points": look})
        self._add_plot(series, f"{', '.join(named)} [{unit}]")

    def _find_range(self) -> tuple[float, float]:
        """Return the ends of the vertical axis; the plot itself cannot, for gaps are no numbers."""
        values = np.concatenate(self._values)
        values = values[np.isfinite(values)]
        if len(values) == 0:
            return 0.0, 1.0
        low, high = float(values.min()), float(values.max())
        margin = max(MARGIN_SHARE * (high - low), MIN_MARGIN)
        return low - margin, high + margin

    def _add_plot(self, series: list[Any], label: str) -> None:
        if self._plot is not None:
            self._plot.remove()
        name = self.overview.labels[self._marker]
        self._holder.label, self._holder.visible = f"{name}: {label} over time [s]", True
        with self._holder:
            self._legend.content = "".join(
                f'<span style="color:{colour};margin-left:16px;font-weight:600">{name}</span>'
                for name, colour in self._colours.items()
            )
            self._plot = self.gui.add_uplot(
                self.make_data(),
                tuple(series),
                scales={"x": {"time": False}, "y": {"range": self._find_range()}},
                axes=(
                    {"label": "time [s]", "labelSize": 18, "size": 26},
                    {"label": label, "labelSize": 18, "size": 44},
                ),
                legend={"show": False},
                padding=(8, 16, 0, 0),
                height=PLOT_PIXELS,
            )

    def make_data(self) -> tuple[Array, ...]:
        """Return times [s], pieces of the curves, and a dot for each curve."""
        dots = []
        place = self._find_place(self._shown)
        for values in self._values:
            dot = np.full(len(self._times), np.nan)
            dot[place] = values[self._shown]
            dots.append(dot)
        return self._times, *self._curves, *dots

    def _find_place(self, frame: int) -> int:
        return 2 * (int(np.searchsorted(self._bins.edges, frame, side="right")) - 1)

    def show(self, frame: int) -> None:
        """Move the dots to a frame of the recording, if they move."""
        moves = self._find_place(frame) != self._find_place(self._shown)
        self._shown = frame
        if moves and self._plot is not None:
            self._plot.data = self.make_data()
