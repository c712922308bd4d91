"""A problem: skeleton, goals, limits, locks, strengths; its cost with derivatives at any pose.

Two paths lead to the same numbers. Goals whose weights do not couple them are summed over subtrees,
in O(n·depth) and without ever forming J (`kernels.calculus`). A dense `weight_matrix`, or a goal
weighted across its own terms, needs J:

    cost = ½ rᵀWr ,   g = −JᵀWr ,   H = JᵀWJ + Σ (Wr)·∂²r

where the last term comes from the same sweep, driven by the forces Wr.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from exactik._arguments import require_names
from exactik._arrays import contiguous_copy, freeze, require_shape
from exactik.errors import GoalError, UsageError
from exactik.goals import (
    Goal,
    NewTargets,
    PackedGoals,
    SoftLimitGoal,
    as_goals,
    check_new_targets,
    pack_goals,
    require_weight_matrix,
    retarget_goals,
    retarget_packed,
)
from exactik.kernels.calculus import dense
from exactik.kernels.calculus import evaluate as kernel
from exactik.kernels.calculus.workspace import (
    SLOPE,
    Workspace,
    ancestor_row_width,
    curvature_rows,
    new_workspace,
)
from exactik.kernels.descent.state import Box, DescentState, new_descent_state
from exactik.kernels.goals.sums import EXACT, GAUSS_NEWTON, GRADIENT, VALUE
from exactik.kernels.goals.terms import add_local_model
from exactik.kernels.linear.articulated import WHOLE_ROWS
from exactik.kernels.linear.elimination import ancestor_pairs
from exactik.kernels.linear.ltdl import AncestorPattern
from exactik.model import Skeleton
from exactik.problem._dofs import compute_strengths, find_locked_dofs, make_box
from exactik.problem._scipy import ScipyProblem, to_scipy
from exactik.typing import Array

T = TypeVar("T")
MISSING = object()
MAX_THREAD_MEMORIES = 8
"""Kinds of calls on one problem that a thread keeps buffers for; more begin anew, which costs some
40 µs a call. Large enough for a program that takes turns; buffers of many starts are megabytes."""


class Problem:
    """What a figure is asked to do.

    Attributes:
        skeleton: the figure.
        goals: in the order of the rows of the residual; `limits="soft"` adds one at the end.
        limits: "hard" (solvers never leave them), "soft" (a penalty) or "off".
        lower: lower limits that solvers must keep [rad or m], (nv,); −inf for limits "soft" and
            "off".
        upper: upper limits, likewise.
        locked: (nv,) True for the dofs that may not move.
        strength: (nv,) how readily each dof moves compared with the others (over the median), 1 by
            default; changes the metric of the step, never the cost.
        weight_matrix: (m, m) over all rows of the residual, in place of the goals' own weights;
            None for these.
    """

    def __init__(
        self,
        skeleton: Skeleton,
        goals: Sequence[Goal] | Goal,
        *,
        limits: str = "hard",
        lock: str | Iterable[str] = (),
        strength: Mapping[str, float] | None = None,
        weight_matrix: ArrayLike | None = None,
    ):
        """State a problem.

        Args:
            skeleton: the figure.
            goals: at least one.
            limits: "hard", "soft" or "off".
            lock: names or patterns ("spine*") of bones or dofs that stay where they are.
            strength: name or pattern of bones or dofs → factor > 0; 0.2 makes a dof move a fifth
                as readily. Only ratios between dofs count.
            weight_matrix: symmetric W (m, m) over all rows of the residual, in place of the goals'
                own weights.
        """
        if not isinstance(skeleton, Skeleton):
            raise UsageError(f"a problem needs a Skeleton first, not {type(skeleton).__name__}")
        goals = as_goals(goals)
        lock = require_names("lock", lock)
        strength = {} if strength is None else strength
        if not isinstance(strength, Mapping):
            raise UsageError(f"strength is {strength!r}; expected {{name or pattern: factor}}")
        strength = dict(strength)
        self._arguments: dict[str, Any] = {
            "limits": limits,
            "lock": lock,
            "strength": strength,
            "weight_matrix": None,
        }
        if len(goals) == 0:
            raise GoalError("a problem needs at least one goal")
        if limits not in ("hard", "soft", "off"):
            raise UsageError(f"limits is {limits!r}; it must be 'hard', 'soft' or 'off'")
        self.skeleton = skeleton
        self.goals = (*goals, SoftLimitGoal()) if limits == "soft" else goals
        self.limits = limits
        hard = limits == "hard"
        self.lower = skeleton.lower if hard else freeze(np.full(skeleton.nv, -np.inf))
        self.upper = skeleton.upper if hard else freeze(np.full(skeleton.nv, np.inf))
        self.locked = freeze(find_locked_dofs(skeleton, lock))
        self.strength = freeze(compute_strengths(skeleton, strength))
        weight = None
        if weight_matrix is not None:
            m = sum(goal.rows(skeleton) for goal in self.goals)
            weight = contiguous_copy(require_shape("weight_matrix", weight_matrix, m, m))
            weight = freeze(require_weight_matrix("weight_matrix", weight))
            self._arguments["weight_matrix"] = weight
        self.weight_matrix = weight
        free = freeze(np.where(self.locked, 0.0, 1.0))
        self._packed = pack_goals(skeleton, self.goals, free, weight)
        # What problems with other targets share: these goals, packed and by name.
        self._template = self._packed
        self._named_goals = dict(zip(self._packed.rows, self.goals, strict=True))
        self._new_targets: NewTargets | None = None
        self._local = threading.local()
        self._memory: dict[Hashable, Any] = {}
        _ = self.box, self.pattern  # computed now, so that problems with other targets share them

    def __reduce__(self) -> tuple[Any, ...]:
        goals = self.goals[:-1] if self.limits == "soft" else self.goals
        return _rebuild, (self.skeleton, {**self._arguments, "goals": goals})

    def __repr__(self) -> str:
        names = ", ".join(self._template.rows)
        rows = f"{self.residual_size} residuals ({names})"
        return f"<Problem: {self.skeleton.name!r}, {rows}, limits {self.limits}>"

    # A problem with other targets makes goals and packed goals when asked: solves need neither.

    @cached_property
    def goals(self) -> tuple[Goal, ...]:
        """In the order of the rows of the residual; `limits="soft"` adds one at the end."""
        assert self._new_targets is not None
        return retarget_goals(self._named_goals, self._new_targets)

    @cached_property
    def _packed(self) -> PackedGoals:
        assert self._new_targets is not None
        return retarget_packed(self._template, self.goals, self._new_targets)

    @property
    def packed(self) -> PackedGoals:
        """The goals as the kernels read them."""
        return self._packed

    @property
    def template(self) -> PackedGoals:
        """The same, but for the targets, which may be those of another problem."""
        return self._template

    @property
    def new_targets(self) -> NewTargets | None:
        """The targets that take the place of those of `template`; None if none do."""
        return self._new_targets

    @property
    def rows(self) -> dict[str, slice]:
        """Name of each goal → its rows of the residual."""
        return dict(self._template.rows)

    @property
    def residual_size(self) -> int:
        """Number of rows of the residual."""
        return self._template.size

    # --- the public methods: all derivatives at v = 0 of cost(integrate(q, v))

    def cost(self, q: ArrayLike) -> float:
        """Return ½ rᵀWr at the coordinates q, (nq,)."""
        return self._evaluate(q, VALUE)[0]

    def gradient(self, q: ArrayLike) -> Array:
        """Return −JᵀWr, (nv,); zero for locked dofs."""
        return self._evaluate(q, GRADIENT)[1]

    def gauss_newton(self, q: ArrayLike) -> Array:
        """Return JᵀWJ, (nv, nv)."""
        return self._evaluate(q, GAUSS_NEWTON)[2]

    def hessian(self, q: ArrayLike) -> Array:
        """Return the exact second derivative of the cost, (nv, nv), symmetric."""
        return self._evaluate(q, EXACT)[2]

    def evaluate(self, q: ArrayLike) -> tuple[float, Array, Array]:
        """Return cost, gradient and exact Hessian at once, at the cost of the Hessian alone."""
        return self._evaluate(q, EXACT)

    def residual(self, q: ArrayLike) -> Array:
        """Return r = target − model, unweighted, (m,)."""
        return self._compute_rows(self._check_q(q), VALUE)[0]

    def jacobian(self, q: ArrayLike) -> Array:
        """Return J = −∂r/∂v, (m, nv)."""
        return self._compute_rows(self._check_q(q), GRADIENT)[1]

    def linearised(self, q: ArrayLike) -> tuple[Array, Array]:
        """Return residual and Jacobian at once."""
        return self._compute_rows(self._check_q(q), GRADIENT)

    def hessian_product(self, q: ArrayLike, x: ArrayLike) -> Array:
        """Return H x for the exact Hessian, (nv,), in O(n) unless goals or dofs are coupled."""
        q, x = self._check_q(q), contiguous_copy(require_shape("x", x, self.skeleton.nv))
        packed = self._packed
        if packed.coupled or packed.has_pairs or len(self.skeleton.couplings) > 0:
            return self.hessian(q) @ x
        tree, arrays = self.skeleton.tree, self._packed.arrays
        self._begin_evaluation(q, EXACT)
        frames, y = len(tree.parent), np.zeros(self.skeleton.nv)
        V, A = np.empty((frames, 6)), np.empty((frames, 6))
        kernel.multiply_hessian(tree, arrays, q, EXACT, x, V, A, y, self._work)
        return y

    def to_scipy(self) -> ScipyProblem:
        """Return fun, jac, hess, hessp and bounds as `scipy.optimize.minimize` takes them.

        As functions of the coordinates q, (nq,); quaternions may have any length.
        """
        return to_scipy(self)

    def with_targets(self, targets: Mapping[str, ArrayLike]) -> Problem:
        """Return the same problem with other targets: much quicker than making a new one.

        Args:
            targets: name of a goal on a bone → its new target, as the goal takes it: (3,) for a
                position, marker, direction or aim, (3, 3) for an orientation, (4, 4) for a pose.
        """
        new = check_new_targets(self._named_goals, self._template, self._new_targets, targets)
        retargeted = object.__new__(type(self))
        retargeted.__dict__.update(self.__dict__)
        retargeted._new_targets = new
        for name in ("goals", "_packed"):
            retargeted.__dict__.pop(name, None)
        if len(self._template.custom) > 0:
            _ = retargeted.goals  # a goal of the user's may refuse its target: now, not later
        return retargeted

    def opened_with(self, goals: Iterable[Goal]) -> Problem:
        """Return the same problem without the figure's loops, with further goals behind its own.

        Targets are those of the problem that `with_targets` began with.
        """
        own = list(self._named_goals.values())
        own = own[:-1] if self.limits == "soft" else own
        return _rebuild(self.skeleton.opened, {**self._arguments, "goals": (*own, *goals)})

    # --- for solvers

    @cached_property
    def box(self) -> Box:
        """Limits, locks and strengths as plain arrays."""
        free = self._template.arrays.free
        return make_box(self.skeleton, self.lower, self.upper, free, self.strength)

    @cached_property
    def pattern(self) -> AncestorPattern:
        """Whose ancestor rows `fill` gives: those of the goals, or one chain's, full ones."""
        if not self._template.coupled:
            return self._template.arrays.pattern
        chain = np.arange(self.skeleton.nv, dtype=np.uint32)
        return AncestorPattern(
            dof_order=chain, dof_parent=np.maximum(chain, 1) - np.uint32(1), dof_level=chain
        )

    def remember(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` returned the first time; kept for problems with other targets too."""
        if key not in self._memory:
            self._memory[key] = make()
        return self._memory[key]

    def remember_in_thread(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` returned the first time in this thread; of the last few keys only."""
        try:
            memory = self._local.memory
        except AttributeError:
            memory = self._local.memory = {}
        found = memory.get(key, MISSING)  # a call of a control loop hashes a method once
        if found is MISSING:
            if len(memory) >= MAX_THREAD_MEMORIES:
                memory.clear()
            found = memory[key] = make()
        return found

    @property
    def compiled(self) -> bool:
        """Whether compiled code alone can evaluate it: no goals in Python, none coupled."""
        return not self._template.coupled and len(self._template.custom) == 0

    @property
    def row_width(self) -> int:
        """Width of the rows that `fill` gives."""
        coupled = self._template.coupled
        if coupled:
            return ancestor_row_width(self.skeleton.nv)
        return curvature_rows(self._work).shape[1]

    @property
    def workspace(self) -> Workspace:
        """Scratch of evaluations in this thread."""
        return self._work

    @property
    def descent_state(self) -> DescentState:
        """Scratch of descents in this thread."""
        if not hasattr(self._local, "descent_state"):
            self._local.descent_state = new_descent_state(self.skeleton.tree, self.row_width)
        return self._local.descent_state

    def fill(self, q: Array, order: int) -> tuple[float, Array, Array]:
        """Return cost, gradient and curvature, (nv, width) by ancestor rows of `pattern`.

        For solvers: q, (nq,), is not checked, and the arrays are scratch of this thread, good until
        the next evaluation.
        """
        if self._packed.coupled:
            cost, g, H = self._evaluate_coupled(q, order)
            ancestor_rows = np.zeros((self.skeleton.nv, self.row_width))
            if order > GRADIENT:
                ancestor_rows[:, : self.skeleton.nv] = np.tril(H)
            return cost, g, ancestor_rows
        return self._fill(q, order), self._work.g, curvature_rows(self._work)

    def _fill(self, q: Array, order: int) -> float:
        work, tree, arrays = self._work, self.skeleton.tree, self._packed.arrays
        if len(self._packed.custom) == 0:
            return kernel.evaluate(tree, arrays, q, order, work)
        return self._begin_evaluation(q, order) + kernel.finish_evaluation(
            tree, arrays, q, order, WHOLE_ROWS, work
        )

    # --- evaluation

    @property
    def _work(self) -> Workspace:
        """Scratch space of this thread."""
        if not hasattr(self._local, "work"):
            self._local.work = new_workspace(self.skeleton.tree, self._template.arrays)
        return self._local.work

    def _check_q(self, q: ArrayLike) -> Array:
        return self.skeleton.normalised(require_shape("q", q, self.skeleton.nq))

    def _evaluate(self, q: ArrayLike, order: int) -> tuple[float, Array, Array]:
        q, work = self._check_q(q), self._work
        if self._packed.coupled:
            return self._evaluate_coupled(q, order)
        cost = self._fill(q, order)
        H = self._copy_curvature() if order > GRADIENT else np.empty((0, 0))
        return cost, work.g.copy(), H

    def _begin_evaluation(self, q: Array, order: int) -> float:
        """Update the kinematics, sum all goals on bones and return their cost."""
        work = self._work
        cost = kernel.begin_evaluation(self.skeleton.tree, self._packed.arrays, q, order, work)
        for frame, _, weight, r, D, D2 in self._evaluate_custom_goals(order):
            force = weight @ r
            cost += 0.5 * float(r @ force)
            if order > VALUE:
                X = D.T @ weight @ D + (np.tensordot(force, D2, 1) if order == EXACT else 0.0)
                add_local_model(frame, work.p[frame], -D.T @ force, X, order, work.sums)
        return cost

    def _evaluate_custom_goals(
        self, order: int
    ) -> Iterator[tuple[int, slice, Array, Array, Array, Array]]:
        """Yield frame, rows, weight, residual and derivatives of the goals written in Python."""
        work = self._work
        for _, goal, frame, rows, weight in self._packed.custom:
            position, count = work.p[frame] + work.origin, rows.stop - rows.start
            rotation = work.R[frame].copy()  # a copy: a custom goal may write to it
            yield frame, rows, weight, *goal.evaluate(rotation, position, count, order)

    def _compute_rows(self, q: Array, order: int) -> tuple[Array, Array]:
        """Return the residual, (m,), and J, (m, nv); for VALUE without the J of goals in Python."""
        r, J = np.zeros(self.residual_size), np.zeros((self.residual_size, self.skeleton.nv))
        work, tree, arrays = self._work, self.skeleton.tree, self._packed.arrays
        dense.write_residual_and_jacobian(tree, arrays, q, work, r, J)
        for frame, rows, _, residual, D, _ in self._evaluate_custom_goals(order):
            r[rows] = residual
            slope = work.joint_dofs[SLOPE]
            dense.write_jacobian_rows(
                tree, arrays.free, slope, work.S, frame, work.p[frame], D, rows.start, J
            )
        return r, J

    def _evaluate_coupled(self, q: Array, order: int) -> tuple[float, Array, Array]:
        work, W, arrays = self._work, self._packed.weight, self._packed.arrays
        r, J = self._compute_rows(q, min(order, GRADIENT))
        force = W @ r
        cost, g = 0.5 * float(r @ force), -J.T @ force
        H = J.T @ W @ J if order > GRADIENT else np.empty((0, 0))
        if order == EXACT:
            dense.begin_residual_curvature(arrays, force, work)
            for frame, rows, _, _, D, D2 in self._evaluate_custom_goals(order):
                X = np.tensordot(force[rows], D2, 1)
                add_local_model(frame, work.p[frame], -D.T @ force[rows], X, EXACT, work.sums)
            dense.finish_residual_curvature(self.skeleton.tree, arrays, q, force, work)
            H = H + self._copy_curvature()
        return cost, g, H

    def _copy_curvature(self) -> Array:
        """Return the curvature of the last evaluation as a full symmetric matrix."""
        pattern = self._template.arrays.pattern
        dof, level, above = self.remember("ancestors", lambda: ancestor_pairs(pattern))
        H = np.zeros((self.skeleton.nv, self.skeleton.nv))
        H[dof, above] = H[above, dof] = curvature_rows(self._work)[dof, level]
        return H


def _rebuild(skeleton: Skeleton, arguments: dict[str, Any]) -> Problem:
    return Problem(skeleton, **arguments)
