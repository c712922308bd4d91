"""What animators seldom need: how a handle counts, the solver, its convergence, comparisons."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

import numpy as np

from exactik.solvers import Result, list_solvers
from exactik.studio.plots.colours import format_hex
from exactik.studio.viewer.page.colours import DRAGGED_COLOUR, PINNED_COLOUR
from exactik.studio.viewer.page.plots import add_curve_plot
from exactik.studio.viewer.page.scene import add_translucent_poses
from exactik.studio.viewer.page.widgets import on_value
from exactik.studio.viewer.posing._gizmo import GIZMO_AXES
from exactik.studio.viewer.posing._scene import HandleScene
from exactik.studio.viewer.posing._session import PosingSession, Update
from exactik.studio.viewer.posing._worker import PosingWorker

PLOTTED_UPDATES = 240  # four seconds
MIN_PLOTTED = 1e-12  # costs below are as good as zero


class AdvancedPanel:
    """Widgets of the last tab."""

    def __init__(
        self, server: Any, session: PosingSession, worker: PosingWorker, handles: HandleScene
    ):
        """Add the widgets to a viser server."""
        gui = server.gui
        self.weight = gui.add_slider(
            "weight", 0.1, 10.0, 0.1, 1.0, hint="How much the selected handle counts."
        )
        self.axes = gui.add_dropdown("gizmo axes", GIZMO_AXES, hint="Of the bone, or of the world.")
        solver = gui.add_dropdown(
            "method", list(list_solvers()), initial_value=session.state.solver
        )
        glide = gui.add_checkbox("glide", session.glide > 0.0, hint="Follow smoothly.")
        time_constant = session.glide or 0.035
        self.convergence = ConvergencePlot(gui)
        gui.add_divider()
        self.compare = ComparePanel(server, session)

        def weigh(weight: float) -> None:
            name = handles.selected
            if name != "":
                worker.post(lambda s: s.weigh(name, float(weight)))

        def follow(smoothly: bool) -> None:
            session.glide = time_constant if smoothly else 0.0

        on_value(self.weight, weigh, by_page=True)
        on_value(self.axes, handles.set_axes)
        on_value(solver, lambda name: worker.post(lambda s: s.choose(name)))
        on_value(glide, follow)


class ConvergencePlot:
    """Cost and largest handle error of the last updates, on a scale of powers of ten."""

    def __init__(self, gui: Any):
        """Add the plot to a panel."""
        self._history: deque[tuple[float, float]] = deque(maxlen=PLOTTED_UPDATES)
        curves = (
            ("cost [m²]", format_hex(PINNED_COLOUR)),
            ("worst miss [mm]", format_hex(DRAGGED_COLOUR)),
        )
        x, y = "updates, the last at 0", "log₁₀ of the values"
        self._plot = add_curve_plot(gui, "convergence", x, curves, y, aspect=1.5)

    def add(self, update: Update) -> None:
        """Add the result of an update, unless the figure rested already."""
        if update.seconds > 0.0:
            worst = 1e3 * max(update.handle_errors.values(), default=0.0)
            self._history.append((max(update.cost, MIN_PLOTTED), max(worst, MIN_PLOTTED)))

    def draw(self) -> None:
        """Send the curves."""
        if len(self._history) > 1:
            self._plot.visible = True
            cost, worst = np.log10(np.array(self._history)).T.copy()
            self._plot.data = (np.arange(1.0 - len(cost), 1.0), cost, worst)


# --- all solvers on the same goals, from where the drag began: a table, curves, and poses


SOLVER_COLOURS = (
    "#0084cc",
    "#d55e00",
    "#00966d",
    "#cc50a0",
    "#b400ff",
    "#969600",
    "#b48778",
    "#3c69ff",
    "#ff005a",
    "#00a500",
    "#ff00d2",
    "#ff0000",
    "#876996",
    "#3c96a5",
)
TAB = "advanced"
MAX_SECONDS = 0.5  # for each solver
# Share of the reduction that the best solver reached which may be missing when a solver counts as
# there: τ of the data profiles of Moré and Wild (2009). The rest is the comfort of the pose, which
# takes most of the steps and which nobody sees.
MISSING_SHARE = 1e-3


def find_arrival(result: Result, best: float) -> int | None:
    """Return the first step at which the cost is as good as the best; None if it never is."""
    if result.history is None:
        return None
    cost = result.history.cost
    arrived = np.flatnonzero(cost - best <= MISSING_SHARE * (cost[0] - best))
    return int(arrived[0]) if len(arrived) > 0 else None


def format_table(results: dict[str, Result]) -> str:
    """Return the results of the solvers as a table in Markdown, the first to arrive first.

    Steps and milliseconds are those until the cost is as good as the best, see `MISSING_SHARE`; in
    brackets those until the solver ended.
    """
    best = min(result.cost for result in results.values())
    rows = []
    for name, result in results.items():
        k, total_ms = find_arrival(result, best), 1e3 * result.seconds
        steps, ms = "never", "never"
        if k is not None and result.history is not None:
            steps, ms = f"{k}", f"{1e3 * result.history.seconds[k]:.1f}"
        steps, ms = f"{steps} ({result.iterations})", f"{ms} ({total_ms:.1f})"
        row = f"| {name} | {steps} | {ms} | {result.cost:.3g} |"
        rows.append((k is None, k or 0, result.cost, row))
    head = ["| solver | steps | ms | cost |", "|---|---|---|---|"]
    return "\n".join([*head, *(row for *_, row in sorted(rows))])


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
    """A button, a table and a plot.

    Attributes:
        seen: whether its tab is; the poses are shown only then.
    """

    def __init__(self, server: Any, session: PosingSession):
        """Add the widgets to a viser server."""
        self.server, self.session = server, session
        gui, names = server.gui, list_solvers()
        gui.add_html(f'<div data-exactik-tab="{TAB}"></div>')  # the page's script looks for it
        self._button = gui.add_button("compare all solvers")
        curves = list(zip(names, SOLVER_COLOURS, strict=False))
        y = "log₁₀ of the cost [m²]"
        self._plot = add_curve_plot(gui, "cost over steps", "step", curves, y, aspect=1.1)
        self._poses = gui.add_checkbox("show their poses", True)
        self._text = gui.add_markdown("")
        self._overlay: Any = None
        self._busy = threading.Lock()
        self.seen = False

        on_value(self._poses, lambda _: self._show_overlay())

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
        legend = "Until 99.9 % of the way down; in brackets until it ended."
        self._text.content = f"{format_table(results)}\n\n{legend}"
        self._show_poses(results)
        return results

    def set_tab(self, tab: str) -> None:
        """Show the poses only while their tab is seen."""
        self.seen = tab == TAB
        self._show_overlay()

    def _show_overlay(self) -> None:
        if self._overlay is not None:
            self._overlay.visible = bool(self._poses.value) and self.seen

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
        self.seen = True  # somebody has just asked for them
        self._show_overlay()
