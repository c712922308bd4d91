"""Poses moved as rigid wholes to the markers of a frame."""

from __future__ import annotations

import numpy as np

from exactik.spatial import fit_rigid_transforms
from exactik.tracking._recording import TrackingProblem
from exactik.typing import Array, IntArray

__all__ = ["align_to_markers"]


def align_to_markers(recording: TrackingProblem, q: Array, which: IntArray) -> Array:
    """Return poses, (n, nq), moved as rigid wholes as near to the markers of `which` (n,) as can.

    Figures whose roots are not free to move keep their place, and all in frames of fewer than three
    markers.
    """
    skeleton, tree = recording.skeleton, recording.skeleton.tree
    roots = np.flatnonzero(skeleton.parents < 0)
    for k in roots:
        locked = recording.frame_problem.locked[int(tree.first_v[k + 1]) : int(tree.first_v[k + 2])]
        if skeleton.bones[k].joint.kind != "free" or locked.any():
            return q.copy()
    place = recording.targets.position[which]
    seen = ~np.isnan(place[:, :, 0])
    target = np.where(seen[..., None], place, 0.0)
    residual = recording.residuals(np.ascontiguousarray(q), which)
    model = np.where(seen[..., None], target - residual, 0.0)
    weight = seen * recording.targets.weight
    turn, middle, aim, _ = fit_rigid_transforms(model, target, weight)
    pose, fitted = skeleton.forward(q), q.copy()
    # Only roots move; of the others the old coordinates are kept to the last digit.
    for k in roots:
        bone, own = skeleton.bones[k], slice(int(tree.first_q[k + 1]), int(tree.first_q[k + 2]))
        pre = np.eye(3) if bone.pre is None else np.array(bone.pre)
        post = np.eye(3) if bone.post is None else np.array(bone.post)
        moved = np.einsum("nij,nj->ni", turn, pose.positions[:, k] - middle) + aim
        fitted[:, own] = bone.joint.coordinates_for(
            (moved - bone.offset) @ pre, pre.T @ turn @ pose.rotations[:, k] @ post.T
        )
    few = (seen.sum(axis=1) < 3) | (weight.sum(axis=1) == 0.0)
    fitted[few] = q[few]
    return fitted
