"""Error bars of the poses of a recording, and whether these are minima.

Independent noise of standard deviation σ in the markers moves a minimum by (docs/maths.md §15)

    cov(q*) = σ² A⁻¹ B A⁻¹ ,    A = H + P ,   B = JᵀW²J + P

with the exact Hessian H of the markers and the weights P of the posture, which is a prior of
standard deviation σ/√P. Directions that no marker sees keep that of the prior.
"""

from __future__ import annotations

import math

import numpy as np

from exactik.kernels.calculus.evaluate import evaluate_in_layout
from exactik.kernels.calculus.sums import EXACT, GAUSS_NEWTON
from exactik.kernels.goals.clouds import reduce_to_clouds
from exactik.kernels.linear.active_set import update_active_set
from exactik.kernels.linear.articulated import JOINT_BLOCKS, JointPattern, eliminate_joints
from exactik.kernels.linear.variances import compute_variances
from exactik.kernels.recording.frames import set_frame
from exactik.spatial import jit, jit_nogil

__all__ = [
    "check_convexity",
    "eliminate_frame",
    "estimate_standard_deviations",
]


@jit_nogil
def check_convexity(
    tree, goals, box, frames, flat_curvature, frame_numbers, q, is_convex, descent, work
):
    """Write 1 to `is_convex` (n,) where no curvature of the free dofs is below −flat_curvature · D.

    D is the largest curvature of each dof, as for descents.
    """
    joints = JointPattern(tree.parent, tree.last_child, tree.first_v, tree.depth)
    for k in range(q.shape[0]):
        set_frame(tree, goals, frames, frame_numbers[k], q[k])
        evaluate_in_layout(tree, goals, q[k], np.int64(EXACT), np.int64(JOINT_BLOCKS), work)
        update_active_set(
            box.coordinate, box.lower, box.upper, box.free, q[k], work.g, descent.active_set
        )
        largest = 0.0
        for i in range(descent.scale.shape[0]):
            descent.scale[i] = abs(work.H[i, np.int64(tree.dof_level[i])])
            largest = max(largest, descent.scale[i])
        for i in range(descent.scale.shape[0]):
            descent.scale[i] = max(descent.scale[i], 1e-3 * largest)
            descent.step[i] = 0.0
        smallest_pivot = eliminate_joints(
            joints, work.S, work.P, work.g, work.H, flat_curvature, descent
        )
        is_convex[k] = 1.0 if smallest_pivot > 0.0 else 0.0


@jit
def square_weights(goals):
    """Replace every weight of a marker by its square."""
    for m in range(goals.terms.weight.shape[0]):
        for i in range(3):
            goals.terms.weight[m, i, i] *= goals.terms.weight[m, i, i]
    reduce_to_clouds(goals.terms, goals.cloud_of_frame, goals.clouds)


@jit
def eliminate_frame(tree, joints, goals, box, frames, prior, frame, q, descent, work):
    """Eliminate A of a frame; work.P and work.H become those of B. Return the smallest pivot.

    Where that is not positive, A is singular and B is not written.
    """
    layout, smallest_pivot = np.int64(JOINT_BLOCKS), 0.0
    set_frame(tree, goals, frames, frame, q)
    for i in range(prior.shape[0]):
        descent.scale[i], descent.step[i] = prior[i], 0.0
    for order in (EXACT, GAUSS_NEWTON):
        # Where it is not quite a minimum: Gauss–Newton's curvature is never negative.
        evaluate_in_layout(tree, goals, q, np.int64(order), layout, work)
        update_active_set(
            box.coordinate, box.lower, box.upper, box.free, q, work.g, descent.active_set
        )
        smallest_pivot = eliminate_joints(joints, work.S, work.P, work.g, work.H, 1.0, descent)
        if smallest_pivot > 0.0:
            square_weights(goals)
            evaluate_in_layout(tree, goals, q, np.int64(GAUSS_NEWTON), layout, work)
            for i in range(prior.shape[0]):
                work.H[i, np.int64(tree.dof_level[i])] += prior[i]
            break
    return smallest_pivot


@jit_nogil
def estimate_standard_deviations(
    tree, goals, box, frames, prior, sigma, frame_numbers, q, scratch, sd, descent, work
):
    """Write the standard deviation of every dof [rad or m], (n, nv), at poses q (n, nq).

    Args: `prior` (nv,) weights to add to the posture's; `sigma` [m] (n,) noise of the markers. Dofs
    that a limit or a lock holds get 0, others ∞ where A is singular. `scratch`: `VarianceScratch`.
    """
    joints = JointPattern(tree.parent, tree.last_child, tree.first_v, tree.depth)
    for k in range(q.shape[0]):
        smallest_pivot = eliminate_frame(
            tree, joints, goals, box, frames, prior, frame_numbers[k], q[k], descent, work
        )
        if smallest_pivot > 0.0:
            compute_variances(joints, work.S, work.P, work.H, sd[k], scratch, descent)
        for i in range(sd.shape[1]):
            variance = max(sd[k, i], 0.0) if smallest_pivot > 0.0 else np.inf
            sd[k, i] = sigma[k] * math.sqrt(variance) if descent.active_set[i] == 0.0 else 0.0
