"""Plots over time, as SVG that shows without any script.

All of them have frames along x: frame t takes t to t + 1, whatever the width of the page. A script
can so zoom them together by their view boxes. Words stand beside them as plain HTML, where they are
not stretched.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from exactik.motion import find_segments
from exactik.report._data import Bins, HeatMap, round_axis_end
from exactik.report._png import encode_png, error_colours
from exactik.typing import Array

__all__ = [
    "Lane",
    "area_row",
    "axis_row",
    "curve_path",
    "heat_row",
    "heat_scale",
    "lanes_row",
    "plot_row",
]


CURVE_POINTS = 900  # of a curve without scripts
HEAT_COLUMNS = 2400  # of the heat map without scripts
HEAT_ROW_PX, MAX_HEAT_PX = 15, 900  # [px] of a marker in the heat map, and of the map at most
MAX_LANE_SEGMENTS = 2000  # stretches in one lane; more are joined where they are nearest


class Lane(NamedTuple):
    """A line of a plot that shows when something is the case.

    Attributes:
        label: to the left.
        value: to the right.
        runs: first and last frame of each stretch.
        style: class of its colour.
        hint: shown on hovering the label.
    """

    label: str
    value: str
    runs: Sequence[tuple[int, int]]
    style: str
    hint: str = ""


def plot_row(left: str, plot: str, right: str, height: int, kind: str = "") -> str:
    """Return one plot with what stands beside it."""
    return (
        f'<div class="row {kind}" style="height:{height}px"><div class="side left">{left}</div>'
        f'<div class="pane">{plot}</div><div class="side right">{right}</div></div>'
    )


def _svg(count: int, height: float, inside: str, label: str, extra: str = "") -> str:
    return (
        f'<svg class="plot" {extra} role="img" aria-label="{escape(label)}" '
        f'viewBox="0 0 {count} {height:g}" preserveAspectRatio="none">{inside}</svg>'
    )


def curve_path(x: Array, y: Array, *, closed_at: float | None = None) -> str:
    """Return the path of a curve, broken where y is not a number; closed along a line if asked."""
    parts = []
    for first, last in find_segments(np.isfinite(y)):
        own = slice(first, last + 1)
        points = [f"{a:.6g},{b:.2f}" for a, b in zip(x[own], y[own], strict=True)]
        if closed_at is not None:
            points = [f"{x[first]:.6g},{closed_at:g}", *points, f"{x[last]:.6g},{closed_at:g}"]
        elif len(points) == 1:
            points.append(f"{x[first] + 0.5:.6g},{y[first]:.2f}")
        parts.append("M" + "L".join(points) + ("Z" if closed_at is not None else ""))
    return "".join(parts)


def area_row(
    series: Sequence[tuple[str, Array, str]], top: float, unit: str, label: str, height: int = 110
) -> str:
    """Return curves over frames from 0 to `top`.

    Args:
        series: name in the script's data, values of the frames (T,), "area" or "line".
        top: of the axis.
        unit: of the values.
        label: what it shows, in words.
        height: [px].
    """
    count = len(series[0][1])
    bins = Bins.of(count, CURVE_POINTS)
    inside = [f'<path class="grid" d="M0,{y}H{count}"/>' for y in (25, 50, 75)]
    for name, values, kind in series:
        y = 100.0 * (1.0 - np.minimum(bins.most(values) / top, 1.2))
        path = curve_path(bins.middles, y, closed_at=100.0 if kind == "area" else None)
        inside.append(
            f'<path class="{kind} {name}" data-series="{name}" data-top="{top:g}" d="{path}"/>'
        )
    ticks = "".join(
        f'<span class="tick" style="top:{100 * (1 - share):g}%">{share * top:g}'
        f"{' ' + unit if share == 1 and unit else ''}</span>"
        for share in (1.0, 0.5, 0.0)
    )
    return plot_row(ticks, _svg(count, 100, "".join(inside), label), "", height, "curve")


def lanes_row(lanes: Sequence[Lane], count: int, label: str, line: int = 20) -> str:
    """Return one line for each thing that is the case at times."""
    inside = []
    for n, lane in enumerate(lanes):
        runs = _join_segments(lane.runs, count)
        path = "".join(f"M{a},{n + 0.25:g}h{b + 1 - a}v.5h{a - b - 1}z" for a, b in runs)
        inside.append(f'<path class="bed" d="M0,{n + 1}H{count}"/>')
        inside.append(f'<path class="lane {lane.style}" d="{path}"/>')
    left = "".join(
        f'<span class="name" style="height:{line}px;line-height:{line}px" '
        f'title="{escape(lane.hint or lane.label)}">{escape(lane.label)}</span>'
        for lane in lanes
    )
    right = "".join(
        f'<span class="name" style="height:{line}px;line-height:{line}px">{escape(lane.value)}'
        "</span>"
        for lane in lanes
    )
    svg = _svg(count, len(lanes), "".join(inside), label)
    return plot_row(left, svg, right, line * len(lanes), "lanes")


def _join_segments(runs: Sequence[tuple[int, int]], count: int) -> Sequence[tuple[int, int]]:
    if len(runs) <= MAX_LANE_SEGMENTS:
        return runs
    flags = np.zeros(count, dtype=bool)
    for first, last in runs:
        flags[first : last + 1] = True
    return find_segments(flags, join=count // MAX_LANE_SEGMENTS)


def heat_row(heat: HeatMap, names: Sequence[str]) -> str:
    """Return the errors of the markers as a picture."""
    bins = Bins.of(len(heat.bins), HEAT_COLUMNS)
    level = np.maximum.reduceat(heat.level, bins.edges, axis=0).T
    data = base64.b64encode(encode_png(np.ascontiguousarray(level), heat.palette)).decode("ascii")
    line = max(4.0, min(float(HEAT_ROW_PX), MAX_HEAT_PX / max(len(names), 1)))
    every = int(np.ceil(11.0 / line))
    labels = "".join(
        f'<span class="name small" style="height:{line * every:g}px;line-height:'
        f'{min(line * every, HEAT_ROW_PX):g}px" title="{escape(name)}">{escape(name)}</span>'
        for name in names[::every]
    )
    height = round(line * len(names))
    image = (
        f'<image href="data:image/png;base64,{data}" width="{heat.bins.frames}" '
        f'height="{len(names)}" preserveAspectRatio="none"/>'
    )
    svg = _svg(heat.bins.frames, len(names), image, "error of every marker over time", 'id="heat"')
    return plot_row(labels, svg, heat_scale(heat), height, "heat")


def heat_scale(heat: HeatMap) -> str:
    """Return the legend of the heat map."""
    steps = error_colours(np.linspace(1.0, 0.0, 11))
    stops = ",".join(f"rgb({r},{g},{b})" for r, g, b in steps)
    ticks = "".join(
        f'<span class="tick" style="top:{100 * (1 - share):g}%">{"≥ " if share == 1 else ""}'
        f"{share * heat.top:.3g}{' mm' if share == 1 else ''}</span>"
        for share in (1.0, 0.75, 0.5, 0.25, 0.0)
    )
    return (
        f'<div class="scale"><div class="ramp" style="background:linear-gradient({stops})"></div>'
        f'<div class="ticks">{ticks}</div></div><div class="key"><i class="hatch"></i>missing</div>'
    )


def axis_row(count: int, rate: float, marks: int = 12) -> str:
    """Return the axis of time, in seconds from the first frame."""
    step = round_axis_end(max(count / rate, 1e-9) / marks)
    spans = []
    for n in range(int(count / rate / step) + 1):
        place = 100.0 * (n * step * rate + 0.5) / count
        if place <= 100.0:
            spans.append(f'<span style="left:{place:.3f}%">{n * step:g}</span>')
    return plot_row(
        "<span>time, s</span>", f'<div class="axis">{"".join(spans)}</div>', "", 20, "time"
    )
