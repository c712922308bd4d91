"""Section pairs: what goals between bodies cost a Newton iteration on the human.

Ratios to the same problem without them, measured in turns in one process: the fastest of many
descents of a few passes.
"""

from __future__ import annotations

import time
from itertools import combinations

import numpy as np

import exactik as ik
from benchmarks.support.report import Metric, Report
from exactik.kernels.descent.descend import run_descent
from exactik.kernels.descent.state import start_descent
from exactik.typing import Array

ROUNDS, PASSES = 400, 10
METHOD = ik.Auto(tolerance=1e-30, small_cost=0.0)  # it does not end before its passes are made


def time_iteration(problem: ik.Problem, q: Array) -> float:
    """Return the time of one pass of a descent from q (nq,) [µs]."""
    work, descent, options = problem.workspace, problem.descent_state, METHOD.options(problem)
    tree, arrays, place = problem.skeleton.tree, problem.packed.arrays, q.copy()
    start_descent(problem.box, options, True, place, descent)
    start = time.perf_counter()
    passes = run_descent(tree, arrays, problem.box, options, place, PASSES, descent, work)
    return 1e6 * (time.perf_counter() - start) / passes


def make_problems(figure: ik.Skeleton, q: Array) -> dict[str, ik.Problem]:
    """Return the problems by name; the first has no goal between bodies."""
    rng = np.random.default_rng(0)
    pose = figure.forward(figure.integrate(q, rng.normal(scale=0.3, size=figure.nv)))
    markers = [
        ik.MarkerGoal(name, place) for name, place in zip(figure.markers, pose.markers, strict=True)
    ]
    pairs = list(combinations(figure.bone_names, 2))
    chosen = [pairs[k] for k in rng.choice(len(pairs), 20, replace=False)]

    def keep_apart(distance: float) -> list[ik.Goal]:
        return [ik.DistanceGoal(a, b, at_least=distance) for a, b in chosen]

    extra: dict[str, list[ik.Goal]] = {
        "none": [],
        "two hands linked": [ik.PositionGoal("l_hand", (0, 0.1, 0), relative_to="r_hand")],
        "two hands linked in all 6": [ik.PoseGoal("l_hand", np.eye(4), relative_to="r_hand")],
        "20 bounds that hold": keep_apart(0.01),
        "20 bounds that are broken": keep_apart(2.0),
        "centre of mass over the feet": [ik.CenterOfMassGoal(over=("l_foot", "r_foot"))],
    }
    return {name: ik.Problem(figure, [*markers, *goals]) for name, goals in extra.items()}


def run(report: Report) -> None:
    """Measure and print the section."""
    figure = ik.human()
    q = figure.integrate(figure.neutral(), np.full(figure.nv, 0.1))
    problems = make_problems(figure, q)
    best = dict.fromkeys(problems, np.inf)
    for _ in range(ROUNDS):
        for name, problem in problems.items():
            best[name] = min(best[name], time_iteration(problem, q))
    report.title(f"pairs: an iteration of auto, {figure.nv} dofs, one thread")
    rows = []
    for name, problem in problems.items():
        entries = int(problem.pattern.dof_level.astype(int).sum()) + figure.nv
        ratio = f"{best[name] / best['none']:.2f} ×"
        rows.append([name, f"{best[name]:.2f}", f"{entries}", ratio])
    report.table(["goals beside 41 markers", "µs", "entries of H", "ratio"], rows)
    report.add(
        Metric("hands linked / none", best["two hands linked"] / best["none"], "×", 1.3),
        Metric("20 bounds that hold / none", best["20 bounds that hold"] / best["none"], "×", 2.5),
    )
