"""Plots as SVG, and rows of them that share the axis of time: numbers, the plot, words.

A script can zoom all of them together by their view boxes. Words stand beside the drawings as plain
HTML, where they are not stretched.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from exactik.model.motion import find_segments, mark_segments
from exactik.studio.plots.axes import Bins, ValueAxis, draw_times
from exactik.typing import Array

CURVE_POINTS = 900  # of a curve without scripts
MAX_LANE_SEGMENTS = 2000  # stretches in one lane; more are joined where they are nearest


class Lane(NamedTuple):
    """A line of a plot that shows when something is the case."""

    label: str  # to the left
    value: str  # to the right
    runs: Sequence[tuple[int, int]]  # first and last frame of each stretch
    style: str  # class of its colour
    hint: str = ""  # shown on hovering the label


class Band(NamedTuple):
    """A curve with a band around it."""

    style: str  # class of its colour
    middle: Array  # the curve, (n,)
    low: Array  # lower edge of the band, (n,)
    high: Array  # upper edge, (n,)


def draw_path(x: Array, y: Array, *, closed_at: float | None = None) -> str:
    """Return the path of a curve, broken where y is not a number; closed along a line if asked.

    Args:
        x: [frames].
        y: [% of the height, from above].
        closed_at: height of that line; None for an open curve.
    """
    parts = []
    for first, last in find_segments(np.isfinite(y)):
        piece = slice(first, last + 1)
        points = [f"{a:.6g},{b:.2f}" for a, b in zip(x[piece], y[piece], strict=True)]
        if closed_at is not None:
            points = [f"{x[first]:.6g},{closed_at:g}", *points, f"{x[last]:.6g},{closed_at:g}"]
        elif len(points) == 1:
            points.append(f"{x[first] + 0.5:.6g},{y[first]:.2f}")
        parts.append("M" + "L".join(points) + ("Z" if closed_at is not None else ""))
    return "".join(parts)


def draw_band_path(x: Array, low: Array, high: Array) -> str:
    """Return the path around what is between two curves without gaps."""
    return draw_path(np.concatenate([x, x[::-1]]), np.concatenate([high, low[::-1]])) + "Z"


def draw_bars(spans: Iterable[tuple[float, float]], top: float, height: float) -> str:
    """Return the path of bars, each from one place along x to another."""
    return "".join(f"M{a} {top:g}H{b}v{height:g}H{a}z" for a, b in spans)


def wrap_plot(
    count: int, height: float, inside: str, label: str, *, kind: str = "plot", extra: str = ""
) -> str:
    """Return a drawing over so many frames that fills its place, whatever its size.

    Args:
        count: of the frames.
        height: in units of what is inside.
        inside: SVG.
        kind: class of the element; scripts zoom those of "plot".
        extra: further attributes.
    """
    return (
        f'<svg class="{kind}" {extra} role="img" aria-label="{escape(label)}" '
        f'viewBox="0 0 {count} {height:g}" preserveAspectRatio="none">{inside}</svg>'
    )


def draw_row(left: str, plot: str, right: str, height: int, kind: str = "") -> str:
    """Return one plot with what stands beside it."""
    return (
        f'<div class="row {kind}" style="height:{height}px"><div class="side left">{left}</div>'
        f'<div class="pane">{plot}</div><div class="side right">{right}</div></div>'
    )


def draw_axis_row(count: int, rate: float, marks: int = 12) -> str:
    """Return the axis of time, in seconds from the first frame."""
    times = f'<div class="axis">{draw_times(count, rate, marks)}</div>'
    return draw_row("<span>time, s</span>", times, "", 20, "time")


def draw_area_row(
    series: Sequence[tuple[str, Array, str]], top: float, unit: str, label: str, height: int = 110
) -> str:
    """Return curves over frames from 0 to `top`.

    Args:
        series: name in the script's data, values of the frames (T,), "area" or "line", with
            further classes behind it.
        unit: of the values.
    """
    count, axis = len(series[0][1]), ValueAxis(0.0, top)
    bins = Bins.of(count, CURVE_POINTS)
    inside = [f'<path class="grid" d="M0,{y}H{count}"/>' for y in (25, 50, 75)]
    for name, values, kind in series:
        y = axis.place(np.minimum(bins.most(values), 1.2 * top))
        path = draw_path(bins.middles, y, closed_at=100.0 if kind.startswith("area") else None)
        inside.append(
            f'<path class="{kind} {name}" data-series="{name}" data-top="{top:g}" d="{path}"/>'
        )
    ticks = axis.draw_ticks(
        (1.0, 0.5, 0.0), lambda v: f"{v:g}{' ' + unit if v == top and unit else ''}"
    )
    return draw_row(ticks, wrap_plot(count, 100, "".join(inside), label), "", height, "curve")


def draw_lanes_row(lanes: Sequence[Lane], count: int, label: str, line: int = 20) -> str:
    """Return one line for each lane, with its segments as bars."""
    inside, left, right = [], [], []
    name = f'<span class="name" style="height:{line}px;line-height:{line}px"'
    for n, lane in enumerate(lanes):
        bars = draw_bars(((a, b + 1) for a, b in _join_segments(lane.runs, count)), n + 0.25, 0.5)
        inside.append(f'<path class="bed" d="M0,{n + 1}H{count}"/>')
        inside.append(f'<path class="lane {lane.style}" d="{bars}"/>')
        hint = escape(lane.hint or lane.label)
        left.append(f'{name} title="{hint}">{escape(lane.label)}</span>')
        right.append(f"{name}>{escape(lane.value)}</span>")
    svg = wrap_plot(count, len(lanes), "".join(inside), label)
    return draw_row("".join(left), svg, "".join(right), line * len(lanes), "lanes")


def draw_bands(bands: Sequence[Band], x: Array, axis: ValueAxis) -> str:
    """Return curves with their bands, each before the next, as SVG."""
    return "".join(
        f'<path class="band {band.style}" '
        f'd="{draw_band_path(x, axis.place(band.low), axis.place(band.high))}"/>'
        f'<path class="line {band.style}" d="{draw_path(x, axis.place(band.middle))}"/>'
        for band in bands
    )


def render_ends(ends: tuple[str, str]) -> str:
    """Return what lies below and above zero, to be shown inside a plot; "" of an angle without."""
    if ends == ("", ""):
        return ""
    return f'<em class="end">{escape(ends[1])}</em><em class="end low">{escape(ends[0])}</em>'


def render_title(text: str, key: str = "") -> str:
    """Return the title of a plot, with its key, which is HTML."""
    return f'<h3>{escape(text)}<span class="keys">{key}</span></h3>'


def render_zoom_tools() -> str:
    """Return the buttons above plots, which a script shows."""
    return (
        '<div class="tools" hidden><button data-zoom="in">zoom in</button><button data-zoom="out">'
        'zoom out</button><button data-zoom="all">whole recording</button><span>drag to zoom, '
        "double-click for the whole</span></div>"
    )


def _join_segments(runs: Sequence[tuple[int, int]], count: int) -> Sequence[tuple[int, int]]:
    if len(runs) <= MAX_LANE_SEGMENTS:
        return runs
    return find_segments(mark_segments(count, runs), join=count // MAX_LANE_SEGMENTS)
