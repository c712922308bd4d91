"""One problem at one configuration: cost, gradient, Gauss–Newton, exact Hessian, H x.

`evaluate` is `begin_evaluation` and `finish_evaluation`; between the two a caller may add goals of
its own to the sums (`terms.add_local_model`). Descents have both as a part of them. Others call:
a call costs 0.2 µs, a copy a second of compiling.
"""

from __future__ import annotations

import numpy as np

from exactik.compile import jit, jit_forceinline
from exactik.kernels.calculus.joint_blocks import multiply_joint_blocks
from exactik.kernels.calculus.pair_rows import find_loops, write_pair_rows
from exactik.kernels.calculus.sweeps import sweep_gradient, sweep_hessian, sweep_joint_blocks
from exactik.kernels.calculus.workspace import (
    BEND,
    JOINT_GRADIENT,
    ONE,
    SLOPE,
    update_kinematics,
)
from exactik.kernels.goals.centroids import add_centroid_term, is_centroid
from exactik.kernels.goals.clouds import add_clouds
from exactik.kernels.goals.coordinates import add_coordinates
from exactik.kernels.goals.pairs import add_pair_sums, is_kept, place_in_world
from exactik.kernels.goals.sums import (
    EXACT,
    GRADIENT,
    SUMS_SIZE,
    VALUE,
    WRENCH_SIZE,
    clear_sums,
    sum_subtrees,
)
from exactik.kernels.goals.terms import (
    add_local_model,
    local_derivatives,
    local_residual,
    local_wrench,
)
from exactik.kernels.linear.articulated import JOINT_BLOCKS, WHOLE_ROWS
from exactik.kernels.tree.couplings import reduce_gradient, reduce_hessian


@jit_forceinline
def evaluate(tree, goals, q, order, work):
    """Return the cost at q; fill work.g (order ≥ GRADIENT) and work.H (GAUSS_NEWTON or EXACT)."""
    return evaluate_noinline(tree, goals, q, order, np.int64(WHOLE_ROWS), work)


@jit
def evaluate_noinline(tree, goals, q, order, layout, work):
    """As `evaluate_in_layout`, but called."""
    return evaluate_in_layout(tree, goals, q, order, layout, work)


@jit_forceinline
def evaluate_in_layout(tree, goals, q, order, layout, work):
    """As `evaluate`, with work.H in this layout; work.P too for JOINT_BLOCKS.

    Trees whose dofs follow others have whole rows only. Where goals couple bodies, whole rows are
    in work.pair_H, and blocks have loops beside them; see `find_evaluated_layout`.
    """
    cost = begin_evaluation(tree, goals, q, order, work)
    layout = find_evaluated_layout(tree, goals, order, layout, work)
    return cost + finish_evaluation(tree, goals, q, order, layout, work)


@jit_forceinline
def find_evaluated_layout(tree, goals, order, layout, work):
    """Return the layout that an evaluation in this one has: whole rows where loops share frames.

    After `begin_evaluation`, which tells which terms on several bodies couple these.
    """
    if goals.pair_terms.shape[0] != 0 and order > GRADIENT:
        if layout == JOINT_BLOCKS and not find_loops(tree, goals, order, work):
            return np.int64(WHOLE_ROWS)
    return layout


@jit_forceinline
def begin_evaluation(tree, goals, q, order, work):
    """Compute all frames; return the cost of the goals on bones, with their sums in work.sums."""
    update_kinematics(tree, goals, q, work)
    return add_goals(goals, order, work)


@jit_forceinline
def add_goals(goals, order, work):
    """Return the cost of the goals on bones for the frames in `work`; their sums in work.sums."""
    if order > VALUE:
        clear_sums(work.sums, WRENCH_SIZE if order == GRADIENT else SUMS_SIZE)
    cost = add_clouds(goals.clouds, work.R, work.p, work.shift, order, work.sums)
    for n in range(goals.single_terms.shape[0]):
        m = np.int64(goals.single_terms[n])
        frame = np.int64(goals.terms.frame[m])
        cost += add_term(goals.terms, m, work.shift, frame, work.sums, order, work)
    if goals.pair_terms.shape[0] != 0:
        cost += add_pair_terms(goals, order, work)
    return cost


@jit_forceinline
def add_pair_terms(goals, order, work):
    """Return the cost of the terms on several bodies; add their sums to all of these."""
    cost, sums = 0.0, work.pair_sums
    width = WRENCH_SIZE if order == GRADIENT else SUMS_SIZE
    for n in range(goals.pair_terms.shape[0]):
        m = np.int64(goals.pair_terms[n])
        for c in range(width if order > VALUE else 0):
            sums[m, c] = 0.0
        if is_centroid(goals.terms, m):
            cost += add_centroid_term(goals.terms, goals.centroids, m, order, work)
            continue
        if is_kept(goals.terms, m, work):
            continue
        terms = place_in_world(goals.terms, m, work)
        cost += add_term(terms, m, work.no_shift, m, sums, order, work)
        if order > VALUE:
            A, B = np.int64(terms.frame[m]), np.int64(terms.other[m])
            add_pair_sums(A, B, np.int64(goals.meeting[m, 0]), m, width, sums, work.sums)
    return cost


@jit_forceinline
def add_term(terms, m, shift, row, sums, order, work):
    """Return the cost of term m and add its wrench and curvature to a row of sums.

    The origin of the sums lies `shift` (3,) from that of the targets.
    """
    r, f, D, X = work.r, work.f, work.D, work.X
    local_residual(terms, m, work.R, work.p, shift, work.e, r)
    W = terms.weight
    for i in range(3):
        f[i] = W[m, i, 0] * r[0] + W[m, i, 1] * r[1] + W[m, i, 2] * r[2]
    if order > VALUE:
        local_derivatives(terms, m, work.R, shift, work.e, r, f, D, X)
        local_wrench(D, f, work.h)
        if order > GRADIENT:
            for i in range(6):
                x = W[m, 0, 0] * D[0, i] + W[m, 0, 1] * D[1, i] + W[m, 0, 2] * D[2, i]
                y = W[m, 1, 0] * D[0, i] + W[m, 1, 1] * D[1, i] + W[m, 1, 2] * D[2, i]
                z = W[m, 2, 0] * D[0, i] + W[m, 2, 1] * D[1, i] + W[m, 2, 2] * D[2, i]
                for j in range(6):
                    second_order = X[i, j] if order == EXACT else 0.0
                    X[i, j] = second_order + x * D[0, j] + y * D[1, j] + z * D[2, j]
        add_local_model(row, work.e, work.h, X, order, sums)
    return 0.5 * (r[0] * f[0] + r[1] * f[1] + r[2] * f[2])


@jit_forceinline
def finish_evaluation(tree, goals, q, order, layout, work):
    """Run the sweeps over the sums of `begin_evaluation`; return the cost of coordinate goals."""
    if tree.driven.shape[0] != 0:
        sweep_driven_tree(tree, goals.free, order, work)
    elif order > GRADIENT and layout == JOINT_BLOCKS:
        sweep_joint_blocks(
            tree, q, work.R, work.p, work.S, work.sums, goals.free, order, work.g, work.P, work.H
        )
    elif order > VALUE:
        sum_subtrees(tree, work.sums, WRENCH_SIZE if order == GRADIENT else SUMS_SIZE)
        sweep_gradient(tree, work.S, work.sums, goals.free, work.g)
        if order > GRADIENT:
            sweep_hessian(
                tree, q, work.R, work.p, work.S, work.sums, goals.free, order, work.path, work.H
            )
    cost = add_coordinates(
        tree, goals.coordinates, q, order, goals.free, work.g, work.H, work.D, work.X
    )
    if goals.pair_terms.shape[0] != 0 and order > GRADIENT and layout == WHOLE_ROWS:
        write_pair_rows(tree, goals, order, work)
    return cost


@jit
def sweep_driven_tree(tree, free, order, work):
    """Write g and H, by whole rows, where dofs follow others: of all joints first, then reduced."""
    if order == VALUE:
        return
    slope, bend, ones = work.joint_dofs[SLOPE], work.joint_dofs[BEND], work.joint_dofs[ONE]
    joint_g = work.joint_dofs[JOINT_GRADIENT]
    sum_subtrees(tree, work.sums, WRENCH_SIZE if order == GRADIENT else SUMS_SIZE)
    sweep_gradient(tree, work.S, work.sums, ones, joint_g)
    reduce_gradient(tree, joint_g, slope, free, work.g)
    if order > GRADIENT:
        sweep_hessian(
            tree,
            work.joint_q,
            work.R,
            work.p,
            work.S,
            work.sums,
            ones,
            order,
            work.path,
            work.joint_H,
        )
        reduce_hessian(tree, joint_g, work.joint_H, slope, bend, order == EXACT, free, work.H)


@jit
def multiply_hessian(tree, goals, q, order, x, V, A, y, work):
    """Write y = H x from the sums of `begin_evaluation`; V, A: see `multiply_joint_blocks`."""
    finish_evaluation(tree, goals, q, order, np.int64(JOINT_BLOCKS), work)
    multiply_joint_blocks(tree, work.S, work.P, work.H, goals.free, x, V, A, y)
