"""Which bones of a figure are each other's mirror images, and where the plane between them is.

Names and the tree say most: the partner of a bone hangs on the partner of its parent. Where names
contradict the tree, as where somebody numbered the bones of the two arms in other orders, the tree
is right.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from exactik.errors import UsageError
from exactik.model import Skeleton
from exactik.player import compute_reach
from exactik.typing import Array, IntArray

__all__ = ["Symmetry", "find_moving_parts", "find_named_partner", "find_symmetry", "reflect"]

# Of the reach: bones so near to a reflected one are its partners. Files round to a hundredth of
# this, and bones are ten times as far apart: anything between will do.
SAME_PLACE_SHARE = 0.01
SIDES = (
    (r"(?i)left", {"left": "right", "Left": "Right", "LEFT": "RIGHT"}),
    (r"(?<![A-Za-z])[lL](?![a-z])", {"l": "r", "L": "R"}),  # l_hand, hand.L, LHand
    (
        r"(?<=_[fhrFHR])[lL](?![A-Za-z])|(?<=^[fhrFHR])[lL](?![A-Za-z])",
        {"l": "r", "L": "R"},
    ),  # fl_leg, RL
    (r"^[lL](?=[A-Za-z])", {"l": "r", "L": "R"}),  # lfemur, LF_FOOT
)


class Symmetry(NamedTuple):
    """The two sides of a figure.

    Attributes:
        partners: of each bone, (n_bones,); itself for bones of the middle.
        normal: of the plane between the sides in the neutral pose, world, (3,).
        middle: a point of it [m, world], (3,).
    """

    partners: IntArray
    normal: Array
    middle: Array


def find_named_partner(name: str, names: set[str]) -> str | None:
    """Return the bone of the right side that a bone of the left side is called like, if any."""
    for pattern, other in SIDES:
        for match in re.finditer(pattern, name):
            swapped = other.get(match[0], match[0])
            candidate = name[: match.start()] + swapped + name[match.end() :]
            if candidate != name and candidate in names:
                return candidate
    return None


def reflect(points: Array, normal: Array, middle: Array) -> Array:
    """Return points [m, world], (…, 3), reflected at a plane."""
    return points - 2.0 * ((points - middle) @ normal)[..., None] * normal


def find_moving_parts(skeleton: Skeleton) -> list[bool]:
    """Return of each bone whether it or a bone below it has a joint: sensors of a trunk do not."""
    moving = [bone.joint.nv > 0 for bone in skeleton.bones]
    for k in range(len(moving) - 1, 0, -1):
        if moving[k] and skeleton.parents[k] >= 0:
            moving[int(skeleton.parents[k])] = True
    return moving


def find_symmetry(skeleton: Skeleton) -> Symmetry:
    """Return the two sides of a figure.

    Raises:
        UsageError: for a figure without two sides.
    """
    places, names = skeleton.forward(skeleton.neutral()).positions, set(skeleton.bone_names)
    named = np.full(len(skeleton.bones), -1)
    for k, name in enumerate(skeleton.bone_names):
        other = find_named_partner(name, names)
        if other is not None:
            j = skeleton.bone_index(other)
            named[k], named[j] = j, k
    reach = compute_reach(skeleton)
    planes = _propose_planes(skeleton, places, named, reach)
    matched = [_match_bones(skeleton, places, named, plane, reach) for plane in planes]
    counts = [int((found >= 0).sum()) for found in matched]
    best = int(np.argmax(counts))
    itself = np.arange(len(skeleton.bones))
    partners = np.where(matched[best] >= 0, matched[best], itself)
    if (partners == itself).all():
        raise UsageError(f"{skeleton.name!r} has no bones on two sides that could be exchanged")
    normal, middle = planes[best]
    return Symmetry(partners=partners, normal=normal, middle=middle)


def _propose_planes(
    skeleton: Skeleton, places: Array, named: IntArray, reach: float
) -> list[tuple[Array, Array]]:
    """Return planes of symmetry that are worth a try: normal and point."""
    pairs = [(k, int(j)) for k, j in enumerate(named) if j > k]
    # Hips and shoulders show where the middle is, whatever the limbs do at rest and wherever
    # sensors are.
    moving, parents = find_moving_parts(skeleton), skeleton.parents
    hung_together = [(k, j) for k, j in pairs if parents[k] == parents[j] and moving[k]]
    for chosen in (hung_together, pairs):
        if len(chosen) == 0:
            continue
        left, right = (places[[pair[side] for pair in chosen]] for side in (0, 1))
        # Pairs may be listed with either side first: all lines between sides point one way.
        lines = left - right
        lines *= np.where(lines @ lines[np.argmax((lines**2).sum(axis=1))] < 0, -1, 1)[:, None]
        normal = lines.sum(axis=0)
        if np.linalg.norm(normal) > SAME_PLACE_SHARE * reach:
            normal /= np.linalg.norm(normal)
            axis = np.eye(3)[np.argmax(np.abs(normal))]
            if abs(normal @ axis) > 1.0 - 1e-6:  # files round
                normal = axis
            return [(normal, 0.5 * (left + right).mean(axis=0))]
    return [(axis, places[0]) for axis in np.eye(3)[[1, 0]]]


def _match_bones(
    skeleton: Skeleton,
    places: Array,
    named: IntArray,
    plane: tuple[Array, Array],
    reach: float,
) -> IntArray:
    """Return the partner of each bone, itself in the middle; −1 where none is found."""
    found = np.full(len(places), -1)
    reflected = reflect(places, *plane)
    parents = skeleton.parents
    for k in range(len(places)):
        if found[k] >= 0:
            continue
        above = int(parents[k])
        other_above = above if above < 0 else int(found[above])
        is_matched = above < 0 or other_above >= 0  # what it hangs on
        free = [
            j
            for j in range(len(places))
            if (found[j] < 0 or j == k)
            and (not is_matched or parents[j] == other_above)
            and skeleton.bones[j].joint.kind == skeleton.bones[k].joint.kind
        ]
        gaps = np.linalg.norm(places[free] - reflected[k], axis=1)
        near = [free[i] for i in np.argsort(gaps) if gaps[i] <= SAME_PLACE_SHARE * reach]
        only = [(parents == parent).sum() == 1 for parent in (above, other_above)]
        expected = k if named[k] < 0 else int(named[k])
        # Of two fingers of a gripper, which is turned and not mirrored, the other one is the image.
        near = [j for j in near if named[k] < 0 or j != k]
        if expected in near:
            partner = expected
        elif len(near) > 0:
            partner = near[0]
        elif named[k] in free:
            partner = int(named[k])
        elif is_matched and len(free) == 1 and all(only):
            partner = free[0]
        elif named[k] >= 0 and found[named[k]] < 0:
            partner = int(named[k])
        else:
            continue
        found[k], found[partner] = partner, k
    return found
