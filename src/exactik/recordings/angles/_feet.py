"""Where the feet are, seen from the walking body: the signals in which steps show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exactik.errors import UsageError
from exactik.model import Pose, Skeleton
from exactik.model.motion import Motion
from exactik.recordings.angles._body_segments import SIDES, BodySegments, find_body_segments
from exactik.recordings.angles._joint_angles import iterate_poses
from exactik.typing import Array

EVENT_SMOOTHING_S = 0.01  # [s] sd of the Gaussian on paths: below a frame at 60 Hz, noise at 200 Hz
HEADING_SMOOTHING_S = 0.5  # [s] likewise on the heading: a pelvis turns to and fro once a stride


@dataclass(frozen=True, eq=False)
class FootPaths:
    """A foot over time, smoothed."""

    heel: Array  # its hindmost marker, else the ankle's centre [m, world], (T, 3)
    toe: Array  # its foremost marker, else the joint of the toes, else the ankle [m, world], (T, 3)
    heel_ahead: Array  # how far the heel is ahead of the pelvis [m], (T,)
    toe_ahead: Array  # how far the toe is ahead of the pelvis [m], (T,)


@dataclass(frozen=True, eq=False)
class Walker:
    """Both feet of a motion and which way it goes."""

    feet: dict[str, FootPaths]  # "r" and "l" → their paths
    pelvis: Array  # its origin [m, world], (T, 3)
    ahead: Array  # direction in which the pelvis looks, level and smoothed, (T, 3)
    up: Array  # axis of the world, (3,)
    uprightness: Array  # cosine between the pelvis' long axis and the vertical, (T,)
    leg_length: float  # from hip to ankle [m]


def follow_feet(motion: Motion) -> Walker:
    """Return the paths of the feet of a motion.

    Raises:
        UsageError: the figure has no pelvis or not both legs.
    """
    segments = find_body_segments(motion.skeleton)
    lacking = [
        name
        for name in ("pelvis", *(f"{part}_{s}" for s in SIDES for part in ("thigh", "foot")))
        if name not in segments.bones
    ]
    if len(lacking) > 0:
        raise UsageError(f"the skeleton {motion.skeleton.name!r} has no {lacking[0]}")
    up, rate = segments.R_world_lab[:, 1], motion.rate
    pelvis, ahead = np.empty((2, len(motion), 3))
    uprightness = np.empty(len(motion))
    ends = {side: np.empty((2, len(motion), 3)) for side in SIDES}
    for frames, pose in iterate_poses(motion):
        R_world_pelvis = segments.compute_rotations("pelvis", pose.rotations)
        forward = R_world_pelvis[:, :, 0]
        pelvis[frames] = _get_origins(segments, "pelvis", pose)
        ahead[frames] = forward - (forward @ up)[:, None] * up
        uprightness[frames] = R_world_pelvis[:, :, 1] @ up
        for side in SIDES:
            ends[side][:, frames] = _find_ends(segments, side, pose)
    pelvis = smooth_gaussian(pelvis, rate, EVENT_SMOOTHING_S)
    ahead = smooth_gaussian(ahead, rate, HEADING_SMOOTHING_S)
    ahead = ahead / np.maximum(np.linalg.norm(ahead, axis=1, keepdims=True), 1e-9)
    feet = {}
    for side in SIDES:
        heel, toe = (smooth_gaussian(path, rate, EVENT_SMOOTHING_S) for path in ends[side])
        feet[side] = FootPaths(
            heel=heel,
            toe=toe,
            heel_ahead=np.sum((heel - pelvis) * ahead, axis=1),
            toe_ahead=np.sum((toe - pelvis) * ahead, axis=1),
        )
    return Walker(
        feet=feet,
        pelvis=pelvis,
        ahead=ahead,
        up=up,
        uprightness=uprightness,
        leg_length=_measure_leg(motion.skeleton, segments),
    )


def _get_origins(segments: BodySegments, segment: str, pose: Pose) -> Array:
    """Return the path of a segment's joint centre [m, world], (T, 3)."""
    return pose.positions[:, segments.skeleton.bone_index(segments.centres[segment])]


def _find_ends(segments: BodySegments, side: str, pose: Pose) -> tuple[Array, Array]:
    """Return the paths of heel and toe [m, world], (T, 3) each."""
    skeleton = segments.skeleton
    foot, toes = segments.bones[f"foot_{side}"], segments.bones.get(f"toes_{side}")
    ankle = _get_origins(segments, f"foot_{side}", pose)
    toe_joint = ankle if toes is None else _get_origins(segments, f"toes_{side}", pose)
    forward = {
        name: (segments.R_bone_segment[f"{part}_{side}"].T @ np.array(point))[0]
        for part, where in (("foot", foot), ("toes", toes))
        for name, (bone, point) in skeleton.markers.items()
        if bone == where
    }
    on_foot = {name: x for name, x in forward.items() if skeleton.markers[name][0] == foot}
    heel = min(on_foot, key=on_foot.__getitem__, default=None)
    if heel is None or on_foot[heel] >= 0.0:
        heel_path = ankle
    else:
        heel_path = _follow_marker(skeleton, heel, pose)
    on_toes = {name: x for name, x in forward.items() if name not in on_foot} or on_foot
    toe = max(on_toes, key=on_toes.__getitem__, default=None)
    if toe is None or (toes is not None and skeleton.markers[toe][0] == foot):
        return heel_path, toe_joint
    return heel_path, _follow_marker(skeleton, toe, pose)


def _follow_marker(skeleton: Skeleton, name: str, pose: Pose) -> Array:
    """Return the path of a marker of the skeleton [m, world], (T, 3)."""
    bone, point = skeleton.markers[name]
    k = skeleton.bone_index(bone)
    return pose.positions[:, k] + pose.rotations[:, k] @ np.array(point)


def _measure_leg(skeleton: Skeleton, segments: BodySegments) -> float:
    """Return the length from hip to ankle at rest [m], of the right leg."""
    rest = skeleton.forward(skeleton.neutral()).positions
    ends = [rest[skeleton.bone_index(segments.centres[name])] for name in ("thigh_r", "foot_r")]
    return float(np.linalg.norm(ends[1] - ends[0]))


def smooth_gaussian(path: Array, rate: float, sd: float) -> Array:
    """Return a path (T, n) smoothed by a Gaussian of this sd [s]; gaps are bridged straight.

    Ends go on point-symmetrically, so that a steady walk keeps its speed there.
    """
    path = _fill_straight(path)
    count = min(int(np.ceil(3.0 * sd * rate)), len(path) - 1)
    if count < 1:
        return path
    weights = np.exp(-0.5 * (np.arange(-count, count + 1) / (sd * rate)) ** 2)
    weights /= weights.sum()
    before = 2.0 * path[:1] - path[count:0:-1]
    after = 2.0 * path[-1:] - path[-2 : -count - 2 : -1]
    padded = np.concatenate([before, path, after])
    smooth = np.empty_like(path)
    for k in range(path.shape[1]):
        smooth[:, k] = np.convolve(padded[:, k], weights, mode="valid")
    return smooth


def _fill_straight(path: Array) -> Array:
    """Return a path (T, n) whose missing frames lie on lines between their neighbours."""
    present = np.flatnonzero(np.isfinite(path).all(axis=1))
    if len(present) in (0, len(path)):
        return path
    frames = np.arange(len(path))
    filled = np.empty_like(path)
    for k in range(path.shape[1]):
        filled[:, k] = np.interp(frames, present, path[present, k])
    return filled
