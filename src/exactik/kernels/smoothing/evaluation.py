"""The sum that smoothing minimises, over all frames of a sequence, and its derivatives.

    Σ_t cost_t(q_t) + accelerations(q)

The first sum has a block of curvature a frame; accelerations couple neighbours in time
(`accelerations.py`). The workspace that all of smoothing shares is here too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.compile import jit_nogil
from exactik.kernels.calculus.evaluate import evaluate
from exactik.kernels.calculus.workspace import SLOPE
from exactik.kernels.goals.sums import VALUE
from exactik.kernels.recording.frames import set_frame
from exactik.kernels.smoothing.accelerations import add_accelerations
from exactik.kernels.tree.packed import Tree
from exactik.typing import Array


class SequenceWorkspace(NamedTuple):
    """Scratch arrays and results of up to T frames that are solved together; one per thread.

    Frames of the tree are numbered as in `Tree`, 0 … n; axes and rotations are those in the world.
    """

    # What `evaluate_sequence` writes.
    cost: Array  #            (T,) of the markers [m²]
    g: Array  #               (T, nv) gradient of the sum
    L: Array  #               (T, nv, width) curvature of the cost by ancestor rows, then factors
    axes: Array  #            (T, joint nv, 3) of the dofs of the joints, see `accelerations`
    R: Array  #               (T, n + 1, 3, 3) R_world_bone
    # The coordinates of a frame, see `coordinates.py`.
    active_set: Array  #      (T, nv) 1 for dofs held at a limit
    pivot: Array  #           (T, nv) D
    curvature: Array  #       (T, nv) h
    stiffness: Array  #       (T, nv) κ
    inverse: Array  #         (nv, width) L⁻¹ of one frame by ancestor rows
    bone_turn: Array  #       (n + 1, 3, width) turn of a bone by the coordinates on its path
    subtree: Array  #         (n + 1, 3, 3) weights of accelerations, summed up the tree
    path: Array  #            (width,) one value for each level of the path to a dof
    variance: Array  #        (2, nv) of the coordinates, and of their second differences
    # The preconditioner: factors LᵀDL, in time, of the five diagonals of every coordinate.
    d: Array  #               (T, nv) D
    below: Array  #           (T, nv) L against the frame before
    second_below: Array  #    (T, nv) L against the one before that
    # Conjugate gradients, in coordinates but for the step.
    step: Array  #            (T, nv) of the dofs [rad or m]
    y: Array  #               (T, nv) the same step in coordinates
    residual: Array  #        (T, nv)
    preconditioned: Array  #  (T, nv) residual
    direction: Array  #       (T, nv)
    product: Array  #         (T, nv) of the matrix and the direction
    # Scratch of `accelerations.py`.
    velocity: Array  #        (T, n + 1, 3)
    torque: Array  #          (T, n + 1, 3)
    turn: Array  #            (T, n + 1, 3)
    total_torque: Array  #    (n + 1, 3)


def new_sequence_workspace(tree: Tree, frames: int, width: int) -> SequenceWorkspace:
    """Return the workspace for up to so many frames; `width` is that of ancestor rows."""
    nv, bones = int(tree.first_v[-1]), len(tree.parent)
    by_dof, by_bone = (frames, nv), (frames, bones, 3)
    return SequenceWorkspace(
        cost=np.zeros(frames),
        g=np.zeros(by_dof),
        L=np.zeros((frames, nv, width)),
        axes=np.zeros((frames, int(tree.joint_v[-1]), 3)),
        R=np.zeros((frames, bones, 3, 3)),
        active_set=np.zeros(by_dof),
        pivot=np.zeros(by_dof),
        curvature=np.zeros(by_dof),
        stiffness=np.zeros(by_dof),
        inverse=np.zeros((nv, width)),
        bone_turn=np.zeros((bones, 3, width)),
        subtree=np.zeros((bones, 3, 3)),
        path=np.zeros(width),
        variance=np.zeros((2, nv)),
        d=np.zeros(by_dof),
        below=np.zeros(by_dof),
        second_below=np.zeros(by_dof),
        step=np.zeros(by_dof),
        y=np.zeros(by_dof),
        residual=np.zeros(by_dof),
        preconditioned=np.zeros(by_dof),
        direction=np.zeros(by_dof),
        product=np.zeros(by_dof),
        velocity=np.zeros(by_bone),
        torque=np.zeros(by_bone),
        turn=np.zeros(by_bone),
        total_torque=np.zeros((bones, 3)),
    )


@jit_nogil
def evaluate_sequence(tree, goals, targets, prior, order, frame_numbers, q, work, sequence):
    """Return the sum to minimise [m²] at poses q (T, nq); what it is made of is in `sequence`.

    Args:
        tree: the skeleton.
        goals: of one frame; set to each in turn.
        targets: `FrameTargets` of the recording.
        prior: weights of accelerations.
        order: VALUE, or GAUSS_NEWTON for gradient and curvature as well. The curvature is that of
            the markers alone: that of the accelerations is added where it is factored.
        frame_numbers: (T,) frames of the recording that these are.
        q: their poses.
        work: workspace of one frame.
        sequence: workspace of all of them.
    """
    total = 0.0
    for k in range(q.shape[0]):
        set_frame(tree, goals, targets, frame_numbers[k], q[k])
        sequence.cost[k] = evaluate(tree, goals, q[k], np.int64(order), work)
        total += sequence.cost[k]
        for b in range(work.R.shape[0]):
            for i in range(3):
                for j in range(3):
                    sequence.R[k, b, i, j] = work.R[b, i, j]
        for i in range(work.S.shape[0]):
            for c in range(3):
                sequence.axes[k, i, c] = work.S[i, c]
        if tree.driven.shape[0] != 0:
            for i in range(work.S.shape[0]):
                for c in range(3):
                    sequence.axes[k, i, c] *= work.joint_dofs[SLOPE, i]
        for i in range(sequence.g.shape[1]):
            if order > VALUE:
                sequence.g[k, i] = work.g[i]
                for j in range(work.H.shape[1]):
                    sequence.L[k, i, j] = work.H[i, j]
    return total + add_accelerations(
        tree,
        prior,
        order > VALUE,
        q,
        sequence.axes,
        sequence.R,
        sequence.velocity,
        sequence.torque[: q.shape[0]],
        sequence.total_torque,
        sequence.g,
    )
