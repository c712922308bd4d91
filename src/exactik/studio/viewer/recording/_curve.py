"""One marker over time: its coordinates, or its speed."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactik.studio.plots.axes import Bins, find_round_ticks
from exactik.studio.viewer.page.plots import TimeCurve, TimePlot, draw_time_line, draw_time_plot
from exactik.studio.viewer.recording._overview import RecordingOverview
from exactik.typing import Array

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


def make_binned_curve(label: str, colour: str, values: Array, *, span: float = 1.0) -> TimeCurve:
    """Return a curve of values that were sampled evenly, from the left edge of a plot on.

    Args:
        colour: as CSS has it.
        values: (n,), NaN where missing; one at least.
        span: frames that a sample lasts.
    """
    times, ends = Bins.of(len(values), MAX_BINS).pairs(values)
    return TimeCurve(label, colour, span * times, ends)


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
        len(markers),
        markers.rate,
        height=PLOT_PIXELS,
        name="exactik-marker",
    )


def draw_plot_line(share: float) -> str:
    """Return the line at a share of the width of a plot of `PLOT_PIXELS` in height."""
    return draw_time_line(share, PLOT_PIXELS)


class MarkerCurve:
    """The plot of the chosen marker on the page."""

    def __init__(self, gui: Any, overview: RecordingOverview):
        """Add the plot to a panel; it is empty until a marker is chosen."""
        self.overview = overview
        self.plot = TimePlot(gui, len(overview.markers), draw_plot_line)

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
