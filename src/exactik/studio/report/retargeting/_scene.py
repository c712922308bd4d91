"""The figure and its source side by side, as a scene for the player."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from exactik.model import Pose
from exactik.model.motion import Motion
from exactik.studio.player.scene import Ghost, PlayerScene, compose_scene
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.retargeting import Retargeting


GAP_SHARE = 0.8  # of the height of the taller one, between hips: arms held out hardly touch


def compose_pair(result: Retargeting, wanted: list[int], first: int) -> PlayerScene:
    """Return both: the source, pale, keeps to the left of the figure, hip beside hip.

    Whatever the ratio of their legs, they so stay together; heights are those of each.

    Args:
        result: of the retargeting.
        wanted: frames that are shown in any case.
    """
    motion, skeleton = result.motion, result.target_figure.skeleton
    scene = compose_scene(
        Motion(skeleton, motion.q, motion.rate, up_axis="z"), wanted=wanted, first=first
    )
    source, frames = result.source_body, scene.frames
    assert scene.pose is not None
    hips = _find_hips(result, scene.pose)
    places = source.positions[frames]
    shift = hips - source.hip_centres()[frames] + _find_aside(result, scene.pose, hips)
    shift[:, 2] = 0.0
    pose = Pose(source.figure.skeleton, places + shift[:, None], source.rotations[frames])
    ghost = Ghost(pose, np.ones(len(frames), dtype=bool))
    return replace(scene, ghosts=(ghost,))


def _find_hips(result: Retargeting, pose: Pose) -> Array:
    """Return the middle of the figure's hips [m, world], (K, 3)."""
    thighs = [result.target_figure.start_of(f"{side}_thigh") for side in ("left", "right")]
    return pose.positions[:, thighs].mean(axis=1)


def _find_aside(result: Retargeting, pose: Pose, hips: Array) -> Array:
    """Return from the figure to its source [m, world], (3,): left of where it goes or faces."""
    left, right = (result.target_figure.start_of(f"{s}_thigh") for s in ("left", "right"))
    across = (pose.positions[:, left] - pose.positions[:, right]).mean(axis=0)
    way = hips[-1] - hips[0]
    heights = [
        np.ptp(part[..., 2], axis=1).max()
        for part in (pose.positions, result.source_body.positions)
    ]
    if np.hypot(way[0], way[1]) > max(heights):  # it goes somewhere
        across = np.array([-way[1], way[0], 0.0])
    across[2] = 0.0
    length = float(np.linalg.norm(across))
    unit = across / length if length > 1e-9 else np.array([0.0, 1.0, 0.0])
    return GAP_SHARE * float(max(heights)) * unit
