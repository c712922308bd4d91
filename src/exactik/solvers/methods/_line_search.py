"""Line searches along d: projected back-tracking (Armijo), and strong Wolfe clear of the limits."""

from __future__ import annotations

import math

import numpy as np

from exactik.solvers._view import Iterate, View
from exactik.solvers.methods._two_metric import JUST_BEYOND
from exactik.typing import Array

SUFFICIENT_DECREASE = 1e-4  # share of the fall that the slope promises (Armijo)
MIN_STEP_LENGTH = 1e-16
MAX_REMAINING_SLOPE = 0.9  # share of the first slope that may be left (strong Wolfe)
MAX_WOLFE_TRIALS = 40  # of the Wolfe search; each cuts a tenth off the bracket at least
COST_ROUNDING = 1e-14  # of the cost


def search_armijo(
    view: View, iterate: Iterate, direction: Array, length: float
) -> tuple[Iterate | None, float]:
    """Return the accepted place, or None, and the length τ that led to it.

    Accepts where cost ≤ old + 1e-4 g·(step really made) and that step goes down; where the promised
    fall drowns in rounding, where the projected gradient falls.

    Args:
        direction: d, (nv,) [rad or m].
        length: first τ to try.
    """
    while length >= MIN_STEP_LENGTH:
        q = view.move(iterate.q, length * direction)
        step = view.moved(q, iterate.q)
        promise = float(iterate.gradient @ step)
        if promise < 0.0:
            trial = view.at(q)
            if -promise <= COST_ROUNDING * iterate.cost:
                return (trial, length) if trial.is_flatter_than(iterate) else (None, length)
            if trial.cost <= iterate.cost + SUFFICIENT_DECREASE * promise:
                return trial, length
        length *= 0.5
    return None, length


def find_length_to_limit(view: View, iterate: Iterate, d: Array) -> float:
    """Return the τ at which q ⊕ τ d has just met a limit."""
    low, high = view.room(iterate.q)
    moving = d != 0.0
    room = np.where(d < 0.0, low, high)[moving] / d[moving]
    return JUST_BEYOND * float(room.min(initial=np.inf))


def limit_turn(view: View, d: Array, max_turn: float) -> float:
    """Return the greatest τ ≤ 1 for which τ d turns no dof by more than `max_turn` [rad]."""
    return max_turn / max(max_turn, float(np.abs(view.box.is_rotation * d).max(initial=0.0)))


def search_wolfe(
    view: View, iterate: Iterate, d: Array, length: float
) -> tuple[Iterate | None, float]:
    """Return a place along q ⊕ τ d where the strong Wolfe conditions hold, or None, and its τ.

    [a, b] brackets such a τ: at a the cost has fallen enough and still falls steeply, at b it has
    not, or it rises. Within rounding of the first cost the slope alone decides. A trial that would
    meet a limit is cut off there and accepted if the cost has fallen enough.
    """
    steep, limit = float(iterate.gradient @ d), find_length_to_limit(view, iterate, d)
    a, cost_a, slope_a, best = 0.0, iterate.cost, steep, None
    b, cost_b, slope_b = math.inf, 0.0, 0.0
    for _ in range(MAX_WOLFE_TRIALS):
        trial = view.at(view.move(iterate.q, length * d))
        slope = float(trial.gradient @ d)
        level = abs(slope) <= -MAX_REMAINING_SLOPE * steep
        fell = trial.cost <= iterate.cost + SUFFICIENT_DECREASE * length * steep
        if level and (fell or trial.cost <= iterate.cost * (1.0 + COST_ROUNDING)):
            return trial, length
        if fell and slope < 0.0:
            a, cost_a, slope_a, best = length, trial.cost, slope, trial
            if length >= limit:
                break
        else:
            b, cost_b, slope_b = length, trial.cost, slope
        if b == math.inf:
            length = min(3.0 * length, limit)
        elif b - a > 1e-12 * b:
            length = _minimise_cubic(a, cost_a, slope_a, b, cost_b, slope_b)
        else:
            break
    return best, a


def _minimise_cubic(a: float, f_a: float, g_a: float, b: float, f_b: float, g_b: float) -> float:
    """Return the minimum of the cubic through two values and slopes, well inside [a, b]."""
    c = g_a + g_b - 3.0 * (f_b - f_a) / (b - a)
    square = c * c - g_a * g_b
    share = 0.5
    if square >= 0.0 and g_b - g_a + 2.0 * math.sqrt(square) != 0.0:
        root = math.sqrt(square)
        share = 1.0 - (g_b + root - c) / (g_b - g_a + 2.0 * root)
    return a + (b - a) * min(max(share, 0.1), 0.9)
