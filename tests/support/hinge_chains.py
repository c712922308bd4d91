"""Chains of hinges with one point at the end, computed a second time without the library.

A problem is: bring the tip to a target, weighted by a 3×3 matrix, inside limits. Cost and gradient
are written here in plain numpy, in extended precision where it matters; minima and saddles are told
apart by pushing a pose a little in many directions and letting it roll down by L-BFGS-B.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

import exactik as ik
from exactik.typing import Array, IntArray

Floats = NDArray[Any]  # of either precision

__all__ = ["HingeChain", "cross_matrix"]

ROLLS = 150  # steps of all together


def cross_matrix(a: Floats) -> Floats:
    """[a]× with [a]× b = a × b."""
    x, y, z = a
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]], dtype=a.dtype)


@dataclass(frozen=True, eq=False)
class HingeChain:
    """Hinges in a row, their limits, a target of the tip and its weight.

    Attributes:
        axes: unit vectors in the frame of the bone, (n, 3).
        offsets: of each joint in the frame of the one before [m], (n, 3).
        tip: in the last frame [m], (3,).
        target: of the tip in the world [m], (3,).
        lower: limits [rad], (n,).
        upper: likewise.
        weight: (3, 3).
        locked: (n,) True for hinges that may not move.
    """

    axes: Array
    offsets: Array
    tip: Array
    target: Array
    lower: Array
    upper: Array
    weight: Array = field(default_factory=lambda: np.eye(3))
    locked: tuple[bool, ...] = ()

    @property
    def size(self) -> int:
        """Number of hinges."""
        return len(self.axes)

    @cached_property
    def problem(self) -> ik.Problem:
        """The same for the library."""
        bones = [
            ik.Bone(
                f"b{k}",
                parent=f"b{k - 1}" if k > 0 else None,
                offset=self.offsets[k],
                joint=ik.Joint.revolute(self.axes[k], limits=(self.lower[k], self.upper[k])),
            )
            for k in range(self.size)
        ]
        figure = ik.Skeleton.build("chain", bones, {"TIP": (bones[-1].name, tuple(self.tip))})
        plain = np.array_equal(self.weight, self.weight[0, 0] * np.eye(3))
        weight = float(self.weight[0, 0]) if plain else self.weight
        goal = ik.MarkerGoal("TIP", self.target, weight=weight)
        lock = [f"b{k}" for k, locked in enumerate(self.locked) if locked]
        return ik.Problem(figure, goal, lock=lock)

    @cached_property
    def free(self) -> IntArray:
        """Indices of the hinges that may move."""
        locked = self.locked if len(self.locked) > 0 else (False,) * self.size
        return np.flatnonzero(~np.array(locked))

    # --- the second computation

    def place(self, q: Floats, kind: Any = np.longdouble) -> tuple[Floats, Floats, Floats]:
        """Return tip (3,), joint centres (n, 3) and axes in the world (n, 3)."""
        R, p = np.eye(3, dtype=kind), np.zeros(3, kind)
        centres, axes = np.zeros((self.size, 3), kind), np.zeros((self.size, 3), kind)
        for k in range(self.size):
            p = p + R @ self.offsets[k].astype(kind)
            a = self.axes[k].astype(kind)
            centres[k], axes[k] = p, R @ a
            K, angle = cross_matrix(a), kind(q[k])
            R = R @ (np.eye(3, dtype=kind) + np.sin(angle) * K + (1 - np.cos(angle)) * (K @ K))
        return p + R @ self.tip.astype(kind), centres, axes

    def cost(self, q: Floats, kind: Any = np.longdouble) -> np.floating:
        """½ rᵀWr."""
        r = self.target.astype(kind) - self.place(q, kind)[0]
        return kind(0.5) * (r @ self.weight.astype(kind) @ r)

    def gradient(self, q: Floats, kind: Any = np.longdouble) -> Floats:
        """−JᵀWr, zero for locked hinges, (n,)."""
        tip, centres, axes = self.place(q, kind)
        force = self.weight.astype(kind) @ (self.target.astype(kind) - tip)
        g = -np.cross(axes, tip - centres) @ force
        out = np.zeros_like(g)
        out[self.free] = g[self.free]
        return out

    def hessian(self, q: Array) -> Array:
        """Central differences of the gradient in extended precision, (n, n), to about 1e-10."""
        h, H = np.longdouble(1e-5), np.zeros((self.size, self.size))
        for k in self.free:
            step = np.zeros(self.size, np.longdouble)
            step[k] = h
            up, down = self.gradient(q + step), self.gradient(q - step)
            H[k] = ((up - down) / (2 * h)).astype(float)
        return 0.5 * (H + H.T)

    def roll(self, q: Array) -> tuple[float, Array]:
        """Return the cost and the pose that L-BFGS-B comes to from a pose."""
        span = np.zeros(self.size, bool)
        span[self.free] = True
        bounds = [
            (low, high) if free else (own, own)
            for low, high, free, own in zip(self.lower, self.upper, span, q, strict=True)
        ]
        found = minimize(
            lambda x: (float(self.cost(x, np.float64)), self.gradient(x, np.float64)),
            q,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"ftol": 0.0, "gtol": 1e-12, "maxiter": 400, "maxcor": 20},
        )
        return float(self.cost(found.x)), found.x

    def nudges(self, rng: np.random.Generator, count: int = 6) -> Array:
        """Directions to push a pose in: each hinge both ways, and a few at random."""
        single = np.vstack([np.eye(self.size), -np.eye(self.size)])
        mixed = rng.normal(size=(count, self.size))
        return np.vstack([single, mixed / np.linalg.norm(mixed, axis=1)[:, None]])

    def place_many(self, q: Array) -> tuple[Array, Array, Array]:
        """Return tips (B, 3), joint centres and axes (B, n, 3) of many poses."""
        count = len(q)
        R, p = np.tile(np.eye(3), (count, 1, 1)), np.zeros((count, 3))
        centres, axes = np.zeros((count, self.size, 3)), np.zeros((count, self.size, 3))
        for k in range(self.size):
            p = p + R @ self.offsets[k]
            centres[:, k], axes[:, k] = p, R @ self.axes[k]
            K = cross_matrix(self.axes[k])
            sine, versine = np.sin(q[:, k, None, None]), 1.0 - np.cos(q[:, k, None, None])
            R = R @ (np.eye(3) + sine * K + versine * (K @ K))
        return p + R @ self.tip, centres, axes

    def evaluate_many(self, q: Array) -> tuple[Array, Array]:
        """Return costs (B,) and gradients (B, n) of many poses."""
        tips, centres, axes = self.place_many(q)
        r = self.target - tips
        force = r @ self.weight
        g = -np.einsum("bni,bi->bn", np.cross(axes, tips[:, None] - centres), force)
        moving = np.isin(np.arange(self.size), self.free)
        return 0.5 * np.einsum("bi,bi->b", r, force), np.where(moving, g, 0.0)

    def roll_from_nearby(
        self, q: Array, rng: np.random.Generator, nudges: tuple[float, ...]
    ) -> float:
        """Return the least cost that is found from poses pushed away from q, inside the limits.

        Pushed by each of `nudges` [rad].

        All roll together, by projected gradient steps that grow while they help: short ones, that
        do not jump into another basin.
        """
        here, moving = float(self.cost(q)), np.isin(np.arange(self.size), self.free)
        ways = np.vstack([size * self.nudges(rng) for size in nudges])
        poses = np.where(moving, np.clip(q + ways, self.lower, self.upper), q)
        costs, g = self.evaluate_many(poses)
        lever = float(np.abs(self.offsets).sum() + np.abs(self.tip).sum())
        length = np.full(len(poses), 0.1 / (lever**2 * float(np.abs(self.weight).max())))
        for _ in range(ROLLS):
            trial = np.where(
                moving, np.clip(poses - length[:, None] * g, self.lower, self.upper), q
            )
            new_costs, new_g = self.evaluate_many(trial)
            better = new_costs < costs
            poses, g = np.where(better[:, None], trial, poses), np.where(better[:, None], new_g, g)
            costs = np.where(better, new_costs, costs)
            length *= np.where(better, 1.5, 0.3)
            if costs.min() < 0.99 * here:
                break
        return min(here, float(costs.min()))

    def search(self, q: Array, rng: np.random.Generator, count: int) -> float:
        """Return the least cost that is found from many starts; locked hinges stay as in q."""
        low, high = np.maximum(self.lower, -np.pi), np.minimum(self.upper, np.pi)
        moving = np.isin(np.arange(self.size), self.free)
        starts = [np.where(moving, rng.uniform(low, high), q) for _ in range(count)]
        return min(self.roll(start)[0] for start in starts)
