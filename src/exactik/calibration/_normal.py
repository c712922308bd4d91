"""The equations of one step of parameters and poses together, poses eliminated.

With J_t = ∂y/∂v and K_t = ∂y/∂θ of the markers y of frame t, a step of both solves

    ⎡ A_t   B_t ⎤ ⎡ dv_t ⎤   ⎡ h_t ⎤        A_t = J_tᵀJ_t + tie    h_t = J_tᵀr_t − tie (q − rest)
    ⎣ B_tᵀ  C   ⎦ ⎣ dθ   ⎦ = ⎣ c   ⎦        B_t = J_tᵀK_t          C = Σ K_tᵀK_t,  c = Σ K_tᵀr_t

and with the poses eliminated

    (C − Σ B_tᵀA_t⁻¹B_t) dθ = c − Σ B_tᵀA_t⁻¹h_t

which is dense and small. What is believed of θ beforehand is added to it by `fit`. Dofs that are
locked, or push against a limit, are held: they take no part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from exactik.calibration._model import ScaledSkeleton
from exactik.tracking import TrackingProblem
from exactik.typing import Array, BoolArray

__all__ = ["NormalEquations", "compute_normal_equations"]


AT_LIMIT = 1e-9  # [rad or m] nearer to a limit than this is at it
RIDGE = 1e-13  # of the trace of A, so that it can be factored where nothing is known of a dof


class NormalEquations(NamedTuple):
    """The equations of one step, poses eliminated.

    Attributes:
        matrix: C − ΣBᵀA⁻¹B [m²], (size, size).
        right: c − ΣBᵀA⁻¹h [m²], (size,).
        pose: A⁻¹h of every frame, (F, nv).
        follow: A⁻¹B of every frame: how poses follow the parameters, (F, nv, size).
    """

    matrix: Array
    right: Array
    pose: Array
    follow: Array


def compute_normal_equations(
    figure: ScaledSkeleton, theta: Array, recording: TrackingProblem, q: Array
) -> NormalEquations:
    """Return the equations at parameters θ and poses q, (F, nq)."""
    J, r, tie, held = _by_poses(recording, q)
    seen = recording.seen[..., None]
    rotations = recording.skeleton.forward(q).rotations
    by_scales = np.where(seen[..., None], figure.by_scales(theta, rotations), 0.0)
    R = np.where(seen[..., None], rotations[:, figure.bone], 0.0)[:, figure.moves]
    groups, size = len(figure.groups), figure.size
    Jm, rm = J[:, figure.moves], r[:, figure.moves]

    frames, nv = len(q), J.shape[-1]
    flat, scales = J.reshape(frames, -1, nv), by_scales.reshape(frames, 3 * len(J[0]), groups)
    A = flat.transpose(0, 2, 1) @ flat
    B = np.empty((frames, nv, size))
    B[:, :, :groups] = flat.transpose(0, 2, 1) @ scales
    turned = Jm.transpose(0, 1, 3, 2) @ R  # (F, M, nv, 3)
    B[:, :, groups:] = turned.transpose(0, 2, 1, 3).reshape(frames, nv, size - groups)
    h = (r.reshape(frames, 1, -1) @ flat)[:, 0] - tie[1]
    diagonal = np.arange(nv)
    A[:, diagonal, diagonal] += tie[0] + RIDGE * A.trace(axis1=1, axis2=2)[:, None]
    held = held(-h)
    A[held], B[held], h[held] = 0.0, 0.0, 0.0
    A.transpose(0, 2, 1)[held] = 0.0
    A[:, diagonal, diagonal] += held
    solved = np.linalg.solve(A, np.concatenate([B, h[..., None]], axis=2))
    follow, pose = np.asarray(solved[..., :-1], float), np.asarray(solved[..., -1], float)

    C = np.zeros((size, size))
    C[:groups, :groups] = np.tensordot(scales, scales, ((0, 1), (0, 1)))
    across = np.einsum("fmij,fmig->mjg", R, by_scales[:, figure.moves])
    C[groups:, :groups] = across.reshape(size - groups, groups)
    C[:groups, groups:] = C[groups:, :groups].T
    counts = recording.seen[:, figure.moves].sum(axis=0)
    C[groups:, groups:] = np.diag(np.repeat(counts, 3).astype(float))
    c = np.empty(size)
    c[:groups] = np.einsum("fng,fn->g", scales, r.reshape(frames, -1))
    c[groups:] = np.einsum("fmij,fmi->mj", R, rm).ravel()

    tall = B.reshape(frames * nv, size)
    return NormalEquations(
        C - tall.T @ follow.reshape(frames * nv, size), c - tall.T @ pose.ravel(), pose, follow
    )


def _by_poses(
    recording: TrackingProblem, q: Array
) -> tuple[Array, Array, tuple[Array, Array], Callable[[Array], BoolArray]]:
    """Return J (F, M, 3, nv), r (F, M, 3), tie and its force, and which dofs a gradient holds."""
    problem, skeleton, frames = recording.frame_problem, recording.skeleton, recording.targets
    count = len(recording.names)
    J = np.stack([problem.linearised(pose)[1][: 3 * count] for pose in q])
    J = J.reshape(len(q), count, 3, skeleton.nv)
    r = recording.residuals(q)
    J[~recording.seen], r[~recording.seen] = 0.0, 0.0
    firm = frames.rest_weight[0]
    force = firm * skeleton.difference(q, np.broadcast_to(frames.rest[0], q.shape))
    plain = skeleton.plain_q
    at = np.where(plain >= 0, q[:, np.maximum(plain, 0)], 0.0)
    low, high = at <= problem.lower + AT_LIMIT, at >= problem.upper - AT_LIMIT

    def held(gradient: Array) -> BoolArray:
        return problem.locked | (low & (gradient > 0.0)) | (high & (gradient < 0.0))

    return J, r, (firm, force), held
