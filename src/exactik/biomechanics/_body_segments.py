"""Segments of the body and their anatomical frames, on any skeleton of a person.

A segment's frame follows the recommendations of the ISB (Wu et al. 2002, 2005): in the anatomical
position x points forward, y up and z to the right, on both sides of the body. The long axis y of a
limb runs through its joint centres, from the distal to the proximal one; x is what is forward at
rest, made perpendicular to it. Pelvis, thorax, head and feet have the axes of the body at rest, and
so they must stand there: upright, looking along an axis of the world, feet flat. Arms may be at any
height, thumbs forward.

Which bone a segment is, names tell, in the spellings of `BONE_NAMES`. The pelvis is what carries
both thighs, and the thorax what carries both arms.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from exactik._text import join_names
from exactik.errors import UnknownNameError, UsageError
from exactik.model import Skeleton
from exactik.typing import Array

__all__ = ["SEGMENTS", "BodySegments", "find_body_segments", "is_body"]

SIDES = ("r", "l")

# Names of bones without side, blanks and signs, in the order in which they are looked for: where
# two occur on one skeleton, the first is meant ("Arm" before "Shoulder", which is then a clavicle).
_BONE_NAMES = {
    "thigh": "thigh femur upleg upperleg upperleg01 hip hipjoint",
    "shank": "shin tibia shank calf lowerleg lowerleg01 loleg lowleg leg knee kneejoint",
    "foot": "foot calcn ankle anklejoint",
    "toes": "toes toebase toe toesjoint ball",
    "upper_arm": "upperarm upperarm01 humerus uparm arm shldr shoulder shoulderjoint",
    "forearm": "forearm ulna radius lowerarm lowerarm01 loarm lowarm elbow elbowjoint",
    "hand": "hand wrist wristjoint",
    "head": "head upperneckjoint",
}
BONE_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {segment: tuple(names.split()) for segment, names in _BONE_NAMES.items()}
)
# Bones between elbow and hand that turn about the forearm's long axis.
TWIST_NAMES = ("wrist", "forearmtwistjoint", "lowerarm02", "foretwist", "forearmroll")

_MIDDLE = ("pelvis", "thorax", "head")
_LIMBS = ("thigh", "shank", "foot", "toes", "upper_arm", "forearm", "radius", "hand")
SEGMENTS = _MIDDLE + tuple(f"{limb}_{side}" for side in SIDES for limb in _LIMBS)
"""Names of the segments; "radius" is the far end of the forearm, which turns with the hand."""

# Segments with a long axis: joint centres at its near and far end. A hand goes on as the forearm.
LONG_AXES = {
    "thigh": ("thigh", "shank"),
    "shank": ("shank", "foot"),
    "upper_arm": ("upper_arm", "forearm"),
    "forearm": ("forearm", "hand"),
    "radius": ("forearm", "hand"),
    "hand": ("forearm", "hand"),
}
# Of what is known of a figure at rest, the first is above the last.
FROM_TOP_TO_BOTTOM = ("head", "upper_arm", "thorax", "pelvis", "thigh", "shank", "foot")
MAX_LISTED_BONES = 6  # in a message
MIN_FORWARD = 0.1  # share of "forward" across a limb, below which the limb itself points forward
MIN_AXIS_COSINE = 0.8  # between what is right or up at rest and the nearest axis of the world


@dataclass(frozen=True, eq=False)
class BodySegments:
    """What the bones of a skeleton are in anatomy.

    Attributes:
        skeleton: whose bones they are.
        bones: segment → name of the bone; only those that the skeleton has.
        R_bone_segment: segment → its axes (forward, up, right) in the bone's frame, (3, 3).
        R_world_lab: axes of the laboratory (forward, up, right) in the world, (3, 3): those of the
            figure at rest.
    """

    skeleton: Skeleton
    bones: Mapping[str, str]
    R_bone_segment: Mapping[str, Array]
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
    found = _find_bones(skeleton)
    for segment, bone in (bones or {}).items():
        if segment not in SEGMENTS:
            raise UnknownNameError("segment", segment, SEGMENTS)
        skeleton.bone_index(bone)
        found[segment] = bone
    origins, rotations = _compute_rest_pose(skeleton)
    centres = {name: origins[skeleton.bone_index(bone)] for name, bone in found.items()}
    R_world_body = _find_body_axes(skeleton, centres)
    frames = {}
    for segment, bone in found.items():
        R_world_bone = rotations[skeleton.bone_index(bone)]
        frames[segment] = R_world_bone.T @ _make_rest_frame(segment, centres, R_world_body)
    return BodySegments(
        skeleton=skeleton,
        bones=MappingProxyType({name: found[name] for name in SEGMENTS if name in found}),
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


def _find_bones(skeleton: Skeleton) -> dict[str, str]:
    by_name: dict[tuple[str, str], str] = {}
    for bone in skeleton.bone_names:
        by_name.setdefault(_split_side(bone), bone)
    found: dict[str, str] = {}
    for segment, names in BONE_NAMES.items():
        for side in ("",) if segment == "head" else SIDES:
            bone = next((by_name[side, name] for name in names if (side, name) in by_name), None)
            if bone is not None:
                found[f"{segment}_{side}" if side else segment] = bone
    for side in SIDES:
        twist = next((by_name[side, n] for n in TWIST_NAMES if (side, n) in by_name), None)
        if f"forearm_{side}" in found:
            is_hand = twist == found.get(f"hand_{side}")
            forearm = found[f"forearm_{side}"]
            found[f"radius_{side}"] = forearm if twist is None or is_hand else twist
    for segment, carried in (("pelvis", "thigh"), ("thorax", "upper_arm")):
        if f"{carried}_r" in found and f"{carried}_l" in found:
            bone = _find_common_ancestor(skeleton, found[f"{carried}_r"], found[f"{carried}_l"])
            if bone is not None:
                found[segment] = bone
    if found.get("thorax") == found.get("pelvis"):
        found.pop("thorax", None)
    return found


def _split_side(name: str) -> tuple[str, str]:
    """Return the side ("r", "l" or "") of a bone, and the rest of its name in lower case."""
    bare = name.rpartition(":")[2]
    if bare.lower().startswith("bip01"):
        bare = bare[5:]
    words = [w.lower() for w in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", bare)]
    for place in (0, -1):
        side = {"left": "l", "right": "r", "l": "l", "r": "r"}.get(words[place] if words else "")
        if side is not None and len(words) > 1:
            del words[place]
            return side, _join_words(words)
    plain = _join_words(words)
    stems = {name for names in (*BONE_NAMES.values(), TWIST_NAMES) for name in names}
    if plain[:1] in SIDES and plain[1:] in stems:  # Acclaim: lfemur, rhumerus
        return plain[0], plain[1:]
    return "", plain


def _join_words(words: list[str]) -> str:
    return "".join(word for word in words if word not in ("jnt", "b", "fk"))


def _find_common_ancestor(skeleton: Skeleton, a: str, b: str) -> str | None:
    """Return the nearest bone above two bones; None if there is none."""
    parents = skeleton.parents
    above_a, k = set(), int(parents[skeleton.bone_index(a)])
    while k >= 0:
        above_a.add(k)
        k = int(parents[k])
    k = int(parents[skeleton.bone_index(b)])
    while k >= 0 and k not in above_a:
        k = int(parents[k])
    return skeleton.bone_names[k] if k >= 0 else None


# --- frames at rest


def _compute_rest_pose(skeleton: Skeleton) -> tuple[Array, Array]:
    """Return origins (n_bones, 3) and R_world_bone (n_bones, 3, 3) at zero, limits ignored."""
    q = np.zeros(skeleton.nq)
    for _, first in skeleton.quaternions:
        q[first] = 1.0
    pose = skeleton.forward(q)
    return pose.positions, pose.rotations


def _find_body_axes(skeleton: Skeleton, centres: Mapping[str, Array]) -> Array:
    """Return forward, up and right of the figure at rest as columns, each along a world axis."""
    pairs = {
        part: (centres[f"{part}_r"], centres[f"{part}_l"])
        for part in ("thigh", "upper_arm", "shank", "foot")
        if f"{part}_r" in centres
        and f"{part}_l" in centres
        and np.any(centres[f"{part}_r"] != centres[f"{part}_l"])
    }
    middles = {part: 0.5 * (right + left) for part, (right, left) in pairs.items()}
    heights = [{**centres, **middles}.get(name) for name in FROM_TOP_TO_BOTTOM]
    known = [height for height in heights if height is not None]
    if len(pairs) == 0 or len(known) < 2:
        bones = join_names(skeleton.bone_names, MAX_LISTED_BONES, spare=1)
        raise UsageError(
            f"no body is known in the skeleton {skeleton.name!r}: its bones are {bones}; expected "
            "names such as 'LeftUpLeg' or 'l_thigh', or which bone is which: "
            "bones={'thigh_r': …, 'thigh_l': …, 'shank_r': …}"
        )
    right_centre, left_centre = next(iter(pairs.values()))
    right = _snap_to_axis(skeleton, right_centre - left_centre, "right")
    up = _snap_to_axis(skeleton, known[0] - known[-1], "up")
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
