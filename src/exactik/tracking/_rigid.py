"""Points moved as a rigid whole as near to others as can be (Kabsch)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.io._coordinates import joint_coordinates
from exactik.tracking._recording import Recording
from exactik.typing import Array, IntArray

__all__ = ["RigidMotions", "moved_to_markers", "rigid_motions"]


class RigidMotions(NamedTuple):
    """Motions x ↦ turn (x − middle) + aim, one of each of n sets of points.

    Attributes:
        turn: (n, 3, 3).
        middle: centre of the points [m], (n, 3).
        aim: centre of their targets [m], (n, 3).
        spread: how far the points extend along their three directions, squared, the largest first
            [m²], (n, 3); two of them must not vanish for the turn to be told.
    """

    turn: Array
    middle: Array
    aim: Array
    spread: Array


def rigid_motions(points: Array, targets: Array, weight: Array) -> RigidMotions:
    """Return the motions that take points, (n, M, 3), nearest to targets, (n, M, 3) [m].

    Args:
        points: finite, also where they have no weight.
        targets: likewise.
        weight: of each, (n, M).
    """
    share = weight / np.maximum(weight.sum(axis=1, keepdims=True), 1e-300)
    middle, aim = (np.einsum("nm,nmi->ni", share, some) for some in (points, targets))
    one, two = points - middle[:, None], targets - aim[:, None]
    U, spread, Vt = np.linalg.svd(np.einsum("nm,nmi,nmj->nij", share, two, one))
    U[:, :, 2] *= np.linalg.det(U @ Vt)[:, None]  # no mirror images
    return RigidMotions(U @ Vt, middle, aim, spread)


def moved_to_markers(recording: Recording, q: Array, which: IntArray) -> Array:
    """Return poses, (n, nq), moved as rigid wholes as near to the markers of `which` (n,) as can.

    Figures whose roots are not free to move keep their place, and all in frames of fewer than three
    markers.
    """
    skeleton, tree = recording.skeleton, recording.skeleton.tree
    roots = np.flatnonzero(skeleton.parents < 0)
    for k in roots:
        locked = recording.problem.locked[int(tree.first_v[k + 1]) : int(tree.first_v[k + 2])]
        if skeleton.bones[k].joint.kind != "free" or locked.any():
            return q.copy()
    place = recording.frames.position[which]
    seen = ~np.isnan(place[:, :, 0])
    target = np.where(seen[..., None], place, 0.0)
    residual = recording.residuals(np.ascontiguousarray(q), which)
    model = np.where(seen[..., None], target - residual, 0.0)
    weight = seen * recording.frames.weight
    turn, middle, aim, _ = rigid_motions(model, target, weight)
    pose, fitted = skeleton.forward(q), q.copy()
    # Only roots move; of the others the old coordinates are kept to the last digit.
    for k in roots:
        bone, own = skeleton.bones[k], slice(int(tree.first_q[k + 1]), int(tree.first_q[k + 2]))
        pre = np.eye(3) if bone.pre is None else np.array(bone.pre)
        post = np.eye(3) if bone.post is None else np.array(bone.post)
        moved = np.einsum("nij,nj->ni", turn, pose.positions[:, k] - middle) + aim
        fitted[:, own] = joint_coordinates(
            bone.joint, (moved - bone.offset) @ pre, pre.T @ turn @ pose.rotations[:, k] @ post.T
        )
    few = (seen.sum(axis=1) < 3) | (weight.sum(axis=1) == 0.0)
    fitted[few] = q[few]
    return fitted
