"""How much each dof of a figure counts, relative to its size: a hand is treated as a body is."""

from __future__ import annotations

import numpy as np

from exactik.model import Skeleton
from exactik.studio.player.proportions import compute_reach
from exactik.typing import Array

LEVER_SHARE = 0.2  # of the reach: an angle counts as much as what it moves at this distance
LEAF_WEIGHT, CARRIED_WEIGHT = 0.1, 3.0  # of a dof that carries nothing; added if it carries all


def compute_lever(skeleton: Skeleton) -> float:
    """Return the length [m] by which angles are compared with shifts."""
    return LEVER_SHARE * compute_reach(skeleton)


def compute_posture_weights(skeleton: Skeleton) -> Array:
    """Return how much a dof counts, (nv,) [m²/rad², or 1 for shifts].

    Angles count by the lever, and all dofs by the share of the figure that they carry: an arm
    reaches before the back bends, and the back bends before the figure walks.
    """
    lever = compute_lever(skeleton)
    carried = np.linalg.norm(skeleton.rest_offsets, axis=1)
    carried[skeleton.parents < 0] = 0.0  # a root's offset is its place, not a length
    for bone, point in skeleton.markers.values():
        k = skeleton.bone_index(bone)
        carried[k] = max(carried[k], float(np.linalg.norm(point)))
    for k in range(len(skeleton.bones) - 1, -1, -1):
        if skeleton.parents[k] >= 0:
            carried[skeleton.parents[k]] += carried[k]
    share = carried / max(float(carried.max(initial=0.0)), 1e-12)
    bone_weights = LEAF_WEIGHT + CARRIED_WEIGHT * share**2
    return bone_weights[skeleton.dof_bones] * np.where(skeleton.turns, lever**2, 1.0)
