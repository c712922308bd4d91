"""Poses that meet goals as well as closed loops allow, by the augmented Lagrangian.

For loops c(q) = 0 [m] beside a cost f(q), with multipliers λ = ρ μ,

    f + λ·c + ½ ρ |c|²  =  f + ½ ρ |c + μ|² + constant

is the cost of ordinary goals between two bodies whose targets are moved by μ: nothing is new to
differentiate, and the curvature of the loops counts. After each solve μ ← μ + c; where that closes
them too slowly, ρ grows (Hestenes 1969, Powell 1969). At the end λ are the forces in the loops.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from exactik._arrays import freeze
from exactik.errors import UsageError
from exactik.goals import DEFAULT_POSITION_TOLERANCE
from exactik.model import name_loops
from exactik.problem import Problem
from exactik.solvers._method import Method
from exactik.solvers._result import Result
from exactik.solvers.loops._goals import LOOSE, PulledProblem, find_heaviest_weight
from exactik.solvers.loops._result import ClosedResult
from exactik.solvers.methods import Auto
from exactik.typing import Array

FIRST_STIFFNESS = 100.0  # ρ over the largest weight of a goal
MAX_STIFFNESS = 1e7  # likewise; beyond it digits are lost
STIFFENING = 10.0
SLOW = 0.25  # a round that leaves more of the gap is slow
STUCK = 0.99  # rounds at the largest ρ that leave more of it do not close the loop
MAX_ROUNDS = 60
MAX_STUCK_ROUNDS = 4

SolveOpen = Callable[[Problem, Method, Array, int], Result]
"""Solve a problem without loops from a start and so many in all."""


def solve_closed(
    problem: Problem, method: Method, q0: Array, starts: int, solve_open: SolveOpen
) -> ClosedResult:
    """Find the pose that meets the goals best among those in which all loops are closed.

    Args:
        problem: of a skeleton with loops, without a `weight_matrix`.
        method: how.
        q0: where to start, (nq,).
        starts: number of starts of the first round.
        solve_open: a solve without loops.
    """
    if problem.weight_matrix is not None:
        raise UsageError("closed loops cannot be kept beside a weight_matrix; give goals weights")
    begin = time.perf_counter()
    loops = name_loops(problem.skeleton.loops)
    tolerances = np.array([loop.tolerance for loop in loops.values()])
    stiffness = FIRST_STIFFNESS * find_heaviest_weight(problem)
    most = MAX_STIFFNESS / FIRST_STIFFNESS * stiffness
    shifts = {name: np.zeros(loop.size) for name, loop in loops.items()}
    pulled, exact, q = PulledProblem(problem), make_exact(method), q0
    before, stuck, rounds, found = np.inf, 0, 0, list[Result]()
    while True:
        rounds += 1
        left_s = _find_time_left(method, begin)
        inner = solve_open(
            pulled.make(stiffness, shifts), replace(exact, **left_s), q.copy(), starts
        )
        found.append(inner)
        exact, q, starts = _go_on(exact), inner.q, 1
        pose = problem.skeleton.forward(q)
        gaps = {name: loop.find_gap(pose) for name, loop in loops.items()}
        shifts = {name: shifts[name] + gaps[name] for name in loops}
        sizes = np.array([float(np.linalg.norm(gap)) for gap in gaps.values()])
        left = float((sizes / tolerances).max())
        spent = time.perf_counter() - begin
        is_late = left > 1.0 and method.max_seconds is not None and spent > method.max_seconds
        if left <= 1.0 or rounds == MAX_ROUNDS or is_late:
            break
        stuck = stuck + 1 if stiffness >= most and left > STUCK * before else 0
        if stuck >= MAX_STUCK_ROUNDS:
            break
        if left > SLOW * before and stiffness < most:
            stiffness *= STIFFENING
            shifts = {name: shift / STIFFENING for name, shift in shifts.items()}
        before = left
    return ClosedResult(
        problem=problem,
        solver=method.name,
        q=freeze(q.copy()),
        cost=problem.cost(q),
        projected_gradient=inner.projected_gradient,
        tolerance=method.tolerance,
        ended="time-limit" if is_late else inner.ended,
        iterations=sum(each.iterations for each in found),
        evaluations=sum(each.evaluations for each in found),
        attempts=found[0].attempts,
        seconds=time.perf_counter() - begin,
        history=inner.history,
        gaps=dict(zip(loops, sizes.tolist(), strict=True)),
        forces={name: stiffness * shift for name, shift in shifts.items()},
        inner=inner,
        rounds=rounds,
    )


def make_exact(method: Method) -> Method:
    """Return a method that does not stop where only a loop of loose tolerance costs something."""
    share = (DEFAULT_POSITION_TOLERANCE / LOOSE) ** 2
    return replace(method, small_cost=share * method.small_cost)


def _go_on(method: Method) -> Method:
    """Return the method for the next round, which begins where the last one ended."""
    return replace(method, detour=False) if isinstance(method, Auto) else method


def _find_time_left(method: Method, begin: float) -> dict[str, float]:
    """Return what is left of a time limit [s], if there is one."""
    if method.max_seconds is None:
        return {}
    return {"max_seconds": max(method.max_seconds - (time.perf_counter() - begin), 1e-9)}
