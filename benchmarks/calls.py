"""Section calls: what one call from Python costs, 10⁵ times, as a control loop would make them.

Poses of the Panda as in section robots. All kinds of calls take turns within one run, so that a
busy machine is busy for all; the worst of many calls is whatever the machine did meanwhile.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version

import numpy as np

import exactik as ik
from benchmarks.robots import SHARED, START_COUNT, Case, Exactik, load_panda_case
from benchmarks.support.report import Metric, Report
from benchmarks.support.robot_peers import make_toolbox
from exactik.typing import Array

CALL_COUNT = 100_000
TURN_CALLS = 1_000  # of one kind, then of the next
HEADERS = ["call", "median µs", "99 %", "99.9 %", "worst", "mean"]
Call = Callable[[int], object]


def make_calls(case: Case) -> dict[str, Call]:
    """Return what is called with the number of a pose, by name."""
    ours = Exactik(case)
    tool = case.tools[0]
    problem, targets = ours.problem, case.targets[:, 0]
    starts = ours.from_judge(case.starts[:, 0])
    prepared = [problem.with_targets({tool: T}) for T in targets]
    answers = ik.solve_batch(problem, {tool: targets}, q0=starts, starts=START_COUNT, threads=1)
    warm = answers.q.copy()
    warm += np.random.default_rng(0).normal(scale=0.01, size=warm.shape)  # [rad] a step of a path
    solver, one = ik.Solver(problem, starts=START_COUNT), ik.Solver(problem)

    def solve_with_targets(i: int) -> object:
        return ik.solve(problem.with_targets({tool: targets[i]}), q0=starts[i], starts=START_COUNT)

    calls: dict[str, Call] = {
        "solve, prepared": lambda i: ik.solve(prepared[i], q0=starts[i], starts=START_COUNT),
        "solve(with_targets)": solve_with_targets,
        "Solver, new targets": lambda i: solver.solve(starts[i], {tool: targets[i]}),
        "Solver, a step of a path": lambda i: one.solve(warm[i], {tool: targets[i]}),
    }
    try:
        toolbox = make_toolbox(case.path, case.tools, case.floating)
    except ImportError:
        return calls
    if toolbox is not None:
        calls[toolbox.name] = lambda i: toolbox.solve(case.targets[i], case.starts[i])
    return calls


def measure_calls(
    calls: Mapping[str, Call], poses: int, count: int = CALL_COUNT
) -> dict[str, Array]:
    """Return the time of each call [µs], (count,), by name."""
    spent = {name: np.empty(count) for name in calls}
    for call in calls.values():
        call(0)  # compiles, allocates
    gc.collect()
    for first in range(0, count, TURN_CALLS):
        for name, call in calls.items():
            for k in range(first, min(first + TURN_CALLS, count)):
                begin = time.perf_counter()
                call(k % poses)
                spent[name][k] = 1e6 * (time.perf_counter() - begin)
    return spent


def run(report: Report) -> None:
    """Measure and print the section."""
    report.title(f"calls: Panda, {CALL_COUNT:,} of each kind, {START_COUNT} starts, from Python")
    if not (SHARED / "peers" / "panda_targets.npz").exists():
        report.console.print("skipped: no ../shared")
        return
    try:
        version("pin")
    except PackageNotFoundError:
        report.console.print("skipped: no judge (pip install pin)")
        return
    case = load_panda_case()
    spent = measure_calls(make_calls(case), len(case.targets))
    rows = []
    for name, us in spent.items():
        numbers = (*np.percentile(us, [50, 99, 99.9]), us.max(), us.mean())
        rows.append([name, *(f"{number:.1f}" for number in numbers)])
    report.table(HEADERS, rows)
    if not any("Toolbox" in name for name in spent):
        report.console.print("Robotics Toolbox: not installed")
    medians = {name: 1e-3 * float(np.median(us)) for name, us in spent.items()}
    report.add(
        Metric("Panda: median of solve, prepared", medians["solve, prepared"], "ms", 0.06),
        Metric("Panda: the same with with_targets", medians["solve(with_targets)"], "ms", 0.075),
        Metric("Panda: median of a Solver", medians["Solver, new targets"], "ms", 0.075),
    )
