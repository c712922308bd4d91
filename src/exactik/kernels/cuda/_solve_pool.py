"""Problems of a batch on a GPU: a thread takes one after the other.

A thread does as `starts.solve_problems`, phase by phase (`phases`).
"""

from __future__ import annotations

from typing import Any

from exactik.kernels.cuda._cuda import cuda, inline
from exactik.kernels.cuda._phases import BEGIN, DONE, EVALUATE, bind_goals, go_through_phase, vote
from exactik.kernels.descent.starts import (
    StartTable,
    begin_attempt,
    begin_problem,
    count_passes,
    end_attempt,
    end_descent,
    end_problem,
)
from exactik.kernels.goals.clouds import reduce_to_clouds
from exactik.kernels.goals.terms import Terms

allocate: Any = None  # makes the arrays of a thread; `variants` puts in one for their capacity


@inline
def bind_problem(goals, targets, own, b):
    """Return the goals of problem b."""
    terms = goals.terms
    return bind_goals(
        goals,
        own,
        terms=Terms(
            kind=terms.kind,
            frame=terms.frame,
            other=terms.other,
            point=terms.point,
            axis=terms.axis,
            target=targets.target[b],
            rotation=targets.rotation[b if targets.rotation.shape[0] > 1 else 0],
            weight=terms.weight,
            in_cloud=terms.in_cloud,
            row=terms.row,
        ),
        coordinates=goals.coordinates,
    )


@inline
def bind_table(table, costs, b):
    """Return the starts of problem b."""
    return StartTable(q=table.q, cost=costs[b], R=table.R, p=table.p, origin=table.origin)


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
    arrays = allocate(like)
    work, descent, own = arrays.work, arrays.descent, arrays.own
    place = own.place
    b, phase, rounds, attempts, damping = -1, BEGIN, 0, 0, 0.0
    in_second_half, is_examined = False, False
    while True:
        chosen = vote(phase)
        if chosen == DONE:
            break
        if phase != chosen:
            continue
        if chosen != BEGIN:
            phase, rounds, attempts, damping, is_examined = go_through_phase(
                chosen,
                rounds,
                attempts,
                damping,
                is_examined,
                tree,
                bind_problem(goals, targets, own, b),
                box,
                options,
                place,
                descent,
                work,
            )
            continue
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
                own_goals = bind_problem(goals, targets, own, b)
                end_attempt(tree, own_goals, tolerance, place, result, errors, descent, work)
                goes_on = begin_attempt(
                    box, options, bind_table(table, costs, b), place, result, descent
                )
                if not goes_on:
                    end_problem(tree, own_goals, tolerance, place, result, errors, descent, work)
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
            own_goals = bind_problem(goals, targets, own, b)
            reduce_to_clouds(own_goals.terms, own_goals.cloud_of_frame, own_goals.clouds)
            begin_problem(
                tree, own_goals, bind_table(table, costs, b), place, results[b], descent, work
            )
            begin_attempt(box, options, bind_table(table, costs, b), place, results[b], descent)
        phase = EVALUATE
