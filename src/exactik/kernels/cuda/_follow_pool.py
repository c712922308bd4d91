"""Frames of recordings on a GPU: a thread follows one course of frames after the other.

A thread does as `sequence.solve_sequence`, phase by phase (`phases`). What it writes of the goals
of a frame is its own.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from exactik.kernels.cuda._cuda import cuda, inline
from exactik.kernels.cuda._phases import (
    BEGIN,
    DONE,
    EVALUATE,
    STEP,
    bind_goals,
    go_through_phase,
    vote,
)
from exactik.kernels.descent.results import RESULT_COST, RESULT_EVALUATIONS, RESULT_ITERATIONS
from exactik.kernels.descent.state import COST, EVALUATIONS, start_descent
from exactik.kernels.goals.coordinates import CoordinateGoals
from exactik.kernels.goals.terms import Terms
from exactik.kernels.recording.frames import (
    QUADRATIC,
    FrameTargets,
    compute_cost,
    count_descent,
    end_frame,
    needs_descent,
    set_frame,
)
from exactik.kernels.recording.sequence import NEAR_COST_RATIO, extrapolate_pose, take_nearer
from exactik.typing import IntArray

allocate: Any = None  # makes the arrays of a thread; `variants` puts in one for their capacity


class Courses(NamedTuple):
    """Frames that are solved one after the other: rows first[c] to first[c + 1] of poses."""

    first: IntArray  #      (C + 1,)
    frame: IntArray  #      (n,) of each row
    warm_start: IntArray  # (1,) 1 if a frame starts from the one before, 0 if from its row


@inline
def bind_frame_goals(goals, own):
    """Return the goals of a frame, on the arrays of the thread."""
    terms, coordinates = goals.terms, goals.coordinates
    return bind_goals(
        goals,
        own,
        terms=Terms(
            kind=terms.kind,
            frame=terms.frame,
            other=terms.other,
            point=own.point,
            axis=terms.axis,
            target=own.target,
            rotation=terms.rotation,
            weight=own.weight,
            in_cloud=terms.in_cloud,
            row=terms.row,
        ),
        coordinates=CoordinateGoals(
            rest=own.rest,
            rest_weight=own.rest_weight,
            rest_row=coordinates.rest_row,
            limit_weight=coordinates.limit_weight,
            limit_row=coordinates.limit_row,
            lower=coordinates.lower,
            upper=coordinates.upper,
        ),
    )


@inline
def bind_frame(frames, own, t):
    """Return the targets of frame t alone: its number is 0 in them."""
    return FrameTargets(
        position=frames.position[t : t + 1],
        weight=frames.weight,
        confidence=frames.confidence[t : t + 1],
        point=frames.point[t : t + 1] if frames.point.shape[0] > 1 else frames.point,
        rest=frames.rest[t : t + 1] if frames.rest.shape[0] > 1 else frames.rest,
        rest_weight=(
            frames.rest_weight[t : t + 1] if frames.rest_weight.shape[0] > 1 else frames.rest_weight
        ),
        loss=frames.loss,
        robust_weight=own.robust_weight,
    )


def follow_pool(tree, goals, box, options, frames, courses, q, results, like, queue):
    """Follow courses as `sequence.solve_sequence` follows one; it has the arguments.

    Besides: `like`, arrays of the lengths that a thread needs; `queue` (1,), the next course.
    """
    arrays = allocate(like)
    work, descent, own = arrays.work, arrays.descent, arrays.own
    place = own.place
    begin, row, end, n, near_cost = 0, -1, 0, 0, math.inf
    phase, rounds, attempts, damping, is_examined = BEGIN, 0, 0, 0.0, False
    next_phase = -1  # while the start of a descent is to be compared with the previous pose
    while True:
        chosen = vote(phase)
        if chosen == DONE:
            break
        if phase != chosen:
            continue
        own_goals = bind_frame_goals(goals, own)
        if chosen != BEGIN:
            phase, rounds, attempts, damping, is_examined = go_through_phase(
                chosen,
                rounds,
                attempts,
                damping,
                is_examined,
                tree,
                own_goals,
                box,
                options,
                place,
                descent,
                work,
            )
            # The first pass tells what the start costs; see `frames.descend_from_nearer`.
            state = descent.state
            if phase != STEP and state[EVALUATIONS] == 1.0 and not state[COST] <= near_cost:
                next_phase, phase = phase, BEGIN
            continue
        if next_phase >= 0:
            phase, next_phase, near_cost = next_phase, -1, math.inf
            if not descent.state[COST] < compute_cost(tree, own_goals, own.previous, work):
                for j in range(place.shape[0]):
                    place[j] = own.previous[j]
                start_descent(box, options, True, place, descent)
                phase = EVALUATE
            if phase != BEGIN:
                continue
        if row >= 0:
            frame, result = bind_frame(frames, own, courses.frame[row]), results[row]
            count_descent(result, descent)
            n += 1
            if needs_descent(tree, own_goals, frame, 0, n, place, work):
                start_descent(box, options, True, place, descent)
                phase = EVALUATE
                continue
            end_frame(tree, own_goals, frame, 0, place, result, work)
            for j in range(place.shape[0]):
                q[row, j] = place[j]
            row += 1
        if row < 0 or row == end:
            course = cuda.atomic.add(queue, 0, 1)
            if course >= courses.first.shape[0] - 1:
                phase = DONE
                continue
            begin, end = courses.first[course], courses.first[course + 1]
            row = begin
        t = courses.frame[row]
        frame, result = bind_frame(frames, own, t), results[row]
        for m in range(own.robust_weight.shape[0] * own.robust_weight.shape[1]):
            own.robust_weight[0, m] = frames.robust_weight[t, m]
        is_first = row == begin or courses.warm_start[0] == 0
        for j in range(place.shape[0]):
            own.previous[j] = place[j]
            place[j] = q[row, j] if is_first else place[j]
        set_frame(tree, own_goals, frame, 0, place)
        near_cost = math.inf
        if not is_first and row > begin + 1:
            near_cost = NEAR_COST_RATIO * results[row - 1, RESULT_COST]
            extrapolate_pose(tree, box, own.previous, descent.start_q, place, descent.rhs)
            if frames.loss[0] != QUADRATIC:
                take_nearer(tree, own_goals, own.previous, near_cost, place, work)
                near_cost = math.inf
        for j in range(place.shape[0]):
            descent.start_q[j] = own.previous[j]
        result[RESULT_ITERATIONS], result[RESULT_EVALUATIONS], n = 0.0, 0.0, 0
        needs_descent(tree, own_goals, frame, 0, n, place, work)
        start_descent(box, options, True, place, descent)
        phase = EVALUATE
