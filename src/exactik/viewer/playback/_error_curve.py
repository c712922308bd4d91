"""Marker errors over time: with axes and units, a line at the current frame, to click."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactik.report import Bins, round_axis_end
from exactik.viewer.page import (
    AROUND_PIXELS,
    MARKER_COLOUR,
    RESIDUAL_COLOUR,
    TimeCurve,
    draw_time_line,
    draw_time_plot,
    format_hex,
)
from exactik.viewer.playback._data import PlaybackData

__all__ = ["ErrorCurve", "draw_error_curve"]


MAX_POINTS = 390  # pixels between the edges of the timeline; each shows the largest of its frames
PLOT_PIXELS = 84  # high
NOTHING = "No marker of the figure is seen in any of these frames: there are no errors to show."


def draw_error_curve(playback: PlaybackData) -> str:
    """Return the largest and the mean error of each frame over time, with axes, as HTML."""
    mean, largest = playback.frame_errors
    if not np.isfinite(largest).any():
        return f'<div style="margin:4px 16px;font-size:12px">{NOTHING}</div>'
    bins = Bins.of(len(playback), MAX_POINTS)
    top = round_axis_end(1e3 * float(np.nanmax(largest)))
    curves = [
        TimeCurve(label, format_hex(colour), bins.middles / len(playback), values, width)
        for label, colour, values, width in (
            ("worst marker", RESIDUAL_COLOUR, 1e3 * bins.most(largest), 1.2),
            ("mean of all", MARKER_COLOUR, 1e3 * bins.most(mean), 2.0),
        )
    ]
    return draw_time_plot(
        "error of markers [mm]",
        curves,
        (0.0, 0.5 * top, top),
        len(playback) / playback.rate,
        height=PLOT_PIXELS,
        name="exactik-errors",
    )


class ErrorCurve:
    """The plot on the page, with a line at the current frame.

    Attributes:
        height: of it on the page, with its axes [pixels].
    """

    def __init__(self, gui: Any, playback: PlaybackData):
        """Add the plot to a panel."""
        self._count, self.height = len(playback), PLOT_PIXELS + AROUND_PIXELS
        self._has_line = bool(np.isfinite(playback.frame_errors[1]).any())
        self._shown: int | None = None
        self._line = gui.add_html("")
        gui.add_html(draw_error_curve(playback))
        self.show(0)

    def show(self, frame: int) -> None:
        """Move the line to a frame, if it moves."""
        if frame == self._shown or not self._has_line:
            return
        self._shown = frame
        self._line.content = draw_time_line((frame + 0.5) / self._count, PLOT_PIXELS)
