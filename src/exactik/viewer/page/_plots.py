"""Curves over time as HTML: with axes and units, a line at the current frame, to click.

A click in the plot, or a drag, goes to that time: what has the attribute `SEEK_AREA` is heard by
the page's script, see `PageChannel`.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from exactik.motion import find_segments
from exactik.typing import Array
from exactik.viewer.page._channel import SEEK_AREA

__all__ = [
    "AROUND_PIXELS",
    "TimeCurve",
    "add_curve_plot",
    "draw_time_line",
    "draw_time_plot",
    "find_round_ticks",
]

LEGEND_PIXELS, TIMES_PIXELS = 20, 14  # high, above the plot and below it
AROUND_PIXELS = LEGEND_PIXELS + TIMES_PIXELS + 4  # that axes and words add to a plot's height
MARGIN_PIXELS, SCALE_PIXELS = 16, 34  # beside the plot; of the numbers left of it
TIME_STEPS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0)  # [s]
MAX_TIMES = 7  # below the plot
LAST_TIME_SHARE = 0.75  # of the width: the rest says what the numbers are
ROUND_STEPS = (1.0, 2.0, 5.0, 10.0, 20.0)  # times a power of ten, between numbers beside the plot
MAX_TICKS = 6  # numbers beside a plot
AXIS_FONT = "12px system-ui, sans-serif"
AXIS_LABEL_PIXELS = 18  # high, of what is written along an axis of viser's plots


class TimeCurve(NamedTuple):
    """A curve.

    Attributes:
        label: in the legend.
        colour: as CSS has it.
        times: as shares of the width, (n,).
        values: (n,), NaN in gaps.
        width: of the line [pixels].
    """

    label: str
    colour: str
    times: Array
    values: Array
    width: float = 1.5


def find_round_ticks(low: float, high: float, min_span: float) -> list[float]:
    """Return round numbers, evenly spaced, from below the lowest value to above the highest.

    Args:
        low: the lowest value.
        high: the highest one.
        min_span: that they span at least, so that noise is not blown up.
    """
    middle, half = 0.5 * (low + high), 0.5 * max(high - low, min_span)
    low, high = middle - half, middle + half
    power = 10.0 ** float(np.floor(np.log10((high - low) / (MAX_TICKS - 1))))
    step = first = last = 0
    for step in (power * factor for factor in ROUND_STEPS):
        first, last = int(np.floor(low / step + 1e-9)), int(np.ceil(high / step - 1e-9))
        if last - first < MAX_TICKS:
            break
    return [k * step for k in range(first, last + 1)]


def add_curve_plot(
    gui: Any, title: str, x: str, curves: Sequence[tuple[str, str]], y: str, *, aspect: float
) -> Any:
    """Add a plot of viser's to a panel, which is hidden until somebody gives it data.

    Args:
        gui: viser's.
        title: above it.
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
    seconds: float,
    *,
    height: int,
    name: str,
) -> str:
    """Return curves over time with their axes, as HTML.

    Args:
        title: what is shown, with its unit.
        curves: in the order in which they are drawn.
        ticks: numbers beside the plot, ascending; the first and the last are its ends.
        seconds: the width [s].
        height: of the plot [pixels].
        name: class of the element.
    """
    low, span = ticks[0], ticks[-1] - ticks[0]
    paths = "".join(_draw_path(curve, (curve.values - low) / span) for curve in curves)
    line = "position:absolute;left:0;right:0;border-top:1px solid rgba(128,128,128,0.25)"
    lines = "".join(
        f'<div style="{line};top:{100.0 * (1.0 - (tick - low) / span):.2f}%"></div>'
        for tick in ticks[1:]
    )
    svg = (
        '<svg width="100%" height="100%" viewBox="0 0 1 1" preserveAspectRatio="none" '
        f'style="display:block;position:absolute">{paths}</svg>'
    )
    plot = (
        f'<div {SEEK_AREA}="" title="click to go to a frame" style="position:relative;flex:1;'
        f"height:{height}px;cursor:pointer;background:rgba(128,128,128,0.12);"
        f'touch-action:none">{lines}{svg}</div>'
    )
    return (
        f'<div class="{name}" style="margin:0 {MARGIN_PIXELS}px 4px;font-size:11px">'
        f"{_draw_legend(title, curves)}"
        f'<div style="display:flex">{_draw_scale(ticks, height)}{plot}</div>'
        f"{_draw_times(seconds)}</div>"
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


def _draw_path(curve: TimeCurve, y: Array) -> str:
    """Return a curve in the square from 0 to 1, y upwards, cut where it is not a number."""
    pieces = []
    for first, last in find_segments(np.isfinite(y)):
        points = [f"{curve.times[k]:.5f} {1.0 - y[k]:.4f}" for k in range(first, last + 1)]
        pieces.append("M" + "L".join(points) + ("h0" if first == last else ""))
    return (
        f'<path d="{"".join(pieces)}" fill="none" stroke="{curve.colour}" '
        f'stroke-width="{curve.width}" stroke-linecap="round" stroke-linejoin="round" '
        'vector-effect="non-scaling-stroke"/>'
    )


def _draw_legend(title: str, curves: Sequence[TimeCurve]) -> str:
    """Return what the colours are, in words."""
    words = "".join(
        f'<span style="margin-right:12px"><b style="color:{curve.colour}">━</b> '
        f"{escape(curve.label)}</span>"
        for curve in curves
    )
    style = f"height:{LEGEND_PIXELS}px;line-height:{LEGEND_PIXELS}px;white-space:nowrap"
    return f'<div style="{style};overflow:hidden">{escape(title)}: {words}</div>'


def _draw_scale(ticks: Sequence[float], height: int) -> str:
    """Return the numbers left of the plot, inside its height."""
    common = "position:absolute;right:5px;line-height:11px;opacity:0.8"
    low, span, numbers = ticks[0], ticks[-1] - ticks[0], ""
    for tick in reversed(ticks):
        top = round(height * (1.0 - (tick - low) / span)) - 5
        top = min(max(top, 0), height - 11)
        numbers += f'<span style="{common};top:{top}px">{tick:.6g}</span>'
    style = f"position:relative;width:{SCALE_PIXELS}px;height:{height}px"
    return f'<div style="{style}">{numbers}</div>'


def _draw_times(seconds: float) -> str:
    """Return the times below the plot [s], at round ones."""
    step = next((s for s in TIME_STEPS if seconds / s < MAX_TIMES), seconds / 2.0)
    times = [k * step for k in range(MAX_TIMES) if k == 0 or k * step < LAST_TIME_SHARE * seconds]
    words = "".join(
        f'<span style="position:absolute;left:{100.0 * t / seconds:.3f}%;'
        f'transform:translateX({"-50%" if t > 0.0 else "0"})">{t:g}</span>'
        for t in times
    )
    end = '<span style="position:absolute;right:0">time [s]</span>'
    style = f"position:relative;height:{TIMES_PIXELS}px;margin-left:{SCALE_PIXELS}px;opacity:0.8"
    return f'<div style="{style}">{words}{end}</div>'
