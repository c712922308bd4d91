"""The residual and its Jacobian row by row, for weights that couple goals and so cannot be summed.

    cost = ½ rᵀWr ,   g = −JᵀWr ,   H = JᵀWJ + Σ (Wr)·∂²r

`write_residual_and_jacobian` writes r and J; `begin_residual_curvature` and
`finish_residual_curvature` the last term, by the sums and the sweep of `evaluate`, driven by the
forces Wr. Between the two a caller may add goals of its own (`terms.add_local_model`).
"""

from __future__ import annotations

import numpy as np

from exactik.compile import jit
from exactik.kernels.calculus import sweeps
from exactik.kernels.calculus.evaluate import sweep_driven_tree
from exactik.kernels.calculus.pair_rows import write_pair_rows
from exactik.kernels.calculus.workspace import SLOPE, update_kinematics_noinline
from exactik.kernels.goals.centroids import (
    add_member_sums,
    differentiate_centroid,
    is_centroid,
    locate_member,
    write_centroid_residual,
)
from exactik.kernels.goals.coordinates import add_coordinate_curvature, write_coordinate_rows
from exactik.kernels.goals.pairs import (
    add_pair_sums,
    is_pair,
    place_in_world,
    turn_rows,
    write_term_residual,
)
from exactik.kernels.goals.sums import EXACT, SUMS_SIZE, clear_sums, sum_subtrees
from exactik.kernels.goals.terms import (
    add_local_model,
    local_derivatives,
    local_residual,
    local_wrench,
)
from exactik.kernels.tree.couplings import SOURCE
from exactik.kernels.tree.packed import NONE


@jit
def write_jacobian_rows(tree, free, slope, S, k, e, D, row, J):
    """Write J = −D ∂(ω, δ)/∂v for the rows of one goal at the point e of frame k.

    J_i = −(D_ω ω_i + D_δ (v_i + ω_i × e)) for the dofs i of the joints on the path of k, each times
    its `slope` φ' in the column of the dof that it follows; J is zeroed before.
    """
    frame, coupled = k, tree.driven.shape[0] > 0
    while frame > 0:
        for i in range(np.int64(tree.joint_v[frame]), np.int64(tree.joint_v[frame + 1])):
            if tree.joint_dofs[SOURCE, i] == NONE:
                continue
            column = np.int64(tree.joint_dofs[SOURCE, i])
            scale = free[column] * (slope[i] if coupled else 1.0)
            a, b, c = S[i, 0], S[i, 1], S[i, 2]
            x = S[i, 3] + b * e[2] - c * e[1]
            y = S[i, 4] + c * e[0] - a * e[2]
            z = S[i, 5] + a * e[1] - b * e[0]
            for m in range(D.shape[0]):
                turning = D[m, 0] * a + D[m, 1] * b + D[m, 2] * c
                shifting = D[m, 3] * x + D[m, 4] * y + D[m, 5] * z
                J[row + m, column] -= scale * (turning + shifting)
        frame = np.int64(tree.parent[frame])


@jit
def write_residual_and_jacobian(tree, goals, q, work, r, J):
    """Write the unweighted residual r (m,) and J = −∂r/∂v (m, nv), zeroed before, of all goals."""
    update_kinematics_noinline(tree, goals, q, work)
    for i in range(3):
        work.f[i] = 0.0
    for m in range(goals.terms.kind.shape[0]):
        row, frame = np.int64(goals.terms.row[m]), np.int64(goals.terms.frame[m])
        slope, D = work.joint_dofs[SLOPE], work.D
        if is_centroid(goals.terms, m):
            write_centroid_jacobian(tree, goals, m, slope, row, work, J)
        elif is_pair(goals.terms, m):
            terms = place_in_world(goals.terms, m, work)
            local_residual(terms, m, work.R, work.p, work.no_shift, work.e, work.r)
            local_derivatives(terms, m, work.R, work.no_shift, work.e, work.r, work.f, D, work.X)
            turn_rows(work.pair_axes, m, D)
            write_jacobian_rows(tree, goals.free, slope, work.S, frame, work.e, D, row, J)
            for i in range(3):  # what moves B moves A the other way, as B sees it
                for j in range(6):
                    D[i, j] = -D[i, j]
            frame = np.int64(goals.terms.other[m])
            write_jacobian_rows(tree, goals.free, slope, work.S, frame, work.e, D, row, J)
            write_term_residual(goals, m, work)
        else:
            local_residual(goals.terms, m, work.R, work.p, work.shift, work.e, work.r)
            local_derivatives(goals.terms, m, work.R, work.shift, work.e, work.r, work.f, D, work.X)
            write_jacobian_rows(tree, goals.free, slope, work.S, frame, work.e, D, row, J)
        for i in range(3):
            r[row + i] = work.r[i]
    write_coordinate_rows(tree, goals.coordinates, q, goals.free, r, J, work.D, work.X)


@jit
def write_centroid_jacobian(tree, goals, m, slope, row, work, J):
    """Write J for the rows of a term on a sum of points, and its residual to work.r."""
    D, centroids = work.D, goals.centroids
    differentiate_centroid(goals.terms, centroids, m, work.f, work)
    for k in range(np.int64(centroids.first[m]), np.int64(centroids.first[m + 1])):
        work.e[0], work.e[1], work.e[2] = locate_member(centroids, k, work)
        for i in range(3):
            for j in range(3):  # the columns ω, which are 0, take those of δ for this member
                D[i, j] = centroids.share[k] * D[i, 3 + j]
        for i in range(3):
            for j in range(3):
                work.X[i, j], work.X[i, 3 + j] = 0.0, D[i, j]
        frame = np.int64(centroids.frame[k])
        write_jacobian_rows(tree, goals.free, slope, work.S, frame, work.e, work.X[:3], row, J)
    write_centroid_residual(goals.terms, centroids, m, work)


@jit
def begin_residual_curvature(goals, force, work):
    """Fill work.sums with Σ force·∂²r for forces (m,), after `write_residual_and_jacobian`.

    Wrench and curvature of Σ force·∂²r: what JᵀWJ lacks of the exact Hessian, for any W, however it
    couples the goals.
    """
    clear_sums(work.sums, SUMS_SIZE)
    f, D = work.f, work.D
    for m in range(goals.terms.kind.shape[0]):
        row, frame = np.int64(goals.terms.row[m]), np.int64(goals.terms.frame[m])
        if is_centroid(goals.terms, m):
            for i in range(3):
                f[i] = force[row + i]
            differentiate_centroid(goals.terms, goals.centroids, m, f, work)
            fx = -(D[0, 3] * f[0] + D[1, 3] * f[1] + D[2, 3] * f[2])
            fy = -(D[0, 4] * f[0] + D[1, 4] * f[1] + D[2, 4] * f[2])
            fz = -(D[0, 5] * f[0] + D[1, 5] * f[1] + D[2, 5] * f[2])
            add_member_sums(goals.centroids, m, EXACT, fx, fy, fz, work)
            for i in range(3):
                for j in range(3):
                    work.pair_weight[m, i, j] = work.X[3 + i, 3 + j]
        elif is_pair(goals.terms, m):
            terms = place_in_world(goals.terms, m, work)
            local_residual(terms, m, work.R, work.p, work.no_shift, work.e, work.r)
            Q = work.pair_axes
            for i in range(3):
                f[i] = Q[m, i, 0] * force[row] + Q[m, i, 1] * force[row + 1]
                f[i] += Q[m, i, 2] * force[row + 2]
            local_derivatives(terms, m, work.R, work.no_shift, work.e, work.r, f, D, work.X)
            local_wrench(D, f, work.h)
            for c in range(SUMS_SIZE):
                work.pair_sums[m, c] = 0.0
            add_local_model(m, work.e, work.h, work.X, EXACT, work.pair_sums)
            other, meeting = np.int64(goals.terms.other[m]), np.int64(goals.meeting[m, 0])
            add_pair_sums(frame, other, meeting, m, SUMS_SIZE, work.pair_sums, work.sums)
        else:
            local_residual(goals.terms, m, work.R, work.p, work.shift, work.e, work.r)
            for i in range(3):
                f[i] = force[row + i]
            local_derivatives(goals.terms, m, work.R, work.shift, work.e, work.r, f, D, work.X)
            local_wrench(D, f, work.h)
            add_local_model(frame, work.e, work.h, work.X, EXACT, work.sums)


@jit
def finish_residual_curvature(tree, goals, q, force, work):
    """Run the sweep over the sums of `begin_residual_curvature`: H = Σ force·∂²r/∂v².

    By the rows of `Goals.pattern`; those of goals between bodies are in work.pair_H.
    """
    if tree.driven.shape[0] != 0:
        sweep_driven_tree(tree, goals.free, np.int64(EXACT), work)
    else:
        sum_subtrees(tree, work.sums, SUMS_SIZE)
        sweeps.sweep_hessian(
            tree, q, work.R, work.p, work.S, work.sums, goals.free, EXACT, work.path, work.H
        )
    add_coordinate_curvature(tree, goals.coordinates, q, force, goals.free, work.H, work.D, work.X)
    if goals.pair_terms.shape[0] != 0:
        write_pair_rows(tree, goals, np.int64(EXACT), work)
