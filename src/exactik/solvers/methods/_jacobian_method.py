"""What the methods built on J share: limits inside the solve, clamps of the step, the safeguard.

With e = W½ r and J for W½ J, a method makes of e a step d = S y, y = K(JS) e: K is Jᵀ times a
length, J⁺, or the damped inverse; S = diag(strength). All three are linear in e, so that a shorter
displacement e and a shorter step are the same thing; hence the clamps (docs/maths.md §14):

    max_displacement   r of every goal shortened to this length first
    max_shortfall      τ e in place of e, with the largest τ ≤ 1 such that |τ(r − Jd)| ≤ ε
    max_step           d shortened until no entry is longer
    max_deviation      d halved until |r(q ⊕ d) − (r − Jd)| ≤ ε: the linear model may be this wrong

where |·| is the longest part of any goal, [m] or [rad], not weighted.

Limits. Columns of held dofs are left out of J. A dof that d carries out of its limits is put on the
limit and left out as well; the others make up for it: y = K(J_F S) (e − J_H d_H), and so on. That
may not go downhill, or hardly. Then the safe step is taken: only those dofs are left out which d
would push through a limit that they sit on, and what leaves the limits is cut off. In first order
this goes downhill whenever a dof that is not held has a slope:

    if Jᵀe were 0 on all that is left, the step before had −g·d = −g_H·d_H > 0, while each dof it
    pushed outwards, not being held, has −g_i inwards or 0: a contradiction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exactik.errors import UsageError
from exactik.problem import Problem
from exactik.solvers._method import PythonMethod
from exactik.solvers._view import Iterate, View
from exactik.solvers.methods._line_search import COST_ROUNDING
from exactik.typing import Array, BoolArray

SAFE_STEP_SHARE = 0.1  # share of the safe step's promised fall below which it is taken instead
MAX_HALVINGS = 30  # a step 1e-9 times as long either lowers the cost or drowns in rounding


@dataclass(frozen=True, kw_only=True)
class JacobianMethod(PythonMethod):
    """Options of the methods built on the Jacobian; None turns a clamp off.

    Attributes:
        safeguard: halve a step until it lowers the cost, and stop where none does. False takes
            every step, as the classical methods do: the cost may rise, and the last place need not
            be the best one.
        max_step: largest entry of a step [rad or m].
        max_displacement: the residual of each goal is shortened to this [m or rad]; the place and
            the turn of a pose are shortened alike, so that they arrive together.
        max_shortfall: how much of any goal's displacement a step may leave undone, in first order
            [m or rad]; no clamp at all for the pseudo-inverse of a J of full row rank.
        max_deviation: how far any goal may end from where the linear model has it [m or rad].
    """

    safeguard: bool = True
    max_step: float | None = None
    max_displacement: float | None = None
    max_shortfall: float | None = None
    max_deviation: float | None = None

    def __post_init__(self) -> None:
        """Check that clamps leave room to move."""
        super().__post_init__()
        for name in ("max_step", "max_displacement", "max_shortfall", "max_deviation"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UsageError(f"{type(self).__name__}({name}={value!r}): must be > 0, or None")


class JacobianStepper:
    """Makes steps of residuals by `solve`, which a method supplies."""

    resolves = True  # whether dofs make up for those that are put on a limit

    def __init__(self, method: JacobianMethod, view: View):
        """Start a run."""
        self.method, self.view = method, view
        self.unit = 1.0  # what a whole step counts in `control`
        self.control = 1.0  # that, times the share of the last step that was taken
        self.goal_rows = list_goal_rows(view.problem)

    def solve(self, J: Array, e: Array, free: BoolArray) -> Array:
        """Return y, (n,), of the displacement e, (m,), and JS, (m, n), the columns `free` (nv,)."""
        raise NotImplementedError

    def step(self, iterate: Iterate) -> Iterate | None:
        """Return the next place, or None where no step is found."""
        d = self.compute_step(iterate)
        return None if d is None else self.take_step(iterate, d)

    # --- the step

    def compute_step(self, iterate: Iterate) -> Array | None:
        """Return the clamped step d, (nv,); None if a step down is asked for and there is none."""
        e, J = self.view.rows(iterate)
        clamped, scaled = self.shorten_displacements(iterate, e)
        d, cut = self.solve_in_limits(
            iterate, J, self.limit_shortfall(iterate, J, clamped), self.resolves
        )
        if self.method.safeguard:
            safe = d
            if cut or clamped is not scaled:
                scaled = self.limit_shortfall(iterate, J, scaled)
                safe, _ = self.solve_in_limits(iterate, J, scaled, False)
            promise = float(iterate.gradient @ safe)
            if not promise < 0.0:
                return None
            if iterate.gradient @ d > SAFE_STEP_SHARE * promise:
                d = safe
        return self.limit_deviation(iterate, self.limit_step(d))

    def shorten_displacements(self, iterate: Iterate, e: Array) -> tuple[Array, Array]:
        """Return e with each goal clamped; and scaled as a whole, which never points uphill."""
        max_length = self.method.max_displacement
        if max_length is None:
            return e, e
        r, root = self.view.problem.residual(iterate.q), self.view.root_weight
        share = np.ones_like(r)
        for rows, width in self.goal_rows:
            length = longest_part(r[rows], width)
            share[rows] = max_length / length if length > max_length else 1.0
        clamped = share * e if root.ndim == 1 else root @ (share * r)
        return clamped, share.min() * e

    def limit_shortfall(self, iterate: Iterate, J: Array, e: Array) -> Array:
        """Return e shortened until its step leaves no more of any goal than is allowed."""
        allowed, problem = self.method.max_shortfall, self.view.problem
        if allowed is None:
            return e
        d = self.solve_free(J, e, ~iterate.active)
        remaining = problem.residual(iterate.q) - problem.jacobian(iterate.q) @ d
        return e * (allowed / max(allowed, self.measure_longest_part(remaining)))

    def solve_in_limits(
        self, iterate: Iterate, J: Array, e: Array, resolve: bool
    ) -> tuple[Array, bool]:
        """Return d, (nv,), inside the limits, and whether they changed it.

        If not `resolve`, limits count that are reached already; `View.move` cuts off the rest.
        """
        low, high = self.view.room(iterate.q)
        if not resolve:
            low, high = np.where(low < 0.0, -np.inf, 0.0), np.where(high > 0.0, np.inf, 0.0)
        free, d, cut = ~iterate.active, np.zeros(self.view.nv), False
        while free.any():  # each round but the last holds one dof more
            d[free] = self.solve_free(J, e - J[:, ~free] @ d[~free], free)[free]
            outside = free & ((d < low) | (d > high))
            if not outside.any():
                break
            d[outside] = np.clip(d, low, high)[outside]
            free &= ~outside
            cut = True
        return d, cut

    def solve_free(self, J: Array, e: Array, free: BoolArray) -> Array:
        """Return the step of the free dofs for e, (nv,), zero for the others."""
        S, d = self.view.strength[free], np.zeros(self.view.nv)
        d[free] = S * self.solve(J[:, free] * S, e, free)
        return d

    # --- its length

    def limit_step(self, d: Array) -> Array:
        """Return d with no entry longer than `max_step`."""
        max_entry = self.method.max_step
        if max_entry is None:
            return d
        return d * (max_entry / max(max_entry, np.abs(d).max(initial=0.0)))

    def limit_deviation(self, iterate: Iterate, d: Array) -> Array:
        """Return d halved until the linear model tells the residual there well enough."""
        allowed, problem = self.method.max_deviation, self.view.problem
        if allowed is None:
            return d
        r, J = problem.residual(iterate.q), problem.jacobian(iterate.q)
        for _ in range(MAX_HALVINGS):
            q = self.view.move(iterate.q, d)
            self.view.evaluations += 1
            model = r - J @ self.view.moved(q, iterate.q)
            if self.measure_longest_part(problem.residual(q) - model) <= allowed:
                break
            d = 0.5 * d
        return d

    def measure_longest_part(self, r: Array) -> float:
        """Return the length of the longest part of any goal [m or rad]."""
        return max((longest_part(r[rows], width) for rows, width in self.goal_rows), default=0.0)

    def take_step(self, iterate: Iterate, d: Array) -> Iterate | None:
        """Return the place d leads to, halved where the cost rises; None if it always does."""
        for halvings in range(MAX_HALVINGS if self.method.safeguard else 1):
            share = 0.5**halvings
            self.control = share * self.unit
            q = self.view.move(iterate.q, share * d)
            trial = self.view.at(q)
            if not self.method.safeguard:  # a diverging method ends where numbers do
                return trial if np.isfinite(trial.cost) else None
            if trial.cost < iterate.cost:
                return trial
            promise = float(iterate.gradient @ self.view.moved(q, iterate.q))
            if abs(promise) <= COST_ROUNDING * iterate.cost:
                return trial if promise < 0.0 and trial.is_flatter_than(iterate) else None
        return None


def list_goal_rows(problem: Problem) -> list[tuple[slice, int]]:
    """Return the rows of each goal and how many of them make a length: 3 for a place or a turn.

    Goals without weight do not count: no step is meant to bring them nearer.
    """
    terms, weight = problem.packed.terms, problem.packed.row_weights
    return [
        (rows, 3 if terms[name].stop > terms[name].start else rows.stop - rows.start)
        for name, rows in problem.rows.items()
        if weight[rows].any()
    ]


def longest_part(r: Array, width: int) -> float:
    """Return the length of the longest part of r, (k · width,)."""
    return float(np.sqrt((r.reshape(-1, width) ** 2).sum(axis=1).max()))
