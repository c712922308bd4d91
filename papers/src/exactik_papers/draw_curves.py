"""Curves of convergence as tables and pictures: median and 10–90 % band over frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from exactik_papers.descents import (
    AUTO,
    EXACT,
    HIGHAM,
    LM,
    QUASI,
    SOLVED,
    SOLVED_COST_CM2,
    ConvergenceCurve,
)
from exactik_papers.experiment import ResultTable

__all__ = [
    "COLOURS",
    "add_legend_below",
    "draw_curves",
    "make_curves_table",
    "make_summary_table",
    "share_reached",
]

Curves = Mapping[tuple[str, str], Sequence[ConvergenceCurve]]  # by kind and method

COLOURS = {
    QUASI: "#c8500a",
    EXACT: "#0072b2",
    SOLVED: "#56b4e9",
    HIGHAM: "#b0588a",
    LM: "#00805d",
    AUTO: "#1b2126",
}
FLOOR = 1e-16  # of the pictures [cm²]
TIMES = 120  # points in time


def share_reached(curves: Sequence[ConvergenceCurve]) -> float:
    """Return the share of frames that get to f < 1e-2."""
    return float(np.mean([curve.iterations_to_enough is not None for curve in curves]))


def make_curves_table(name: str, curves: Curves, count: int) -> ResultTable:
    """Return all medians and bands, for every iteration."""
    rows = []
    for (kind, method), group in curves.items():
        costs = np.array([curve.at_iterations(count) for curve in group])
        low, middle, high = np.percentile(costs, (10, 50, 90), axis=0)
        each = float(np.median([curve.ms for curve in group]))
        rows += [
            (kind, method, k, float(low[k]), float(middle[k]), float(high[k]), k * each)
            for k in range(count + 1)
        ]
    columns = (
        "motion",
        "method",
        "iteration",
        "f, 10 % [cm²]",
        "f, median [cm²]",
        "f, 90 % [cm²]",
        "time, median of frames [ms]",
    )
    return ResultTable(f"{name}-curves", "the curves of the picture", columns, rows, shown=False)


def make_summary_table(name: str, curves: Curves) -> ResultTable:
    """Return what became of each kind and method."""
    rows = []
    for (kind, method), group in curves.items():
        there = [curve for curve in group if curve.iterations_to_enough is not None]
        counts = [float(curve.iterations_to_enough or 0) for curve in there]
        ms = [float(curve.iterations_to_enough or 0) * curve.ms for curve in there]
        rows.append(
            (
                kind,
                method,
                len(group),
                100.0 * share_reached(group),
                float(np.median(counts)) if len(counts) > 0 else None,
                float(np.median(ms)) if len(ms) > 0 else None,
                float(np.median([curve.cost[min(10, len(curve.cost) - 1)] for curve in group])),
                float(np.median([curve.cost[-1] for curve in group])),
                float(np.median([curve.ms for curve in group])),
            )
        )
    columns = (
        "motion",
        "method",
        "frames",
        f"reach f < {SOLVED_COST_CM2:g} %",
        "iterations until then, median",
        "ms until then, median",
        "f after 10, median [cm²]",
        "f at the end, median [cm²]",
        "ms an iteration",
    )
    return ResultTable(name, "Convergence over the frames", columns, rows)


def draw_curves(
    curves: Curves, titles: Mapping[str, str], count: int, *, shares: bool = False
) -> Any:
    """Return a picture: a column for each kind, f against iterations above, against time below.

    With `shares`, for methods of which some runs stall, a third row in place of bands: the share of
    frames that have reached f < 1e-2.
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    picture = Figure(
        figsize=(4.2 * len(titles), 10.2 if shares else 7.4),
        layout=ConstrainedLayoutEngine(w_pad=0.1),
    )
    rows = 3 if shares else 2
    axes = picture.subplots(rows, len(titles), squeeze=False, sharey="row")
    for column, (kind, title) in enumerate(titles.items()):
        above, below = axes[:2, column]
        every = [
            curve for (its_kind, _), group in curves.items() if its_kind == kind for curve in group
        ]
        least = min(curve.ms for curve in every)
        most = max(curve.ms * (len(curve.cost) - 1) for curve in every)
        times = np.geomspace(least, max(most, 2.0 * least), TIMES)
        for method, colour in COLOURS.items():
            group = curves.get((kind, method))
            if group is None:
                continue
            for place, x, costs in (
                (above, np.arange(count + 1), [curve.at_iterations(count) for curve in group]),
                (below, times, [curve.at_times(times) for curve in group]),
            ):
                low, middle, high = np.percentile(np.maximum(costs, FLOOR), (10, 50, 90), axis=0)
                place.plot(x, middle, color=colour, lw=1.8, label=method)
                if not shares:
                    place.fill_between(x, low, high, color=colour, alpha=0.12, lw=0)
            if shares:
                there = [
                    np.minimum.accumulate(curve.at_iterations(count)) < SOLVED_COST_CM2
                    for curve in group
                ]
                lowest = axes[2, column]
                lowest.plot(100.0 * np.mean(there, axis=0), color=colour, lw=1.8)
        for place in (above, below):
            place.set_yscale("log")
            place.axhline(SOLVED_COST_CM2, color="#888888", lw=0.8, ls="--")
            place.grid(alpha=0.25)
        above.set_title(title, fontsize=11)
        ticks = [k for k in (0, 2, 4, 6, 8, 10, 20, 50, 100, 200) if k <= count]
        for place in axes[::2, column]:
            place.set_xscale("symlog", linthresh=10, linscale=1.5)
            place.set_xticks(ticks, [str(k) for k in ticks])
            place.set_xlim(0, count)
            place.set_xlabel("iterations")
            place.grid(alpha=0.25)
        below.set_xscale("log")
        below.set_xlabel("time [ms]")
    most = max(float(curve.cost[0]) for group in curves.values() for curve in group)
    for place in axes[:2, 0]:
        place.set_ylim(FLOOR / 3.0, 3.0 * most)
        place.set_ylabel("f [cm²]")
    if shares:
        axes[2, 0].set_ylabel(f"frames with f < {SOLVED_COST_CM2:g} [%]")
        axes[2, 0].set_ylim(-3, 103)
    add_legend_below(picture, axes[0, 0], 6)
    return picture


def add_legend_below(picture: Any, axes: Any, columns: int) -> None:
    """Add the legend of one axes below the whole picture, in so many columns."""
    handles, labels = axes.get_legend_handles_labels()
    columns = min(len(labels), columns)
    picture.legend(handles, labels, loc="outside lower center", ncols=columns)
