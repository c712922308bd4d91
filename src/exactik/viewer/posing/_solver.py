"""One update: from the pose there is to the pose that is shown next, in about a tenth of a ms."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from exactik.kernels.calculus.sums import VALUE
from exactik.kernels.calculus.workspace import new_work, place_apart
from exactik.kernels.descent import starts as kernel
from exactik.kernels.descent.state import new_search
from exactik.kernels.goals.targets import retarget
from exactik.solvers import (
    Auto,
    CompiledMethod,
    Method,
    can_solve_compiled,
    compute_term_tolerances,
    descend,
    make_start_table,
    resolve_method,
)
from exactik.typing import Array
from exactik.viewer.posing._goals import InteractiveGoals

__all__ = ["InteractiveSolver", "make_update_method"]


LONGEST = 0.5  # [rad] a dof turns at most, and a shift moves by as much of the reach, per update
ITERATIONS, SLOW_ITERATIONS = 24, 60
NUDGE = 2e-3  # [rad or m] by which an update starts off its pose


def make_update_method(solver: str | Method, budget: float) -> Method:
    """Return the method as updates use it: near its start, and only for so long [s].

    Every update begins where the last ended and is damped in time: no detours, no escapes, and
    little damping of its own.
    """
    method = resolve_method(solver)
    if isinstance(method, Auto):
        few = {"max_iterations": ITERATIONS, "tolerance": 1e-7, "initial_damping": 1e-2}
        return replace(method, escape=False, detour=False, **few)
    if isinstance(method, CompiledMethod):
        return replace(method, max_iterations=SLOW_ITERATIONS, tolerance=1e-7)
    return replace(method, max_iterations=SLOW_ITERATIONS, max_seconds=budget)


class InteractiveSolver:
    """Solves a set of live goals again and again.

    Attributes:
        goals: what is asked.
    """

    def __init__(self, goals: InteractiveGoals, solver: str | Method = "auto", budget: float = 0.01):
        """Make ready; `budget` [s] bounds an update of a method written in Python."""
        self.goals, problem = goals, goals.problem
        self.method = make_update_method(solver, budget)
        self._compiled = can_solve_compiled(problem, self.method)
        self._options = (
            self.method.options(problem) if isinstance(self.method, CompiledMethod) else None
        )
        self._tolerances, self._table = (
            compute_term_tolerances(problem),
            make_start_table(problem, 0, 0),
        )
        self._found = np.zeros((1, kernel.FOUND_COUNT))
        self._missed = np.zeros((1, len(problem.packed.arrays.terms.kind)))
        self._answer = np.empty((1, problem.skeleton.nq))
        # Scratch of our own: a problem's belongs to a thread, and threads come and go.
        self._work = new_work(problem.skeleton.tree)
        self._search = new_search(problem.skeleton.tree, self._work.H.shape[1])
        # A straight leg that is pushed along itself is a saddle: nothing says which way to buckle.
        # Updates start a little towards the middle of the limits, and knees bend the way they can.
        # Where there is no saddle the answer is the same: its minimum does not depend on the start.
        box = problem.box
        limited = np.isfinite(problem.lower) & np.isfinite(problem.upper)
        limited &= (box.free > 0.0) & (box.plain >= 0)
        self._nudged = box.plain[limited]
        self._middle = 0.5 * (problem.lower[limited] + problem.upper[limited])
        self._wraps = any(
            bone.joint.rotation_part.kind in ("exp_map", "swing_twist")
            for bone in problem.skeleton.bones
        )

    def places(self, q: Array) -> tuple[Array, Array]:
        """Return where pose q has the handles [m, world], (n, 3), and their rotations (n, 3, 3)."""
        problem, work, goals = self.goals.problem, self._work, self.goals
        place_apart(problem.skeleton.tree, problem.packed.arrays, q, work)
        turns = work.R[goals.frames]
        arms = (turns @ goals.points[:, :, None])[:, :, 0]
        return work.p[goals.frames] + work.origin + arms, turns

    def update(self, q: Array) -> tuple[Array, float, float]:
        """Return the next pose, (nq,), from q, its cost, and how long it took [s].

        Inside the limits, always finite: where a method fails, the pose is q itself.
        """
        begin = time.perf_counter()
        problem, goals = self.goals.problem, self.goals
        goals.stay_near(q)
        answer = self._answer
        answer[0] = q
        answer[0, self._nudged] += np.where(self._middle >= q[self._nudged], NUDGE, -NUDGE)
        if self._compiled:
            kernel.seek_all(
                *(problem.skeleton.tree, problem.packed.arrays, problem.box, self._options),
                *(self._tolerances, self._table, goals.targets, answer, self._found),
                *(self._missed, self._search, self._work),
            )
            found, cost = answer[0].copy(), float(self._found[0, kernel.COST])
        else:
            found, cost = self._in_python(q, answer[0].copy())
        found = self._guarded(q, found)
        return found, cost, time.perf_counter() - begin

    def _in_python(self, q: Array, start: Array) -> tuple[Array, float]:
        """Run a method that is written in Python, unless it goes up: some of the classics do."""
        problem = self.goals.problem
        retarget(problem.packed.arrays, self.goals.targets, 0)
        before = problem.fill(q, VALUE)[0]
        found = descend(problem, self.method, start).q
        after = problem.fill(found, VALUE)[0] if np.isfinite(found).all() else np.inf
        return (found, after) if after <= before else (q.copy(), before)

    def _guarded(self, q: Array, found: Array) -> Array:
        """Keep the last pose where the next is none; bound what one update may change."""
        problem = self.goals.problem
        skeleton = problem.skeleton
        if not np.isfinite(found).all():
            return q.copy()
        moved = np.abs(found - q) if skeleton.nq == skeleton.nv else None
        if moved is None or moved.max(initial=0.0) > LONGEST:
            step = skeleton.difference(found, q)
            longest = float(np.abs(step).max(initial=0.0))
            if longest > LONGEST:
                found = skeleton.integrate(q, LONGEST / longest * step)
                plain = problem.box.plain >= 0
                index = problem.box.plain[plain]
                found[index] = np.clip(found[index], problem.lower[plain], problem.upper[plain])
        return skeleton.reparameterise(found) if self._wraps else found
