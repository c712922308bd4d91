"""Projected back-tracking: along clip(q ⊕ τ d), τ halved until the cost falls enough."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from exactik.solvers._view import Place, View

__all__ = ["projected_armijo"]

SUFFICIENT = 1e-4  # share of the fall that the slope promises (Armijo)
SHORTEST = 1e-16
ROUNDING = 1e-14  # of the cost


def projected_armijo(
    view: View, place: Place, direction: NDArray[np.float64], length: float
) -> tuple[Place | None, float]:
    """Return the accepted place, or None, and the length τ that led to it.

    Accepts where cost ≤ old + 1e-4 g·(step really made) and that step goes down; where the promised
    fall drowns in rounding, where the projected gradient falls.

    Args:
        view: the problem.
        place: where to start.
        direction: d, (nv,) [rad or m].
        length: first τ to try.
    """
    while length >= SHORTEST:
        q = view.move(place.q, length * direction)
        step = view.moved(q, place.q)
        promise = float(place.gradient @ step)
        if promise < 0.0:
            trial = view.at(q)
            if -promise <= ROUNDING * place.cost:
                return (trial, length) if trial.slope < place.slope else (None, length)
            if trial.cost <= place.cost + SUFFICIENT * promise:
                return trial, length
        length *= 0.5
    return None, length
