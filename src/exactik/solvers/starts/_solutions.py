"""Several answers to one problem: the distinct minima that descents from many starts end in.

The starts are those of the table, from the given one on, each for itself, until so many in a row
have found nothing new. Ends that are no minima, or not converged, do not count. Two ends are one
where no dof differs by more than `SAME`, whole turns apart: of a pose and the same pose a turn on,
the cheaper is kept, of equal ones that nearer to the given start.

Where goals leave a figure free to move, its minima are not isolated, and any two ends of descents
on that slope differ; a light `PostureGoal` makes one answer of each family.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from exactik.problem import Problem
from exactik.solvers._result import Result
from exactik.solvers.starts._table import make_start_table
from exactik.typing import Array

SAME = 1e-3  # rad or m: converged descents end within 1e-8 of an isolated minimum
MIN_STARTS = 32
STARTS_WITHOUT_NEWS = 16  # for each solution asked for: then the search ends
MAX_STARTS = 128  # likewise: then it ends anyway


def find_solutions(
    problem: Problem,
    solve_from: Callable[[Array], Result],
    q0: Array,
    *,
    count: int,
    starts: int,
    seed: int,
    negligible_cost: float,
) -> Result:
    """Return the cheapest minimum; its `solutions` are up to `count`.

    Args:
        solve_from: one descent from a start, (nq,), which it may overwrite.
        q0: the given start, (nq,).
        count: how many are wanted.
        starts: how many to try; 1 to go on until nothing new is found.
        seed: of the starts.
        negligible_cost: cost below which two are equal.
    """
    limit, patience = starts, starts
    if starts == 1:
        limit, patience = MAX_STARTS * count, max(MIN_STARTS, STARTS_WITHOUT_NEWS * count)
    table = make_start_table(problem, limit - 1, seed).q
    ends: list[Result] = []
    minima: list[Result] = []
    last_news = 0
    for n in range(limit):
        start = q0.copy() if n == 0 else np.where(np.isnan(table[n - 1]), q0, table[n - 1])
        found = solve_from(start)
        ends.append(found)
        twin = next((m for m in minima if _is_same(problem, m.q, found.q)), None)
        if twin is None and found.converged and not found.certificate.saddle:
            minima.append(found)
            last_news = n
        elif twin is not None and _rank(found, q0, negligible_cost) < _rank(
            twin, q0, negligible_cost
        ):
            minima[minima.index(twin)] = found
        if n - last_news >= patience:
            break
    ordered = sorted(minima or ends, key=lambda result: _rank(result, q0, negligible_cost))
    best, *others = ordered[: count if len(minima) > 0 else 1]
    return replace(
        best,
        iterations=sum(end.iterations for end in ends),
        evaluations=sum(end.evaluations for end in ends),
        attempts=sum(end.attempts for end in ends),
        seconds=sum(end.seconds for end in ends),
        other_solutions=tuple(others),
    )


def _is_same(problem: Problem, a: Array, b: Array) -> bool:
    """Whether two poses are one, whole turns apart."""
    skeleton, period = problem.skeleton, problem.box.period
    apart = np.abs(skeleton.difference(a, b))
    turns = np.where(period > 0.0, period, np.inf)
    apart = np.where(period > 0.0, np.minimum(apart % turns, turns - apart % turns), apart)
    return bool((apart <= SAME).all())


def _rank(result: Result, q0: Array, negligible_cost: float) -> tuple[float, float]:
    """What solutions are ordered by: their cost, then how far they are from the given start."""
    cost = result.cost if result.cost > negligible_cost else 0.0
    apart = result.problem.skeleton.difference(result.q, q0)
    return cost, float(np.linalg.norm(apart))
