"""Jumps of a limb that the source does not make, spread over a moment.

Limits may leave no continuous way: an arm that circles must turn back somewhere. Frame by frame the
limb then jumps from one end to the other. Where a part of it turns far more from one frame to the
next than the source's does, the jump is undone by a change that grows over the frames before it and
fades over those after it, so that the limb changes over quickly, but visibly on its way.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exactik.anatomy import LIMBS
from exactik.model import Pose, Skeleton
from exactik.retargeting._feet import fade_out
from exactik.retargeting.body import BodyFigure, Limb, SourceBody, find_limb, find_limb_dofs
from exactik.spatial import angle_between
from exactik.typing import Array, IntArray

TRUNK_PARTS = ("chest", "head", "left_clavicle", "right_clavicle")
JUMP_SPEED = 6.0
"""[rad/s] that a part may turn beyond twice what the source's limb does around that frame: limbs of
people who walk reach 6, so that less is no jump to the eye; 3° a frame at 120 Hz."""
SOURCE_FRAMES = 2  # before and after, in which the source may have made the turn
SPREAD_SECONDS = 0.2
"""[s] before and after a jump over which it is spread: half a turn then peaks at 15 rad/s, as fast
as people move arms."""


def find_limb_jumps(source: SourceBody, target: BodyFigure, pose: Pose, name: str) -> IntArray:
    """Return the frames after which a limb of the target jumps and the source's does not."""
    source_steps, steps = measure_limb_steps(source, target, pose, name)
    return find_jump_frames(steps, source_steps, source.rate)


def measure_limb_steps(
    source: SourceBody, target: BodyFigure, pose: Pose, name: str
) -> tuple[Array, Array]:
    """Return how far a limb turns from frame to frame [rad], (T − 1,): of source and target."""
    limb, own = find_limb(target, name), find_limb(source.figure, name)
    source_pose = Pose(source.figure.skeleton, source.positions, source.rotations)
    return (
        compute_turn_steps(source_pose, own.bones, own.body),
        compute_turn_steps(pose, limb.bones, limb.body),
    )


def measure_trunk_steps(
    source: SourceBody, target: BodyFigure, pose: Pose
) -> tuple[Array, Array] | None:
    """Return how far a trunk turns from frame to frame [rad], (T − 1,): of source and target.

    Chest, head and clavicles against the pelvis, as far as both bodies have them; None for none.
    """
    own = source.figure
    both = set(own.anatomy.parts) & set(target.anatomy.parts)
    parts = [part for part in TRUNK_PARTS if part in both]
    if len(parts) == 0:
        return None
    source_pose = Pose(own.skeleton, source.positions, source.rotations)
    return (
        compute_turn_steps(source_pose, [own.bone_of(p) for p in parts], own.bone_of("pelvis")),
        compute_turn_steps(pose, [target.bone_of(p) for p in parts], target.bone_of("pelvis")),
    )


def compute_turn_steps(pose: Pose, bones: Sequence[str], body: str) -> Array:
    """Return the largest turn of bones against a body from frame to frame [rad], (T − 1,)."""
    skeleton = pose.skeleton
    index = [skeleton.bone_index(bone) for bone in bones]
    R_world_body = pose.rotations[:, skeleton.bone_index(body)]
    seen = np.einsum("tji,tbjk->tbik", R_world_body, pose.rotations[:, index])
    return angle_between(seen[:-1], seen[1:]).max(axis=1)


def find_jump_frames(steps: Array, source_steps: Array, rate: float) -> IntArray:
    """Return the frames after which a limb jumps.

    Args:
        steps: of the target's limb [rad], (T − 1,).
        source_steps: of the source's [rad], (T − 1,).
    """
    if len(steps) == 0:
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero(steps > compute_allowed_steps(source_steps, rate))


def compute_allowed_steps(source_steps: Array, rate: float) -> Array:
    """Return how far a limb may turn between frames [rad], (T − 1,), see `find_jump_frames`."""
    padded = np.pad(source_steps, SOURCE_FRAMES, mode="edge")
    width = 2 * SOURCE_FRAMES + 1
    around = np.lib.stride_tricks.sliding_window_view(padded, width).max(axis=1)
    return 2.0 * around + JUMP_SPEED / rate


def spread_jumps(
    skeleton: Skeleton, q: Array, limb: Limb, frames: IntArray, rate: float
) -> tuple[Array, Array]:
    """Return poses whose limb does not jump after given frames, and how much they change over.

    Args:
        q: poses, (T, nq).
        limb: what jumps.
        frames: after which it does, (n,).

    Returns:
        Poses, (T, nq), and from 0 to 1 how near each frame is to a jump, (T,).
    """
    nearness, half = np.zeros(len(q)), max(round(SPREAD_SECONDS * rate), 2)
    moves = find_limb_dofs(skeleton, limb)
    change = np.zeros((len(q), skeleton.nv))
    for t in frames:
        jump = np.where(moves, skeleton.difference(q[t + 1], q[t]), 0.0)
        before = np.arange(max(t - half + 1, 0), t + 1)
        after = np.arange(t + 1, min(t + 1 + half, len(q)))
        for part, distance, sign in ((before, t - before, 0.5), (after, after - t - 1, -0.5)):
            share = fade_out(distance / half)
            change[part] += sign * share[:, None] * jump
            nearness[part] = np.maximum(nearness[part], share)
    return skeleton.clip(skeleton.integrate(q, change)), nearness


def spread_limb_jumps(source: SourceBody, target: BodyFigure, q: Array) -> Array:
    """Return poses whose limbs do not jump where the source's do not."""
    for name in LIMBS:
        frames = find_limb_jumps(source, target, target.skeleton.forward(q), name)
        q, _ = spread_jumps(target.skeleton, q, find_limb(target, name), frames, source.rate)
    return q
