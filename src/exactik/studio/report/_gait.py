"""Gait in a report: numbers of the strides, and angles over the gait cycle."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from exactik._text import count_noun
from exactik.recordings.angles import CYCLE_POINTS, GaitCurve, GaitCycles, GaitParameter
from exactik.studio.plots.axes import ValueAxis
from exactik.studio.plots.drawing import Band, draw_bands, wrap_plot
from exactik.studio.report._charts import CLINICAL, AngleChart
from exactik.studio.report._curves import AngleCurves

PARAMETER_WORDS = {
    "speed": "speed",
    "cadence": "cadence",
    "stride_time": "stride time",
    "stride_length": "stride length",
    "step_time": "step time",
    "step_length": "step length",
    "stance_share": "stance",
}
MIN_AXIS_DEG = 20.0  # [°] height of a panel, so that noise does not look like movement


def render_gait(cycles: GaitCycles, curves: AngleCurves, charts: Sequence[AngleChart]) -> str:
    """Return numbers of the strides and panels of the angles that the markers determine."""
    panels = [
        _render_panel(chart.name, _find_curves(cycles, curves, chart), cycles)
        for chart in charts
        if chart.group == CLINICAL and not chart.is_open
    ]
    right, left = (count_noun(len(cycles.of(side)), "stride") for side in ("r", "l"))
    note = f"Mean of {right} on the right, {left} on the left"
    note += ", with one standard deviation between strides" if len(cycles) > 2 else ""
    note += "; vertical lines are toe-off. Degrees over the stride in per cent, from strike to "
    note += "strike; pelvis and thorax rotate from the way walked."
    return (
        f"{_render_parameters(cycles)}"
        f'<p class="note"><i class="k right">right</i><i class="k left">left</i>{escape(note)}</p>'
        f'<div class="panels">{"".join(panels)}</div>'
    )


def _render_parameters(cycles: GaitCycles) -> str:
    by_name: dict[str, dict[str, GaitParameter]] = {}
    for parameter in cycles.parameters():
        by_name.setdefault(parameter.name, {})[parameter.side] = parameter
    tiles = "".join(
        f'<div class="tile"><b>{_format(sides[""])}</b><span>{PARAMETER_WORDS[name]}</span></div>'
        for name, sides in by_name.items()
        if "" in sides
    )
    if cycles.belt_speed > 0.0:
        tiles += f'<div class="tile"><b>{cycles.belt_speed:.2f} m/s</b><span>treadmill</span></div>'
    tiles += f'<div class="tile"><b>{len(cycles)}</b><span>whole strides</span></div>'
    rows = "".join(
        f"<tr><th>{PARAMETER_WORDS[name]}</th>"
        + "".join(f"<td>{_format(sides[s]) if s in sides else '–'}</td>" for s in ("r", "l"))
        + "</tr>"
        for name, sides in by_name.items()
        if "" not in sides
    )
    head = "<thead><tr><th></th><th>right</th><th>left</th></tr></thead>"
    table = f'<table class="gait">{head}<tbody>{rows}</tbody></table>'
    return f'<div class="gait-numbers"><div class="tiles">{tiles}</div>{table}</div>'


def _format(parameter: GaitParameter) -> str:
    """Return mean and, of several strides, standard deviation with the unit."""
    scale, unit, digits = 1.0, parameter.unit, 2
    if parameter.name == "stance_share":
        scale, unit, digits = 100.0, "%", 0
    if parameter.name == "cadence":
        unit, digits = "steps/min", 0
    spread = f" ± {scale * parameter.sd:.{digits}f}" if np.isfinite(parameter.sd) else ""
    return f"{scale * parameter.mean:.{digits}f}{spread} {unit}"


def _find_curves(
    cycles: GaitCycles, curves: AngleCurves, chart: AngleChart
) -> list[tuple[str, GaitCurve]]:
    """Return the curves of both sides; of an angle of the middle over the strides of each side."""
    assert curves.angles is not None  # there are clinical charts
    names = [curves.names[k] for k in chart.columns]
    found = []
    for side in ("r", "l"):
        name = next((n for n in names if n.endswith(f"_{side}")), names[0])
        curve = cycles.curve(curves.angles, name, side)
        if curve is not None:
            found.append((side, curve))
    return found


def _render_panel(title: str, curves: Sequence[tuple[str, GaitCurve]], cycles: GaitCycles) -> str:
    bands = [_make_band(side, curve) for side, curve in curves]
    least = min(float(band.low.min()) for band in bands)
    most = max(float(band.high.max()) for band in bands)
    room = max(MIN_AXIS_DEG - (most - least), 0.0) / 2.0
    axis = ValueAxis.around(least - room, most + room)
    inside = draw_bands(bands, np.arange(CYCLE_POINTS, dtype=float), axis)
    if axis.bottom < 0.0 < axis.top:
        zero = float(axis.place(np.array(0.0)))
        inside = f'<path class="grid" d="M0,{zero:.2f}H100"/>{inside}'
    for side, _ in curves:
        toe_off = 100.0 * float(np.mean([cycle.stance_share for cycle in cycles.of(side)]))
        inside += f'<path class="off {side}" d="M{toe_off:.1f},0V100"/>'
    svg = wrap_plot(100, 100, inside, f"{title} over the gait cycle", kind="cycle")
    ticks = axis.draw_ticks((1.0, 0.5, 0.0), lambda value: f"{value:.0f}")
    percent = "".join(f'<span style="left:{x}%">{x}</span>' for x in (0, 50, 100))
    return (
        f'<figure class="panel"><h4>{escape(title)}</h4><div class="box"><div class="side">{ticks}'
        f'</div>{svg}</div><div class="percent">{percent}</div></figure>'
    )


def _make_band(side: str, curve: GaitCurve) -> Band:
    """Return the mean with one standard deviation around it [°], which one stride has not."""
    mean, sd = np.degrees(curve.mean), np.nan_to_num(np.degrees(curve.sd))
    return Band(side, mean, mean - sd, mean + sd)
