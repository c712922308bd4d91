"""Analog channels of a recording over time: one is chosen, and seen with its unit."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactik.errors import ExactikError
from exactik.model.motion import Analog, Markers
from exactik.studio.plots.axes import find_round_ticks
from exactik.studio.viewer.page.plots import TimePlot, draw_time_plot
from exactik.studio.viewer.page.widgets import on_value
from exactik.studio.viewer.recording._curve import PLOT_PIXELS, draw_plot_line, make_binned_curve
from exactik.typing import Array

CHANNEL_COLOUR = "#d0558c"
NO_CHANNEL = "…"
NO_UNIT = "unit not stated"
# Of the largest value: the plot spans at least so much, else the last bit of a channel that stands
# still would fill it.
MIN_SPAN_SHARE = 1e-3
MIN_SPAN = 1e-6  # of a channel of zeros: any number; it is what the ticks are
NOTHING = "This channel has no number in any sample: there is no curve."


def draw_channel_curve(analog: Analog, label: str, count: int, rate: float) -> str | None:
    """Return a channel over time, with its axes and its unit, as HTML; None without a number.

    Args:
        label: of one of them.
        count: the width of the plot [frames].
    """
    values: Array = analog.channel(label)
    known = values[np.isfinite(values)]
    if len(known) == 0:
        return None
    unit = analog.units[analog.labels.index(label)] or NO_UNIT
    least_span = max(MIN_SPAN_SHARE * float(np.abs(known).max()), MIN_SPAN)
    return draw_time_plot(
        f"{label} [{unit}]",
        [make_binned_curve(f"{analog.rate:g} Hz", CHANNEL_COLOUR, values, span=rate / analog.rate)],
        find_round_ticks(float(known.min()), float(known.max()), least_span),
        count,
        rate,
        height=PLOT_PIXELS,
        name="exactik-analog",
    )


class AnalogPanel:
    """A list of the channels, and the curve of the chosen one."""

    def __init__(self, gui: Any, markers: Markers, analog: Analog):
        """Add the widgets to a panel."""
        self._analog, self._frames = analog, (len(markers), markers.rate)
        with gui.add_folder(f"analog ({len(analog.labels)})", expand_by_default=False):
            self.choice = gui.add_dropdown("channel", [NO_CHANNEL, *analog.labels])
            self.plot = TimePlot(gui, len(markers), draw_plot_line)
        on_value(self.choice, lambda _: self._draw())

    def choose(self, label: str | None) -> None:
        """Plot a channel; nothing if None."""
        self.choice.value = NO_CHANNEL if label is None else label
        self._draw()

    def _draw(self) -> None:
        label = self.choice.value
        if label == NO_CHANNEL:
            self.plot.say("")
            return
        try:
            drawn = draw_channel_curve(self._analog, label, *self._frames)
        except ExactikError as error:  # the file has gone
            self.plot.say(str(error))
            return
        if drawn is None:
            self.plot.say(NOTHING)
        else:
            self.plot.draw(drawn)

    def show(self, frame: int | None) -> None:
        """Move the line to a frame of the recording, if it is inside of it."""
        if frame is not None:
            self.plot.show(frame)
