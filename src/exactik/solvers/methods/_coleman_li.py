"""Limits by Coleman and Li: a scaling that slows dofs down near their limits (docs/maths.md §14).

Let |u_i| be the distance of a dof to the limit that −g pushes it to, 1 if there is none. At a
minimum inside the limits u_i g_i = 0 for all i. A Newton step for these equations, in ŝ = D s with
D⁻¹ = strength √|u|, minimises the model

    ψ(ŝ) = ĝ·ŝ + ½ ŝᵀĤŝ ,   ĝ = D⁻¹ g ,   Ĥ = D⁻¹ H D⁻¹ + C ,   C_ii = strength_i² |g_i|

(C_ii = 0 where there is no limit). A step that would meet a limit is cut off before it, or
reflected at it, or replaced by the best step along −ĝ, whichever has the lowest ψ. The share of the
way to a limit that may be used is θ = max(0.95, 1 − |D⁻²g|/cost), so steps end strictly inside and
dofs come quadratically close to the limits where they belong.

The stopping test that all methods share asks for more: it knows only dofs that are on a limit and
those that are free. So a dof within `SNAP_DISTANCE` of its limit is put on it, if the cost does not
rise and g still pushes there (`snap_to_limits`). Then D⁻¹ = 0 and it stays, until g turns: it is
moved inside again (`release_from_limits`), as far as the cost falls. A start on limits is treated
the same way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.solvers._view import Iterate, View
from exactik.solvers.methods._two_metric import SNAP_DISTANCE
from exactik.typing import Array, BoolArray

# How far a dof is moved off its limit, as a share of its range, or of 1 rad or m if that is less.
RELEASE_DISTANCE = 1e-3
MIN_THETA = 0.95  # least share of the way to a limit that a step may use


class ScaledModel(NamedTuple):
    """ψ on the dofs that are not held, n of them."""

    gradient: Array  # ĝ, (n,)
    hessian: Array  # Ĥ, (n, n)
    scale: Array  # D⁻¹, (n,)
    limit_curvature: Array  # C, (n,), the part of Ĥ that is no curvature of the cost
    low: Array  # least step, (n,), that the limits allow, in s
    high: Array  # greatest step, likewise
    theta: float  # θ, share of the way to a limit that a step may use
    free: BoolArray  # (nv,) which dofs these are

    def evaluate(self, s: Array) -> float:
        """Return ψ."""
        return float(self.gradient @ s + 0.5 * (s @ (self.hessian @ s)))

    def unscale(self, s: Array) -> Array:
        """Return the step of all dofs, (nv,) [rad or m], that ŝ stands for."""
        v = np.zeros(len(self.free))
        v[self.free] = self.scale * s
        return v

    def hold_dofs(self, dofs: BoolArray) -> ScaledModel:
        """Return ψ with some of the n dofs held where they are."""
        keep, free = ~dofs, self.free.copy()
        free[free] = keep
        return ScaledModel(
            gradient=self.gradient[keep],
            hessian=self.hessian[np.ix_(keep, keep)],
            scale=self.scale[keep],
            limit_curvature=self.limit_curvature[keep],
            low=self.low[keep],
            high=self.high[keep],
            theta=self.theta,
            free=free,
        )

    def find_length_to_limit(self, s: Array, start: Array) -> tuple[float, BoolArray]:
        """Return the τ at which start + τ ŝ first meets a limit, and which dofs do."""
        d = self.scale * s
        room = np.where(d < 0.0, self.low, self.high) - self.scale * start
        times = np.full(len(d), np.inf)
        np.divide(room, d, out=times, where=d != 0.0)
        times = np.maximum(times, 0.0)
        first = float(times.min(initial=np.inf))
        return first, times <= first

    def minimise_along(self, start: Array, s: Array, min_length: float, max_length: float) -> Array:
        """Return start + τ ŝ with the lowest ψ for min_length ≤ τ ≤ max_length."""
        Hs = self.hessian @ s
        slope, curvature = float(self.gradient @ s + start @ Hs), float(s @ Hs)
        if curvature > 0.0:
            tau = min(max(-slope / curvature, min_length), max_length)
        else:
            tau = min((min_length, max_length), key=lambda t: t * (slope + 0.5 * t * curvature))
        return start + tau * s

    def bring_inside(self, s: Array, radius: float) -> Array:
        """Return ŝ, or where it leaves the limits the best of ŝ cut, ŝ reflected and −ĝ."""
        zero = np.zeros(len(s))
        first, hit = self.find_length_to_limit(s, zero)
        if first > 1.0:
            return s
        choices = [self.theta * first * s]
        bounced, corner = np.where(hit, -s, s), first * s
        to_limit, _ = self.find_length_to_limit(bounced, corner)
        max_length = min(to_limit, find_length_to_sphere(corner, bounced, radius))
        min_length = (1.0 - self.theta) * max_length
        if max_length > 0.0:
            choices.append(
                self.minimise_along(corner, bounced, min_length, self.theta * max_length)
            )
        down = -self.gradient
        to_limit, _ = self.find_length_to_limit(down, zero)
        room = min(self.theta * to_limit, find_length_to_sphere(zero, down, radius))
        choices.append(self.minimise_along(zero, down, 0.0, room))
        return min(choices, key=self.evaluate)


def find_length_to_sphere(start: Array, s: Array, radius: float) -> float:
    """Return the τ ≥ 0 with |start + τ s| = radius, 0 if start is outside."""
    a, b = float(s @ s), float(start @ s)
    c = float(start @ start) - radius**2
    if a == 0.0 or c >= 0.0:
        return 0.0
    root = np.sqrt(b * b - a * c)
    return float(-c / (b + root) if b > 0.0 else (root - b) / a)


def make_model(view: View, iterate: Iterate) -> ScaledModel:
    """Return ψ at a place."""
    low, high = view.room(iterate.q)
    g, strength = iterate.gradient, view.strength
    gap = np.where(g < 0.0, high, -low)
    limited = np.isfinite(gap)
    gap = np.where(limited, gap, 1.0)
    free = ~iterate.active & (gap > 0.0)
    scale, extra = strength * np.sqrt(gap), np.where(limited, strength**2 * np.abs(g), 0.0)
    away = float(np.abs(gap * g)[free].max(initial=0.0)) / max(iterate.cost, 1e-300)
    H = view.hessian(iterate) * np.outer(scale, scale) + np.diag(extra)
    return ScaledModel(
        gradient=(scale * g)[free],
        hessian=H[np.ix_(free, free)],
        scale=scale[free],
        limit_curvature=extra[free],
        low=low[free],
        high=high[free],
        theta=max(MIN_THETA, 1.0 - away),
        free=free,
    )


def release_from_limits(view: View, iterate: Iterate) -> Iterate:
    """Return the place with the dofs moved inside that are on a limit which g pulls them off."""
    low, high = view.room(iterate.q)
    width = np.minimum(high - low, 1.0)
    off = np.where(low == 0.0, width, np.where(high == 0.0, -width, 0.0))
    off = np.where(iterate.active, 0.0, off)
    share = RELEASE_DISTANCE
    while off.any() and share > SNAP_DISTANCE**2:
        trial = view.at(view.move(iterate.q, share * off))
        if trial.cost < iterate.cost:
            return trial
        share *= 0.1
    return iterate
