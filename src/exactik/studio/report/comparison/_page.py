"""The page of a comparison: what changed, the curves of both, and up to where it may be chance."""

from __future__ import annotations

import os
from html import escape

import numpy as np

from exactik._text import count_noun
from exactik.recordings.angles import ANGLE_ENDS, CurveDifference, GaitCurve, GaitParameter
from exactik.studio.plots.drawing import Band
from exactik.studio.report._charts import title_of
from exactik.studio.report._findings import render_table
from exactik.studio.report._gait import (
    OWN_SIDE,
    PARAMETER_WORDS,
    bare_name,
    format_parameter,
    render_panel,
)
from exactik.studio.report._header import assemble_header, assemble_verdict, capitalise
from exactik.studio.report._page import render_making, render_page, render_section, write_page
from exactik.studio.report._summary import collect_versions
from exactik.studio.report.comparison._compare import SIDES, GaitComparison, describe_change

METHOD = (
    "A difference is called a change where it is beyond what strides of one person differ by, and "
    "what is uncertain of figure and skin: of twenty pairs without a change about one has a false "
    "alarm, all angles together."
)


def write_comparison(
    comparison: GaitComparison, path: str | os.PathLike[str], command: str = ""
) -> None:
    """Write the page to an .html file, whole or not at all."""
    write_page(path, render_comparison(comparison, command))


def render_comparison(comparison: GaitComparison, command: str = "") -> str:
    """Return the page as text."""
    names = comparison.names
    counts = [
        f"{name}: {count_noun(len(cycles.of(side)) if side else len(cycles), 'stride')}"
        for name, cycles, side in zip(
            names,
            comparison.cycles,
            ("r", "l") if comparison.is_of_sides else ("", ""),
            strict=True,
        )
    ]
    header = assemble_header(f"{names[0]} → {names[1]}", counts, _render_verdict(comparison))
    key = "".join(
        f'<i class="k {style}">{escape(name)}</i>'
        for style, name in zip(("right", "left"), names, strict=True)
    )
    curves = "".join(_render_curves(one) for one in comparison.differences)
    shifts = "".join(_render_difference(one) for one in comparison.differences)
    sections = [
        render_section(
            "curves",
            "Angles over the stride",
            f'<p class="note">{key}mean and one standard deviation between strides, per cent of '
            f'the stride; shaded where it changed</p><div class="panels">{curves}</div>',
        ),
        render_section(
            "differences",
            "Differences",
            f'<div class="panels">{shifts}</div>',
            f"{names[1]} less {names[0]}, in degrees; inside the grey band it may be chance.",
        ),
        render_section("figures", "Figures of the strides", _render_figures(comparison)),
        render_section("repeat", "How it was compared", _render_making(comparison, command)),
    ]
    return render_page(f"{names[0]} and {names[1]}: exactik", header, None, sections, {})


def _render_verdict(comparison: GaitComparison) -> str:
    changes = comparison.changes
    rows = [
        f'<li class="care">{escape(capitalise(describe_change(one, comparison)))}.</li>'
        for one in changes
    ]
    unknown = [one for one in comparison.differences if not np.isfinite(one.bar).all()]
    aside = "One stride of each tells nothing of chance: nothing can be called a change."
    if len(changes) == 0:
        words, headline = "No change", "No angle differs by more than may be chance."
    else:
        words = "Different sides" if comparison.is_of_sides else "Changed"
        headline = f"{len(changes)} of {len(comparison.differences)} curves differ by more than "
        headline += "may be chance."
    grade = "care" if len(changes) > 0 else "good"
    return assemble_verdict(grade, words, headline, rows, aside if len(unknown) > 0 else "")


def _name(one: CurveDifference) -> tuple[str, tuple[str, str]]:
    """Return the title of a curve, with its side if it has one, and what its signs mean."""
    bare = bare_name(one.pair.name)
    side = SIDES.get(one.pair.name[-1], "") if bare != one.pair.name else ""
    title = title_of(bare) + (f", {side}" if side else "")
    return title, OWN_SIDE.get(bare, ANGLE_ENDS[bare])


def _render_curves(one: CurveDifference) -> str:
    title, ends = _name(one)
    bands = [_make_band(style, c) for style, c in (("r", one.pair.before), ("l", one.pair.after))]
    marks = "".join(
        f'<path class="changed" d="M{first},0H{max(last, first + 1)}V100H{first}Z"/>'
        for first, last, _ in one.stretches
    )
    return render_panel(title, bands, ends, marks=marks)


def _make_band(style: str, curve: GaitCurve) -> Band:
    mean, sd = np.degrees(curve.mean), np.nan_to_num(np.degrees(curve.sd))
    return Band(style, mean, mean - sd, mean + sd)


def _render_difference(one: CurveDifference) -> str:
    title, _ = _name(one)
    difference = np.degrees(one.difference)
    lines = [Band("l", difference, difference, difference)]
    if np.isfinite(one.bar).all():
        bar = np.degrees(one.bar)
        lines.insert(0, Band("chance", np.zeros(len(bar)), -bar, bar))
    return render_panel(title, lines, ("less", "more"))


def _render_figures(comparison: GaitComparison) -> str:
    """Return speed, times and lengths of both, and how much they differ; none is called."""
    before, after = (
        {(p.name, p.side): p for p in cycles.parameters()} for cycles in comparison.cycles
    )
    rows = []
    for name, words in PARAMETER_WORDS.items():
        for side in ("", "r", "l"):
            pair = (before.get((name, side)), after.get((name, side)))
            label = f"{words}, {SIDES[side]}" if side else words
            if comparison.is_of_sides:
                pair, label = (before.get((name, "r")), before.get((name, "l"))), words
                if side != "r":
                    continue
            if pair[0] is not None and pair[1] is not None:
                rows.append(_render_figure(label, pair[0], pair[1]))
    return render_table(("", *comparison.names, "difference"), rows)


def _render_figure(label: str, before: GaitParameter, after: GaitParameter) -> str:
    share = 100.0 * (after.mean / before.mean - 1.0) if before.mean != 0.0 else 0.0
    cells = (label, format_parameter(before), format_parameter(after), f"{share:+.0f} %")
    return "".join(f"<td>{escape(cell)}</td>" for cell in cells)


def _render_making(comparison: GaitComparison, command: str) -> str:
    figure = (
        "one figure in both, whose errors cancel"
        if comparison.is_same_figure
        else ("errors of the figure count on both sides")
    )
    making = render_making(command, "Versions", {"figure": figure, **collect_versions()})
    return f"<p>{escape(METHOD)}</p>{making}"
