"""How the goals are approached, as a curve that moves on."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from exactik.viewer.page._colours import HELD, PINNED, format_hex
from exactik.viewer.posing._session import Update

__all__ = ["ConvergencePlot"]

KEPT = 240  # updates, four seconds
LOWEST = 1e-12  # below which a cost is as good as none


class ConvergencePlot:
    """Cost and worst miss of the last updates, on a scale of powers of ten."""

    def __init__(self, gui: Any):
        """Add the plot to a panel."""
        self._costs: deque[tuple[float, float]] = deque(maxlen=KEPT)
        series = (
            {"label": "updates ago"},
            {"label": "cost", "stroke": format_hex(PINNED), "width": 2},
            {"label": "worst miss [mm]", "stroke": format_hex(HELD), "width": 2},
        )
        self._plot = gui.add_uplot(
            *((np.array([-1.0, 0.0]), np.zeros(2), np.zeros(2)), series),
            title="convergence, log₁₀ over updates",
            scales={"x": {"time": False}, "y": {"auto": True}},
            padding=(14, 24, 0, 0),
            aspect=1.5,
        )

    def add(self, update: Update) -> None:
        """Take up what an update found; nothing where the figure rested already."""
        if update.seconds > 0.0:
            worst = 1e3 * max(update.misses.values(), default=0.0)
            self._costs.append((max(update.cost, LOWEST), max(worst, LOWEST)))

    def draw(self) -> None:
        """Send the curve."""
        if len(self._costs) > 1:
            cost, worst = np.log10(np.array(self._costs)).T.copy()
            self._plot.data = (np.arange(1.0 - len(cost), 1.0), cost, worst)
