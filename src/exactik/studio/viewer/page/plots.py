"""Plots over time in the panels of the page: with axes and units, a line at the frame, to click.

A click in the plot, or a drag, goes to that time: what has the attribute `SEEK_AREA` is heard by
the page's script, see `PageChannel`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from exactik.studio.plots.axes import ValueAxis, find_time_ticks
from exactik.studio.plots.drawing import draw_path
from exactik.studio.viewer.page.channel import SEEK_AREA
from exactik.typing import Array

LEGEND_PIXELS, TIMES_PIXELS = 20, 14  # high, above the plot and below it
AROUND_PIXELS = LEGEND_PIXELS + TIMES_PIXELS + 4  # that axes and words add to a plot's height
MARGIN_PIXELS, SCALE_PIXELS = 16, 34  # beside the plot; of the numbers left of it
MAX_TIMES = 7  # below the plot
LAST_TIME_SHARE = 0.75  # of the width: the rest says what the numbers are
AXIS_FONT = "12px system-ui, sans-serif"
AXIS_LABEL_PIXELS = 18  # high, of what is written along an axis of viser's plots


class TimeCurve(NamedTuple):
    """A curve."""

    label: str  # in the legend
    colour: str  # as CSS has it
    times: Array  # [frames], (n,)
    values: Array  # (n,), NaN in gaps
    width: float = 1.5  # of the line [pixels]


def add_curve_plot(
    gui: Any, title: str, x: str, curves: Sequence[tuple[str, str]], y: str, *, aspect: float
) -> Any:
    """Add a plot of viser's to a panel, which is hidden until somebody gives it data.

    Args:
        x: what goes to the right, in which unit.
        curves: labels, and colours as CSS has them.
        y: what goes up, in which unit.
        aspect: its width over its height.
    """
    look = {"labelSize": AXIS_LABEL_PIXELS, "labelFont": AXIS_FONT, "ticks": {"show": False}}
    series = [{"label": label, "stroke": colour, "width": 2} for label, colour in curves]
    return gui.add_uplot(
        tuple(np.zeros(2) for _ in range(1 + len(series))),
        ({"label": x}, *series),
        title=title,
        axes=({"label": x, **look}, {"label": y, **look}),
        scales={"x": {"time": False}, "y": {"auto": True}},
        padding=(14, 24, 0, 0),
        aspect=aspect,
        visible=False,
    )


def draw_time_plot(
    title: str,
    curves: Sequence[TimeCurve],
    ticks: Sequence[float],
    count: int,
    rate: float,
    *,
    height: int,
    name: str,
) -> str:
    """Return curves over time with their axes, as HTML.

    Args:
        title: what is shown, with its unit.
        ticks: numbers beside the plot, ascending; the first and the last are its ends.
        count: the width [frames].
        rate: frames a second [Hz].
        height: of the plot [pixels].
    """
    axis = ValueAxis(ticks[0], ticks[-1])
    paths = "".join(
        f'<path d="{draw_path(curve.times, axis.place(curve.values))}" fill="none" '
        f'stroke="{curve.colour}" stroke-width="{curve.width}" stroke-linecap="round" '
        'stroke-linejoin="round" vector-effect="non-scaling-stroke"/>'
        for curve in curves
    )
    places = axis.place(np.array(ticks)).tolist()
    line = "position:absolute;left:0;right:0;border-top:1px solid rgba(128,128,128,0.25)"
    lines = "".join(f'<div style="{line};top:{place:.2f}%"></div>' for place in places[1:])
    svg = (
        f'<svg width="100%" height="100%" viewBox="0 0 {count} 100" preserveAspectRatio="none" '
        f'style="display:block;position:absolute">{paths}</svg>'
    )
    number = "position:absolute;right:5px;line-height:11px;opacity:0.8"
    tops = [min(max(round(height * place / 100.0) - 5, 0), height - 11) for place in places]
    numbers = "".join(
        f'<span style="{number};top:{top}px">{tick:.6g}</span>'
        for top, tick in sorted(zip(tops, ticks, strict=True))
    )
    legend = "".join(
        f'<span style="margin-right:12px"><b style="color:{curve.colour}">━</b> '
        f"{escape(curve.label)}</span>"
        for curve in curves
    )
    return (
        f'<div class="{name}" style="margin:0 {MARGIN_PIXELS}px 4px;font-size:11px">'
        f'<div style="height:{LEGEND_PIXELS}px;line-height:{LEGEND_PIXELS}px;white-space:nowrap;'
        f'overflow:hidden">{escape(title)}: {legend}</div><div style="display:flex">'
        f'<div style="position:relative;width:{SCALE_PIXELS}px;height:{height}px">{numbers}</div>'
        f'<div {SEEK_AREA}="" title="click to go to a frame" style="position:relative;flex:1;'
        f"height:{height}px;cursor:pointer;background:rgba(128,128,128,0.12);"
        f'touch-action:none">{lines}{svg}</div></div>{_draw_times(count / rate)}</div>'
    )


def draw_time_line(share: float, height: int) -> str:
    """Return the line at a time, a share of the width, for an element before that of the plot."""
    line = (
        f"position:absolute;left:{100.0 * share:.3f}%;width:2px;margin-left:-1px;"
        f"top:{LEGEND_PIXELS}px;height:{height}px;background:currentColor;"
        "pointer-events:none;z-index:1"
    )
    around = (
        f"position:relative;height:0;margin:0 {MARGIN_PIXELS}px 0 {MARGIN_PIXELS + SCALE_PIXELS}px"
    )
    return f'<div style="{around}"><div style="{line}"></div></div>'


class TimePlot:
    """A plot over time in a panel, with a line at the current frame; or a sentence in its place.

    Attributes:
        html: the plot, or the sentence.
    """

    def __init__(self, gui: Any, count: int, draw_line: Callable[[float], str]):
        """Add it to a panel, empty.

        Args:
            draw_line: returns the line at a share of the width, as HTML.
        """
        self._count, self._draw_line = count, draw_line
        self._frame: int | None = 0
        self._has_plot = False
        self._line, self.html = gui.add_html(""), gui.add_html("")

    def draw(self, plot: str) -> None:
        """Show a plot, as HTML."""
        self._has_plot, self.html.content = True, plot
        self.show(self._frame)

    def say(self, sentence: str) -> None:
        """Show a sentence in place of a plot; nothing if it is empty."""
        self._has_plot = False
        style = "margin:4px 16px;font-size:12px"
        self.html.content = f'<div style="{style}">{escape(sentence)}</div>' if sentence else ""
        self.show(self._frame)

    def show(self, frame: int | None) -> None:
        """Move the line to a frame, if it moves; None hides it."""
        self._frame, line = frame, ""
        if frame is not None and self._has_plot:
            line = self._draw_line((frame + 0.5) / self._count)
        if self._line.content != line:
            self._line.content = line


def _draw_times(seconds: float) -> str:
    """Return the times below the plot [s], at round ones."""
    times = [t for t in find_time_ticks(seconds, MAX_TIMES) if t < LAST_TIME_SHARE * seconds]
    words = "".join(
        f'<span style="position:absolute;left:{100.0 * t / seconds:.3f}%;'
        f'transform:translateX({"-50%" if t > 0.0 else "0"})">{t:g}</span>'
        for t in times
    )
    end = '<span style="position:absolute;right:0">time [s]</span>'
    style = f"position:relative;height:{TIMES_PIXELS}px;margin-left:{SCALE_PIXELS}px;opacity:0.8"
    return f'<div style="{style}">{words}{end}</div>'
