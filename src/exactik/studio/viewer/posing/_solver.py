"""One update: from the present pose to the one that is shown next, in about 0.1 to 0.2 ms."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from exactik.solvers import (
    Auto,
    CompiledMethod,
    Method,
    Solver,
    can_solve_compiled,
    descend,
    resolve_method,
)
from exactik.studio.viewer.posing._goals import InteractiveGoals
from exactik.typing import Array

MAX_UPDATE_STEP = 0.5  # [rad or m] largest change of a dof in one update
MAX_ITERATIONS = 24  # of an update with `Auto`
MAX_ITERATIONS_OTHERS = 60  # of an update with another method, which converges more slowly
# Of `Auto` near its end: with the 1 of a cold start an easy drag of a hand takes 4 steps more. Less
# than this saves none.
WARM_DAMPING = 1e-2
START_OFFSET = 2e-3  # [rad or m] between the pose and the start of an update
# A knee that may go 5° back would get there from a straight leg, and stay when the pelvis is pulled
# down: a hinge that rests so near to a limit starts bent the other way, more if it went back.
STRAIGHT_SHARE = 0.1  # of its range
BENT_RAD, BENT_BACK_RAD = 0.02, 0.12


def make_warm_method(solver: str | Method) -> Method:
    """Return a method for poses near to where it starts, where much damping only costs steps."""
    method = resolve_method(solver)
    if isinstance(method, Auto):
        return replace(method, metric="dof", initial_damping=WARM_DAMPING)
    return method


def make_update_method(solver: str | Method, budget: float) -> Method:
    """Return the method as updates use it: near its start, and only for so long [s].

    Every update begins where the last ended and is damped in time: no detours, no escapes, and
    little damping of its own.
    """
    method = make_warm_method(solver)
    if isinstance(method, Auto):
        return replace(
            method, escape=False, detour=False, max_iterations=MAX_ITERATIONS, tolerance=1e-7
        )
    if isinstance(method, CompiledMethod):
        return replace(method, max_iterations=MAX_ITERATIONS_OTHERS, tolerance=1e-7)
    return replace(method, max_iterations=MAX_ITERATIONS_OTHERS, max_seconds=budget)


class InteractiveSolver:
    """Solves the goals of the handles at every update."""

    def __init__(
        self, goals: InteractiveGoals, solver: str | Method = "auto", budget: float = 0.01
    ):
        """Prepare to solve; `budget` [s] bounds an update of a method written in Python."""
        self.goals, problem = goals, goals.problem
        self.method = make_update_method(solver, budget)
        is_compiled = can_solve_compiled(problem, self.method)
        self._compiled = Solver(problem, solver=self.method) if is_compiled else None
        self._given: dict[str, list[float]] = {}  # targets that it has already
        # A straight leg that is pushed along itself is at a saddle: no direction to buckle is
        # preferred. Updates start a little towards the middle of the limits, so knees bend as they
        # can. Elsewhere the result is the same: the minimum does not depend on the start.
        box = problem.box
        limited = np.isfinite(problem.lower) & np.isfinite(problem.upper)
        limited &= (box.free > 0.0) & (box.coordinate >= 0)
        self._offset_index = box.coordinate[limited]
        low, high = problem.lower[limited], problem.upper[limited]
        self._limit_middle = 0.5 * (low + high)
        rest = np.clip(problem.skeleton.neutral()[self._offset_index], low, high)
        near = STRAIGHT_SHARE * (high - low)
        bends = problem.skeleton.turns[limited] & (np.minimum(rest - low, high - rest) < near)
        self._way = np.where(bends, np.where(rest < self._limit_middle, 1.0, -1.0), 0.0)
        self._straight = rest
        self._wraps = any(
            bone.joint.rotation_part.kind in ("exp_map", "swing_twist")
            for bone in problem.skeleton.bones
        )

    def compute_handle_poses(self, q: Array) -> tuple[Array, Array]:
        """Return positions [m, world], (n, 3), and R_world_bone, (n, 3, 3), of the handles at q."""
        pose, goals = self.goals.problem.skeleton.forward(q), self.goals
        R_world_bone = pose.rotations[goals.bones]
        arms = (R_world_bone @ goals.points[:, :, None])[:, :, 0]
        return pose.positions[goals.bones] + arms, R_world_bone

    def update(self, q: Array, targets: Mapping[str, Array]) -> tuple[Array, float, float]:
        """Return the next pose, (nq,), from q, its cost, and how long it took [s].

        Inside the limits, always finite: where a method fails, the pose is q itself. Targets are by
        name of the goal.
        """
        begin = time.perf_counter()
        self.goals.set_last_pose(q)
        start = q.copy()
        start[self._offset_index] = self._offset(q[self._offset_index])
        if self._compiled is not None:
            next_q, cost = self._solve_compiled(self._compiled, start, targets)
        else:
            next_q, cost = self._descend_in_python(q, start, targets)
        return self._bound_step(q, next_q), cost, time.perf_counter() - begin

    def _offset(self, value: Array) -> Array:
        """Return where dofs within two limits start from their values [rad or m]."""
        offset = np.where(self._limit_middle >= value, START_OFFSET, -START_OFFSET)
        bent = self._way * (value - self._straight)
        least = np.where(bent < -BENT_RAD, BENT_BACK_RAD, BENT_RAD)
        rises = (self._way != 0.0) & (bent < least)
        return np.where(rises, self._straight + self._way * least, value + offset)

    def _solve_compiled(
        self, solver: Solver, start: Array, targets: Mapping[str, Array]
    ) -> tuple[Array, float]:
        """Solve; most handles stay where they are, and setting a target takes 3 µs."""
        new = {name: target.tolist() for name, target in targets.items()}
        changed = {n: targets[n] for n, entries in new.items() if entries != self._given.get(n)}
        self._given = new
        return solver.solve(start, changed if len(changed) > 0 else None), solver.cost

    def _descend_in_python(
        self, q: Array, start: Array, targets: Mapping[str, Array]
    ) -> tuple[Array, float]:
        """Run a method that is written in Python; keep q if the cost rose, as it may with some."""
        problem = self.goals.problem.with_targets(targets)
        before = problem.cost(q)
        next_q = descend(problem, self.method, start).q
        after = problem.cost(next_q) if np.isfinite(next_q).all() else np.inf
        return (next_q, after) if after <= before else (q.copy(), before)

    def _bound_step(self, q: Array, next_q: Array) -> Array:
        """Return the next pose at a bounded distance; q itself if the next is not finite."""
        problem = self.goals.problem
        skeleton = problem.skeleton
        if not np.isfinite(next_q).all():
            return q.copy()
        change = np.abs(next_q - q) if skeleton.nq == skeleton.nv else None
        if change is None or change.max(initial=0.0) > MAX_UPDATE_STEP:
            step = skeleton.difference(next_q, q)
            longest = float(np.abs(step).max(initial=0.0))
            if longest > MAX_UPDATE_STEP:
                next_q = skeleton.integrate(q, MAX_UPDATE_STEP / longest * step)
                plain = problem.box.coordinate >= 0
                index = problem.box.coordinate[plain]
                next_q[index] = np.clip(next_q[index], problem.lower[plain], problem.upper[plain])
        return skeleton.reparameterise(next_q) if self._wraps else next_q
