"""Marker errors over time, as SVG: with its axes and units, a line at the current frame, to click.

A click in the plot, or a drag, goes to that frame: what has the attribute of `SEEK_AREA` is heard
by the page's script, see `PageChannel`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from exactik.motion import find_segments
from exactik.report import Bins, round_axis_end
from exactik.typing import Array
from exactik.viewer.page import MARKER_COLOUR, RESIDUAL_COLOUR, SEEK_AREA, format_hex
from exactik.viewer.playback._data import PlaybackData

__all__ = ["ErrorCurve", "draw_error_curve"]


MAX_POINTS = 390  # pixels between the edges of the timeline; each shows the largest of its frames
PLOT_PIXELS = 84  # high
LEGEND_PIXELS = 20  # high, above the plot
MARGIN_PIXELS, SCALE_PIXELS = 16, 34  # beside the plot; of the numbers left of it
TIME_STEPS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0)  # [s]
MAX_TICKS = 7  # of times below the plot
LAST_TICK_SHARE = 0.84  # of the width: the rest says what the numbers are
NOTHING = "No marker of the figure is seen in any of these frames: there are no errors to show."


def draw_error_curve(playback: PlaybackData) -> str:
    """Return the largest and the mean error of each frame over time, with axes, as HTML."""
    mean, largest = playback.frame_errors
    if not np.isfinite(largest).any():
        return f'<div style="margin:4px {MARGIN_PIXELS}px;font-size:12px">{NOTHING}</div>'
    bins = Bins.of(len(playback), MAX_POINTS)
    top = round_axis_end(1e3 * float(np.nanmax(largest)))
    x = bins.middles / len(playback)
    paths = "".join(
        _draw_path(x, 1e3 * bins.most(values) / top, colour, width)
        for values, colour, width in (
            (largest, format_hex(RESIDUAL_COLOUR), 1.2),
            (mean, format_hex(MARKER_COLOUR), 2.0),
        )
    )
    line = "position:absolute;left:0;right:0;border-top:1px solid rgba(128,128,128,0.25)"
    lines = "".join(f'<div style="{line};top:{share}%"></div>' for share in (0, 50))
    svg = (
        '<svg width="100%" height="100%" viewBox="0 0 1 1" preserveAspectRatio="none" '
        f'style="display:block;position:absolute">{paths}</svg>'
    )
    plot = (
        f'<div {SEEK_AREA}="" title="click to go to a frame" style="position:relative;flex:1;'
        f"height:{PLOT_PIXELS}px;cursor:pointer;background:rgba(128,128,128,0.12);"
        f'touch-action:none">{lines}{svg}</div>'
    )
    return (
        f'<div class="exactik-errors" style="margin:0 {MARGIN_PIXELS}px 4px;font-size:11px">'
        f'{_draw_legend()}<div style="display:flex">{_draw_scale(top)}{plot}</div>'
        f"{_draw_times(len(playback) / playback.rate)}</div>"
    )


def _draw_path(x: Array, y: Array, colour: str, width: float) -> str:
    """Return a curve in the square from 0 to 1, y upwards, cut where it is not a number."""
    pieces = []
    for first, last in find_segments(np.isfinite(y)):
        points = [f"{x[k]:.5f} {1.0 - y[k]:.4f}" for k in range(first, last + 1)]
        pieces.append("M" + "L".join(points) + ("h0" if first == last else ""))
    return (
        f'<path d="{"".join(pieces)}" fill="none" stroke="{colour}" stroke-width="{width}" '
        'stroke-linecap="round" stroke-linejoin="round" vector-effect="non-scaling-stroke"/>'
    )


def _draw_legend() -> str:
    """Return what the colours are, in words."""
    entries = (
        (format_hex(RESIDUAL_COLOUR), "worst marker"),
        (format_hex(MARKER_COLOUR), "mean of all"),
    )
    words = "".join(
        f'<span style="margin-right:12px"><b style="color:{colour}">━</b> {text}</span>'
        for colour, text in entries
    )
    style = f"height:{LEGEND_PIXELS}px;line-height:{LEGEND_PIXELS}px;white-space:nowrap"
    return f'<div style="{style};overflow:hidden">error of markers [mm]: {words}</div>'


def _draw_scale(top: float) -> str:
    """Return the numbers left of the plot [mm]."""
    common = "position:absolute;right:5px;line-height:11px;opacity:0.8"
    half = PLOT_PIXELS // 2
    places = {top: 0, 0.5 * top: half - 5, 0.0: PLOT_PIXELS - 11}
    numbers = "".join(
        f'<span style="{common};top:{pixels}px">{value:g}</span>'
        for value, pixels in places.items()
    )
    style = f"position:relative;width:{SCALE_PIXELS}px;height:{PLOT_PIXELS}px"
    return f'<div style="{style}">{numbers}</div>'


def _draw_times(seconds: float) -> str:
    """Return the times below the plot [s], at round ones."""
    step = next((s for s in TIME_STEPS if seconds / s < MAX_TICKS), seconds / 2.0)
    ticks = [k * step for k in range(MAX_TICKS) if k == 0 or k * step < LAST_TICK_SHARE * seconds]
    words = "".join(
        f'<span style="position:absolute;left:{100.0 * t / seconds:.3f}%;'
        f'transform:translateX({"-50%" if t > 0.0 else "0"})">{t:g}</span>'
        for t in ticks
    )
    end = '<span style="position:absolute;right:0">time [s]</span>'
    style = f"position:relative;height:14px;margin-left:{SCALE_PIXELS}px;opacity:0.8"
    return f'<div style="{style}">{words}{end}</div>'


class ErrorCurve:
    """The plot on the page, with a line at the current frame."""

    def __init__(self, gui: Any, playback: PlaybackData):
        """Add the plot to a panel."""
        self._count = len(playback)
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
        line = (
            f"position:absolute;left:{100.0 * (frame + 0.5) / self._count:.3f}%;width:2px;"
            f"margin-left:-1px;top:{LEGEND_PIXELS}px;height:{PLOT_PIXELS}px;"
            "background:currentColor;pointer-events:none;z-index:1"
        )
        around = (
            f"position:relative;height:0;margin:0 {MARGIN_PIXELS}px 0 "
            f"{MARGIN_PIXELS + SCALE_PIXELS}px"
        )
        self._line.content = f'<div style="{around}"><div style="{line}"></div></div>'
