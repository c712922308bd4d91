"""Newton's method with the Hessian moved to the nearest positive one (docs/maths.md §14).

In y = v/strength, on the free dofs, H = V Λ Vᵀ. Higham's nearest semi-definite matrix is
V max(Λ, 0) Vᵀ; to be solvable its eigenvalues are kept above δ max|Λ|:

    H₊ = V max(Λ, δ max|Λ|) Vᵀ ,    H₊ d = −g ,

and the step is found by back-tracking (Armijo, halving) along clip(q ⊕ τ d). Limits are met
by two metrics (`_two_metric`).

Directions of negative or no curvature become all but flat, and a step along them has no bound; so
along each eigenvector no dof is turned by more than `MAX_TURN`, which leaves d a descent. Far from
a solution these are poor guesses, which the halving pays for, most of all where many directions are
flat. Close to a minimum that is not, H₊ = H, and convergence is quadratic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from exactik.solvers._method import PythonMethod
from exactik.solvers._view import Iterate, View
from exactik.solvers.methods._line_search import search_armijo
from exactik.solvers.methods._two_metric import (
    clip_to_limits,
    compute_open_step,
    find_blocked_dofs,
    snap_to_limits,
)
from exactik.typing import Array, BoolArray

MAX_TURN = 0.1  # [rad] with 1 rad, markers on a human figure took twice as many steps


@dataclass(frozen=True, kw_only=True)
class NewtonHigham(PythonMethod):
    """Newton's method with Higham's projection of the exact Hessian.

    Attributes:
        floor: δ, least eigenvalue, as a share of the largest.
    """

    name: ClassVar[str] = "newton-higham"
    floor: float = 1e-8

    def stepper(self, view: View) -> _HighamStepper:
        """Return a fresh stepper."""
        return _HighamStepper(view, self.floor)


class _HighamStepper:
    """Has no memory but the length of the last step."""

    def __init__(self, view: View, floor: float):
        self.view, self.floor = view, floor
        self.control = 1.0

    def step(self, iterate: Iterate) -> Iterate | None:
        view, strength = self.view, self.view.strength
        H = view.hessian(iterate) * np.outer(strength, strength)
        curve = np.abs(np.diag(H))
        curve = np.maximum(curve, max(self.floor * float(curve.max(initial=0.0)), 1e-300))
        diagonal = strength**2 / curve
        outer = find_blocked_dofs(view, iterate, diagonal)

        def newton(free: BoolArray) -> Array:
            return self.newton(H, strength * iterate.gradient, free)

        d = compute_open_step(view, iterate, ~outer, newton)
        d = np.where(outer, clip_to_limits(view, iterate, -diagonal * iterate.gradient), d)
        following, self.control = search_armijo(view, iterate, d, 1.0)
        return None if following is None else snap_to_limits(view, following)

    def newton(self, H: Array, g: Array, free: BoolArray) -> Array:
        """Return the step, (nv,) [rad or m], of the free dofs alone, for H and g in y."""
        strength, d = self.view.strength[free], np.zeros(len(g))
        values, vectors = np.linalg.eigh(H[np.ix_(free, free)])
        min_eigenvalue = max(self.floor * float(np.abs(values).max(initial=0.0)), 1e-300)
        along = -(vectors.T @ g[free]) / np.maximum(values, min_eigenvalue)
        turns = np.abs((self.view.box.is_rotation[free] * strength)[:, None] * vectors * along)
        along *= MAX_TURN / np.maximum(turns.max(axis=0, initial=0.0), MAX_TURN)
        d[free] = strength * (vectors @ along)
        return d
