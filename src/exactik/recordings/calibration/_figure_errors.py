"""How far a fitted figure may be wrong, and what that does to the joints.

Markers do not tell all of a figure. Whether a knee is bent by 5° more, or its markers sit so much
beside their landmarks, looks the same in every frame: only the prior of the fit decides. So the
dofs have errors that last, beside those of the noise. With parameters p, covariance Σ of them, and
markers y(q, p) of weights w, a pose that follows the markers is off by (docs/maths.md §15)

    dq = −A⁻¹ Jᵀ w K dp ,    A = Σ w JᵀJ + P ,    K = ∂y/∂p ,    cov(q) = G Σ Gᵀ

Parameters are those of the fit, θ, and others φ that it does not have: where joints are, and how
their axes are tilted. θ makes up for a part of φ, as it was fitted to the same markers:

    dθ = −Σ_θ N_θφ dφ + ε ,    N = Σ_frames (KᵀwK − KᵀwJ A⁻¹ JᵀwK) / σ²
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik._threads import keep_blas_on_one_thread
from exactik.model import Skeleton
from exactik.model.motion import choose_even_frames
from exactik.recordings.calibration.fitting import FitSolution, ScaledSkeleton
from exactik.recordings.tracking import FigureErrors
from exactik.typing import Array, BoolArray, IntArray

JOINT_SD = 0.0043
"""Of the place of a joint along each axis, beside what scales and markers tell, as a share of the
figure's extent: 7 mm of an adult. By hand, like the next; `make campaign` tells what bars hold.
"""
AXIS_SD = np.radians(3.0)  # of the axes of a joint, about each of them
MAX_POSES = 40  # at which it is computed: a joint's errors change little with its pose
MIN_INFORMATION = 1e-12  # of a dof that neither markers nor posture hold [m²]


class _Poses(NamedTuple):
    """Some frames of a fit."""

    solution: FitSolution
    q: Array  # (F, nq)
    weights: Array  # of the markers, 0 where one is missing, (F, M)
    jacobians: Array  # J, (F, M, 3, nv), of dofs that are not locked
    rotations: Array  # R_world_bone, (F, B, 3, 3)
    positions: Array  # of the bones [m, world], (F, B, 3)
    places: Array  # of the markers on the figure [m, world], (F, M, 3)


@keep_blas_on_one_thread()
def estimate_figure_errors(solution: FitSolution) -> FigureErrors:
    """Return how far a fitted figure, as it may be wrong, turns the joints of its poses."""
    poses, fitted = _choose_poses(solution), solution.scaled.parameter_count
    K = np.concatenate([_compute_fit_columns(poses), _compute_joint_columns(poses)], axis=3)
    frames, count, nv = len(poses.q), K.shape[3], solution.problem.skeleton.nv
    held = np.atleast_2d(solution.problem.targets.rest_weight).mean(axis=0)
    held = np.diag(held + MIN_INFORMATION)
    moved, information = np.empty((frames, nv, count)), np.zeros((fitted, count))
    rows = 3 * poses.weights.shape[1]
    for f in range(frames):
        w = np.repeat(poses.weights[f], 3)[:, None]
        J, K_f = poses.jacobians[f].reshape(rows, nv), K[f].reshape(rows, count)
        moved[f] = np.linalg.solve((w * J).T @ J + held, (w * J).T @ K_f)
        information += (w * K_f[:, :fitted]).T @ (K_f - J @ moved[f])
    # Of all frames of the fit, of which these are some.
    information *= len(solution.solutions.q) / frames / solution.sigma**2
    prior = solution.prior.precision(solution.scaled)
    Sigma = np.linalg.inv(information[:, :fitted] + prior)
    extent = float(np.ptp(poses.positions, axis=1).max())
    sds = (JOINT_SD * extent, AXIS_SD)
    sd = np.concatenate([np.full((count - fitted) // 2, one) for one in sds])
    root = np.linalg.cholesky(Sigma)
    answered = -(Sigma @ information[:, fitted:]) * sd
    of_fit, of_joints = moved[:, :, :fitted], moved[:, :, fitted:] * sd
    G = np.concatenate([of_fit @ root, of_joints + of_fit @ answered], axis=2)
    return FigureErrors(solution.problem.skeleton, poses.q, G @ np.swapaxes(G, 1, 2))


def _choose_poses(solution: FitSolution) -> _Poses:
    problem, skeleton = solution.problem, solution.problem.skeleton
    rows = choose_even_frames(len(solution.solutions.q), MAX_POSES)
    q, names = solution.solutions.q[rows], problem.names
    pose, order = skeleton.forward(q), list(skeleton.markers)
    jacobians = np.array([problem.frame_problem.jacobian(one)[: 3 * len(names)] for one in q])
    jacobians[:, :, np.asarray(problem.frame_problem.locked)] = 0.0
    return _Poses(
        solution=solution,
        q=q,
        weights=np.asarray(problem.targets.weight) * solution.weights[rows],
        jacobians=jacobians.reshape(len(q), len(names), 3, -1),
        rotations=pose.rotations,
        positions=pose.positions,
        places=pose.markers[:, [order.index(name) for name in names]],
    )


def _compute_fit_columns(poses: _Poses) -> Array:
    """Return ∂y/∂θ of the markers, (F, M, 3, n)."""
    scaled, theta = poses.solution.scaled, poses.solution.theta
    scale, scales = scaled.bone_scales(theta), len(scaled.scale_groups)
    skeleton, groups = poses.solution.problem.skeleton, scaled.bone_groups
    frames, bones = poses.positions.shape[:2]
    motion = np.zeros((frames, bones, 3, scales))
    for k, parent in enumerate(skeleton.parents.tolist()):
        if parent < 0:
            continue
        motion[:, k] = motion[:, parent]
        if groups[parent] >= 0:
            grown = poses.rotations[:, parent] @ np.asarray(skeleton.bones[k].offset)
            if scaled.grows_shifts[k]:
                grown = poses.positions[:, k] - poses.positions[:, parent]
            motion[:, k, :, groups[parent]] += grown
    columns = np.zeros((*poses.places.shape, scaled.parameter_count))
    first = scales
    for m, bone in enumerate(scaled.marker_bones.tolist()):
        columns[:, m, :, :scales] = motion[:, bone]
        if groups[bone] >= 0:
            lever = scale[bone] * scaled.marker_points[m]
            columns[:, m, :, groups[bone]] += poses.rotations[:, bone] @ lever
        if scaled.movable[m]:
            columns[:, m, :, first : first + 3] = poses.rotations[:, bone]
            first += 3
    return columns


def _compute_joint_columns(poses: _Poses) -> Array:
    """Return ∂y/∂φ of the markers: shifts of joints, then tilts of their axes, (F, M, 3, 6n).

    A tilt a of the axes before the joint and −a behind it leaves the rest pose where it is; what is
    beyond a joint that turns by E is turned by (1 − E) a.
    """
    skeleton, scaled = poses.solution.problem.skeleton, poses.solution.scaled
    joints = [k for k in np.unique(skeleton.dof_bones).tolist() if skeleton.parents[k] >= 0]
    columns = np.zeros((2, len(joints), *poses.places.shape, 3))
    for j, k in enumerate(joints):
        beyond = _find_markers_beyond(skeleton, scaled, k)
        R_world_parent = poses.rotations[:, skeleton.parents[k]]
        pre, post = (np.asarray(R) for R in skeleton.bones[k].constant_rotations)
        R_world_pre = R_world_parent @ pre
        E = np.swapaxes(R_world_pre, 1, 2) @ poses.rotations[:, k] @ post.T
        turn = np.swapaxes(R_world_pre @ (np.eye(3) - E), 1, 2)  # a row for each axis of a
        lever = poses.places[:, beyond] - poses.positions[:, None, k]
        columns[0, j, :, beyond] = R_world_parent
        moved = np.cross(turn[:, None], lever[:, :, None, :])
        columns[1, j, :, beyond] = np.moveaxis(moved, (1, 3), (0, 2))
    frames, count = poses.places.shape[:2]
    return np.moveaxis(columns, (0, 1), (3, 4)).reshape(frames, count, 3, -1)


def _find_markers_beyond(skeleton: Skeleton, scaled: ScaledSkeleton, bone: int) -> IntArray:
    """Return the markers on a bone and the bones that it carries, (k,)."""
    carried: BoolArray = np.zeros(len(skeleton.bones), dtype=bool)
    carried[bone] = True
    for k in range(bone + 1, len(carried)):  # parents come before their children
        parent = int(skeleton.parents[k])
        carried[k] |= parent >= 0 and carried[parent]
    return np.flatnonzero(carried[scaled.marker_bones])
