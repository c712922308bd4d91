"""Section noisy-markers: a human fitted to markers that no pose can match.

With noise the residual stays, and with it the curvature that Gauss–Newton's matrix leaves out. Each
method has the same poses, noise and starts, and as many iterations as it could want. Times are the
fastest of a few, inside a batch: the call from Python, 0.1 ms, is not in them. Runs long enough for
others to get in between are timed with their call, by the processor's clock.

The races to the same cost stop both methods at the first iteration whose cost is within 1e-6 of the
minimum's, and time a run of just so many iterations. Only runs to the same minimum are compared.
Levenberg–Marquardt may still be on its way when its iterations are used up: finished by Newton, its
run tells which minimum that is, and the time spent so far is a lower bound.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

import exactik as ik
from benchmarks.support.report import Metric, Report
from exactik.kernels.linear.active_set import clip_to_limits
from exactik.solvers import BFGS, LBFGS, GaussNewton, Method, NewtonHigham, NewtonPCG, View
from exactik.solvers.batch import BatchResult
from exactik.typing import Array

POSE_COUNT = 30
NOISES_MM = (5, 10, 20)
POSE_SPREAD = 0.3  # [rad or m] standard deviation of poses about the neutral one
WARM_START_SPREAD = 0.05  # [rad or m] of warm starts about the pose
MAX_ITERATIONS = 2000  # more than any method needs
MAX_GRADIENT = 1e-6  # relative projected gradient below which a run is at rest
CLOSE_COST, ROUGH_COST = 1e-6, 1e-3  # how near to the minimum's cost the races go, relative
SAME_MINIMUM = 1e-3  # costs that differ by no more belong to the same minimum
REPEATS = 6  # timed runs
SLOW_RUN_MS = 4.0  # from which a run is timed by the processor's clock
PYTHON_POSES = 5  # for the methods in Python, which are slow

AUTO = ik.Auto(max_iterations=MAX_ITERATIONS)
AUTO_NO_DETOUR = ik.Auto(max_iterations=MAX_ITERATIONS, detour=False)
MARQUARDT = ik.LevenbergMarquardt(max_iterations=MAX_ITERATIONS)
COMPILED: dict[str, Method] = {
    "auto": AUTO,
    "auto, no detour": AUTO_NO_DETOUR,
    "newton": ik.Newton(max_iterations=MAX_ITERATIONS),
    "levenberg-marquardt": MARQUARDT,
    "gauss-newton": GaussNewton(max_iterations=MAX_ITERATIONS),
}
IN_PYTHON: dict[str, Method] = {
    "newton-pcg": NewtonPCG(max_iterations=MAX_ITERATIONS),
    "newton-higham": NewtonHigham(max_iterations=MAX_ITERATIONS),
    "bfgs": BFGS(max_iterations=MAX_ITERATIONS),
    "l-bfgs": LBFGS(max_iterations=MAX_ITERATIONS),
}


class Case(NamedTuple):
    """Problems of one kind."""

    limits: str
    start: str
    noise: int
    problems: list[tuple[ik.Problem, Array]]  # and where to start

    @property
    def name(self) -> str:
        return f"limits {self.limits}, {self.start}, {self.noise} mm"


class SolverRun(NamedTuple):
    """One method on one problem."""

    iterations: float
    evaluations: float
    ms: float
    cost: float
    slope: float
    q: Array


def make_cases(poses: int) -> Iterator[Case]:
    """Yield all kinds of problems; the same poses and noise for each."""
    figure = ik.human()
    blank = ik.Problem(figure, [ik.MarkerGoal(m, (0, 0, 0), name=m) for m in figure.markers])
    for limits in ("hard", "off"):
        free = ik.Problem(figure, blank.goals, limits=limits)
        for start in ("warm", "cold"):
            for noise in NOISES_MM:
                problems = []
                for seed in range(poses):
                    rng = np.random.default_rng(seed)
                    q = figure.integrate(figure.neutral(), POSE_SPREAD * rng.normal(size=figure.nv))
                    clip_to_limits(blank.box.coordinate, blank.lower, blank.upper, q)
                    error = 1e-3 * noise * rng.normal(size=(len(figure.markers), 3))
                    seen = figure.forward(q).markers + error
                    near = figure.integrate(q, WARM_START_SPREAD * rng.normal(size=figure.nv))
                    problem = free.with_targets(dict(zip(figure.markers, seen, strict=True)))
                    problems.append((problem, near if start == "warm" else figure.neutral()))
                yield Case(limits=limits, start=start, noise=noise, problems=problems)


def solve_copies(problem: ik.Problem, q0: Array, method: Method, count: int) -> BatchResult:
    """Solve the same problem several times in one call, which times each by itself."""
    goals = [goal for goal in problem.goals if isinstance(goal, ik.MarkerGoal)]
    targets = {goal.label: np.tile(goal.target, (count, 1)) for goal in goals}
    return ik.solve_batch(problem, targets, q0=q0, solver=method, threads=1)


def measure(problem: ik.Problem, q0: Array, method: Method) -> SolverRun:
    """Run a method on a problem; the time is the shortest of several."""
    results, clock = [], [time.process_time()]
    for _ in range(2):
        results.append(ik.solve(problem, q0=q0, solver=method))
        clock.append(time.process_time())
    result, seconds = results[-1], np.diff(clock).tolist()
    if 1e3 * min(seconds) < SLOW_RUN_MS:
        seconds = solve_copies(problem, q0, method, REPEATS).seconds.tolist()
    slope = View(problem).at(result.q).projected_gradient  # methods report it in different norms
    return SolverRun(
        iterations=result.iterations,
        evaluations=result.evaluations,
        ms=1e3 * min(seconds),
        cost=result.cost,
        slope=slope,
        q=result.q,
    )


class CostHistory:
    """The cost of a method after each iteration, and the time until then."""

    def __init__(self, problem: ik.Problem, q0: Array, method: Method) -> None:
        self.problem_and_start, self.method = (problem, q0), method
        history = ik.solve(problem, q0=q0, solver=method, history=True).history
        assert history is not None
        self.cost = history.cost
        self.ms: dict[int, float] = {}

    def time_to(self, cost: float) -> tuple[float, bool]:
        """Return the time [ms] to a cost this low, or of all iterations; and whether it was met."""
        reached = np.flatnonzero(self.cost <= cost)
        count = int(reached[0]) if len(reached) > 0 else MAX_ITERATIONS
        if count not in self.ms:
            self.ms[count] = measure(
                *self.problem_and_start, replace(self.method, max_iterations=count)
            ).ms
        return self.ms[count], len(reached) > 0


class Race(NamedTuple):
    """Times [ms] of auto and Levenberg–Marquardt to the same cost, where they share a minimum."""

    auto: float
    marquardt: float
    marquardt_arrived: bool  #  whether Levenberg–Marquardt got there


class Races(NamedTuple):
    """The races of many problems, fewer than problems where minima differ.

    Attributes:
        close: auto without detour, to within `CLOSE` of the minimum's cost.
        rough: the same to within `ROUGH`.
        whole: all that auto does, detour and last digits included, against Levenberg–Marquardt to
            within `CLOSE`.
    """

    close: list[Race]
    rough: list[Race]
    whole: list[Race]


def run_races(case: Case, runs: dict[str, list[SolverRun]]) -> Races:
    """Run auto and Levenberg–Marquardt to the same costs."""
    races = Races([], [], [])
    columns = [runs[name] for name in ("auto", "auto, no detour", "levenberg-marquardt")]
    for (problem, q0), auto, straight, theirs in zip(case.problems, *columns, strict=True):
        finished = ik.solve(problem, q0=theirs.q, solver=AUTO_NO_DETOUR).cost
        marquardt = CostHistory(problem, q0, MARQUARDT)
        if abs(finished - straight.cost) <= SAME_MINIMUM * straight.cost:
            ours = CostHistory(problem, q0, AUTO_NO_DETOUR)
            for finished_races, near in ((races.close, CLOSE_COST), (races.rough, ROUGH_COST)):
                cost = straight.cost * (1.0 + near)
                finished_races.append(Race(ours.time_to(cost)[0], *marquardt.time_to(cost)))
        if abs(finished - auto.cost) <= SAME_MINIMUM * auto.cost:
            races.whole.append(Race(auto.ms, *marquardt.time_to(auto.cost * (1.0 + CLOSE_COST))))
    return races


def median_ratio(races: list[Race]) -> float:
    """Return how many times as fast auto is, the median of the races."""
    return float(np.median([r.marquardt / r.auto for r in races])) if len(races) > 0 else np.nan


def format_medians(races: list[Race]) -> tuple[str, str]:
    """Return the median times of both [ms]."""
    ours, theirs = np.median([r[:2] for r in races], axis=0) if len(races) > 0 else (np.nan, np.nan)
    return f"{ours:.3f}", f"{theirs:.3f}"


HEADERS = [
    "",
    "iterations",
    "evaluations",
    "ms",
    "ms, p90",
    "1000 cost",
    "at rest %",
    "lowest %",
]


def make_rows(label: str, runs: dict[str, list[SolverRun]]) -> list[list[str]]:
    """Return a row of the table for each method on the problems of a case."""
    lowest = np.min([[run.cost for run in method_runs] for method_runs in runs.values()], axis=0)
    rows: list[list[str]] = []
    for name, method_runs in runs.items():
        count, calls, ms, cost, slope = np.array([run[:5] for run in method_runs]).T
        best = cost <= (1.0 + SAME_MINIMUM) * lowest
        rows.append(
            [
                f"{'' if len(rows) > 0 else label:6} {name}",
                f"{np.median(count):.0f}",
                f"{np.median(calls):.0f}",
                f"{np.median(ms):.3f}",
                f"{np.percentile(ms, 90):.3f}",
                f"{1e3 * np.median(cost):.4f}",
                f"{100 * np.mean(slope <= MAX_GRADIENT):.0f}",
                f"{100 * np.mean(best):.0f}",
            ]
        )
    return rows


def run_methods(case: Case, methods: dict[str, Method]) -> dict[str, list[SolverRun]]:
    """Run every method on the problems of a case."""
    return {name: [measure(*p, method) for p in case.problems] for name, method in methods.items()}


def make_race_row(case: Case, races: Races) -> list[str]:
    """Return the races of a case as a row of the table."""
    apart = len(case.problems) - len(races.close)
    late = sum(not r.marquardt_arrived for r in races.close)
    ratios = [f"{median_ratio(kind):.1f}" for kind in races]
    return [case.name, str(apart), str(late), *format_medians(races.close), *ratios]


def run(report: Report, poses: int = POSE_COUNT) -> None:
    """Measure and print the section."""
    at_rest: dict[str, list[bool]] = {name: [] for name in COMPILED}
    table: list[list[str]] = []
    race_rows: list[list[str]] = []
    races = Races([], [], [])
    helped: list[bool] = []
    run_methods(next(make_cases(1)), COMPILED)  # compile, or load what was compiled before
    for case in make_cases(poses):
        runs = run_methods(case, COMPILED)
        table += make_rows(f"{case.noise} mm", runs)
        if case.noise == NOISES_MM[-1]:
            report.title(f"noisy markers: limits {case.limits}, {case.start} starts, {poses} poses")
            report.table(HEADERS, table)
            table.clear()
        for name, method_runs in runs.items():
            at_rest[name] += [run.slope <= MAX_GRADIENT for run in method_runs]
        if case.limits == "hard":
            pairs = zip(runs["auto"], runs["auto, no detour"], strict=True)
            helped += [
                around.cost < (1.0 - SAME_MINIMUM) * straight.cost for around, straight in pairs
            ]
        case_races = run_races(case, runs)
        race_rows.append(make_race_row(case, case_races))
        for total, more in zip(races, case_races, strict=True):
            total.extend(more)
    report.title("noisy markers: auto and Levenberg–Marquardt (LM) to the same cost, medians")
    headers = ["", "other minimum", "never", "auto ms", "LM ms", "ratio", "rough", "whole"]
    report.table(headers, race_rows)
    report.console.print(
        f"ratio: LM's time over that of auto without detour, both until within {CLOSE_COST:g} of "
        f"the minimum;\nnever: LM was not there after {MAX_ITERATIONS} iterations, whose time "
        f"stands in, a lower bound;\nrough: as ratio, until within {ROUGH_COST:g};\n"
        "whole: LM's time as in ratio, over all the time of auto, detour and last digits included",
        highlight=False,
    )
    for name, flags in at_rest.items():
        bar = 100.0 if name.startswith("auto") else None
        share = 100 * float(np.mean(flags))
        report.add(Metric(f"{name}: gradient ≤ {MAX_GRADIENT:g}", share, "%", bar, at_least=True))
    close, rough, whole = races
    faster = 100 * float(np.mean([r.marquardt > r.auto for r in close]))
    late = 100 * float(np.mean([not r.marquardt_arrived for r in close]))
    apart = 100 * (1.0 - len(close) / len(at_rest["auto"]))
    report.add(
        Metric(
            "LM / auto, no detour, to the same cost", median_ratio(close), "×", 2.0, at_least=True
        ),
        Metric("LM / all of auto, to the same cost", median_ratio(whole), "×", 2.0, at_least=True),
        Metric(f"LM / auto, no detour, to {ROUGH_COST:g} of the cost", median_ratio(rough), "×"),
        Metric("auto, no detour, is there before LM", faster, "%"),
        Metric(f"LM is not there after {MAX_ITERATIONS} iterations", late, "%"),
        Metric("LM ends in another minimum", apart, "%"),
        Metric("inside limits, the detour of auto helps", 100 * float(np.mean(helped)), "%"),
    )
    compare_python_methods(report)


def compare_python_methods(report: Report) -> None:
    """Run the second-order methods that are written in Python on a few of the problems."""
    kinds = [case for case in make_cases(PYTHON_POSES) if case.noise == 10 and case.start == "cold"]
    methods = {"auto, no detour": AUTO_NO_DETOUR, **IN_PYTHON}
    report.title(f"noisy markers: methods in Python, 10 mm, cold starts, {PYTHON_POSES} poses")
    rows = [row for case in kinds for row in make_rows(case.limits, run_methods(case, methods))]
    report.table(HEADERS, rows)
