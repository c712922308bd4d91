"""From the gradient of a loss by the poses of a batch to that by what the poses follow from.

Through a solve. At a minimum the slope of the cost vanishes on the free dofs, so that a target
that moves by τ moves the minimum by dq*/dτ = −H⁻¹ ∂g/∂τ (implicit function theorem). A loss with
the gradient u by the dofs has therefore, with one solve a problem, the gradient

    dL/dτ = (∂g/∂τ)ᵀ x ,    H x = −u   on the free dofs, x = 0 on the others

x is a motion, and ξ = (ω, δ) what it does to the point of a term. With D, X = Wr·∂²r and E = R_t Rᵀ
(`goals.terms`), the term's own target has

    DIRECTION              W D ξ
    LOG, a turn of R_t     −E (D_ωᵀ W D ξ + X_ω ξ + ½ (D_ωᵀ W r) × ω)
    a place                −D_δᵀ W D ξ − X_δ ξ

and between two bodies ξ is the motion of one as seen from the other, which carries the target.

Through forward kinematics. A gradient by the frames is a wrench on each, and g_i = S_i · w summed
over the subtree of dof i.
"""

from __future__ import annotations

import numpy as np

from exactik.compile import jit, jit_nogil
from exactik.kernels.calculus.evaluate import evaluate
from exactik.kernels.calculus.sweeps import multiply_transposed
from exactik.kernels.calculus.workspace import BEND, JOINT_GRADIENT, SLOPE
from exactik.kernels.goals.pairs import is_pair, place_in_world
from exactik.kernels.goals.sums import EXACT, WRENCH_SIZE, sum_subtrees
from exactik.kernels.goals.targets import retarget
from exactik.kernels.goals.terms import DIRECTION, LOG, local_derivatives, local_residual
from exactik.kernels.linear.active_set import copy_free_block, update_active_set
from exactik.kernels.linear.ltdl import factor, solve
from exactik.kernels.linear.six_vectors import add_scaled, dot, load, store
from exactik.kernels.tree.couplings import SOURCE, expand_coordinates, reduce_gradient
from exactik.kernels.tree.fk import forward_kinematics
from exactik.kernels.tree.packed import NONE
from exactik.spatial import cross

NEAR_MINIMUM = 1e-6  # [rad or m] Newton step: from there derivatives change in the sixth digit
SMALLEST_PIVOT = 1e-9  # share of the diagonal entry: below it a direction counts as open


@jit_nogil
def backpropagate_solves(
    tree, goals, box, targets, q, slopes, by_target, is_minimum, descent, work
):
    """Write the gradients by the targets of the terms, (B, n, 3), and where they exist, (B,).

    Args: `slopes` (B, nv) of the loss by the dofs at the solutions q (B, nq). `is_minimum` is 0
    where H is not positive definite on the free dofs, or the minimum is not near: nothing is
    written for such a problem.
    """
    pattern = goals.pattern
    H = work.H if goals.pair_terms.shape[0] == 0 else work.pair_H
    for b in range(q.shape[0]):
        retarget(goals, targets, b)
        evaluate(tree, goals, q[b], np.int64(EXACT), work)
        update_active_set(
            box.coordinate, box.lower, box.upper, box.free, q[b], work.g, descent.active_set
        )
        is_minimum[b] = 0.0
        if not factor_free_block(pattern, H, descent):
            continue
        if not solve_free_block(pattern, work.g, descent) <= NEAR_MINIMUM:
            continue
        is_minimum[b] = 1.0
        solve_free_block(pattern, slopes[b], descent)
        write_twists(tree, work.joint_dofs[SLOPE], work.S, descent.rhs, descent.V)
        for m in range(goals.terms.kind.shape[0]):
            write_target_gradient(goals.terms, m, descent.V, work, by_target[b, m])


@jit
def factor_free_block(pattern, H, descent):
    """Factor H on the dofs outside the active set in descent.L; return whether it is definite."""
    copy_free_block(pattern, H, 0.0, descent.scale, descent.active_set, descent.L)
    if not factor(pattern, descent.L) > 0.0:
        return False
    for i in range(descent.active_set.shape[0]):
        level = np.int64(pattern.dof_level[i])
        if descent.active_set[i] == 0.0 and descent.L[i, level] < SMALLEST_PIVOT * H[i, level]:
            return False
    return True


@jit
def solve_free_block(pattern, gradient, descent):
    """Write x = −H⁻¹ gradient to descent.rhs, 0 in the active set; return its largest entry."""
    x, largest = descent.rhs, 0.0
    for i in range(gradient.shape[0]):
        x[i] = -gradient[i] if descent.active_set[i] == 0.0 else 0.0
    solve(pattern, descent.L, x, descent.path)
    for i in range(gradient.shape[0]):
        largest = max(largest, abs(x[i]))
    return largest


@jit
def write_twists(tree, slope, S, x, V):
    """Write the twist that velocities x (nv,) of the dofs give each frame to V (n+1, ≥ 6)."""
    coupled = tree.driven.shape[0] > 0
    for c in range(6):
        V[0, c] = 0.0
    for k in range(1, tree.parent.shape[0]):
        twist = load(V, np.int64(tree.parent[k]))
        for i in range(np.int64(tree.joint_v[k]), np.int64(tree.joint_v[k + 1])):
            if tree.joint_dofs[SOURCE, i] != NONE:
                rate = x[np.int64(tree.joint_dofs[SOURCE, i])] * (slope[i] if coupled else 1.0)
                twist = add_scaled(twist, rate, load(S, i))
        store(V, k, twist)


@jit
def write_target_gradient(terms, m, V, work, gradient):
    """Write the gradient (3,) by the target of term m, from the twists V of all frames."""
    k = np.int64(terms.frame[m])
    if not is_pair(terms, m):
        for c in range(6):
            work.h[c] = V[k, c]
        differentiate_by_target(terms, m, work.shift, work, gradient)
        return
    B = np.int64(terms.other[m])
    for c in range(6):
        work.h[c] = V[k, c] - V[B, c]
    placed = place_in_world(terms, m, work)
    differentiate_by_target(placed, m, work.no_shift, work, gradient)
    x, y, z = multiply_transposed(work.R, B, gradient[0], gradient[1], gradient[2])
    gradient[0], gradient[1], gradient[2] = x, y, z


@jit
def differentiate_by_target(terms, m, shift, work, gradient):
    """Write the gradient (3,) by the target of term m in the world, for the twist in work.h."""
    k, kind, W = np.int64(terms.frame[m]), terms.kind[m], terms.weight
    r, f, D, X, xi = work.r, work.f, work.D, work.X, work.h
    local_residual(terms, m, work.R, work.p, shift, work.e, r)
    for i in range(3):
        f[i] = W[m, i, 0] * r[0] + W[m, i, 1] * r[1] + W[m, i, 2] * r[2]
    local_derivatives(terms, m, work.R, shift, work.e, r, f, D, X)
    sx, sy, sz = cross(xi[0], xi[1], xi[2], work.e[0], work.e[1], work.e[2])
    xi[3], xi[4], xi[5] = xi[3] + sx, xi[4] + sy, xi[5] + sz
    gx = D[0, 0] * f[0] + D[1, 0] * f[1] + D[2, 0] * f[2]
    gy = D[0, 1] * f[0] + D[1, 1] * f[1] + D[2, 1] * f[2]
    gz = D[0, 2] * f[0] + D[1, 2] * f[1] + D[2, 2] * f[2]
    for i in range(3):
        r[i] = 0.0
        for j in range(6):
            r[i] += D[i, j] * xi[j]
    for i in range(3):
        f[i] = W[m, i, 0] * r[0] + W[m, i, 1] * r[1] + W[m, i, 2] * r[2]
        gradient[i] = f[i]
    if kind == DIRECTION:
        return
    first = 0 if kind == LOG else 3
    for i in range(3):
        gradient[i] = -(D[0, first + i] * f[0] + D[1, first + i] * f[1] + D[2, first + i] * f[2])
        for j in range(6):
            gradient[i] -= X[first + i, j] * xi[j]
    if kind == LOG:
        cx, cy, cz = cross(gx, gy, gz, xi[0], xi[1], xi[2])
        r[0] = gradient[0] - 0.5 * cx
        r[1] = gradient[1] - 0.5 * cy
        r[2] = gradient[2] - 0.5 * cz
        turn_to_target(terms.rotation, m, work.R, k, r, gradient)


@jit
def turn_to_target(rotation, m, R, k, vector, turned):
    """Write E v with E = R_t Rᵀ, both (3,)."""
    for i in range(3):
        turned[i] = 0.0
    for a in range(3):
        along = R[k, 0, a] * vector[0] + R[k, 1, a] * vector[1] + R[k, 2, a] * vector[2]
        for i in range(3):
            turned[i] += rotation[m, i, a] * along


@jit_nogil
def backpropagate_frames(tree, free, q, by_position, by_rotation, by_dof, work):
    """Write the gradients of a loss by the dofs, (B, nv), at the poses q (B, nq).

    Args: gradients by the origins, (B, n, 3), and by the entries of the rotations, (B, n, 3, 3), of
    all frames but the world's; `free` (nv,) is 1.
    """
    coupled = tree.driven.shape[0] > 0
    for i in range(3):
        work.origin[i] = 0.0
    for b in range(q.shape[0]):
        if coupled:
            expand_coordinates(
                tree, q[b], work.joint_q, work.joint_dofs[SLOPE], work.joint_dofs[BEND]
            )
        forward_kinematics(
            tree,
            work.joint_q if coupled else q[b],
            work.origin,
            work.sine,
            work.cosine,
            work.R,
            work.p,
            work.S,
        )
        for c in range(WRENCH_SIZE):
            work.sums[0, c] = 0.0
        for k in range(1, tree.parent.shape[0]):
            write_frame_wrench(k, by_position[b, k - 1], by_rotation[b, k - 1], work)
        sum_subtrees(tree, work.sums, WRENCH_SIZE)
        joint_g = work.joint_dofs[JOINT_GRADIENT]
        for k in range(1, tree.parent.shape[0]):
            for i in range(np.int64(tree.joint_v[k]), np.int64(tree.joint_v[k + 1])):
                joint_g[i] = dot(load(work.S, i), load(work.sums, k))
        if coupled:
            reduce_gradient(tree, joint_g, work.joint_dofs[SLOPE], free, by_dof[b])
        else:
            for i in range(by_dof.shape[1]):
                by_dof[b, i] = joint_g[i]


@jit
def write_frame_wrench(k, by_position, by_rotation, work):
    """Write the wrench of frame k about the origin: a force at p_k, and on each axis a moment."""
    fx, fy, fz = by_position[0], by_position[1], by_position[2]
    tx, ty, tz = cross(work.p[k, 0], work.p[k, 1], work.p[k, 2], fx, fy, fz)
    for a in range(3):
        x, y, z = work.R[k, 0, a], work.R[k, 1, a], work.R[k, 2, a]
        cx, cy, cz = cross(x, y, z, by_rotation[0, a], by_rotation[1, a], by_rotation[2, a])
        tx, ty, tz = tx + cx, ty + cy, tz + cz
    store(work.sums, k, (tx, ty, tz, fx, fy, fz))
