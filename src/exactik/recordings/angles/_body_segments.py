"""Segments of the body and their anatomical frames, on any skeleton of a person.

A segment's frame follows the recommendations of the ISB (Wu et al. 2002, 2005): in the anatomical
position x points forward, y up and z to the right, on both sides of the body. The long axis y of a
limb runs through its joint centres, from the distal to the proximal one; x is what is forward at
rest, made perpendicular to it. Pelvis, thorax, head and feet have the axes of the body at rest, and
so they must stand there: upright, looking along an axis of the world, feet flat. Arms may be at any
height, thumbs forward.

Which bone a segment is, `anatomy.describe_body` tells.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from exactik._text import join_names
from exactik.anatomy import Anatomy, BodyPart, describe_body, find_left_direction, find_up_direction
from exactik.errors import ModelError, UnknownNameError, UsageError
from exactik.model import Skeleton
from exactik.typing import Array

SIDES = ("r", "l")
SIDE_NAMES = {"r": "right", "l": "left"}

_MIDDLE = ("pelvis", "thorax", "head")
_LIMBS = ("thigh", "shank", "foot", "toes", "upper_arm", "forearm", "radius", "hand")
SEGMENTS = _MIDDLE + tuple(f"{limb}_{side}" for side in SIDES for limb in _LIMBS)
"""Names of the segments; "radius" is the far end of the forearm, which turns with the hand."""

# Segment → part of the body, where it is called otherwise; a radius is the end of the forearm.
_PARTS = {"shank": "shin", "thorax": "chest", "radius": "forearm"}
# Segments with a long axis: joint centres at its near and far end. A hand goes on as the forearm.
LONG_AXES = {
    "thigh": ("thigh", "shank"),
    "shank": ("shank", "foot"),
    "upper_arm": ("upper_arm", "forearm"),
    "forearm": ("forearm", "hand"),
    "radius": ("forearm", "hand"),
    "hand": ("forearm", "hand"),
}
PAIRED_PARTS = ("thigh", "upper_arm", "shin", "foot")  # the first that has two tells what is right
MAX_LISTED_BONES = 6  # in a message
MIN_FORWARD = 0.1  # share of "forward" across a limb, below which the limb itself points forward
MIN_AXIS_COSINE = 0.8  # between what is right or up at rest and the nearest axis of the world


@dataclass(frozen=True, eq=False)
class BodySegments:
    """What the bones of a skeleton are in anatomy."""

    skeleton: Skeleton  # whose bones they are
    bones: Mapping[str, str]  # segment → name of the bone; only those that the skeleton has
    centres: Mapping[str, str]  # segment → name of the bone whose origin is the centre of its joint
    # Segment → its axes (forward, up, right) in the bone's frame, (3, 3)
    R_bone_segment: Mapping[str, Array]
    # Axes of the laboratory (forward, up, right) in the world, (3, 3): those of the figure at rest
    R_world_lab: Array

    def compute_rotations(self, segment: str, rotations: Array) -> Array:
        """Return R_world_segment, (…, 3, 3), from R_world_bone of all bones, (…, n_bones, 3, 3)."""
        if segment == "lab":
            return np.broadcast_to(self.R_world_lab, (*rotations.shape[:-3], 3, 3))
        bone = self.skeleton.bone_index(self.bones[segment])
        return rotations[..., bone, :, :] @ self.R_bone_segment[segment]


def find_body_segments(skeleton: Skeleton, bones: Mapping[str, str] | None = None) -> BodySegments:
    """Return the segments of the body that a skeleton has.

    Args:
        skeleton: of a person.
        bones: segment → bone, in addition to what the names tell, and before it.

    Raises:
        UsageError: no pelvis or thorax is known, or the figure does not stand upright at rest.
        UnknownNameError: a segment or bone of `bones` that does not exist.
    """
    body = describe_body(skeleton)
    found = _find_bones(body)
    for segment, bone in (bones or {}).items():
        if segment not in SEGMENTS:
            raise UnknownNameError("segment", segment, SEGMENTS)
        skeleton.bone_index(bone)
        found[segment] = BodyPart.of_bone(bone)
    origins, rotations = _compute_rest_pose(skeleton)
    centres = {name: origins[skeleton.bone_index(part.start)] for name, part in found.items()}
    parts = {_name_part(name): part for name, part in found.items() if name[:-2] != "radius"}
    R_world_body = _find_body_axes(replace(body, parts=parts), origins)
    frames = {}
    for segment, (bone, _) in found.items():
        R_world_bone = rotations[skeleton.bone_index(bone)]
        frames[segment] = R_world_bone.T @ _make_rest_frame(segment, centres, R_world_body)
    return BodySegments(
        skeleton=skeleton,
        bones=MappingProxyType({name: found[name].bone for name in SEGMENTS if name in found}),
        centres=MappingProxyType({name: part.start for name, part in found.items()}),
        R_bone_segment=MappingProxyType(frames),
        R_world_lab=R_world_body,
    )


def is_body(skeleton: Skeleton) -> bool:
    """Tell whether a skeleton is a body whose segments are known by the names of its bones."""
    try:
        find_body_segments(skeleton)
    except UsageError:
        return False
    return True


# --- names


def _find_bones(body: Anatomy) -> dict[str, BodyPart]:
    """Return the segments of a body, without a thorax that is the pelvis."""
    found = {}
    for segment in SEGMENTS:
        part = body.parts.get(_name_part(segment))
        if part is not None and segment[:-2] == "forearm":
            part = BodyPart.of_bone(part.start)
        if part is not None:
            found[segment] = part
    return found


def _name_part(segment: str) -> str:
    """Return the part of the body that a segment is: "left_shin" of "shank_l"."""
    if segment in _MIDDLE:
        return _PARTS.get(segment, segment)
    name, side = segment[:-2], segment[-1]
    return f"{SIDE_NAMES[side]}_{_PARTS.get(name, name)}"


# --- frames at rest


def _compute_rest_pose(skeleton: Skeleton) -> tuple[Array, Array]:
    """Return origins (n_bones, 3) and R_world_bone (n_bones, 3, 3) at zero, limits ignored."""
    q = np.zeros(skeleton.nq)
    for _, first in skeleton.quaternions:
        q[first] = 1.0
    pose = skeleton.forward(q)
    return pose.positions, pose.rotations


def _find_body_axes(body: Anatomy, origins: Array) -> Array:
    """Return forward, up and right of a figure at rest as columns, each along a world axis.

    Args:
        body: its segments.
        origins: of its bones at rest [m], (n_bones, 3).
    """
    skeleton, up_direction = body.skeleton, np.zeros(3)
    lines = [find_left_direction(body, origins, (part,)) for part in PAIRED_PARTS]
    left = next((line for line in lines if line.any()), None)
    with contextlib.suppress(ModelError):
        up_direction = find_up_direction(body, origins[None])
    if left is None or not up_direction.any():
        bones = join_names(skeleton.bone_names, MAX_LISTED_BONES, spare=1)
        raise UsageError(
            f"no body is known in the skeleton {skeleton.name!r}: its bones are {bones}; expected "
            "names such as 'LeftUpLeg' or 'l_thigh', or which bone is which: "
            "bones={'thigh_r': …, 'thigh_l': …, 'shank_r': …}"
        )
    right = _snap_to_axis(skeleton, -left, "right")
    up = _snap_to_axis(skeleton, up_direction, "up")
    return np.stack([np.cross(up, right), up, right], axis=1)


def _snap_to_axis(skeleton: Skeleton, direction: Array, what: str) -> Array:
    length = float(np.linalg.norm(direction))
    axis = int(np.argmax(np.abs(direction)))
    if length == 0.0 or abs(direction[axis]) < MIN_AXIS_COSINE * length:
        raise UsageError(
            f"the skeleton {skeleton.name!r} does not stand upright along the axes of the world at "
            f"rest: what is {what} of it points to {np.round(direction, 3).tolist()}"
        )
    snapped = np.zeros(3)
    snapped[axis] = np.sign(direction[axis])
    return snapped


def _make_rest_frame(segment: str, centres: Mapping[str, Array], R_world_body: Array) -> Array:
    """Return the axes (forward, up, right) of a segment at rest as columns, (3, 3)."""
    name, side = segment[:-2], segment[-1]
    near, far = (f"{end}_{side}" for end in LONG_AXES.get(name, ("", "")))
    if near not in centres or far not in centres:
        return R_world_body
    up = centres[near] - centres[far]
    length = float(np.linalg.norm(up))
    forward = R_world_body[:, 0] - up * (up @ R_world_body[:, 0]) / max(length, 1e-12) ** 2
    size = float(np.linalg.norm(forward))
    if length == 0.0 or size < MIN_FORWARD:
        return R_world_body
    up, forward = up / length, forward / size
    return np.stack([forward, up, np.cross(forward, up)], axis=1)
