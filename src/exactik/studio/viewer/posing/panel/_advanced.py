"""What animators seldom need: how a handle counts, the solver, its convergence, comparisons."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from exactik.solvers import list_solvers
from exactik.studio.plots.colours import format_hex
from exactik.studio.viewer.page.colours import DRAGGED_COLOUR, PINNED_COLOUR
from exactik.studio.viewer.page.plots import add_curve_plot
from exactik.studio.viewer.page.widgets import on_value
from exactik.studio.viewer.posing._gizmo import GIZMO_AXES
from exactik.studio.viewer.posing._scene import HandleScene
from exactik.studio.viewer.posing._session import PosingSession, Update
from exactik.studio.viewer.posing._worker import PosingWorker
from exactik.studio.viewer.posing.panel._compare import ComparePanel

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
