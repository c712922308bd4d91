"""Error bars of the poses of a recording, and whether these are minima.

Independent noise of standard deviation σ in the markers moves a minimum by (docs/maths.md §15)

    cov(q*) = σ² A⁻¹ B A⁻¹ ,    A = H + P ,   B = JᵀW²J + P

with the exact Hessian H of the markers and the weights P of the posture, which is a prior of
standard deviation σ/√P. Directions that no marker sees keep that of the prior.
"""

from __future__ import annotations

import math

import numpy as np

from exactik.compile import jit, jit_forceinline, jit_nogil
from exactik.kernels.calculus.evaluate import evaluate_noinline
from exactik.kernels.calculus.joint_blocks import quadratic_form
from exactik.kernels.goals.clouds import reduce_to_clouds
from exactik.kernels.goals.sums import EXACT, GAUSS_NEWTON
from exactik.kernels.linear.active_set import (
    copy_free_block,
    multiply_ancestor_rows,
    update_active_set,
)
from exactik.kernels.linear.articulated import (
    JOINT_BLOCKS,
    WHOLE_ROWS,
    eliminate_joints,
    reduce_right_side,
    substitute_joints,
)
from exactik.kernels.linear.loops import make_joint_pattern
from exactik.kernels.linear.ltdl import AncestorPattern, factor, solve
from exactik.kernels.linear.variances import compute_variances
from exactik.kernels.recording.frames import set_frame


@jit_nogil
def check_convexity(
    tree, goals, box, frames, flat_curvature, frame_numbers, q, is_convex, descent, work
):
    """Write 1 to `is_convex` (n,) where no curvature of the free dofs is below −flat_curvature · D.

    D is the largest curvature of each dof, as for descents.
    """
    for k in range(q.shape[0]):
        set_frame(tree, goals, frames, frame_numbers[k], q[k])
        evaluate_noinline(tree, goals, q[k], np.int64(EXACT), find_layout(tree), work)
        update_active_set(
            box.coordinate, box.lower, box.upper, box.free, q[k], work.g, descent.active_set
        )
        largest = 0.0
        for i in range(descent.scale.shape[0]):
            descent.scale[i] = abs(work.H[i, np.int64(tree.dof_level[i])])
            largest = max(largest, descent.scale[i])
        for i in range(descent.scale.shape[0]):
            descent.scale[i] = max(descent.scale[i], 1e-3 * largest)
        is_convex[k] = 1.0 if eliminate(tree, flat_curvature, descent, work) > 0.0 else 0.0


@jit_forceinline
def find_layout(tree):
    """Return the layout of the matrices: where dofs follow others there are whole rows only."""
    return np.int64(WHOLE_ROWS if tree.driven.shape[0] != 0 else JOINT_BLOCKS)


@jit
def eliminate(tree, damping, descent, work):
    """Eliminate work.H + damping · D on the dofs outside the active set; return the least pivot."""
    if find_layout(tree) == WHOLE_ROWS:
        pattern = AncestorPattern(tree.dof_order, tree.dof_parent, tree.dof_level)
        copy_free_block(pattern, work.H, damping, descent.scale, descent.active_set, descent.L)
        return factor(pattern, descent.L)
    joints = make_joint_pattern(tree, work)
    for i in range(descent.step.shape[0]):
        descent.step[i] = 0.0
    return eliminate_joints(joints, work.S, work.P, work.g, work.H, damping, descent)


@jit
def square_weights(goals):
    """Replace every weight of a marker by its square."""
    for m in range(goals.terms.weight.shape[0]):
        for i in range(3):
            goals.terms.weight[m, i, i] *= goals.terms.weight[m, i, i]
    reduce_to_clouds(goals.terms, goals.cloud_of_frame, goals.clouds)


@jit
def eliminate_frame(tree, goals, box, frames, prior, frame, q, descent, work):
    """Eliminate A of a frame, and leave B in `work`; return the smallest pivot.

    Where that is not positive, A is singular and B is not written.
    """
    layout, smallest_pivot = find_layout(tree), 0.0
    set_frame(tree, goals, frames, frame, q)
    for i in range(prior.shape[0]):
        descent.scale[i] = prior[i]
    for order in (EXACT, GAUSS_NEWTON):
        # Where it is not quite a minimum: Gauss–Newton's curvature is never negative.
        evaluate_noinline(tree, goals, q, np.int64(order), layout, work)
        update_active_set(
            box.coordinate, box.lower, box.upper, box.free, q, work.g, descent.active_set
        )
        smallest_pivot = eliminate(tree, 1.0, descent, work)
        if smallest_pivot > 0.0:
            square_weights(goals)
            evaluate_noinline(tree, goals, q, np.int64(GAUSS_NEWTON), layout, work)
            for i in range(prior.shape[0]):
                work.H[i, np.int64(tree.dof_level[i])] += prior[i]
            break
    return smallest_pivot


@jit
def compute_variance(tree, descent, work):
    """Return (A⁻¹a)ᵀ B (A⁻¹a) of the combination a in `descent.rhs`, 0 in the active set."""
    x, total = descent.rhs, 0.0
    if find_layout(tree) == WHOLE_ROWS:
        pattern = AncestorPattern(tree.dof_order, tree.dof_parent, tree.dof_level)
        solve(pattern, descent.L, x, descent.path)
        multiply_ancestor_rows(pattern, work.H, x, descent.path, descent.step)
        for i in range(x.shape[0]):
            total += x[i] * descent.step[i]
    else:
        joints = make_joint_pattern(tree, work)
        reduce_right_side(joints, work.S, descent)
        substitute_joints(joints, work.S, descent)
        total = quadratic_form(joints, work.S, work.P, work.H, x, descent.V)
    return max(total, 0.0)


@jit_nogil
def estimate_standard_deviations(
    tree, goals, box, frames, prior, sigma, frame_numbers, q, scratch, sd, descent, work
):
    """Write the standard deviation of every dof [rad or m], (n, nv), at poses q (n, nq).

    Args: `prior` (nv,) weights to add to the posture's; `sigma` [m] (n,) noise of the markers. Dofs
    that a limit or a lock holds get 0, others ∞ where A is singular. `scratch`: `VarianceScratch`.
    """
    joints = make_joint_pattern(tree, work)
    count = sd.shape[1]
    for k in range(q.shape[0]):
        definite = (
            eliminate_frame(tree, goals, box, frames, prior, frame_numbers[k], q[k], descent, work)
            > 0.0
        )
        if definite and find_layout(tree) == JOINT_BLOCKS:
            compute_variances(joints, work.S, work.P, work.H, sd[k], scratch, descent)
        elif definite:
            for i in range(count):
                for j in range(count):
                    descent.rhs[j] = 1.0 if j == i else 0.0
                sd[k, i] = compute_variance(tree, descent, work)
        for i in range(count):
            variance = max(sd[k, i], 0.0) if definite else np.inf
            sd[k, i] = sigma[k] * math.sqrt(variance) if descent.active_set[i] == 0.0 else 0.0
