"""Markers put on a skeleton from a take with motion and markers, and on which bones they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from exactik._arguments import require_instance
from exactik.anatomy.marker_sets import is_unnamed
from exactik.errors import UnknownNameError, UsageError
from exactik.model import Pose, Skeleton
from exactik.model.motion import Markers, Motion
from exactik.recordings.tracking import match_markers
from exactik.typing import Array, IntArray

# [m] median spread of markers on their bones above which the motion is of another take: skin moves
# by a few centimetres.
MAX_MEDIAN_SPREAD = 0.15
# Times the least spread, up to which the nearest bone is taken and not the steadiest.
SPREAD_TIE_RATIO = 1.3


def attach_markers(
    skeleton: Skeleton,
    markers: Markers,
    motion: Motion,
    bones: Mapping[str, str] | None = None,
) -> Skeleton:
    """Return the skeleton with markers where a take of both has them: the mean over its frames.

    Args:
        skeleton: the figure; other markers that it has are kept.
        markers: of the take, in the world of the motion: see `load_markers(…, axes=)`.
        motion: of the same skeleton and the same frames, at the same rate.
        bones: marker → bone, names as recorded or without their prefix ("Subject:"). Without it,
            the markers that the skeleton has already are put where they should be.

    Returns:
        A new skeleton; each marker's place in its bone's frame [m].
    """
    require_instance("skeleton", skeleton, Skeleton)
    require_instance("markers", markers, Markers)
    require_instance("motion", motion, Motion)
    _check_same_take(skeleton, markers, motion)
    if bones is None:
        pairs = match_markers(skeleton, markers)
        if len(pairs) == 0:
            raise UsageError(
                f"no marker of the recording is on the skeleton {skeleton.name!r}; say which bone "
                "each is on: bones={'LFHD': 'head', …}"
            )
        sources = {
            marker: (recorded, skeleton.marker(marker)[0]) for recorded, marker in pairs.items()
        }
    else:
        sources = {name: (find_recorded_name(markers, name), bone) for name, bone in bones.items()}
    pose = motion.forward()
    points = dict(skeleton.markers)
    spreads = []
    for name, (recorded, bone) in sources.items():
        local = to_bone_frame(pose, skeleton.bone_index(bone), markers.marker(recorded))
        present = ~np.isnan(local).any(axis=1)
        if not present.any():
            raise UsageError(f"marker {recorded!r} is in no frame that has a pose")
        x, y, z = local[present].mean(axis=0).tolist()
        points[name] = (bone, (x, y, z))
        spreads.append(float(np.sqrt(local[present].var(axis=0).sum())))
    if _median(spreads) > MAX_MEDIAN_SPREAD:
        raise UsageError(
            f"the markers move by {_median(spreads):.2f} m on their bones: motion and markers are "
            "not of the same take, or not in the same axes (see load_markers(…, axes=))"
        )
    return skeleton.with_markers(points)


def to_bone_frame(pose: Pose, bone: int, points_world: Array) -> Array:
    """Return world points [m], (F, 3), in the frames of bone number `bone` [m], (F, 3)."""
    R_world_bone, p_world_bone = pose.rotations[:, bone], pose.positions[:, bone]
    return np.einsum("fij,fi->fj", R_world_bone, points_world - p_world_bone)


def _median(values: list[float]) -> float:
    return float(np.median(values)) if len(values) > 0 else 0.0


def _check_same_take(skeleton: Skeleton, markers: Markers, motion: Motion) -> None:
    if motion.skeleton.bones != skeleton.bones:
        raise UsageError(
            f"the motion is of the skeleton {motion.skeleton.name!r}, whose bones differ from "
            f"those of {skeleton.name!r}"
        )
    if len(markers) != len(motion):
        raise UsageError(
            f"the markers have {len(markers)} frames and the motion {len(motion)}; they must be of "
            "the same frames (see `between`)"
        )
    if abs(markers.rate - motion.rate) > 1e-3 * motion.rate:
        raise UsageError(
            f"the markers have {markers.rate:g} frames a second and the motion {motion.rate:g}; "
            "they must be of the same frames (see `resampled`)"
        )


def find_recorded_name(markers: Markers, name: str) -> str:
    """Return the recorded name of a marker given by its whole name or without its prefix."""
    if name in markers.names:
        return name
    matches = [recorded for recorded in markers.names if recorded.rpartition(":")[2] == name]
    if len(matches) != 1:
        hint = f"more than one marker is called {name!r}" if len(matches) > 1 else ""
        raise UnknownNameError("marker", name, markers.names, hint)
    return matches[0]


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
