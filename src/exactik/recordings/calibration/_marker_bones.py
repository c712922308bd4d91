"""On which bone each marker is, as seen in a take that has both the motion and the markers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.anatomy.marker_sets import is_unnamed
from exactik.model import Skeleton
from exactik.model.motion import Markers, Motion
from exactik.recordings.calibration._attach import to_bone_frame
from exactik.typing import Array, IntArray

# Times the least spread, up to which the nearest bone is taken and not the steadiest.
SPREAD_TIE_RATIO = 1.3


class MarkerBone(NamedTuple):
    """The bone that a marker is on."""

    bone: str  # its name
    spread: float  # standard deviation of the marker's place on it [m]


def find_marker_bones(motion: Motion, markers: Markers, frames: IntArray) -> dict[str, MarkerBone]:
    """Return the bone of each marker that has a name.

    The nearest of those on which it spreads hardly more than on any: joints that did not move leave
    a choice, and motions made of markers have errors of their own.

    Args:
        motion: a skeleton moving.
        markers: of the same frames, in the same axes.
        frames: those to look at.
    """
    skeleton = motion.skeleton
    pose = Motion(skeleton, motion.q[frames], motion.rate).forward()
    moving = [k for k, bone in enumerate(skeleton.bones) if bone.joint.nv > 0]
    names = [skeleton.bones[k].name for k in moving]
    bones = {}
    for name in markers.names:
        positions = markers.marker(name)[frames]
        if is_unnamed(name) or np.isfinite(positions).all(axis=1).sum() < 2:
            continue
        local = np.stack([to_bone_frame(pose, k, positions) for k in moving])
        spread = np.sqrt(np.nanvar(local, axis=1).sum(axis=1))
        middle = np.nanmean(local, axis=1)
        ties = np.flatnonzero(spread <= SPREAD_TIE_RATIO * spread.min())
        distances = [distance_from_bone(skeleton, names[j], middle[j]) for j in ties]
        j = ties[int(np.argmin(distances))]
        bones[name] = MarkerBone(names[j], float(spread[j]))
    return bones


def distance_from_bone(skeleton: Skeleton, bone: str, point: Array) -> float:
    """Return the distance of a point in a bone's frame from the lines to the joints that follow."""
    ends = skeleton.rest_offsets[skeleton.parents == skeleton.bone_index(bone)]
    distances = []
    for end in ends if len(ends) > 0 else np.zeros((1, 3)):
        along = float(np.clip(point @ end / max(float(end @ end), 1e-12), 0.0, 1.0))
        distances.append(float(np.linalg.norm(point - along * end)))
    return min(distances)
