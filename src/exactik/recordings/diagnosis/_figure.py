"""The solved figure: its stature, and which way it looks while it goes somewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from exactik.model import Skeleton
from exactik.recordings.calibration import compare_with_anthropometry
from exactik.recordings.diagnosis._sides import find_middle_plane

if TYPE_CHECKING:
    from exactik.recordings.tracking import Track

STEP_SECONDS = 0.25  # [s] over which a direction is taken: half a step, so that sway does not count
MIN_TRAVEL = 1.0
"""[statures] of way before it has a direction: two steps; who stands or works on the spot goes
nowhere."""


def measure_stature(skeleton: Skeleton) -> float:
    """Return the stature of a figure [m]: what its bones suggest, else its longest extent."""
    stature = compare_with_anthropometry(skeleton).stature
    if np.isfinite(stature):
        return float(stature)
    pose = skeleton.forward(skeleton.neutral())
    points = np.concatenate([pose.positions, pose.markers])
    return float(np.ptp(points, axis=0).max())


def measure_heading(track: Track, span: slice, stature: float) -> float | None:
    """Return the mean cosine of where the root looks with where it goes, weighted by the way.

    1 for who walks forwards, −1 backwards; None for who goes nowhere, or if the figure has no sides
    or no axis that is up.

    Args:
        track: the solved recording.
        span: frames to look at.
        stature: of the figure [m].
    """
    skeleton, up_axis = track.skeleton, track.motion.up_axis
    rest = skeleton.forward(skeleton.neutral())
    plane = find_middle_plane(skeleton)
    if plane is None or up_axis is None:
        return None
    up = np.eye(3)["xyz".index(up_axis)]
    _, to_the_right = plane
    forward_at_rest = np.cross(up, to_the_right)
    step = max(1, round(STEP_SECONDS * track.motion.rate))
    pose = skeleton.forward(np.asarray(track.motion.q)[span][::step])
    way = np.diff(pose.positions[:, 0], axis=0)
    way -= np.outer(way @ up, up)
    length = float(np.linalg.norm(way, axis=1).sum())
    net = float(np.linalg.norm(way.sum(axis=0)))
    if net < MIN_TRAVEL * stature:
        return None
    forward_in_root = rest.rotations[0].T @ forward_at_rest
    forward = pose.rotations[:-1, 0] @ forward_in_root
    return float((way * forward).sum() / length)
