"""Marker errors over time: with axes and units, a line at the current frame, to click."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactik.studio.plots.axes import Bins, round_axis_end
from exactik.studio.plots.colours import format_hex
from exactik.studio.viewer.page.colours import MARKER_COLOUR, RESIDUAL_COLOUR
from exactik.studio.viewer.page.plots import (
    AROUND_PIXELS,
    TimeCurve,
    TimePlot,
    draw_time_line,
    draw_time_plot,
)
from exactik.studio.viewer.playback._data import PlaybackData

MAX_POINTS = 390  # pixels between the edges of the timeline; each shows the largest of its frames
PLOT_PIXELS = 84  # high
NOTHING = "No marker of the figure is seen in any of these frames: there are no errors to show."


def draw_error_curve(playback: PlaybackData) -> str | None:
    """Return the largest and the mean error of each frame over time, with axes, as HTML.

    None if there are none.
    """
    mean, largest = playback.frame_errors
    if not np.isfinite(largest).any():
        return None
    bins = Bins.of(len(playback), MAX_POINTS)
    top = round_axis_end(1e3 * float(np.nanmax(largest)))
    curves = [
        TimeCurve(label, format_hex(colour), bins.middles, values, width)
        for label, colour, values, width in (
            ("worst marker", RESIDUAL_COLOUR, 1e3 * bins.most(largest), 1.2),
            ("mean of all", MARKER_COLOUR, 1e3 * bins.most(mean), 2.0),
        )
    ]
    return draw_time_plot(
        "error of markers [mm]",
        curves,
        (0.0, 0.5 * top, top),
        len(playback),
        playback.rate,
        height=PLOT_PIXELS,
        name="exactik-errors",
    )


class ErrorCurve(TimePlot):
    """The plot on the page, with a line at the current frame.

    Attributes:
        height: of it on the page, with its axes [pixels].
    """

    height = PLOT_PIXELS + AROUND_PIXELS

    def __init__(self, gui: Any, playback: PlaybackData):
        """Add the plot to a panel."""
        super().__init__(gui, len(playback), lambda share: draw_time_line(share, PLOT_PIXELS))
        drawn = draw_error_curve(playback)
        if drawn is None:
            self.say(NOTHING)
        else:
            self.draw(drawn)
