"""How near every dof is to its limits, as plain numbers for whoever draws them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactik.model import Skeleton
from exactik.typing import Array

INSIDE, NEAR_LIMIT, AT_LIMIT = 0, 1, 2
"""Levels: well inside the limits; within 5 % of the range of one (amber); on one (red)."""

NEAR_SHARE, AT_SHARE = 0.05, 1e-6  # of the range
UNMOVED_SHARE = 0.01  # of the range: a dof so near to where it rests has not been moved to a limit
# A dof that rests within 5 % of a limit is near it in every pose like the neutral one, as knees are
# of somebody who stands: that is no news. Only at the limit, and moved there, is it.


class LimitState(NamedTuple):
    """Distances to the limits of one pose.

    Attributes:
        below: room to the lower limit [rad or m], (nv,); infinite where there is none.
        above: room to the upper limit, likewise.
        level: `INSIDE`, `NEAR_LIMIT` or `AT_LIMIT` of each dof, (nv,).
        bones: the highest level among each bone's dofs, to be drawn, (n_bones,); without dofs that
            rest at a limit or near it, as a straight knee does, and have hardly been moved.
    """

    below: Array
    above: Array
    level: NDArray[np.uint8]
    bones: NDArray[np.uint8]

    def named(self, skeleton: Skeleton, level: int = AT_LIMIT) -> list[str]:
        """Return the names of the dofs at a level."""
        return [skeleton.dof_names[i] for i in np.flatnonzero(self.level == level)]


def compute_limit_state(skeleton: Skeleton, q: Array, rest: Array | None = None) -> LimitState:
    """Return how near the pose q, (nq,), is to the limits.

    Args:
        rest: the pose in which limits alarm nobody, (nq,); the neutral one if None.
    """
    rest = skeleton.neutral() if rest is None else rest
    plain = skeleton.plain_q
    value = np.where(plain >= 0, q[plain], 0.0)
    below, above = value - skeleton.lower, skeleton.upper - value
    span = skeleton.upper - skeleton.lower
    width = np.where(np.isfinite(span), span, 1.0)
    room = np.minimum(below, above)
    near = np.where(room <= NEAR_SHARE * width, NEAR_LIMIT, INSIDE)
    level = np.where(room <= AT_SHARE * width, AT_LIMIT, near).astype(np.uint8)
    rest_value = np.where(plain >= 0, rest[plain], 0.0)
    unmoved = np.abs(value - rest_value) <= UNMOVED_SHARE * width
    rest_room = np.where(below < above, rest_value - skeleton.lower, skeleton.upper - rest_value)
    usual = (level == NEAR_LIMIT) & (rest_room <= NEAR_SHARE * width)
    bones = np.zeros(len(skeleton.bones), np.uint8)
    drawn = np.where(unmoved | usual, INSIDE, level).astype(np.uint8)
    np.maximum.at(bones, skeleton.dof_bones, drawn)
    return LimitState(below=below, above=above, level=level, bones=bones)
