"""Problems of a batch on a GPU: a thread takes one after the other, and lanes keep in step.

A thread alone would do as `starts.solve_problems`. But a warp does at a time what one of its 32
lanes needs, and lanes that need something else wait. Here the work is cut into phases,

    BEGIN          a descent ended: judge it, begin the next one, or take the next problem
    EVALUATE       evaluate the trial and judge it
    EVALUATE_ROWS  the same with all rows of the Hessian, where a saddle is suspected
    STEP           one round of the active set of a damped step

and the lanes vote for what to do next: what most of them wait for. Only those take part. The rare
phases wait until `QUORUM` lanes need them, or nothing else is to be done. What a problem goes
through, and so its answer, does not depend on the other lanes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from exactik.gpu._cuda import cuda
from exactik.gpu._lanes import count_lanes, inline
from exactik.kernels.calculus.evaluate import evaluate_in_layout
from exactik.kernels.calculus.workspace import Goals
from exactik.kernels.descent.descend import judge_trial
from exactik.kernels.descent.options import LAYOUT, LINE_SEARCH, RULE
from exactik.kernels.descent.starts import (
    StartTable,
    begin_attempt,
    begin_problem,
    count_passes,
    end_attempt,
    end_descent,
    end_problem,
)
from exactik.kernels.descent.state import (
    DAMPING,
    EVALUATED_LAYOUT,
    REQUESTED_LAYOUT,
    REQUESTED_ORDER,
    RUNNING,
    STATUS,
)
from exactik.kernels.descent.trials import (
    MAX_STEP_ATTEMPTS,
    abandon_model_step,
    complete_model_step,
    shorten_model_step,
    write_trial,
)
from exactik.kernels.goals.clouds import Clouds, reduce_to_clouds
from exactik.kernels.goals.terms import Terms
from exactik.kernels.linear.active_set import (
    MAX_ROUNDS,
    clear_step,
    hold_at_limits,
    solve_damped,
    take_free_entries,
)
from exactik.kernels.linear.articulated import JointPattern
from exactik.kernels.linear.ltdl import AncestorPattern

__all__ = ["solve_pool"]

BEGIN, EVALUATE, EVALUATE_ROWS, STEP, DONE = range(5)
QUORUM = 16  # lanes, of 32
SCRATCH_SIZE = 0
carve: Any = None
"""Size of the scratch of a thread (numbers), and what makes its arrays of it; `variants` puts in
those of a capacity."""


@inline
def bind_goals(goals, targets, own, b):
    """Return the goals of problem b."""
    terms = goals.terms
    return Goals(
        origin=own.origin,
        free=goals.free,
        terms=Terms(
            kind=terms.kind,
            frame=terms.frame,
            point=terms.point,
            axis=terms.axis,
            target=targets.target[b],
            rotation=targets.rotation[b if targets.rotation.shape[0] > 1 else 0],
            weight=terms.weight,
            in_cloud=terms.in_cloud,
            row=terms.row,
        ),
        single_terms=goals.single_terms,
        cloud_of_frame=goals.cloud_of_frame,
        clouds=Clouds(
            frame=goals.clouds.frame, rows=own.rows, rows_used=own.rows_used, floor=own.floor
        ),
        coordinates=goals.coordinates,
    )


@inline
def bind_table(table, costs, b):
    """Return the starts of problem b."""
    return StartTable(q=table.q, cost=costs[b], R=table.R, p=table.p, origin=table.origin)


@inline
def vote(phase):
    """Return the phase that the warp goes through next; DONE where all lanes are."""
    beginning = count_lanes(phase == BEGIN)
    evaluating = count_lanes(phase == EVALUATE)
    with_rows = count_lanes(phase == EVALUATE_ROWS)
    stepping = count_lanes(phase == STEP)
    is_idle = evaluating + stepping == 0
    if beginning >= QUORUM or (is_idle and beginning > 0):
        return BEGIN
    if with_rows >= QUORUM or (is_idle and with_rows > 0):
        return EVALUATE_ROWS
    if is_idle:
        return DONE
    return STEP if stepping >= evaluating else EVALUATE


def solve_pool(
    tree,
    goals,
    box,
    options,
    tolerance,
    table,
    targets,
    q,
    results,
    term_errors,
    costs,
    like,
    queue,
):
    """Solve problems as `starts.solve_problems` does, which has the arguments.

    Besides: `costs` (B, starts) of each problem, for those of the table; `like`, arrays of the
    lengths that a thread needs; `queue` (1,), the next problem.
    """
    scratch = cuda.local.array(SCRATCH_SIZE, np.float64)
    arrays = carve(scratch, like)
    work, descent, own = arrays.work, arrays.descent, arrays.own
    state, place = descent.state, own.place
    joints = JointPattern(
        parent=tree.parent, last_child=tree.last_child, first_v=tree.first_v, depth=tree.depth
    )
    pattern = AncestorPattern(tree.dof_order, tree.dof_parent, tree.dof_level)
    b, phase, rounds, attempts, damping, in_second_half = -1, BEGIN, 0, 0, 0.0, False
    while True:
        chosen = vote(phase)
        if chosen == DONE:
            break
        if phase != chosen:
            continue
        if chosen == STEP:
            layout = np.int64(state[EVALUATED_LAYOUT])
            pivot = solve_damped(
                joints, pattern, layout, work.g, work.H, work.S, work.P, damping, descent
            )
            rounds += 1
            if pivot > 0.0 and hold_at_limits(box.coordinate, place, descent):
                if rounds < MAX_ROUNDS:
                    continue
            has_step = pivot > 0.0
            if has_step:
                take_free_entries(descent)
                has_step = complete_model_step(
                    joints, pattern, box, damping, work.g, work.H, work.S, work.P, descent
                )
            if not has_step:
                attempts += 1
                damping = shorten_model_step(box, options[RULE], damping, place, work.g, descent)
                if attempts < MAX_STEP_ATTEMPTS:
                    rounds = 0
                    clear_step(descent)
                    continue
                abandon_model_step(options, state)
        elif chosen == BEGIN:
            goes_on = False
            if b >= 0:
                result, errors = results[b], term_errors[b]
                if in_second_half:
                    count_passes(result, descent)
                    in_second_half = False
                else:
                    in_second_half = end_descent(
                        box, options, bind_table(table, costs, b), place, result, descent
                    )
                goes_on = in_second_half
                if not goes_on:
                    own_goals = bind_goals(goals, targets, own, b)
                    end_attempt(tree, own_goals, tolerance, place, result, errors, descent, work)
                    goes_on = begin_attempt(
                        box, options, bind_table(table, costs, b), place, result, descent
                    )
                    if not goes_on:
                        end_problem(
                            tree, own_goals, tolerance, place, result, errors, descent, work
                        )
                        for j in range(place.shape[0]):
                            q[b, j] = place[j]
            if not goes_on:
                b = cuda.atomic.add(queue, 0, 1)
                if b >= q.shape[0]:
                    phase = DONE
                    continue
                for j in range(place.shape[0]):
                    place[j] = q[b, j]
                for i in range(3):
                    own.origin[i] = targets.origin[b, i]
                own_goals = bind_goals(goals, targets, own, b)
                reduce_to_clouds(own_goals.terms, own_goals.cloud_of_frame, own_goals.clouds)
                begin_problem(
                    tree, own_goals, bind_table(table, costs, b), place, results[b], descent, work
                )
                begin_attempt(box, options, bind_table(table, costs, b), place, results[b], descent)
            phase = EVALUATE
            continue
        else:
            own_goals = bind_goals(goals, targets, own, b)
            order = np.int64(state[REQUESTED_ORDER])
            layout = np.int64(state[REQUESTED_LAYOUT])
            value = evaluate_in_layout(tree, own_goals, descent.trial, order, layout, work)
            if judge_trial(
                joints, pattern, box, options, place, value, work.g, work.H, work.S, work.P, descent
            ):
                phase, rounds, attempts = STEP, 0, 0
                damping = 0.0 if options[RULE] == LINE_SEARCH else state[DAMPING]
                clear_step(descent)
                continue
        # A step was made or shortened, or derivatives are needed once more; or the descent ended.
        phase = BEGIN
        if state[STATUS] == RUNNING:
            write_trial(tree, box, options[RULE], place, descent)
            phase = EVALUATE if state[REQUESTED_LAYOUT] == options[LAYOUT] else EVALUATE_ROWS
