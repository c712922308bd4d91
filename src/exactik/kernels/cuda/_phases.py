"""A descent cut into phases, which the threads of a block go through together.

A warp does at a time what one of its 32 threads needs, and the others wait; and the code of a
descent is longer than what a multiprocessor keeps of it, so that warps at different places of it
wait for instructions. Here the work is cut into phases,

    BEGIN          a descent ended: what comes next, is up to the caller
    EVALUATE       evaluate the trial and judge it
    EVALUATE_ROWS  the same with all rows of the Hessian, where a saddle is suspected
    STEP           one round of the active set of a damped step; or whether a minimum is one

and the threads of a block vote for what to do next: what most of them wait for. Only those take
part. The rare phases wait until a share of the block needs them (`QUORUM`), or nothing else is to
be done. What a problem goes through, and so its answer, does not depend on the other threads.
"""

from __future__ import annotations

import numpy as np

from exactik.compile import jit_forceinline
from exactik.kernels.calculus.evaluate import evaluate_in_layout
from exactik.kernels.calculus.workspace import Goals
from exactik.kernels.cuda._cuda import block_size, count_threads, inline
from exactik.kernels.descent.descend import (
    NEW_STEP,
    STATIONARY,
    end_if_convex,
    escape_saddle,
    examine_stationary_point,
    judge_trial,
)
from exactik.kernels.descent.options import LAYOUT, LINE_SEARCH, RULE
from exactik.kernels.descent.saddles import FLAT_CURVATURE
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
from exactik.kernels.goals.clouds import Clouds
from exactik.kernels.linear.active_set import (
    MAX_ROUNDS,
    clear_step,
    hold_at_limits,
    solve_damped,
    take_free_entries,
)
from exactik.kernels.linear.articulated import WHOLE_ROWS
from exactik.kernels.linear.loops import make_joint_pattern
from exactik.kernels.linear.ltdl import AncestorPattern

BEGIN, EVALUATE, EVALUATE_ROWS, STEP, DONE = range(5)
QUORUM = 0.25  # share of a block: fewer leave warps almost empty, more leave threads waiting


@inline
def bind_goals(goals, own, terms, coordinates):
    """Return goals whose origin and clouds are arrays of the thread, with these terms."""
    return Goals(
        origin=own.origin,
        free=goals.free,
        terms=terms,
        single_terms=goals.single_terms,
        pair_terms=goals.pair_terms,
        centroids=goals.centroids,
        meeting=goals.meeting,
        pattern=goals.pattern,
        columns=goals.columns,
        cloud_of_frame=goals.cloud_of_frame,
        clouds=Clouds(
            frame=goals.clouds.frame, rows=own.rows, rows_used=own.rows_used, floor=own.floor
        ),
        coordinates=coordinates,
    )


@inline
def vote(phase):
    """Return the phase that the block goes through next; DONE where all threads are."""
    beginning = count_threads(phase == BEGIN)
    evaluating = count_threads(phase == EVALUATE)
    with_rows = count_threads(phase == EVALUATE_ROWS)
    stepping = count_threads(phase == STEP)
    is_idle = evaluating + stepping == 0
    quorum = QUORUM * block_size()
    if beginning >= quorum or (is_idle and beginning > 0):
        return BEGIN
    if with_rows >= quorum or (is_idle and with_rows > 0):
        return EVALUATE_ROWS
    if is_idle:
        return DONE
    return STEP if stepping >= evaluating else EVALUATE


@jit_forceinline
def go_through_phase(
    phase, rounds, attempts, damping, is_examined, tree, goals, box, options, place, descent, work
):
    """Go through a phase other than BEGIN, as `descend.advance` does in one go.

    Args: `rounds` of the active set and `attempts` at a step so far, its `damping`; `is_examined`:
    whether it only tells if the Hessian is positive definite; `place` (nq,) the best pose.

    Returns: the next phase, and the four for it.
    """
    state = descent.state
    joints = make_joint_pattern(tree, work)
    pattern = AncestorPattern(tree.dof_order, tree.dof_parent, tree.dof_level)
    if phase == STEP:
        layout = np.int64(state[EVALUATED_LAYOUT])
        pivot = solve_damped(
            joints, pattern, layout, work.g, work.H, work.S, work.P, damping, descent
        )
        has_step = pivot > 0.0
        if is_examined:
            end_if_convex(has_step, options, state)
        else:
            rounds += 1
            if has_step and hold_at_limits(box.coordinate, place, descent):
                if rounds < MAX_ROUNDS:
                    return STEP, rounds, attempts, damping, False
            if has_step:
                take_free_entries(descent)
                has_step = complete_model_step(
                    joints, pattern, box, options, damping, work.g, work.H, work.S, work.P, descent
                )
            if not has_step:
                damping = shorten_model_step(box, options[RULE], damping, place, work.g, descent)
                if attempts + 1 < MAX_STEP_ATTEMPTS:
                    clear_step(descent)
                    return STEP, 0, attempts + 1, damping, False
                abandon_model_step(options, state)
    else:
        order = np.int64(state[REQUESTED_ORDER])
        layout = np.int64(state[REQUESTED_LAYOUT])
        value = evaluate_in_layout(tree, goals, descent.trial, order, layout, work)
        verdict = judge_trial(pattern, box, options, place, value, work.g, work.H, descent)
        is_examined = verdict == STATIONARY and examine_stationary_point(
            box, options, work.g, descent
        )
        if is_examined and state[EVALUATED_LAYOUT] == WHOLE_ROWS:
            escape_saddle(pattern, box, options, place, work.g, work.H, descent)
        elif is_examined or verdict == NEW_STEP:
            damping = 0.0 if options[RULE] == LINE_SEARCH else state[DAMPING]
            clear_step(descent)
            return STEP, 0, 0, FLAT_CURVATURE if is_examined else damping, is_examined
    # A step was made or shortened, or derivatives are needed once more; or the descent ended.
    if state[STATUS] != RUNNING:
        return BEGIN, 0, 0, 0.0, False
    write_trial(tree, box, options[RULE], place, descent)
    if state[REQUESTED_LAYOUT] == options[LAYOUT]:
        return EVALUATE, 0, 0, 0.0, False
    return EVALUATE_ROWS, 0, 0, 0.0, False
