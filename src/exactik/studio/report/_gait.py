"""Gait in a report: angles over the gait cycle beside a published range, figures of the strides."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from exactik._text import count_noun, join_names
from exactik.recordings.angles import (
    CYCLE_POINTS,
    GaitCurve,
    GaitCycles,
    GaitParameter,
    JointAngles,
    NormalBand,
    NormalGait,
)
from exactik.studio.plots.axes import ValueAxis
from exactik.studio.plots.drawing import (
    Band,
    Lane,
    draw_band_path,
    draw_bands,
    draw_lanes_row,
    render_ends,
    wrap_plot,
)
from exactik.studio.report._charts import BAND_SD, CLINICAL, AngleChart, bare_name
from exactik.studio.report._curves import AngleCurves
from exactik.typing import Array

PARAMETER_WORDS = {
    "speed": "speed",
    "cadence": "cadence",
    "stride_time": "stride time",
    "stride_length": "stride length",
    "step_time": "step time",
    "step_length": "step length",
    "stance_share": "stance",
}
GAIT_ANGLES = (
    "pelvis_tilt",
    "pelvis_obliquity",
    "pelvis_rotation",
    "hip_flexion",
    "hip_adduction",
    "hip_rotation",
    "knee_flexion",
    "ankle_dorsiflexion",
)
"""Without side, in the order in which laboratories show them."""
OWN_SIDE = {"pelvis_obliquity": ("down", "up"), "pelvis_rotation": ("back", "forward")}
"""Angles of the middle whose curves are signed by the side of the stride, and what that says."""
MIN_AXIS_DEG = 20.0  # [°] height of a panel, so that noise does not look like movement
NORMAL_SD = 2.0  # standard deviations on both sides hold 95 % of healthy people
MOST_NAMED = 4  # angles in a sentence
DRAWN_STEP = 2  # per cent of the cycle from point to point of a drawn curve


def find_stride_curve(cycles: GaitCycles, angles: JointAngles, name: str, side: str) -> GaitCurve:
    """Return an angle over the strides of a side, signed by it where `OWN_SIDE` says so."""
    curve = cycles.curve(angles, name, side)
    assert curve is not None  # there are strides of this side
    if side == "l" and name in OWN_SIDE:
        return curve._replace(cycles=-curve.cycles, mean=-curve.mean)
    return curve


def render_gait(
    cycles: GaitCycles, curves: AngleCurves, charts: Sequence[AngleChart], normal: NormalGait | None
) -> str:
    """Return panels of pelvis, hip, knee and ankle, figures of the strides, and events."""
    shown = _choose_charts(curves, charts, within=True)
    names = [bare_name(curves.names[chart.columns[0]]) for chart in shown]
    unknown = [title.replace("_", " ") for title in GAIT_ANGLES if title not in names]
    right, left = (count_noun(len(cycles.of(side)), "stride") for side in ("r", "l"))
    key = '<i class="k right">right</i><i class="k left">left</i>'
    about = f"{right} right, {left} left: degrees over per cent of the stride"
    about += "; band: one standard deviation between strides" if len(cycles) > 2 else ""
    about += "; dashed: toe-off. ± is by how much a whole curve may be too high or low (90 %)."
    sources = [] if normal is None else [f"Grey: 95 % of those of {normal.source}."]
    if len(unknown) > 0:
        sources.append(f"Not measured: {join_names(unknown, MOST_NAMED)}.")
    return (
        f'<p class="note">{key}{escape(about)}</p>'
        f'<div class="panels">{_render_panels(shown, cycles, curves, normal)}</div>'
        f'<p class="note source">{escape(" ".join(sources))}</p>'
        f"{_render_figures(cycles)}{_render_events(cycles, curves)}"
    )


def render_other_panels(
    cycles: GaitCycles, curves: AngleCurves, charts: Sequence[AngleChart]
) -> str:
    """Return panels of the angles that are not those of walking."""
    shown = _choose_charts(curves, charts, within=False)
    return f'<div class="panels">{_render_panels(shown, cycles, curves, None)}</div>'


def _choose_charts(
    curves: AngleCurves, charts: Sequence[AngleChart], *, within: bool
) -> list[AngleChart]:
    known = [c for c in charts if c.group == CLINICAL and not c.is_open]
    names = {id(c): bare_name(curves.names[c.columns[0]]) for c in known}
    chosen = [c for c in known if (names[id(c)] in GAIT_ANGLES) == within]
    return sorted(chosen, key=lambda c: GAIT_ANGLES.index(names[id(c)])) if within else chosen


def _render_panels(
    charts: Sequence[AngleChart], cycles: GaitCycles, curves: AngleCurves, normal: NormalGait | None
) -> str:
    assert curves.angles is not None  # of a body
    panels = []
    for chart in charts:
        names = [curves.names[k] for k in chart.columns]
        found = []
        for side in ("r", "l"):
            if len(cycles.of(side)) > 0:
                name = next((n for n in names if n.endswith(f"_{side}")), names[0])
                found.append((side, find_stride_curve(cycles, curves.angles, name, side)))
        bare = bare_name(names[0])
        bar = BAND_SD * float(np.max(curves.compute_usual_sd(chart.columns)))
        ends, note = OWN_SIDE.get(bare, chart.ends), f"± {bar:.1f}°"
        marks = "".join(
            f'<path class="off {side}" d="M{_find_toe_off(cycles, side):.1f},0V100"/>'
            for side, _ in found
        )
        bands = [_make_band(side, curve) for side, curve in found]
        grey = None if normal is None else normal.bands.get(bare)
        panels.append(render_panel(chart.name, bands, ends, grey, note, marks))
    return "".join(panels)


def _find_toe_off(cycles: GaitCycles, side: str) -> float:
    return 100.0 * float(np.mean([cycle.stance_share for cycle in cycles.of(side)]))


def _make_band(side: str, curve: GaitCurve) -> Band:
    """Return the mean with one standard deviation around it [°], which one stride has not."""
    mean, sd = np.degrees(curve.mean), np.nan_to_num(np.degrees(curve.sd))
    return Band(side, mean, mean - sd, mean + sd)


def render_panel(
    title: str,
    bands: Sequence[Band],
    ends: tuple[str, str],
    normal: NormalBand | None = None,
    note: str = "",
    marks: str = "",
) -> str:
    """Return a panel of curves over the gait cycle [°].

    Args:
        title: the angle.
        bands: curves with a band around each, (101,).
        ends: what lies below and above zero.
        normal: normal range, drawn in grey behind them.
        note: in the corner.
        marks: SVG over the grid, x in per cent.
    """
    low, high = [band.low for band in bands], [band.high for band in bands]
    if normal is not None:
        mean, sd = (np.degrees(curve) for curve in normal)
        low.append(mean - NORMAL_SD * sd)
        high.append(mean + NORMAL_SD * sd)
    least, most = min(float(np.min(low)), 0.0), max(float(np.max(high)), 0.0)
    axis = ValueAxis.with_marks(least, most, MIN_AXIS_DEG)
    x: Array = np.arange(0.0, CYCLE_POINTS, DRAWN_STEP)
    bands = [Band(b.style, *(curve[::DRAWN_STEP] for curve in b[1:])) for b in bands]
    ticks, inside = axis.draw_marks(100.0)
    if normal is not None:
        edges = (axis.place(edge[-1][::DRAWN_STEP]) for edge in (low, high))
        inside = f'<path class="normal" d="{draw_band_path(x, *edges)}"/>{inside}'
    inside += marks + draw_bands(bands, x, axis)
    svg = wrap_plot(100, 100, inside, f"{title} over the gait cycle", kind="cycle")
    bar = f'<em class="end noise">{escape(note)}</em>' if note else ""
    percent = "".join(f'<span style="left:{at}%">{at}</span>' for at in (0, 50, 100))
    return (
        f'<figure class="panel"><h4>{escape(title)}</h4>'
        f'<div class="box"><div class="side">{ticks}</div>{svg}{render_ends(ends)}{bar}</div>'
        f'<div class="percent">{percent}</div></figure>'
    )


def _render_figures(cycles: GaitCycles) -> str:
    """Return speed, cadence, times and lengths: small cells, right and left in their colours."""
    by_name: dict[str, dict[str, GaitParameter]] = {}
    for parameter in cycles.parameters():
        by_name.setdefault(parameter.name, {})[parameter.side] = parameter
    cells = [
        f"<div><span>{PARAMETER_WORDS[name]}</span>"
        + "".join(f'<b class="{side}">{format_parameter(one)}</b>' for side, one in sides.items())
        + "</div>"
        for name, sides in by_name.items()
    ]
    if cycles.belt_speed > 0.0:
        cells.append(f"<div><span>treadmill</span><b>{cycles.belt_speed:.2f} m/s</b></div>")
    return f'<div class="figures">{"".join(cells)}</div>'


def format_parameter(parameter: GaitParameter) -> str:
    """Return mean and, of several strides, standard deviation with the unit."""
    scale, unit, digits = 1.0, parameter.unit, 2
    if parameter.name == "stance_share":
        scale, unit, digits = 100.0, "%", 0
    if parameter.name == "cadence":
        unit, digits = "/min", 0
    spread = f" ± {scale * parameter.sd:.{digits}f}" if np.isfinite(parameter.sd) else ""
    return f"{scale * parameter.mean:.{digits}f}{spread} {unit}"


def _render_events(cycles: GaitCycles, curves: AngleCurves) -> str:
    """Return when each foot stands: from strike to toe-off."""
    lanes, names = [], {"r": "right foot", "l": "left foot"}
    for side, name in names.items():
        runs, start = [], None
        for event in (e for e in cycles.events.events if e.side == side):
            if event.kind == "strike":
                start = event.frame
            elif start is not None:
                runs.append((start, event.frame))
                start = None
        lanes.append(
            Lane(
                name,
                count_noun(len(runs), "time"),
                runs,
                f"stance-{side}",
                "from strike to toe-off",
            )
        )
    about = "when each foot stands"
    return f'<div class="plots events">{draw_lanes_row(lanes, curves.bins.frames, about)}</div>'
