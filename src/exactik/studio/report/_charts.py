"""Charts of angles over time with error bands: some at first, and any that are chosen."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from exactik.recordings.angles import ANGLE_ENDS
from exactik.studio.plots.axes import Bins, ValueAxis
from exactik.studio.plots.drawing import (
    Band,
    draw_axis_row,
    draw_bands,
    draw_row,
    render_ends,
    wrap_plot,
)
from exactik.studio.report._curves import AngleCurves

if TYPE_CHECKING:
    from exactik.recordings.tracking import Track


BAND_SD = 1.645  # standard deviations on both sides hold 90 % of a normal distribution
INITIAL_CHARTS = 6  # that are shown before the reader chooses
MIN_RANGE_SD = 4.0  # standard deviations of its range that an angle is known worse by
MAX_RANGE_DEG = 270.0  # [°] more is not movement but a change to other angles of the same pose
CHART_POINTS = 300  # of a curve, without scripts

CLINICAL, COORDINATES = "clinical", "coordinates"
SIDE_WORDS = {"r": "right", "l": "left"}


class AngleChart(NamedTuple):
    """Curves that are drawn together: an angle of both sides, or the dofs of a bone."""

    name: str  # of the angle, or of the bone with "(shift)" behind it where it also turns
    unit: str  # "°" or "m"
    columns: tuple[int, ...]  # of `AngleCurves`
    short: tuple[str, ...]  # what tells them apart: sides, or names of dofs without the bone
    group: str  # "clinical" or "coordinates"
    ends: tuple[str, str] = ("", "")  # what lies below and above zero, in words
    is_placing: bool = False  # whether it only places the whole figure
    is_open: bool = False  # whether the markers determine none of it


def bare_name(angle: str) -> str:
    """Return the name of an angle without its side."""
    return angle[:-2] if angle.endswith(("_r", "_l")) else angle


def title_of(angle: str) -> str:
    """Return an angle in words, without its side: "Hip flexion"."""
    return bare_name(angle).replace("_", " ").capitalize()


def make_charts(track: Track, curves: AngleCurves) -> list[AngleChart]:
    """Return all charts: joint angles, then coordinates, of joints that move both ways twice."""
    return [*_make_clinical_charts(track, curves), *_make_coordinate_charts(track, curves)]


def _make_clinical_charts(track: Track, curves: AngleCurves) -> list[AngleChart]:
    by_title: dict[str, list[int]] = {}
    for k, name in enumerate(curves.names):
        by_title.setdefault(title_of(name), []).append(k)
    open_sd = np.degrees(track.options.assessment.open_sd)
    charts = []
    for title, columns in by_title.items():
        names = [curves.names[k] for k in columns]
        charts.append(
            AngleChart(
                name=title,
                unit="°",
                columns=tuple(columns),
                short=tuple(
                    SIDE_WORDS.get(name[-1], "") if len(names) > 1 else "" for name in names
                ),
                group=CLINICAL,
                ends=ANGLE_ENDS[bare_name(names[0])],
                is_placing=names[0] in ("pelvis_rotation", "thorax_rotation"),
                is_open=bool((curves.compute_usual_sd(columns) > open_sd).all()),
            )
        )
    return charts


def _make_coordinate_charts(track: Track, curves: AngleCurves) -> list[AngleChart]:
    skeleton, charts = track.skeleton, []
    first = skeleton.tree.first_v
    for k, bone in enumerate(skeleton.bones):
        bone_dofs = range(int(first[k + 1]), int(first[k + 2]))
        turning = [v for v in bone_dofs if skeleton.turns[v]]
        shifting = [v for v in bone_dofs if not skeleton.turns[v]]
        for dofs, unit in ((shifting, "m"), (turning, "°")):
            if len(dofs) == 0:
                continue
            both = len(shifting) > 0 and len(turning) > 0
            charts.append(
                AngleChart(
                    name=f"{bone.name} (shift)" if both and unit == "m" else bone.name,
                    unit=unit,
                    columns=tuple(len(curves.names) + v for v in dofs),
                    short=tuple(skeleton.dof_names[v][len(bone.name) + 1 :] for v in dofs),
                    group=COORDINATES,
                    is_placing=bone.parent is None,
                )
            )
    return charts


def choose_initial_charts(charts: list[AngleChart], curves: AngleCurves) -> list[int]:
    """Return which to show at first: those of each group that move most and are known well."""

    def reach(chart: AngleChart) -> float:
        if chart.is_placing or chart.is_open or chart.unit != "°":
            return -1.0
        columns = list(chart.columns)
        high, low = (values[curves.seen][:, columns] for values in (curves.high, curves.low))
        span = high.max(axis=0) - low.min(axis=0)
        if span.max() > MAX_RANGE_DEG:
            return -1.0
        return float((span - MIN_RANGE_SD * curves.compute_usual_sd(columns)).max())

    chosen = []
    for group in (CLINICAL, COORDINATES):
        moving = [n for n, chart in enumerate(charts) if chart.group == group and reach(chart) > 0]
        chosen += sorted(sorted(moving, key=lambda n: -reach(charts[n]))[:INITIAL_CHARTS])
    return chosen


def encode_charts(charts: list[AngleChart], curves: AngleCurves) -> dict[str, Any]:
    """Return all charts for the script that draws those which are chosen."""
    return {
        "bins": len(curves.bins),
        "within": BAND_SD,
        "joints": [
            {
                "name": chart.name,
                "unit": chart.unit,
                "group": chart.group,
                "marks": _choose_axis(chart, curves).marks,
                "ends": chart.ends,
                "dofs": [
                    {"name": short, **curves.encode(k)}
                    for short, k in zip(chart.short, chart.columns, strict=True)
                ],
            }
            for chart in charts
        ],
    }


def render_charts(
    charts: list[AngleChart],
    curves: AngleCurves,
    chosen: list[int],
    rate: float,
    group: str,
    *,
    with_drawings: bool = True,
) -> str:
    """Return the charts of a group: buttons for all of them, and the chosen ones drawn."""
    mine = [n for n, chart in enumerate(charts) if chart.group == group]
    chips = "".join(
        f'<button data-joint="{n}" aria-pressed="{"true" if n in chosen else "false"}">'
        f"{escape(charts[n].name)}</button>"
        for n in mine
        if not charts[n].is_open
    )
    times = draw_axis_row(curves.bins.frames, rate, marks=6)
    drawn = [n for n in chosen if n in mine and with_drawings]
    shown = "".join(_draw_chart(charts[n], curves, times) for n in drawn)
    chosen_here = [n for n in chosen if n in mine]
    note = '<p class="note">Nothing here moves by more than its error bars; any can be chosen.</p>'
    return (
        f'<div class="chart-group"><div class="chips" hidden>{chips}</div>'
        f'{note if len(chosen_here) == 0 else ""}<div class="charts plots">{shown}</div></div>'
    )


def _choose_axis(chart: AngleChart, curves: AngleCurves) -> ValueAxis:
    """Return the axis: it holds the curves, and bands as far as they are narrow."""
    columns = list(chart.columns)
    low, high, wide = (
        curves.low[:, columns],
        curves.high[:, columns],
        BAND_SD * curves.sd[:, columns],
    )
    least, most = float(low.min()), float(high.max())
    room = max(most - least, 4.0 if chart.unit == "°" else 0.02)
    # Bands of moments without markers are as wide as all angles; they run out of the chart.
    bottom = max(float(np.percentile(low - wide, 2.0)), least - 0.3 * room)
    top = min(float(np.percentile(high + wide, 98.0)), most + 0.3 * room)
    low_end, high_end = min(bottom, least) - 0.03 * room, max(top, most) + 0.03 * room
    return ValueAxis.with_marks(low_end, high_end, 0.0)


def _draw_chart(chart: AngleChart, curves: AngleCurves, times: str) -> str:
    axis = _choose_axis(chart, curves)
    count, bins = curves.bins.frames, Bins.of(len(curves.bins), CHART_POINTS)
    beyond = 0.5 * (axis.top - axis.bottom)  # of the chart, that bands are drawn
    bands = []
    for n, k in enumerate(chart.columns):
        low, high = bins.least(curves.low[:, k]), bins.most(curves.high[:, k])
        wide = BAND_SD * bins.most(curves.sd[:, k])
        edges = np.clip([low - wide, high + wide], axis.bottom - beyond, axis.top + beyond)
        bands.append(Band(f"c{n % 6}", (low + high) / 2, *edges))
    drawn = draw_bands(bands, curves.bins.middles[bins.edges], axis)
    ticks, lines = axis.draw_marks(count)
    key = "".join(
        f'<i class="c{n % 6}">{escape(name)}</i>' for n, name in enumerate(chart.short) if name
    )
    title = f"<h4>{escape(chart.name)} <small>{chart.unit}</small><span>{key}</span></h4>"
    plot = wrap_plot(count, 100, lines + drawn, chart.name) + render_ends(chart.ends)
    row = draw_row(ticks, plot, "", 120, "curve")
    return f'<figure class="joint">{title}{row}{times}</figure>'
