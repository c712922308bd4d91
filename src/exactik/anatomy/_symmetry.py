"""Which bones of a figure are each other's mirror images, and where the plane between them is.

Names and the tree say most: the partner of a bone hangs on the partner of its parent. Where names
contradict the tree, as where somebody numbered the bones of the two arms in other orders, the tree
is right. A figure whose names tell no sides has them by its shape, as an octopus.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.anatomy._names import find_mirrored_name, read_bone_name
from exactik.model import Skeleton
from exactik.typing import Array, BoolArray, IntArray

# Of the reach: bones so near to a reflected one are its partners. Files round to a hundredth of
# this, and bones are ten times as far apart: anything between will do.
SAME_PLACE_SHARE = 0.01


class Symmetry(NamedTuple):
    """The two sides of a figure."""

    partners: IntArray  # of each bone, (n_bones,); itself for bones of the middle
    # Whether a bone has a partner and names tell so, (n_bones,); else the shape alone
    named: BoolArray
    # Of the plane between the sides in the neutral pose, world, (3,); from left to right where
    # names tell which is which
    normal: Array
    middle: Array  # a point of it [m, world], (3,)


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


def find_symmetry(skeleton: Skeleton) -> Symmetry | None:
    """Return the two sides of a figure; None for a figure without."""
    places = skeleton.forward(skeleton.neutral()).positions
    names, named = skeleton.bone_names, np.full(len(skeleton.bones), -1)
    sides = [read_bone_name(name).side for name in names]
    for k, name in enumerate(names):
        other = find_mirrored_name(name, names)
        if other is not None and named[k] < 0:
            j = skeleton.bone_index(other)
            named[k], named[j] = j, k
    reach = _measure_reach(skeleton)
    planes = _propose_planes(skeleton, places, named, reach)
    matched = [_match_bones(skeleton, places, named, sides, plane, reach) for plane in planes]
    counts = [int((found >= 0).sum()) for found in matched]
    best = int(np.argmax(counts))
    itself = np.arange(len(skeleton.bones))
    partners = np.where(matched[best] >= 0, matched[best], itself)
    if (partners == itself).all():
        return None
    normal, middle = planes[best]
    told = np.array([{sides[k], sides[j]} == {"left", "right"} for k, j in enumerate(partners)])
    left = np.array([side == "left" for side in sides]) & told
    if ((places[partners[left]] - places[left]) @ normal).sum() < 0.0:
        normal = -normal
    return Symmetry(partners=partners, named=told, normal=normal, middle=middle)


def find_partners(skeleton: Skeleton) -> dict[str, str]:
    """Return the partner of each bone whose side names tell: bone → bone on the other side."""
    symmetry = find_symmetry(skeleton)
    if symmetry is None:
        return {}
    names = skeleton.bone_names
    return {names[k]: names[symmetry.partners[k]] for k in np.flatnonzero(symmetry.named)}


def _measure_reach(skeleton: Skeleton) -> float:
    """Return the length of the longest chain of bones from a root [m]."""
    lengths = np.zeros(len(skeleton.bones))
    for k, parent in enumerate(skeleton.parents.tolist()):
        if parent >= 0:
            lengths[k] = lengths[parent] + np.linalg.norm(skeleton.rest_offsets[k])
    return float(lengths.max()) or 1.0


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
    sides: list[str],
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
            and (j == k or sides[j] == "" or sides[j] != sides[k])
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
