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
from exactik.typing import Array

POSES = 30
NOISES = (5, 10, 20)  # [mm]
SPREAD, NEAR = 0.3, 0.05  # [rad or m] of the poses about neutral, of warm starts about the pose
PATIENCE = 2000  # iterations
AT_REST = 1e-6  # relative projected gradient
CLOSE, ROUGH = 1e-6, 1e-3  # how near to the minimum's cost the races go, relative
SAME = 1e-3  # costs that differ by no more belong to the same minimum
REPEATS = 6  # timed runs
SLOW = 4.0  # [ms] of a run that is timed by the processor's clock
FEW = 5  # poses for the methods in Python

AUTO = ik.Auto(max_iterations=PATIENCE)
STRAIGHT = ik.Auto(max_iterations=PATIENCE, detour=False)
MARQUARDT = ik.LevenbergMarquardt(max_iterations=PATIENCE)
COMPILED: dict[str, ik.Method] = {
    "auto": AUTO,
    "auto, no detour": STRAIGHT,
    "newton": ik.Newton(max_iterations=PATIENCE),
    "levenberg-marquardt": MARQUARDT,
    "gauss-newton": ik.GaussNewton(max_iterations=PATIENCE),
}
IN_PYTHON: dict[str, ik.Method] = {
    "newton-pcg": ik.NewtonPCG(max_iterations=PATIENCE),
    "newton-higham": ik.NewtonHigham(max_iterations=PATIENCE),
    "bfgs": ik.BFGS(max_iterations=PATIENCE),
    "l-bfgs": ik.LBFGS(max_iterations=PATIENCE),
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


class Run(NamedTuple):
    """One method on one problem."""

    iterations: float
    evaluations: float
    ms: float
    cost: float
    slope: float
    q: Array


def cases(poses: int) -> Iterator[Case]:
    """All kinds; the same poses and noise for each."""
    figure = ik.human()
    blank = ik.Problem(figure, [ik.MarkerGoal(m, (0, 0, 0), name=m) for m in figure.markers])
    for limits in ("hard", "off"):
        free = ik.Problem(figure, blank.goals, limits=limits)
        for start in ("warm", "cold"):
            for noise in NOISES:
                problems = []
                for seed in range(poses):
                    rng = np.random.default_rng(seed)
                    q = figure.integrate(figure.neutral(), SPREAD * rng.normal(size=figure.nv))
                    clip_to_limits(blank.box.coordinate, blank.lower, blank.upper, q)
                    error = 1e-3 * noise * rng.normal(size=(len(figure.markers), 3))
                    seen = figure.forward(q).markers + error
                    near = figure.integrate(q, NEAR * rng.normal(size=figure.nv))
                    problem = free.with_targets(dict(zip(figure.markers, seen, strict=True)))
                    problems.append((problem, near if start == "warm" else figure.neutral()))
                yield Case(limits, start, noise, problems)


def copies(problem: ik.Problem, q0: Array, method: ik.Method, count: int) -> ik.BatchResult:
    """The same problem some times over in one call, which times each by itself."""
    goals = [goal for goal in problem.goals if isinstance(goal, ik.MarkerGoal)]
    targets = {goal.label: np.tile(goal.target, (count, 1)) for goal in goals}
    return ik.solve_batch(problem, targets, q0=q0, solver=method, threads=1)


def measure(problem: ik.Problem, q0: Array, method: ik.Method) -> Run:
    """The answer, and the shortest time that it took."""
    results, clock = [], [time.process_time()]
    for _ in range(2):
        results.append(ik.solve(problem, q0=q0, solver=method))
        clock.append(time.process_time())
    result, seconds = results[-1], np.diff(clock).tolist()
    if 1e3 * min(seconds) < SLOW:
        seconds = copies(problem, q0, method, REPEATS).seconds.tolist()
    slope = ik.View(problem).at(result.q).slope  # one yardstick for all
    counts = result.iterations, result.evaluations
    return Run(*counts, 1e3 * min(seconds), result.cost, slope, result.q)


class Track:
    """The way of a method down to the minimum, and how long each part of it takes."""

    def __init__(self, problem: ik.Problem, q0: Array, method: ik.Method) -> None:
        self.task, self.method = (problem, q0), method
        history = ik.solve(problem, q0=q0, solver=method, history=True).history
        assert history is not None
        self.cost = history.cost
        self.ms: dict[int, float] = {}

    def time_to(self, cost: float) -> tuple[float, bool]:
        """Milliseconds until the cost is as low as this, or of all iterations; whether it was."""
        there = np.flatnonzero(self.cost <= cost)
        count = int(there[0]) if len(there) > 0 else PATIENCE
        if count not in self.ms:
            self.ms[count] = measure(*self.task, replace(self.method, max_iterations=count)).ms
        return self.ms[count], len(there) > 0


class Race(NamedTuple):
    """Times [ms] of auto and Levenberg–Marquardt to the same cost, where they share a minimum."""

    auto: float
    marquardt: float
    there: bool  #  whether Levenberg–Marquardt got there


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


def race(case: Case, runs: dict[str, list[Run]]) -> Races:
    """Let the two run."""
    races = Races([], [], [])
    columns = [runs[name] for name in ("auto", "auto, no detour", "levenberg-marquardt")]
    for (problem, q0), auto, straight, theirs in zip(case.problems, *columns, strict=True):
        finished = ik.solve(problem, q0=theirs.q, solver=STRAIGHT).cost
        marquardt = Track(problem, q0, MARQUARDT)
        if abs(finished - straight.cost) <= SAME * straight.cost:
            ours = Track(problem, q0, STRAIGHT)
            for own, near in ((races.close, CLOSE), (races.rough, ROUGH)):
                cost = straight.cost * (1.0 + near)
                own.append(Race(ours.time_to(cost)[0], *marquardt.time_to(cost)))
        if abs(finished - auto.cost) <= SAME * auto.cost:
            races.whole.append(Race(auto.ms, *marquardt.time_to(auto.cost * (1.0 + CLOSE))))
    return races


def ratio(races: list[Race]) -> float:
    """How many times as fast auto is, the median of the races."""
    return float(np.median([r.marquardt / r.auto for r in races])) if len(races) > 0 else np.nan


def median(races: list[Race]) -> tuple[str, str]:
    """The times of both."""
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


def rows_of(label: str, runs: dict[str, list[Run]]) -> list[list[str]]:
    """What each method did to the problems of a case."""
    lowest = np.min([[run.cost for run in own] for own in runs.values()], axis=0)
    rows: list[list[str]] = []
    for name, own in runs.items():
        count, calls, ms, cost, slope = np.array([run[:5] for run in own]).T
        best = cost <= (1.0 + SAME) * lowest
        rows.append(
            [
                f"{'' if len(rows) > 0 else label:6} {name}",
                f"{np.median(count):.0f}",
                f"{np.median(calls):.0f}",
                f"{np.median(ms):.3f}",
                f"{np.percentile(ms, 90):.3f}",
                f"{1e3 * np.median(cost):.4f}",
                f"{100 * np.mean(slope <= AT_REST):.0f}",
                f"{100 * np.mean(best):.0f}",
            ]
        )
    return rows


def answers(case: Case, methods: dict[str, ik.Method]) -> dict[str, list[Run]]:
    """All runs of a case."""
    return {name: [measure(*p, method) for p in case.problems] for name, method in methods.items()}


def contest(case: Case, races: Races) -> list[str]:
    """The races of a case in one row."""
    apart = len(case.problems) - len(races.close)
    late = sum(not r.there for r in races.close)
    ratios = [f"{ratio(own):.1f}" for own in races]
    return [case.name, str(apart), str(late), *median(races.close), *ratios]


def run(report: Report, poses: int = POSES) -> None:
    """Measure and print the section."""
    at_rest: dict[str, list[bool]] = {name: [] for name in COMPILED}
    table: list[list[str]] = []
    contests: list[list[str]] = []
    races = Races([], [], [])
    helped: list[bool] = []
    answers(next(cases(1)), COMPILED)  # compile, or load what was compiled before
    for case in cases(poses):
        runs = answers(case, COMPILED)
        table += rows_of(f"{case.noise} mm", runs)
        if case.noise == NOISES[-1]:
            report.title(f"noisy markers: limits {case.limits}, {case.start} starts, {poses} poses")
            report.table(HEADERS, table)
            table.clear()
        for name, own in runs.items():
            at_rest[name] += [run.slope <= AT_REST for run in own]
        if case.limits == "hard":
            pairs = zip(runs["auto"], runs["auto, no detour"], strict=True)
            helped += [around.cost < (1.0 - SAME) * straight.cost for around, straight in pairs]
        own = race(case, runs)
        contests.append(contest(case, own))
        for every, more in zip(races, own, strict=True):
            every.extend(more)
    report.title("noisy markers: auto and Levenberg–Marquardt (LM) to the same cost, medians")
    headers = ["", "other minimum", "never", "auto ms", "LM ms", "ratio", "rough", "whole"]
    report.table(headers, contests)
    report.console.print(
        f"ratio: LM's time over that of auto without detour, both until within {CLOSE:g} of the "
        f"minimum;\nnever: LM was not there after {PATIENCE} iterations, whose time stands in, a "
        f"lower bound;\nrough: as ratio, until within {ROUGH:g};\n"
        "whole: LM's time as in ratio, over all the time of auto, detour and last digits included",
        highlight=False,
    )
    for name, own in at_rest.items():
        bar = 100.0 if name.startswith("auto") else None
        share = 100 * float(np.mean(own))
        report.add(Metric(f"{name}: gradient ≤ {AT_REST:g}", share, "%", bar, at_least=True))
    close, rough, whole = races
    faster = 100 * float(np.mean([r.marquardt > r.auto for r in close]))
    late = 100 * float(np.mean([not r.there for r in close]))
    apart = 100 * (1.0 - len(close) / len(at_rest["auto"]))
    report.add(
        Metric("LM / auto, no detour, to the same cost", ratio(close), "×", 2.0, at_least=True),
        Metric("LM / all of auto, to the same cost", ratio(whole), "×", 2.0, at_least=True),
        Metric(f"LM / auto, no detour, to {ROUGH:g} of the cost", ratio(rough), "×"),
        Metric("auto, no detour, is there before LM", faster, "%"),
        Metric(f"LM is not there after {PATIENCE} iterations", late, "%"),
        Metric("LM ends in another minimum", apart, "%"),
        Metric("inside limits, the detour of auto helps", 100 * float(np.mean(helped)), "%"),
    )
    in_python(report)


def in_python(report: Report) -> None:
    """The second-order methods that are written in Python, on a few of the problems."""
    kinds = [case for case in cases(FEW) if case.noise == 10 and case.start == "cold"]
    methods = {"auto, no detour": STRAIGHT, **IN_PYTHON}
    report.title(f"noisy markers: methods in Python, 10 mm, cold starts, {FEW} poses")
    rows = [row for case in kinds for row in rows_of(case.limits, answers(case, methods))]
    report.table(HEADERS, rows)
