"""The parts of a figure that can be right or wrong by themselves: trunk, neck, arms, legs."""

from __future__ import annotations

import numpy as np

from exactik.model import Skeleton
from exactik.typing import BoolArray, IntArray

__all__ = ["find_limbs"]

NEGLIGIBLE_COST = 4  # dofs below which a branch is no limb of its own, as a thumb


def find_limbs(skeleton: Skeleton, locked: BoolArray) -> list[IntArray]:
    """Return the free dofs of every limb; what moves the whole figure is in none.

    The tree is cut where it forks into branches of at least `NEGLIGIBLE_COST` dofs.
    """
    parents, first = skeleton.parents, skeleton.tree.first_v
    count = len(parents)
    own = [np.arange(int(first[k + 1]), int(first[k + 2])) for k in range(count)]
    free = np.array([int((~locked[dofs]).sum()) for dofs in own])
    below = free.copy()
    for k in range(count - 1, -1, -1):
        if parents[k] >= 0:
            below[parents[k]] += below[k]
    forks = np.zeros(count, dtype=np.int64)
    for k in range(count):
        if parents[k] >= 0 and below[k] >= NEGLIGIBLE_COST:
            forks[parents[k]] += 1
    limb, limbs = np.full(count, -1), []
    for k in range(count):
        parent = parents[k]
        if parent < 0:
            continue
        if limb[parent] < 0 or (forks[parent] > 1 and below[k] >= NEGLIGIBLE_COST):
            limb[k] = len(limbs)
            limbs.append([])
        else:
            limb[k] = limb[parent]
        limbs[limb[k]].extend(dof for dof in own[k] if not locked[dof])
    return [np.array(dofs, dtype=np.int64) for dofs in limbs if len(dofs) > 0]
