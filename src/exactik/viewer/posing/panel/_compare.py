"""All solvers on the same goals, from where the drag began: a table, curves, and poses."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from exactik.solvers import Result, solvers
from exactik.viewer.page import add_translucent_poses
from exactik.viewer.posing._session import PosingSession

__all__ = ["ComparePanel"]

SOLVER_COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc50a0",
    "#e69f00",
    "#568ce9",
    "#222222",
    "#7a7a7a",
    "#8c564b",
    "#17becf",
    "#bcbd22",
    "#9467bd",
    "#b03030",
    "#3d6b35",
)
MAX_SECONDS = 0.5  # for each solver


def format_table(results: dict[str, Result]) -> str:
    """Return the results of the solvers as a table in Markdown, the lowest cost first."""
    lines = ["| solver | cost | steps | ends |", "|---|---|---|---|"]
    for name, result in sorted(results.items(), key=lambda pair: pair[1].cost):
        lines.append(f"| {name} | {result.cost:.3g} | {result.iterations} | {result.ended} |")
    return "\n".join(lines)


def make_cost_curves(results: dict[str, Result], steps: int = 60) -> tuple[np.ndarray, ...]:
    """Return step numbers, and log₁₀ of the cost of each solver, NaN after its last step."""
    rows = [np.arange(steps, dtype=float)]
    for result in results.values():
        curve = np.full(steps, np.nan)
        if result.history is not None:
            cost = np.log10(np.maximum(result.history.cost[:steps], 1e-20))
            curve[: len(cost)] = cost
        rows.append(curve)
    return tuple(rows)


class ComparePanel:
    """A button, a table and a plot."""

    def __init__(self, server: Any, session: PosingSession):
        """Add the widgets to a viser server."""
        self.server, self.session = server, session
        gui, names = server.gui, solvers()
        self._button = gui.add_button("compare all solvers")
        series: list[dict[str, Any]] = [{"label": "step"}]
        for name, colour in zip(names, SOLVER_COLOURS, strict=False):
            series.append({"label": name, "stroke": colour, "width": 2})
        empty = tuple(np.zeros(2) for _ in series)
        self._plot = gui.add_uplot(
            empty,
            tuple(series),
            title="log₁₀ cost over steps",
            scales={"x": {"time": False}, "y": {"auto": True}},
            padding=(14, 24, 0, 0),
            aspect=1.1,
            visible=False,
        )
        self._poses = gui.add_checkbox("show their poses", True)
        self._text = gui.add_markdown("")
        self._overlay: Any = None
        self._busy = threading.Lock()

        @self._poses.on_update
        async def _(_: Any) -> None:
            if self._overlay is not None:
                self._overlay.visible = self._poses.value

        @self._button.on_click
        def _(_: Any) -> None:  # in a thread of its own, and never two at once
            if self._busy.acquire(blocking=False):
                try:
                    self.run()
                finally:
                    self._busy.release()

    def run(self) -> dict[str, Result]:
        """Compare all solvers and show the results."""
        self._text.content = "comparing …"
        results = self.session.compare(seconds=MAX_SECONDS)
        if len(results) == 0:
            self._text.content = "nothing is asked: drag or pin a handle first"
            return results
        self._plot.data = make_cost_curves(results)
        self._plot.visible = True
        self._text.content = format_table(results)
        self._show_poses(results)
        return results

    def clear(self) -> None:
        """Remove the poses: the goals have changed."""
        if self._overlay is not None:
            self._overlay.remove()
            self._overlay = None

    def _show_poses(self, results: dict[str, Result]) -> None:
        self.clear()
        colours = [[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in SOLVER_COLOURS]
        poses = [result.q for result in results.values()]
        self._overlay = add_translucent_poses(self.server, self.session.skeleton, poses, colours)
        self._overlay.visible = self._poses.value
