"""The equations of one step of parameters and poses together, poses eliminated.

The kernels of `kernels.fitting` sum them frame by frame, in parts of the frames that do not depend
on the threads. Dofs that are locked, or push against a limit, take no part.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik._threads import run_in_threads
from exactik.kernels.fitting.columns import FitScratch
from exactik.kernels.fitting.equations import add_fit_equations
from exactik.kernels.tree.packed import Tree
from exactik.recordings.calibration.fitting._columns import order_as_parameters
from exactik.recordings.calibration.fitting._poses import split_frames
from exactik.recordings.calibration.fitting._scaled_skeleton import ScaledSkeleton
from exactik.recordings.tracking import TrackingProblem
from exactik.typing import Array


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
    lever = scaled.bone_scales(theta)[scaled.marker_bones, None] * scaled.marker_points
    columns, q = scaled.columns._replace(lever=lever), np.ascontiguousarray(q)
    parts, count = split_frames(len(q)), scaled.parameter_count + 1
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
    of_theta = order_as_parameters(columns, scales)
    return FitEquations(
        whole[np.ix_(of_theta, of_theta)], whole[of_theta, scales], -float(whole[scales, scales])
    )


def _new_scratch(tree: Tree, scales: int, count: int) -> FitScratch:
    n, nv = len(tree.parent), int(tree.first_v[-1])
    return FitScratch(
        motion=np.zeros((n, 3, scales)),
        lever=np.zeros((3, scales)),
        scales=np.zeros((n, 6, scales)),
        shifts=np.zeros((6, count)),
        Y=np.zeros((nv, count)),
    )
