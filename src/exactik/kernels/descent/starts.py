"""Solve a problem by several descents: from other starts, and by a detour around the limits.

Starts are the one given with the problem and the rows of a table, whose NaN stand for the entries
of the given start. They are tried in the order of their cost, until all goals are within their
tolerance. If none reaches them, one more descent is tried from the given start:

    detour    descend without limits, turn every angle by whole turns towards the middle of its
              range, then descend inside the limits. On the way limits can make local minima that
              do not exist at the end.

The result is the first that reaches all goals, else the one of least cost. Nothing depends on other
problems, so that results do not depend on how problems are batched.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from exactik.compile import jit, jit_nogil
from exactik.kernels.calculus.evaluate import add_goals
from exactik.kernels.calculus.goal_errors import are_goals_reached
from exactik.kernels.calculus.workspace import update_kinematics_noinline
from exactik.kernels.descent.cycle_counter import read_cycle_counter
from exactik.kernels.descent.descend import UNTIL_ITS_END, run_descent
from exactik.kernels.descent.options import TRY_DETOUR
from exactik.kernels.descent.results import (
    RESULT_ATTEMPTS,
    RESULT_COST,
    RESULT_CYCLES,
    RESULT_EVALUATIONS,
    RESULT_ITERATIONS,
    RESULT_PROJECTED_GRADIENT,
    RESULT_REACHED,
    RESULT_SIZE,
    RESULT_STATUS,
)
from exactik.kernels.descent.state import (
    COST,
    EVALUATIONS,
    ITERATIONS,
    PROJECTED_GRADIENT,
    STATUS,
    start_descent,
)
from exactik.kernels.goals.coordinates import add_coordinates
from exactik.kernels.goals.sums import VALUE
from exactik.kernels.goals.targets import retarget
from exactik.typing import Array

MIN_GAIN = 1e-9  # share of the cost: attempts that differ by rounding are equal, the first is taken


class StartTable(NamedTuple):
    """n starts besides the given one, and room to rank them in."""

    q: Array  #      (n, nq), NaN for entries of the given start
    cost: Array  #   (n + 1,) of each start, the given one last
    R: Array  #      (n, n_frames, 3, 3) frames; empty where starts depend on the given one
    p: Array  #      (n, n_frames, 3)
    origin: Array  # (n, 3)


@jit
def fill_start(start, row, q):
    """Write `row` (nq,) to q (nq,), with entries of `start` (nq,) where it is NaN."""
    for j in range(q.shape[0]):
        q[j] = start[j] if math.isnan(row[j]) else row[j]


@jit
def wrap_angles_into_limits(box, q):
    """Turn limited angles by whole turns to the equivalent nearest to the middle of their range."""
    for i in range(box.coordinate.shape[0]):
        j, lower, upper = box.coordinate[i], box.lower[i], box.upper[i]
        limited = lower > -np.inf and upper < np.inf and box.free[i] != 0.0
        if j >= 0 and box.period[i] > 0.0 and limited:
            offset = q[j] - 0.5 * (lower + upper)
            q[j] -= box.period[i] * math.floor(offset / box.period[i] + 0.5)
        elif j >= 0 and box.period[i] > 0.0 and box.free[i] != 0.0:
            if q[j] > upper:
                q[j] -= box.period[i] * math.ceil((q[j] - upper) / box.period[i])
            elif q[j] < lower:
                q[j] += box.period[i] * math.ceil((lower - q[j]) / box.period[i])


@jit
def is_on_limit(box, q):
    """Return whether any coordinate of q (nq,) sits on a limit."""
    for i in range(box.coordinate.shape[0]):
        j = box.coordinate[i]
        if j >= 0 and (q[j] <= box.lower[i] or q[j] >= box.upper[i]):
            return True
    return False


@jit
def place_starts(tree, goals, table, work):
    """Compute the frames of every start of the table, once for all problems."""
    for k in range(table.R.shape[0]):
        update_kinematics_noinline(tree, goals, table.q[k], work)
        for i in range(3):
            table.origin[k, i] = work.origin[i]
        for frame in range(work.p.shape[0]):
            for i in range(3):
                table.p[k, frame, i] = work.p[frame, i]
                for j in range(3):
                    table.R[k, frame, i, j] = work.R[frame, i, j]


@jit
def rank_starts(tree, goals, table, descent, work):
    """Write the costs of all starts to the table; the given one is the last."""
    n = table.q.shape[0]
    for k in range(n + 1 if n > 0 else 0):
        q = descent.trial
        if k < n:
            fill_start(descent.start_q, table.q[k], q)
        else:
            q = descent.start_q
        if k < table.R.shape[0]:
            load_placed_start(goals, table, k, work)
        else:
            update_kinematics_noinline(tree, goals, q, work)
        table.cost[k] = add_goals(goals, np.int64(VALUE), work) + add_coordinates(
            tree, goals.coordinates, q, np.int64(VALUE), goals.free, work.g, work.H, work.D, work.X
        )


@jit
def load_placed_start(goals, table, k, work):
    """Copy the frames of row k of the table to where `update_kinematics` would leave them."""
    for i in range(3):
        work.origin[i] = table.origin[k, i]
        work.shift[i] = work.origin[i] - goals.origin[i]
    for frame in range(work.p.shape[0]):
        for i in range(3):
            work.p[frame, i] = table.p[k, frame, i]
            for j in range(3):
                work.R[frame, i, j] = table.R[k, frame, i, j]


@jit
def take_cheapest_start(table, descent, q):
    """Write the start of least cost to q, the given one if all were tried; its cost becomes ∞."""
    n, best = table.q.shape[0], table.q.shape[0]
    for k in range(n):
        if table.cost[k] < table.cost[best]:
            best = k
    table.cost[best] = np.inf
    for j in range(q.shape[0]):
        q[j] = descent.start_q[j]
    if best < n:
        fill_start(descent.start_q, table.q[best], q)


@jit_nogil
def solve_problems(
    tree, goals, box, options, tolerance, table, targets, q, results, term_errors, descent, work
):
    """Solve a batch of problems, each from its row of q (B, nq), which becomes the solution.

    Args: `tolerance` of each term, (n,) [m or rad]; `targets` of each problem, none if they are in
    `goals` already. Writes `results` (B, RESULT_SIZE), see there, and the errors of the terms,
    `term_errors` (B, n) [m or rad].
    """
    place_starts(tree, goals, table, work)
    for b in range(q.shape[0]):
        begin = read_cycle_counter()
        if targets.origin.shape[0] > 0:
            retarget(goals, targets, b)
        place, result, errors = q[b], results[b], term_errors[b]
        begin_problem(tree, goals, table, place, result, descent, work)
        while begin_attempt(box, options, table, place, result, descent):
            run_descent(tree, goals, box, options, place, UNTIL_ITS_END, descent, work)
            if end_descent(box, options, table, place, result, descent):
                run_descent(tree, goals, box, options, place, UNTIL_ITS_END, descent, work)
                count_passes(result, descent)
            end_attempt(tree, goals, tolerance, place, result, errors, descent, work)
        end_problem(tree, goals, tolerance, place, result, errors, descent, work)
        result[RESULT_CYCLES] = float(read_cycle_counter() - begin)


@jit
def begin_problem(tree, goals, table, place, result, descent, work):
    """Keep the given start, `place` (nq,), and rank the others; clear `result`."""
    for i in range(RESULT_SIZE):
        result[i] = 0.0
    result[RESULT_COST] = np.inf
    for j in range(place.shape[0]):
        descent.start_q[j] = place[j]
    rank_starts(tree, goals, table, descent, work)


@jit
def begin_attempt(box, options, table, place, result, descent):
    """Prepare a descent from the next start, or the detour; False where nothing is left to try."""
    start_count = table.q.shape[0] + 1
    is_detour = result[RESULT_ATTEMPTS] == start_count
    if result[RESULT_REACHED] != 0.0 or result[RESULT_ATTEMPTS] > start_count:
        return False
    if is_detour and (options[TRY_DETOUR] == 0.0 or not is_on_limit(box, descent.best_q)):
        return False
    result[RESULT_ATTEMPTS] += 1.0
    take_cheapest_start(table, descent, place)
    start_descent(box, options, not is_detour, place, descent)
    return True


@jit
def end_descent(box, options, table, place, result, descent):
    """Count a descent; return whether, as the second half of a detour, another one is prepared."""
    count_passes(result, descent)
    if result[RESULT_ATTEMPTS] <= table.q.shape[0] + 1:
        return False
    wrap_angles_into_limits(box, place)
    start_descent(box, options, True, place, descent)
    return True


@jit
def count_passes(result, descent):
    """Add the iterations and evaluations of a descent."""
    result[RESULT_ITERATIONS] += descent.state[ITERATIONS]
    result[RESULT_EVALUATIONS] += descent.state[EVALUATIONS]


@jit
def end_attempt(tree, goals, tolerance, place, result, errors, descent, work):
    """Keep what the attempt found if it reaches the goals, or is the best so far."""
    reached = are_goals_reached(tree, goals, tolerance, place, errors, work)
    is_first = result[RESULT_ATTEMPTS] == 1.0
    is_better = descent.state[COST] < (1.0 - MIN_GAIN) * result[RESULT_COST]
    if reached or is_better or is_first:
        result[RESULT_STATUS] = descent.state[STATUS]
        result[RESULT_COST] = descent.state[COST]
        result[RESULT_PROJECTED_GRADIENT] = descent.state[PROJECTED_GRADIENT]
        for j in range(place.shape[0]):
            descent.best_q[j] = place[j]
    result[RESULT_REACHED] = 1.0 if reached else 0.0


@jit
def end_problem(tree, goals, tolerance, place, result, errors, descent, work):
    """Write the best pose to `place` (nq,), and the errors of its terms."""
    for j in range(place.shape[0]):
        place[j] = descent.best_q[j]
    if result[RESULT_REACHED] == 0.0:
        are_goals_reached(tree, goals, tolerance, place, errors, work)
