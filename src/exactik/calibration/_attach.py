"""Markers put on a skeleton from a take that has both its motion and the markers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from exactik.errors import ModelError, UnknownNameError
from exactik.model import Pose, Skeleton
from exactik.motion import Markers, Motion
from exactik.tracking import match_markers
from exactik.typing import Array

__all__ = ["attach_markers", "find_recorded_name", "to_bone_frame"]


ASTRAY = 0.15  # [m] markers that move more than this on their bones are not on them


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
    _check(skeleton, markers, motion)
    if bones is None:
        pairs = match_markers(skeleton, markers)
        if len(pairs) == 0:
            raise ModelError(
                f"no marker of the recording is on the skeleton {skeleton.name!r}; say which bone "
                "each is on: bones={'LFHD': 'head', …}"
            )
        wanted = {mine: (name, skeleton.marker(mine)[0]) for name, mine in pairs.items()}
    else:
        wanted = {name: (find_recorded_name(markers, name), bone) for name, bone in bones.items()}
    pose = motion.forward()
    placed = dict(skeleton.markers)
    spreads = []
    for name, (recorded, bone) in wanted.items():
        local = to_bone_frame(pose, skeleton.bone_index(bone), markers.marker(recorded))
        there = ~np.isnan(local).any(axis=1)
        if not there.any():
            raise ModelError(f"marker {recorded!r} is in no frame that has a pose")
        x, y, z = local[there].mean(axis=0).tolist()
        placed[name] = (bone, (x, y, z))
        spreads.append(float(np.sqrt(local[there].var(axis=0).sum())))
    if _median(spreads) > ASTRAY:
        raise ModelError(
            f"the markers move by {_median(spreads):.2f} m on their bones: motion and markers are "
            "not of the same take, or not in the same axes (see load_markers(…, axes=))"
        )
    return skeleton.with_markers(placed)


def to_bone_frame(pose: Pose, bone: int, places: Array) -> Array:
    """Return world places [m], (F, 3), in the frames of bone number `bone` [m], (F, 3)."""
    away = places - pose.positions[:, bone]
    return np.einsum("fij,fi->fj", pose.rotations[:, bone], away)


def _median(values: list[float]) -> float:
    return float(np.median(values)) if len(values) > 0 else 0.0


def _check(skeleton: Skeleton, markers: Markers, motion: Motion) -> None:
    if motion.skeleton.bones != skeleton.bones:
        raise ModelError(
            f"the motion is of the skeleton {motion.skeleton.name!r}, whose bones differ from "
            f"those of {skeleton.name!r}"
        )
    if len(markers) != len(motion):
        raise ModelError(
            f"the markers have {len(markers)} frames and the motion {len(motion)}; they must be of "
            "the same frames (see `between`)"
        )
    if abs(markers.rate - motion.rate) > 1e-3 * motion.rate:
        raise ModelError(
            f"the markers have {markers.rate:g} frames a second and the motion {motion.rate:g}; "
            "they must be of the same frames (see `resampled`)"
        )


def find_recorded_name(markers: Markers, name: str) -> str:
    """Return the recorded name of a marker given by its whole name or without its prefix."""
    if name in markers.names:
        return name
    fits = [other for other in markers.names if other.rpartition(":")[2] == name]
    if len(fits) != 1:
        hint = f"more than one marker is called {name!r}" if len(fits) > 1 else ""
        raise UnknownNameError("marker", name, markers.names, hint)
    return fits[0]
