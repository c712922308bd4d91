"""How far the joints of a recording moved: a bar for each angle, right and left, about zero."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from exactik.recordings.tracking import Quality
from exactik.studio.plots.axes import find_round_ticks
from exactik.studio.report._charts import (
    BAND_SD,
    CLINICAL,
    MAX_RANGE_DEG,
    MIN_RANGE_SD,
    AngleChart,
)
from exactik.studio.report._curves import AngleCurves
from exactik.typing import BoolArray

if TYPE_CHECKING:
    from exactik.recordings.tracking import Track

ARM_WORDS = ("shoulder", "elbow", "forearm", "wrist")  # with which angles of arms begin
LEG_WORDS = ("hip", "knee", "ankle", "toe")
MAX_ANGLES = 12  # of a motion overview
MIN_KNOWN = 5  # frames from which a range is one
MIN_SPAN_DEG = 20.0  # [°] of the axis


class AngleRange(NamedTuple):
    """From where to where an angle went [°], and its error bar (90 %)."""

    low: float
    high: float
    bar: float


def is_of_upper_body(charts: Sequence[AngleChart]) -> bool:
    """Whether the markers determine arms and no legs."""
    known = [c.name.lower() for c in charts if c.group == CLINICAL and not c.is_open]
    has_arms = any(name.startswith(ARM_WORDS) for name in known)
    return has_arms and not any(name.startswith(LEG_WORDS) for name in known)


def render_ranges(track: Track, curves: AngleCurves, charts: Sequence[AngleChart]) -> str:
    """Return the ranges of the angles that were measured, of arms alone those of arms first.

    Of a figure that is no body they are those of its joints' coordinates. Angles that hardly move
    for their error bars are left out.
    """
    has_clinical = any(chart.group == CLINICAL for chart in charts)
    known = _find_known(track, curves)
    rows = []
    for chart in charts:
        if chart.is_placing or chart.unit != "°" or (chart.group == CLINICAL) != has_clinical:
            continue
        spans = [_measure(curves, k, known[:, k]) for k in chart.columns]
        moving = [s for s in spans if s is not None and _moves(s)]
        if len(moving) > 0:
            rows.append((chart, spans, max(s.high - s.low for s in moving)))
    if not is_of_upper_body(charts):
        chosen = sorted(rows, key=lambda row: -row[2])[:MAX_ANGLES]
        rows = [row for row in rows if row in chosen]
    if len(rows) == 0:
        return "<p>Nothing here moves by more than its error bars.</p>"
    edges = [x for _, spans, _ in rows for s in spans if s is not None for x in (s.low, s.high)]
    marks = find_round_ticks(min(0.0, *edges), max(0.0, *edges), MIN_SPAN_DEG)
    lines = "".join(
        f'<i class="mark{" zero" if abs(m) < 1e-9 else ""}" style="left:{_place(m, marks):.2f}%">'
        f"</i>"
        for m in marks
    )
    numbers = "".join(
        f'<span style="left:{_place(m, marks):.2f}%">{_write(m)}</span>' for m in marks
    )
    body = "".join(_render_row(chart, spans, marks, lines) for chart, spans, _ in rows)
    return (
        f'<div class="ranges">{body}<div class="range"><span></span>'
        f'<div class="scale-marks">{numbers}</div><span></span></div></div>'
    )


def _find_known(track: Track, curves: AngleCurves) -> BoolArray:
    """Return where each column of the curves was measured, (n, a + nv)."""
    open_codes = (Quality.OPEN, Quality.DOUBTFUL)
    known = ~np.isin(track.quality, open_codes)
    if curves.angles is not None:
        known = np.concatenate([~np.isin(track.angle_quality, open_codes), known], axis=1)
    return np.asarray(curves.bins.any(known))


def _measure(curves: AngleCurves, k: int, known: BoolArray) -> AngleRange | None:
    """Return the range of a column where it was measured; None if it was in hardly any frame."""
    if known.sum() < MIN_KNOWN:
        return None
    low, high = float(curves.low[known, k].min()), float(curves.high[known, k].max())
    return AngleRange(low, high, BAND_SD * float(np.median(curves.sd[known, k])))


def _moves(span: AngleRange) -> bool:
    width = span.high - span.low
    return MIN_RANGE_SD / BAND_SD * span.bar < width < MAX_RANGE_DEG


def _write(value: float) -> str:
    return f"{round(value):d}°".replace("-", "−")


def _place(value: float, marks: Sequence[float]) -> float:
    return 100.0 * (value - marks[0]) / (marks[-1] - marks[0])


def _render_row(
    chart: AngleChart, spans: Sequence[AngleRange | None], marks: Sequence[float], lines: str
) -> str:
    bars, words = [], []
    for n, (short, span) in enumerate(zip(chart.short, spans, strict=True)):
        if span is None:
            continue
        left, right = _place(span.low, marks), _place(span.high, marks)
        bars.append(
            f'<b class="c{n % 6}" style="left:{left:.2f}%;width:{max(right - left, 0.4):.2f}%"></b>'
        )
        side = f"{short} " if short else ""
        words.append(
            f'<span class="c{n % 6}">{escape(side)}{_write(span.low)} to {_write(span.high)} '
            f"<small>± {span.bar:.1f}°</small></span>"
        )
    ends = f"<small>{escape(' / '.join(chart.ends))}</small>" if chart.ends != ("", "") else ""
    return (
        f'<div class="range"><span class="name">{escape(chart.name)} {ends}</span>'
        f'<div class="spans">{lines}{"".join(bars)}</div><div class="words">{"".join(words)}'
        "</div></div>"
    )
