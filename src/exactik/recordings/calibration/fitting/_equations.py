"""The equations of one step of parameters and poses together, poses eliminated.

The kernels of `kernels.fitting` sum them frame by frame, in parts of the frames that do not depend
on the threads. Here the columns of these kernels are found, and put in the order of θ. Dofs that
are locked, or push against a limit, take no part.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik._threads import run_in_threads
from exactik.kernels.fitting.columns import FigureColumns, FitScratch
from exactik.kernels.fitting.equations import add_fit_equations
from exactik.kernels.tree.couplings import SOURCE
from exactik.kernels.tree.packed import NONE, Tree
from exactik.recordings.calibration.fitting._poses import split_frames
from exactik.recordings.calibration.fitting._scaled_skeleton import ScaledSkeleton
from exactik.recordings.tracking import TrackingProblem
from exactik.typing import Array, IntArray


class FitEquations(NamedTuple):
    """The equations of one step, poses eliminated; n parameters."""

    matrix: Array  # C − ΣBᵀA⁻¹B [m²], (n, n)
    rhs: Array  # c − ΣBᵀA⁻¹h [m²], (n,)
    pose_reduction: float  # Σ h·A⁻¹h [m²], twice what the poses alone would gain


def compute_fit_equations(
    scaled: ScaledSkeleton,
    theta: Array,
    problem: TrackingProblem,
    q: Array,
    *,
    threads: int = 1,
) -> FitEquations:
    """Return the equations at parameters θ and poses q, (F, nq).

    Args:
        scaled: which parameters there are.
        theta: their values.
        problem: the frames, with the skeleton of these values.
        q: a pose for each frame.
        threads: how many.
    """
    tree, scales = problem.tree, len(scaled.scale_groups)
    order = np.argsort(_depth_first_places(tree)[scaled.marker_bones + 1], kind="stable")
    order = order[scaled.movable[order]]
    columns = _find_columns(scaled, theta, tree, order)
    count, q = scales + 1 + 3 * len(order), np.ascontiguousarray(q)
    parts = split_frames(len(q))
    sums = np.zeros((len(parts), count, count))

    def add_part(number: int) -> None:
        buffers, rows = problem.buffers, parts[number]
        add_fit_equations(
            tree,
            buffers.goals,
            problem.frame_problem.box,
            problem.targets,
            columns,
            rows,
            q[rows],
            sums[number],
            _new_scratch(tree, scales, count),
            buffers.descent_state,
            buffers.workspace,
        )

    run_in_threads(threads, add_part, range(len(parts)))
    upper = sums.sum(axis=0)
    whole = np.triu(upper) + np.triu(upper, 1).T
    number = np.cumsum(scaled.movable)[order] - 1
    of_theta = np.empty(count - 1, dtype=np.int64)
    of_theta[:scales] = np.arange(scales)
    for column, m in enumerate(number):
        of_theta[scales + 3 * m : scales + 3 * m + 3] = scales + 1 + 3 * column + np.arange(3)
    return FitEquations(
        whole[np.ix_(of_theta, of_theta)], whole[of_theta, scales], -float(whole[scales, scales])
    )


def _depth_first_places(tree: Tree) -> IntArray:
    """Return the place of each frame in depth-first order, (n + 1,)."""
    places = np.zeros(len(tree.parent), dtype=np.int64)
    places[np.asarray(tree.frame_order, dtype=np.int64)] = np.arange(len(tree.frame_order))
    return places


def _find_columns(
    scaled: ScaledSkeleton, theta: Array, tree: Tree, order: IntArray
) -> FigureColumns:
    """Return the columns of the parameters, for the markers that may move in this order."""
    scales = len(scaled.scale_groups)
    marker = np.full(len(scaled.marker_names), -1)
    marker[order] = scales + 1 + 3 * np.arange(len(order))
    end = scales + 1 + 3 * len(order)
    of_joint = np.tile([end, 0], (len(tree.parent), 1))
    for m in order:
        k = int(scaled.marker_bones[m]) + 1
        while k > 0:
            of_joint[k] = min(of_joint[k, 0], marker[m]), max(of_joint[k, 1], marker[m] + 3)
            k = int(tree.parent[k])
    of_dof = np.tile([end, 0], (int(tree.first_v[-1]), 1))
    for k in range(1, len(tree.parent)):
        for i in range(int(tree.joint_v[k]), int(tree.joint_v[k + 1])):
            source = i if len(tree.driven) == 0 else int(tree.joint_dofs[SOURCE, i])
            if source != NONE:
                _widen(of_dof, source, of_joint[k])
    for i in np.asarray(tree.dof_order, dtype=np.int64)[::-1]:
        _widen(of_dof, int(tree.dof_parent[i]), of_dof[i])
    for ranges in (of_joint, of_dof):
        ranges[ranges[:, 1] == 0] = 0
    return FigureColumns(
        scale=np.concatenate([[-1], scaled.bone_groups]),
        grows_shifts=np.append(0, scaled.grows_shifts).astype(np.uint32),
        marker=marker,
        of_joint=of_joint.astype(np.uint32),
        of_dof=of_dof.astype(np.uint32),
        lever=scaled.bone_scales(theta)[scaled.marker_bones, None] * scaled.marker_points,
    )


def _widen(ranges: IntArray, i: int, other: IntArray) -> None:
    ranges[i] = min(ranges[i, 0], other[0]), max(ranges[i, 1], other[1])


def _new_scratch(tree: Tree, scales: int, count: int) -> FitScratch:
    n, nv = len(tree.parent), int(tree.first_v[-1])
    return FitScratch(
        motion=np.zeros((n, 3, scales)),
        lever=np.zeros((3, scales)),
        scales=np.zeros((n, 6, scales)),
        shifts=np.zeros((6, count)),
        Y=np.zeros((nv, count)),
    )
