"""The two plots of the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.environments import ROOT
from benchmarks.peers.scores import ArmScore, FigureScore

ARMS = ROOT / "docs" / "benchmarks-arms.svg"
FIGURES = ROOT / "docs" / "benchmarks-markers.svg"
OURS, THEIRS = "#c2410c", "#475569"


def _colour(title: str) -> str:
    return OURS if title.startswith("exactik") else THEIRS


def _start(width: float, height: float, columns: int) -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams.update({"svg.hashsalt": "exactik", "font.size": 8, "svg.fonttype": "path"})
    return plt.subplots(1, columns, figsize=(width, height), layout="constrained")


def _save(figure: Any, path: Path) -> None:
    import matplotlib.pyplot as plt

    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _points(ax: Any, points: Sequence[tuple[str, float, float]]) -> None:
    """Named points over a logarithmic time; names in a column beside, joined by thin lines."""
    ax.set_xscale("log")
    ax.grid(alpha=0.3)
    order = sorted(points, key=lambda p: -p[2])
    low, high = min(p[2] for p in points), max(p[2] for p in points)
    gap = max(high - low, 1.0)
    ax.set_ylim(low - 0.12 * gap, high + 0.12 * gap)
    for k, (title, ms, value) in enumerate(order):
        ax.plot(ms, value, "o", color=_colour(title), markersize=5)
        height = 0.97 - 0.94 * k / max(len(order) - 1, 1)
        ax.annotate(
            *(title, (ms, value)),
            xytext=(1.03, height),
            textcoords="axes fraction",
            va="center",
            color=_colour(title),
            arrowprops={"arrowstyle": "-", "color": _colour(title), "alpha": 0.25, "lw": 0.6},
        )


def arms(title: str, scores: Sequence[ArmScore]) -> None:
    """Success against time, for one attempt and for many."""
    figure, axes = _start(10.0, 4.2, 2)
    for ax, many in zip(axes, (False, True), strict=True):
        chosen = [s for s in scores if (s.attempts > 1) == many]
        _points(ax, [(s.title, s.median, s.success) for s in chosen])
        ax.set_title(f"{title}, {'30 attempts' if many else 'one attempt'}")
        ax.set_xlabel("ms of the processor, median")
        ax.set_ylabel("success, %")
    _save(figure, ARMS)


def figures(title: str, both: tuple[Sequence[FigureScore], Sequence[FigureScore]]) -> None:
    """Frames near the best objective against time, tracked and cold."""
    figure, axes = _start(10.0, 4.2, 2)
    for ax, scores, name in zip(axes, both, ("tracking", "cold"), strict=True):
        _points(ax, [(s.title, s.median, s.near) for s in scores])
        ax.set_title(f"{title}, {name}")
        ax.set_xlabel("ms of the processor, median")
        ax.set_ylabel("frames within 1 % of the best, %")
    _save(figure, FIGURES)
