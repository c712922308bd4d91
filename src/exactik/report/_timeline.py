"""Plots over time, as SVG that shows without any script.

All of them have frames along x: frame t takes t to t + 1, whatever the width of the page. A script
can so zoom them together by their view boxes. Words stand beside them as plain HTML, where they are
not stretched.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from exactik._text import count_noun
from exactik.motion import find_segments, mark_segments
from exactik.report._headline import format_millimetres, format_share
from exactik.report._series import Bins, HeatMap, encode_png, error_colours, round_axis_end
from exactik.report._summary import compute_frame_errors, find_missing
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.tracking import Track

__all__ = [
    "KIND_LABELS",
    "Lane",
    "area_row",
    "axis_row",
    "curve_path",
    "lanes_row",
    "plot_row",
    "render_timeline",
    "render_title",
    "render_zoom_tools",
]

Facts = Mapping[str, Any]

KIND_LABELS = {
    "no-markers": "no markers",
    "not-converged": "not at rest",
    "poor-fit": "fits badly",
    "gap": "gap filled",
    "ignored-marker": "left out",
    "jump": "jumps",
    "excess-cost": "costs more",
}
MAX_LANES = 24  # markers or dofs that get a lane of their own
CURVE_POINTS = 900  # of a curve without scripts
HEAT_COLUMNS = 2400  # of the heat map without scripts
HEAT_ROW_PX = 15  # height of a marker in the heat map
MIN_HEAT_PX = 120  # height of the heat map, whose scale needs room, of few markers
MAX_HEAT_PX = 900  # height of the heat map
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


def render_timeline(track: Track, summary: Facts, heat: HeatMap) -> str:
    """Return all plots that share the axis of time."""
    count = len(track)
    mean, most = (1e3 * values for values in compute_frame_errors(track))
    missing = find_missing(track)
    parts = [
        render_zoom_tools(),
        '<div class="plots">',
        axis_row(count, track.markers.rate),
    ]
    lanes = _make_attention_lanes(summary)
    if len(lanes) > 0:
        parts += [
            render_title("What needs a look"),
            lanes_row(lanes, count, "stretches to look at"),
        ]
    if np.isfinite(most).any():
        parts += _render_errors(track, summary, heat, mean, most)
    else:
        parts += [render_title("Error per frame"), "<p>No marker is seen in any frame.</p>"]
    parts += _render_gaps(summary, missing)
    parts += _render_limits(track, summary)
    top = round_axis_end(float(track.iterations.max(initial=1)))
    stats = summary["iterations"]
    about = f"median {stats['median']:g}, 95 % up to {stats['p95']:g}, at most {stats['max']:g}"
    parts += [render_title("Iterations of the last solve of each frame", escape(about))]
    values = track.iterations.astype(float)
    parts += [area_row([("iterations", values, "area")], top, "", "iterations of each frame", 70)]
    parts += [axis_row(count, track.markers.rate), "</div>"]
    first = summary["first_frame_in_file"]
    note = f"Frames are counted from 0; frame 0 is number {first} of the recording."
    return "".join(parts) + f'<p class="note">{note}</p>'


def render_zoom_tools() -> str:
    """Return the buttons above plots, which a script shows."""
    return (
        '<div class="tools" hidden><button data-zoom="in">zoom in</button><button data-zoom="out">'
        'zoom out</button><button data-zoom="all">whole recording</button><span>drag to zoom, '
        "double-click for the whole</span></div>"
    )


def _render_errors(
    track: Track, summary: Facts, heat: HeatMap, mean: Array, most: Array
) -> list[str]:
    """Return the errors of the frames and of each marker."""
    series = [("most", most, "line"), ("mean", mean, "area")]
    key = '<i class="k mean">mean of the markers</i><i class="k most">worst marker</i>'
    top = _choose_error_axis(mean, most)
    if (np.nan_to_num(most) > top).any():
        key += (
            f"cut off at {top:g} mm, the worst is {format_millimetres(summary['error']['max_mm'])}"
        )
    return [
        render_title("Error per frame", key),
        area_row(series, top, "mm", "error of each frame"),
        render_title("Error per marker and frame"),
        _heat_row(heat, track.names),
    ]


def _choose_error_axis(mean: np.ndarray, most: np.ndarray) -> float:
    """Return the end of an axis of errors [mm] that shows all means and most of the worst."""
    if not np.isfinite(mean).any():
        return 1.0
    high = max(1.2 * float(np.nanmax(mean)), 1.8 * float(np.nanpercentile(most, 90.0)))
    return round_axis_end(min(high, float(np.nanmax(most))))


def render_title(text: str, key: str = "") -> str:
    """Return the title of a plot, with its key, which is HTML."""
    return f'<h3>{escape(text)}<span class="keys">{key}</span></h3>'


def _make_attention_lanes(summary: Facts) -> list[Lane]:
    lanes = []
    for kind, label in KIND_LABELS.items():
        runs = sorted((a["first"], a["last"]) for a in summary["attention"] if a["kind"] == kind)
        if len(runs) > 0:
            lanes.append(Lane(label, f"{len(runs)} ×", runs, kind))
    swaps = [s for s in summary["swaps"] if s["verdict"] in ("likely", "repaired")]
    if len(swaps) > 0:
        runs = [(s["first"], s["last"]) for s in swaps]
        lanes.append(Lane("swapped", f"{len(runs)} ×", runs, "swap"))
    return lanes


def _render_gaps(summary: Facts, missing: np.ndarray) -> list[str]:
    gaps, names = summary["gaps"], summary["markers"]["used"]
    if len(gaps) == 0:
        return [render_title("Gaps"), "<p>No marker is ever missing.</p>"]
    lanes = []
    for gap in gaps[:MAX_LANES]:
        hint = f"{gap['name']}: {count_noun(gap['gaps'], 'gap')}, longest {gap['longest_s']:.2f} s"
        runs = find_segments(missing[:, names.index(gap["name"])])
        value = format_share(gap["frames"] / max(len(missing), 1))
        lanes.append(Lane(gap["name"], value, runs, "gap", hint))
    most, number = max(gap["longest_s"] for gap in gaps), sum(gap["gaps"] for gap in gaps)
    about = f"{count_noun(number, 'gap')} of {count_noun(len(gaps), 'marker')}"
    about += f", longest {most:.2f} s"
    if len(gaps) > MAX_LANES:
        about += f"; the {MAX_LANES} markers missing most"
    height = round_axis_end(float(missing.sum(axis=1).max()))
    curve = [("missing", missing.sum(axis=1).astype(float), "area")]
    return [
        render_title("Gaps", escape(about)),
        area_row(curve, height, "", "markers missing in each frame", 60),
        lanes_row(lanes, len(missing), "gaps of each marker", 14),
    ]


def _render_limits(track: Track, summary: Facts) -> list[str]:
    if summary["settings"]["limits"] != "hard":
        text = f"<p>Limits were {summary['settings']['limits']}.</p>"
        return [render_title("Limits touched"), text]
    if len(summary["limits"]) == 0:
        return [render_title("Limits touched"), "<p>No dof touches a limit.</p>"]
    lanes, names = [], track.skeleton.dof_names
    for limit in summary["limits"][:MAX_LANES]:
        ends = [
            _format_limit(limit[key], limit["unit"])
            for key in ("lower", "upper")
            if limit[f"share_{key}"] > 0.0
        ]
        runs = find_segments(track.at_limits[:, names.index(limit["dof"])])
        hint = f"{limit['dof']}: at {' and '.join(ends)}"
        lanes.append(Lane(limit["dof"], format_share(limit["share"]), runs, "limit", hint))
    about = f"{count_noun(len(summary['limits']), 'dof')}; share of the frames to the right"
    if len(summary["limits"]) > MAX_LANES:
        about += f"; the {MAX_LANES} that do most"
    return [
        render_title("Limits touched", escape(about)),
        lanes_row(lanes, len(track), "limits", 15),
    ]


def _format_limit(value: float, unit: str) -> str:
    return f"{np.degrees(value):.0f}°" if unit == "rad" else f"{value:.3f} m"


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
        piece = slice(first, last + 1)
        points = [f"{a:.6g},{b:.2f}" for a, b in zip(x[piece], y[piece], strict=True)]
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
        series: name in the script's data, values of the frames (T,), "area" or "line", with
            further classes behind it.
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
        path = curve_path(bins.middles, y, closed_at=100.0 if kind.startswith("area") else None)
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
    """Return one line for each lane, with its segments as bars."""
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
    return find_segments(mark_segments(count, runs), join=count // MAX_LANE_SEGMENTS)


def _heat_row(heat: HeatMap, names: Sequence[str]) -> str:
    """Return the errors of the markers as a picture."""
    bins = Bins.of(len(heat.bins), HEAT_COLUMNS)
    level = np.maximum.reduceat(heat.level, bins.edges, axis=0).T
    data = base64.b64encode(encode_png(np.ascontiguousarray(level), heat.palette)).decode("ascii")
    count = max(len(names), 1)
    line = max(4.0, MIN_HEAT_PX / count, min(float(HEAT_ROW_PX), MAX_HEAT_PX / count))
    label_step = int(np.ceil(11.0 / line))  # names closer than 11 px would overlap
    labels = "".join(
        f'<span class="name small" style="height:{line * label_step:g}px;line-height:'
        f'{min(line * label_step, HEAT_ROW_PX):g}px" title="{escape(name)}">{escape(name)}</span>'
        for name in names[::label_step]
    )
    height = round(line * len(names))
    image = (
        f'<image href="data:image/png;base64,{data}" width="{heat.bins.frames}" '
        f'height="{len(names)}" preserveAspectRatio="none"/>'
    )
    svg = _svg(heat.bins.frames, len(names), image, "error of every marker over time", 'id="heat"')
    return plot_row(labels, svg, _heat_scale(heat), height, "heat")


def _heat_scale(heat: HeatMap) -> str:
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
