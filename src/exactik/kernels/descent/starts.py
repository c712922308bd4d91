"""Several descents for one problem: other starts, a detour around the limits, the best of all.

Starts are the problem's own, and the rows of a table; where a row is not a number, the own start's
number is taken. They are tried in the order of their cost, until all goals are within their
tolerance. If none is left, one more way is tried from the own start:

    detour    down without regard to limits, every angle turned by whole turns towards the middle of
              its range, then down inside the limits. Limits make dead ends on the way that are none
              at the end.

The answer is the first that reaches all goals, else the one of least cost. Nothing depends on other
problems, so that answers do not depend on how problems are batched.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from exactik.kernels.calculus.evaluate import add_goals, evaluate
from exactik.kernels.calculus.sums import EXACT, GAUSS_NEWTON, VALUE
from exactik.kernels.calculus.workspace import place_apart
from exactik.kernels.descent import state as at
from exactik.kernels.descent.clock import ticks
from exactik.kernels.descent.descend import advance
from exactik.kernels.descent.state import restart
from exactik.kernels.goals.coordinates import add_coordinates
from exactik.kernels.goals.errors import within
from exactik.kernels.goals.targets import retarget
from exactik.kernels.linear.ltdl import Pattern
from exactik.spatial import jit, jit_forceinline, jit_inline_always, jit_nogil
from exactik.typing import Array

__all__ = ["FOUND_COUNT", "Table", "first_order", "on_a_limit", "seek_all", "set_out", "turn_home"]


STANDING, COST, SLOPE, REACHED, ITERATIONS, EVALUATIONS, ATTEMPTS, TICKS, FOUND_COUNT = range(9)
"""What is found: of the chosen descent, and summed over all."""


class Table(NamedTuple):
    """n starts besides the own one, and room to rank them in."""

    q: Array  #       (n, nq), not a number where the own start's is to be taken
    cost: Array  #    (n + 1,) of each start, the own one last
    R: Array  #       (n, n_frames, 3, 3) frames; empty where starts depend on the own one
    p: Array  #       (n, n_frames, 3)
    origin: Array  #  (n, 3)


@jit_forceinline
def first_order(options):
    """Return the order of the first evaluation."""
    return np.int64(GAUSS_NEWTON if options[at.CURVATURE] == GAUSS_NEWTON else EXACT)


@jit
def set_out(start, row, q):
    """Write to q (nq,) the start with its numbers replaced by those of `row` (nq,) that are any."""
    for j in range(q.shape[0]):
        q[j] = start[j] if math.isnan(row[j]) else row[j]


@jit
def turn_home(box, q):
    """Turn limited angles by whole turns to the equivalent nearest to the middle of their range."""
    for i in range(box.plain.shape[0]):
        j, low, high = box.plain[i], box.lower[i], box.upper[i]
        limited = low > -np.inf and high < np.inf and box.free[i] != 0.0
        if j >= 0 and box.period[i] > 0.0 and limited:
            away = q[j] - 0.5 * (low + high)
            q[j] -= box.period[i] * math.floor(away / box.period[i] + 0.5)
        elif j >= 0 and box.period[i] > 0.0 and box.free[i] != 0.0:
            if q[j] > high:
                q[j] -= box.period[i] * math.ceil((q[j] - high) / box.period[i])
            elif q[j] < low:
                q[j] += box.period[i] * math.ceil((low - q[j]) / box.period[i])


@jit
def on_a_limit(box, q):
    """Whether any coordinate of q (nq,) sits on a limit."""
    for i in range(box.plain.shape[0]):
        j = box.plain[i]
        if j >= 0 and (q[j] <= box.lower[i] or q[j] >= box.upper[i]):
            return True
    return False


@jit
def place_table(tree, goals, table, work):
    """Place the figure at every start of the table, once for all problems."""
    for k in range(table.R.shape[0]):
        place_apart(tree, goals, table.q[k], work)
        for i in range(3):
            table.origin[k, i] = work.origin[i]
        for frame in range(work.p.shape[0]):
            for i in range(3):
                table.p[k, frame, i] = work.p[frame, i]
                for j in range(3):
                    table.R[k, frame, i, j] = work.R[frame, i, j]


@jit_inline_always
def rank(tree, goals, table, search, work):
    """Write the costs of all starts; the own one is the last."""
    n = table.q.shape[0]
    for k in range(n + 1 if n > 0 else 0):
        q = search.trial
        if k < n:
            set_out(search.start, table.q[k], q)
        else:
            q = search.start
        if k < table.R.shape[0]:
            take_placed(goals, table, k, work)
        else:
            place_apart(tree, goals, q, work)
        table.cost[k] = add_goals(goals, np.int64(VALUE), work) + add_coordinates(
            tree, goals.coordinates, q, VALUE, goals.free, work.g, work.H, work.D, work.X
        )


@jit
def take_placed(goals, table, k, work):
    """Copy the frames of row k of the table to where `place` would leave them."""
    for i in range(3):
        work.origin[i] = table.origin[k, i]
        work.shift[i] = work.origin[i] - goals.origin[i]
    for frame in range(work.p.shape[0]):
        for i in range(3):
            work.p[frame, i] = table.p[k, frame, i]
            for j in range(3):
                work.R[frame, i, j] = table.R[k, frame, i, j]


@jit_inline_always
def take_best(table, search, q):
    """Write the start of least cost to q, and mark it as taken."""
    n, best = table.q.shape[0], table.q.shape[0]
    for k in range(n):
        if table.cost[k] < table.cost[best]:
            best = k
    table.cost[best] = np.inf
    for j in range(q.shape[0]):
        q[j] = search.start[j]
    if best < n:
        set_out(search.start, table.q[best], q)


@jit_nogil
def seek_all(tree, goals, box, options, tolerance, table, targets, q, found, missed, search, work):
    """Solve a batch: from each row of q (B, nq), which becomes the answer.

    Args: `tolerance` of each term, (n,) [m or rad]; `targets` of each problem, none if they are in
    `goals` already. `found` (B, FOUND_COUNT) says how it went, `missed` (B, n) by how much each
    term is missed [m or rad].
    """
    pattern = Pattern(tree.order, tree.upward, tree.level)
    place_table(tree, goals, table, work)
    for b in range(q.shape[0]):
        start = ticks()
        if targets.origin.shape[0] > 0:
            retarget(goals, targets, b)
        own, how, by = q[b], found[b], missed[b]
        seek(tree, pattern, goals, box, options, tolerance, table, own, how, by, search, work)
        found[b, TICKS] = float(ticks() - start)


@jit_inline_always
def seek(tree, pattern, goals, box, options, tolerance, table, q, found, missed, search, work):
    """Solve one problem from q (nq,)."""
    for i in range(FOUND_COUNT):
        found[i] = 0.0
    found[COST] = np.inf
    for j in range(q.shape[0]):
        search.start[j] = q[j]
    rank(tree, goals, table, search, work)
    starts = table.q.shape[0] + 1
    for attempt in range(starts + 1):
        detour = attempt == starts
        if detour and (options[at.DETOUR] == 0.0 or not on_a_limit(box, search.best)):
            break
        if detour:
            for j in range(q.shape[0]):
                q[j] = search.start[j]
        else:
            take_best(table, search, q)
        found[ATTEMPTS] += 1.0
        for leg in range(2 if detour else 1):
            if leg == 1:
                turn_home(box, q)
            restart(box, options, first_order(options), not detour or leg == 1, q, search)
            while search.state[at.STANDING] == at.RUNNING:
                order = np.int64(search.state[at.ORDER])
                value = evaluate(tree, goals, search.trial, order, work)
                advance(tree, pattern, box, options, q, value, work.g, work.H, search)
            found[ITERATIONS] += search.state[at.ITERATIONS]
            found[EVALUATIONS] += search.state[at.EVALUATIONS]
        reached = within(tree, goals, tolerance, q, missed, work)
        if reached or search.state[at.COST] < found[COST] or attempt == 0:
            found[STANDING], found[COST] = search.state[at.STANDING], search.state[at.COST]
            found[SLOPE] = search.state[at.SLOPE]
            for j in range(q.shape[0]):
                search.best[j] = q[j]
        if reached:
            found[REACHED] = 1.0
            break
    for j in range(q.shape[0]):
        q[j] = search.best[j]
    if found[REACHED] == 0.0:
        within(tree, goals, tolerance, q, missed, work)
