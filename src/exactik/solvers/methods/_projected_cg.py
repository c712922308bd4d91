"""Projected nonlinear conjugate gradients (Polak–Ribière, never negative) inside the limits.

On the dofs that are not held: d = −g + β d_old, β = max(0, g·(g − g_old)/|g_old|²); the memory is
dropped when the set of held dofs changes, when d does not go down, and every nv steps. The step is
found by the projected Armijo search (docs/maths.md §14).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from exactik.solvers._method import PythonMethod
from exactik.solvers._view import Iterate, View
from exactik.solvers.methods._line_search import search_armijo


@dataclass(frozen=True, kw_only=True)
class ProjectedCG(PythonMethod):
    """Projected conjugate gradients."""

    name: ClassVar[str] = "projected-cg"
    max_iterations: int = 2000
    tolerance: float = 1e-8

    def stepper(self, view: View) -> _CGStepper:
        """Return a fresh stepper."""
        return _CGStepper(view)


class _CGStepper:
    """Remembers the last direction."""

    def __init__(self, view: View):
        self.view = view
        self.control = 1.0  # length of the last step
        self.direction = np.zeros(view.nv)
        self.gradient = np.zeros(view.nv)  # the last one, zero for held dofs
        self.active = np.ones(view.nv, bool)
        self.age = 0

    def step(self, iterate: Iterate) -> Iterate | None:
        metric = self.view.strength**2
        g = iterate.free_gradient
        old = float(self.gradient @ (metric * self.gradient))
        fresh = self.age == 0 or not np.array_equal(iterate.active, self.active) or old == 0.0
        beta = 0.0 if fresh else max(0.0, float(g @ (metric * (g - self.gradient))) / old)
        d = -metric * g + beta * np.where(iterate.active, 0.0, self.direction)
        if d @ g >= -1e-10 * np.linalg.norm(d) * np.linalg.norm(g):
            d, beta = -metric * g, 0.0
        self.gradient, self.active, self.direction = g, iterate.active, d
        self.age = 0 if self.age >= self.view.nv else self.age + 1
        following, length = search_armijo(self.view, iterate, d, min(2.0 * self.control, 1e6))
        if following is None and beta > 0.0:
            following, length = search_armijo(self.view, iterate, -metric * g, 1.0)
        self.control = length
        return following
