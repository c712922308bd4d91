"""The solvers that are compared, how each goes down, and how long it takes.

An iteration is an accepted step; evaluations count the refused ones too. Times are processor time.
Those of compiled solvers are of runs inside a batch, without the call from Python. The time of an
iteration is that of the whole run, spread evenly.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from exactik.problem import Problem
from exactik.solvers import (
    BFGS,
    Auto,
    CompiledMethod,
    LevenbergMarquardt,
    Method,
    Newton,
    NewtonHigham,
    NewtonPCG,
    solve,
)
from exactik.solvers.batch import solve_batch
from exactik.typing import Array
from exactik_papers.experiment import Progress
from exactik_papers.recording import MotionFrames, Take

__all__ = [
    "AUTO",
    "EXACT",
    "HIGHAM",
    "LM",
    "METHODS",
    "QUASI",
    "SOLVED",
    "SOLVED_COST_CM2",
    "ConvergenceCurve",
    "Start",
    "record_convergence",
    "record_convergence_of_frames",
    "select_method",
    "time_solve",
]

Start = Callable[[Take, int], Array]  # where to start at a frame: `Take.warm`, `Take.zero`

SOLVED_COST_CM2 = 1e-2  # f [cm²] at which the paper's tables stop
LOWEST_COST_CM2 = 1e-20  # f at which its figures do
REPEATS = 5
MAX_SECONDS_TO_REPEAT = 0.02  # [s] of a run that is not repeated
BAND, EPSILON, RADIUS = 24, 0.1, 10.0  # of the paper; the radius is ours [rad and cm]

QUASI, EXACT, SOLVED = "quasi-Newton (BFGS)", "exact Hessian (PCG)", "exact Hessian (newton)"
LM, AUTO, HIGHAM = "LM", "auto", "exact Hessian (Higham)"
METHODS: dict[str, Method] = {
    QUASI: BFGS(tolerance=0.0),
    EXACT: NewtonPCG(bandwidth=BAND, epsilon=EPSILON, initial_radius=RADIUS, tolerance=0.0),
    SOLVED: Newton(initial_radius=RADIUS, tolerance=0.0),
    HIGHAM: NewtonHigham(tolerance=0.0),
    LM: LevenbergMarquardt(tolerance=0.0),
    AUTO: Auto(tolerance=0.0, detour=False),
}
"""By the names of the page. The first two are those of the paper, `newton` solves the trust-region
problem exactly, and `auto` is the hybrid of this package, here without its detour."""


@dataclass(frozen=True, eq=False)
class ConvergenceCurve:
    """How a solver went down at a frame.

    Attributes:
        cost: f [cm²] at the start and after each iteration, (n + 1,).
        ms: time of an iteration.
        evaluations: of the cost.
    """

    cost: Array
    ms: float
    evaluations: int

    @property
    def iterations_to_enough(self) -> int | None:
        """Iterations until f < 1e-2, or None."""
        there = np.flatnonzero(self.cost < SOLVED_COST_CM2)
        return int(there[0]) if len(there) > 0 else None

    def at_iterations(self, count: int) -> Array:
        """Return f at iterations 0 to `count`; a run that has ended stays where it is."""
        return self.cost[np.minimum(np.arange(count + 1), len(self.cost) - 1)]

    def at_times(self, ms: Array) -> Array:
        """Return f after so much time; what it had when the last iteration ended."""
        done = np.minimum((ms / self.ms).astype(int), len(self.cost) - 1)
        return self.cost[done]


def time_solve(problem: Problem, q0: Array, method: Method) -> tuple[float, int, int, float]:
    """Return time [ms], iterations, evaluations and f of one run, the fastest of some."""
    if isinstance(method, CompiledMethod):
        targets = {
            name: np.tile(problem.packed.targets[terms], (REPEATS, 1))
            for name, terms in problem.packed.terms.items()
            if terms.stop > terms.start
        }
        batch = solve_batch(problem, targets, q0=q0, solver=method, threads=1)
        seconds = float(batch.seconds.min())
        return 1e3 * seconds, int(batch.iterations[0]), int(batch.evaluations[0]), batch.cost[0]
    begin = time.thread_time()
    result = solve(problem, q0=q0, solver=method)
    spent = time.thread_time() - begin
    if spent < MAX_SECONDS_TO_REPEAT:  # the first of short runs is slower than others
        begin = time.thread_time()
        solve(problem, q0=q0, solver=method)
        spent = min(spent, time.thread_time() - begin)
    return 1e3 * spent, result.iterations, result.evaluations, result.cost


def record_convergence(problem: Problem, q0: Array, method: Method) -> ConvergenceCurve:
    """Run a method, record every iteration, and time them."""
    begin = time.thread_time()
    result = solve(problem, q0=q0, solver=method, history=True)
    spent = 1e3 * (time.thread_time() - begin)
    if isinstance(method, CompiledMethod):
        spent = time_solve(problem, q0, method)[0]
    assert result.history is not None
    each = spent / max(len(result.history.cost) - 1, 1)
    return ConvergenceCurve(result.history.cost, each, result.evaluations)


def select_method(
    curves: Mapping[tuple[str, str], list[ConvergenceCurve]], method: str
) -> list[ConvergenceCurve]:
    """Return the curves of one method on all kinds of motion, in their order."""
    return [curve for (_, name), group in curves.items() if name == method for curve in group]


def record_convergence_of_frames(
    kinds: dict[str, MotionFrames],
    methods: Sequence[str],
    start: Start,
    count: int,
    progress: Progress,
    *,
    limits: str = "off",
    real: bool = False,
) -> dict[tuple[str, str], list[ConvergenceCurve]]:
    """Return the curves of all frames, by kind and method.

    Args:
        kinds: frames.
        methods: names, of `METHODS`.
        start: where to start.
        count: most iterations.
        progress: told how many frames are done.
        limits: "off" or "hard".
        real: whether markers stay where they are on average.
    """
    curves: dict[tuple[str, str], list[ConvergenceCurve]] = {
        pair: [] for pair in product(kinds, methods)
    }
    total, done = sum(len(chosen.frames) for chosen in kinds.values()), 0
    for kind, chosen in kinds.items():
        for frame in chosen.frames.tolist():
            problem = chosen.take.problem(frame, limits=limits, real=real)
            for name in methods:
                method = replace(METHODS[name], max_iterations=count, small_cost=LOWEST_COST_CM2)
                curves[kind, name].append(
                    record_convergence(problem, start(chosen.take, frame), method)
                )
            done += 1
            progress(done, total)
    return curves
