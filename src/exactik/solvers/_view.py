"""A problem as the methods written in Python see it: places, steps inside the limits, matrices."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from exactik._renamed import renamed
from exactik.kernels.linear.active_set import (
    clip_to_limits,
    relative_projected_gradient,
    update_active_set,
)
from exactik.kernels.tree.integrate import integrate
from exactik.problem import GAUSS_NEWTON, Problem
from exactik.typing import Array, BoolArray


class Iterate(NamedTuple):
    """A configuration inside the limits, and what is known there.

    Attributes:
        q: coordinates, (nq,).
        cost: ½ rᵀWr.
        gradient: (nv,), zero for locked dofs.
        active: (nv,) True for dofs that are locked, or sit on a limit and are pushed against it.
        projected_gradient: relative, see `relative_projected_gradient`.
        scale: (nv,) √(2 cost · curvature) of each dof, what its gradient is relative to.
    """

    q: Array
    cost: float
    gradient: Array
    active: BoolArray
    projected_gradient: float
    scale: Array

    def is_flatter_than(self, other: Iterate) -> bool:
        """Whether less of the gradient is left: what decides where costs differ by rounding."""
        return self.projected_gradient < other.projected_gradient

    slope = renamed("Iterate.slope", "projected_gradient")
    held = renamed("Iterate.held", "active")

    @property
    def free_gradient(self) -> Array:
        """The gradient with the entries of active dofs zero, (nv,)."""
        return np.where(self.active, 0.0, self.gradient)


class View:
    """A problem, its box, and the number of evaluations made.

    Steps v (nv,) live in the tangent space [rad or m]; only `move` turns them into coordinates.
    """

    def __init__(self, problem: Problem):
        """Look at a problem."""
        self.problem = problem
        self.box = problem.box
        self.evaluations = 0

    @property
    def nv(self) -> int:
        """Number of dofs."""
        return self.problem.skeleton.nv

    @property
    def strength(self) -> Array:
        """(nv,) how readily each dof moves: a first-order step is strength² times −g."""
        return self.problem.strength

    def at(self, q: Array) -> Iterate:
        """Evaluate cost and gradient at coordinates q, (nq,), which must be inside the limits."""
        q = q.copy()  # the kernels are not compiled for arrays that are read-only
        cost, g, H = self.problem.fill(q, GAUSS_NEWTON)
        self.evaluations += 1
        box, active = self.box, np.zeros(self.nv)
        update_active_set(box.coordinate, box.lower, box.upper, box.free, q, g, active)
        curve = np.abs(H[np.arange(self.nv), self.problem.pattern.dof_level])
        remaining = relative_projected_gradient(g, active, curve, cost)
        scale = np.sqrt(2.0 * max(cost, 0.0) * curve)  # rounding may leave less than none
        return Iterate(
            q=q,
            cost=float(cost),
            gradient=g.copy(),
            active=active != 0.0,
            projected_gradient=float(remaining),
            scale=scale,
        )

    def project(self, q: Array) -> Array:
        """Return q, (nq,), with coordinates outside their limits moved to the limit."""
        q = q.copy()
        clip_to_limits(self.box.coordinate, self.box.lower, self.box.upper, q)
        return q

    def move(self, q: Array, v: Array) -> Array:
        """Return q ⊕ v, (nq,), projected into the limits."""
        out = np.empty_like(q)
        integrate(self.problem.skeleton.tree, q, np.ascontiguousarray(v), out)
        clip_to_limits(self.box.coordinate, self.box.lower, self.box.upper, out)
        return out

    def room(self, q: Array) -> tuple[Array, Array]:
        """Return the least and greatest step that the limits allow each dof, both (nv,)."""
        coordinate = self.box.coordinate
        values = np.where(coordinate >= 0, q[np.maximum(coordinate, 0)], 0.0)
        return self.box.lower - values, self.box.upper - values

    def moved(self, q1: Array, q0: Array) -> Array:
        """Return the step from q0 to q1, (nv,)."""
        return self.problem.skeleton.difference(q1, q0)

    def hessian(self, iterate: Iterate) -> Array:
        """Return the exact Hessian, (nv, nv); rows and columns of locked dofs are zero."""
        return self.problem.hessian(iterate.q)

    def rows(self, iterate: Iterate) -> tuple[Array, Array]:
        """Return the weighted residual W½ r, (m,), and Jacobian W½ J, (m, nv)."""
        r, J = self.problem.linearised(iterate.q)
        root = self.root_weight
        return (root * r, root[:, None] * J) if root.ndim == 1 else (root @ r, root @ J)

    @cached_property
    def root_weight(self) -> Array:
        """W½ with W½ᵀ W½ = W: (m,) where W is diagonal, else (m, m)."""
        weight = self.problem.packed.weight
        if np.count_nonzero(weight - np.diag(np.diag(weight))) == 0:
            return np.sqrt(np.diag(weight))
        values, vectors = np.linalg.eigh(weight)
        return np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
