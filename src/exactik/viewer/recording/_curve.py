"""One marker over time: its coordinates, or its speed."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from exactik.report import Bins
from exactik.typing import Array
from exactik.viewer.page import TimeCurve, draw_time_line, draw_time_plot, find_round_ticks
from exactik.viewer.recording._overview import RecordingOverview

__all__ = [
    "PLOT_PIXELS",
    "POSITION",
    "QUANTITIES",
    "SPEED",
    "MarkerCurve",
    "RecordingPlot",
    "draw_marker_curve",
    "make_binned_curve",
    "sample_curve",
]

POSITION, SPEED = QUANTITIES = ("position", "speed")
MAX_BINS = 200  # each shows the least and the largest value of its frames
COORDINATE_COLOURS = {"x": "#d55e00", "y": "#00966d", "z": "#0084cc"}
SPEED_COLOUR = "#9a6fd6"
PLOT_PIXELS = 130  # high
NEVER_KNOWN = {  # in place of a plot
    POSITION: "This marker is missing in all frames: there is no curve.",
    SPEED: "This marker is never seen in two frames with one between: there is no speed.",
}
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


def make_binned_curve(label: str, colour: str, values: Array, *, span: float = 1.0) -> TimeCurve:
    """Return a curve of values that were sampled evenly, from the left edge of a plot on.

    Args:
        label: in the legend.
        colour: as CSS has it.
        values: (n,), NaN where missing; one at least.
        span: of their time, over that of the plot.
    """
    bins = Bins.of(len(values), MAX_BINS)
    ends = np.append(bins.edges[1:], len(values))
    halves = np.stack([bins.edges + 0.5, 0.5 * (bins.edges + 0.5 + ends)], axis=1)
    times = np.asarray(halves.reshape(-1) * (span / len(values)), dtype=float)
    return TimeCurve(label, colour, times, sample_curve(values, bins))


def draw_marker_curve(overview: RecordingOverview, marker: int, quantity: str) -> str | None:
    """Return a quantity of a marker over time, one of `QUANTITIES`, with its axes, as HTML.

    None if it is known in no frame.
    """
    markers = overview.markers
    if quantity == POSITION:
        named = dict(zip("xyz", markers.positions[:, marker].T, strict=True))
        colours, unit = COORDINATE_COLOURS, "m"
    else:
        named, colours, unit = {SPEED: overview.speeds(marker)}, {SPEED: SPEED_COLOUR}, "m/s"
    seen = np.concatenate([values[np.isfinite(values)] for values in named.values()])
    if len(seen) == 0:
        return None
    return draw_time_plot(
        f"{overview.labels[marker]}, {quantity} [{unit}]",
        [make_binned_curve(name, colours[name], values) for name, values in named.items()],
        find_round_ticks(float(seen.min()), float(seen.max()), MIN_SPAN),
        len(markers) / markers.rate,
        height=PLOT_PIXELS,
        name="exactik-marker",
    )


class RecordingPlot:
    """A plot over the time of a recording, with a line at the current frame, or a sentence.

    Attributes:
        html: the plot, or the sentence.
    """

    def __init__(self, gui: Any, count: int):
        """Add it to a panel, empty.

        Args:
            gui: viser's.
            count: of the frames of the recording.
        """
        self._count, self._frame, self._has_plot = count, 0, False
        self._line, self.html = gui.add_html(""), gui.add_html("")

    def draw(self, plot: str) -> None:
        """Show a plot of `PLOT_PIXELS` in height, as HTML."""
        self._has_plot, self.html.content = True, plot
        self.show(self._frame)

    def say(self, sentence: str) -> None:
        """Show a sentence in place of a plot; nothing if it is empty."""
        self._has_plot = False
        style = "margin:4px 16px;font-size:12px"
        self.html.content = f'<div style="{style}">{escape(sentence)}</div>' if sentence else ""
        self.show(self._frame)

    def show(self, frame: int) -> None:
        """Move the line to a frame of the recording."""
        self._frame, share = frame, (frame + 0.5) / self._count
        line = draw_time_line(share, PLOT_PIXELS) if self._has_plot else ""
        if line != self._line.content:
            self._line.content = line


class MarkerCurve:
    """The plot of the chosen marker on the page."""

    def __init__(self, gui: Any, overview: RecordingOverview):
        """Add the plot to a panel; it is empty until a marker is chosen."""
        self.overview = overview
        self.plot = RecordingPlot(gui, len(overview.markers))

    def choose(self, marker: int | None, quantity: str) -> None:
        """Plot a quantity of a marker; nothing if None."""
        if marker is None:
            self.plot.say("")
            return
        drawn = draw_marker_curve(self.overview, marker, quantity)
        if drawn is None:
            self.plot.say(NEVER_KNOWN[quantity])
        else:
            self.plot.draw(drawn)

    def show(self, frame: int) -> None:
        """Move the line to a frame of the recording."""
        self.plot.show(frame)
