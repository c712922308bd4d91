"""The two plots of the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.environments import ROOT
from benchmarks.peers.scores import ArmScore, FigureScore

ARMS_PATH = ROOT / "docs" / "benchmarks-arms.svg"
FIGURES_PATH = ROOT / "docs" / "benchmarks-markers.svg"
EXACTIK_COLOUR, PEER_COLOUR = "#c2410c", "#475569"


def _choose_colour(title: str) -> str:
    return EXACTIK_COLOUR if title.startswith("exactik") else PEER_COLOUR


def _make_axes(width: float, height: float, columns: int) -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams.update({"svg.hashsalt": "exactik", "font.size": 8, "svg.fonttype": "path"})
    return plt.subplots(1, columns, figsize=(width, height), layout="constrained")


def _save(figure: Any, path: Path) -> None:
    import matplotlib.pyplot as plt

    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _plot_points(ax: Any, points: Sequence[tuple[str, float, float]]) -> None:
    """Named points over a logarithmic time; names in a column beside, joined by thin lines."""
    ax.set_xscale("log")
    ax.grid(alpha=0.3)
    order = sorted(points, key=lambda p: -p[2])
    low, high = min(p[2] for p in points), max(p[2] for p in points)
    gap = max(high - low, 1.0)
    ax.set_ylim(low - 0.12 * gap, high + 0.12 * gap)
    for k, (title, ms, value) in enumerate(order):
        ax.plot(ms, value, "o", color=_choose_colour(title), markersize=5)
        height = 0.97 - 0.94 * k / max(len(order) - 1, 1)
        ax.annotate(
            title,
            (ms, value),
            xytext=(1.03, height),
            textcoords="axes fraction",
            va="center",
            color=_choose_colour(title),
            arrowprops={
                "arrowstyle": "-",
                "color": _choose_colour(title),
                "alpha": 0.35,
                "lw": 0.6,
                "relpos": (0.0, 0.5),
            },
        )


def _plot_time_spans(ax: Any, scores: Sequence[ArmScore]) -> None:
    """From the median to the 99th percentile of the time, the fastest above."""
    order = sorted(scores, key=lambda s: -s.median)
    ax.set_xscale("log")
    ax.grid(alpha=0.3, axis="x")
    for k, s in enumerate(order):
        ax.plot([s.median, s.p99], [k, k], color=_choose_colour(s.title), lw=2.5, alpha=0.5)
        ax.plot(s.median, k, "o", color=_choose_colour(s.title), markersize=5)
    ax.set_yticks(range(len(order)), [f"{s.title}  {s.success:.1f} %" for s in order])
    for tick, s in zip(ax.get_yticklabels(), order, strict=True):
        tick.set_color(_choose_colour(s.title))


def plot_arms(title: str, scores: Sequence[ArmScore]) -> None:
    """Success against time for one attempt; the times of many, which nearly all reach."""
    figure, (once, often) = _make_axes(10.0, 4.2, 2)
    _plot_points(once, [(s.title, s.median, s.success) for s in scores if s.attempts == 1])
    once.set_title(f"{title}, one attempt")
    once.set_xlabel("ms of the processor, median")
    once.set_ylabel("success, %")
    _plot_time_spans(often, [s for s in scores if s.attempts > 1])
    often.set_title(f"{title}, 30 attempts, to p99")
    often.set_xlabel("ms of the processor")
    _save(figure, ARMS_PATH)


def plot_figures(title: str, both: tuple[Sequence[FigureScore], Sequence[FigureScore]]) -> None:
    """Frames near the best objective against time, tracked and cold."""
    figure, axes = _make_axes(10.0, 4.2, 2)
    for ax, scores, name in zip(axes, both, ("tracking", "cold"), strict=True):
        _plot_points(ax, [(s.title, s.median, s.near) for s in scores])
        ax.set_title(f"{title}, {name}")
        ax.set_xlabel("ms of the processor, median")
        ax.set_ylabel("frames within 1 % of the best, %")
    _save(figure, FIGURES_PATH)
