"""The equations of one step of parameters and poses together, poses eliminated.

With J_t = ∂y/∂v and K_t = ∂y/∂θ of the markers y of frame t, a step of both solves

    ⎡ A_t   B_t ⎤ ⎡ dv_t ⎤   ⎡ h_t ⎤        A_t = J_tᵀJ_t + W      h_t = J_tᵀr_t − W (q − rest)
    ⎣ B_tᵀ  C   ⎦ ⎣ dθ   ⎦ = ⎣ c   ⎦        B_t = J_tᵀK_t          C = Σ K_tᵀK_t,  c = Σ K_tᵀr_t

and with the poses eliminated

    (C − Σ B_tᵀA_t⁻¹B_t) dθ = c − Σ B_tᵀA_t⁻¹h_t

which is dense and small; W is the diagonal weight of the posture. J, K and r are multiplied by the
root of the weight that a marker has in a frame, 0 where it is missing. `fit_parameters` adds the
prior of θ to it. Dofs that are locked, or push against a limit, take no part: they are the active
set.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.recordings.calibration.fitting._scaled_skeleton import ScaledSkeleton
from exactik.recordings.tracking import TrackingProblem
from exactik.typing import Array, BoolArray

LIMIT_CONTACT_DISTANCE = 1e-9  # [rad or m] nearer to a limit than this is at it
RELATIVE_RIDGE = 1e-13  # of the trace of A, so that dofs of which nothing is known can be factored
# [m²] beside it: a frame whose markers a robust loss ignores altogether leaves its root free. Any
# positive number will do, as such a frame pulls at nothing.
MIN_RIDGE = 1e-12


class NormalEquations(NamedTuple):
    """The equations of one step, poses eliminated; n parameters."""

    matrix: Array  # C − ΣBᵀA⁻¹B [m²], (n, n)
    rhs: Array  # c − ΣBᵀA⁻¹h [m²], (n,)
    pose_step: Array  # A⁻¹h of every frame, (F, nv)
    pose_sensitivity: Array  # A⁻¹B of every frame: how poses follow the parameters, (F, nv, n)


class _Linearisation(NamedTuple):
    """All frames to first order in their poses."""

    J: Array  # ∂y/∂v, times the root of the weight, (F, M, 3, nv)
    r: Array  # residuals, times the root of the weight [m], (F, M, 3)
    root_weight: Array  # of each marker in each frame, 0 where it is missing, (F, M)
    posture_weight: Array  # the diagonal of the posture's weight, (nv,)
    posture_force: Array  # gradient of the posture's cost, (F, nv)
    at_lower: BoolArray  # dofs at their lower limit, (F, nv)
    at_upper: BoolArray  # dofs at their upper limit, (F, nv)


def compute_normal_equations(
    scaled: ScaledSkeleton, theta: Array, problem: TrackingProblem, q: Array
) -> NormalEquations:
    """Return the equations at parameters θ and poses q, (F, nq)."""
    linear = _linearise_frames(problem, q)
    J, r = linear.J, linear.r
    root_weight = linear.root_weight[..., None, None]
    pose = problem.skeleton.forward(q)
    R_world_bone = pose.rotations
    K_scales = root_weight * scaled.scale_jacobian(theta, pose)
    # Of the markers that may move: ∂y/∂d is the rotation of their bone.
    R = (root_weight * R_world_bone[:, scaled.marker_bones])[:, scaled.movable]
    groups, n = len(scaled.scale_groups), scaled.parameter_count
    J_movable, r_movable = J[:, scaled.movable], r[:, scaled.movable]

    frames, nv = len(q), J.shape[-1]
    rows = 3 * J.shape[1]
    J_flat = J.reshape(frames, rows, nv)
    K_flat = K_scales.reshape(frames, rows, groups)
    A = J_flat.transpose(0, 2, 1) @ J_flat
    B = np.empty((frames, nv, n))
    B[:, :, :groups] = J_flat.transpose(0, 2, 1) @ K_flat
    B_points = J_movable.transpose(0, 1, 3, 2) @ R  # (F, M, nv, 3)
    B[:, :, groups:] = B_points.transpose(0, 2, 1, 3).reshape(frames, nv, n - groups)
    h = (r.reshape(frames, 1, -1) @ J_flat)[:, 0] - linear.posture_force
    diagonal = np.arange(nv)
    ridge = RELATIVE_RIDGE * A.trace(axis1=1, axis2=2)[:, None] + MIN_RIDGE
    A[:, diagonal, diagonal] += linear.posture_weight + ridge
    active = problem.frame_problem.locked | (linear.at_lower & (h < 0.0))
    active |= linear.at_upper & (h > 0.0)
    A[active], B[active], h[active] = 0.0, 0.0, 0.0
    A.transpose(0, 2, 1)[active] = 0.0
    A[:, diagonal, diagonal] += active
    solved = np.linalg.solve(A, np.concatenate([B, h[..., None]], axis=2))
    pose_sensitivity = np.asarray(solved[..., :-1], float)
    pose_step = np.asarray(solved[..., -1], float)

    C = np.zeros((n, n))
    C[:groups, :groups] = np.tensordot(K_flat, K_flat, ((0, 1), (0, 1)))
    C_mixed = np.einsum("fmij,fmig->mjg", R, K_scales[:, scaled.movable])
    C[groups:, :groups] = C_mixed.reshape(n - groups, groups)
    C[:groups, groups:] = C[groups:, :groups].T
    weights = (linear.root_weight[:, scaled.movable] ** 2).sum(axis=0)  # RᵀR is I times them
    C[groups:, groups:] = np.diag(np.repeat(weights, 3))
    c = np.empty(n)
    c[:groups] = np.einsum("fng,fn->g", K_flat, r.reshape(frames, -1))
    c[groups:] = np.einsum("fmij,fmi->mj", R, r_movable).ravel()

    B_flat = B.reshape(frames * nv, n)
    return NormalEquations(
        matrix=C - B_flat.T @ pose_sensitivity.reshape(frames * nv, n),
        rhs=c - B_flat.T @ pose_step.ravel(),
        pose_step=pose_step,
        pose_sensitivity=pose_sensitivity,
    )


def _linearise_frames(problem: TrackingProblem, q: Array) -> _Linearisation:
    frame, skeleton, targets = problem.frame_problem, problem.skeleton, problem.targets
    count, trusted = len(problem.names), len(targets.confidence) > 0
    J = np.stack([frame.linearised(pose)[1][: 3 * count] for pose in q])
    J = J.reshape(len(q), count, 3, skeleton.nv)
    r = problem.residuals(q)
    root_weight = np.sqrt(problem.seen * (targets.confidence if trusted else 1.0))
    r[~problem.seen] = 0.0
    J, r = root_weight[..., None, None] * J, root_weight[..., None] * r
    weight = targets.rest_weight[0]
    force = weight * skeleton.difference(q, np.broadcast_to(targets.rest[0], q.shape))
    index = skeleton.plain_q
    values = np.where(index >= 0, q[:, np.maximum(index, 0)], 0.0)
    return _Linearisation(
        J=J,
        r=r,
        root_weight=root_weight,
        posture_weight=weight,
        posture_force=force,
        at_lower=values <= frame.lower + LIMIT_CONTACT_DISTANCE,
        at_upper=values >= frame.upper - LIMIT_CONTACT_DISTANCE,
    )
