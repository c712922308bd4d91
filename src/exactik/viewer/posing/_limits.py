"""How near every dof is to its limits, as plain numbers for whoever draws them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactik.model import Skeleton
from exactik.typing import Array

__all__ = ["AT", "FINE", "NEAR", "LimitState", "limit_state"]


FINE, NEAR, AT = 0, 1, 2
"""Levels: nothing to say; within 5 % of the range of a limit (amber); on it (red)."""

SHARE, TOUCH = 0.05, 1e-6  # of the range


class LimitState(NamedTuple):
    """Distances to the limits of one pose.

    Attributes:
        below: room to the lower limit [rad or m], (nv,); infinite where there is none.
        above: room to the upper limit, likewise.
        level: `FINE`, `NEAR` or `AT` of each dof, (nv,).
        bones: the highest level among each bone's dofs, (n_bones,).
    """

    below: Array
    above: Array
    level: NDArray[np.uint8]
    bones: NDArray[np.uint8]

    def named(self, skeleton: Skeleton, level: int = AT) -> list[str]:
        """Return the names of the dofs at a level."""
        return [skeleton.dof_names[i] for i in np.flatnonzero(self.level == level)]


def limit_state(skeleton: Skeleton, q: Array) -> LimitState:
    """Return how near the pose q, (nq,), is to the limits."""
    plain = skeleton.plain_q
    value = np.where(plain >= 0, q[plain], 0.0)
    below, above = value - skeleton.lower, skeleton.upper - value
    span = skeleton.upper - skeleton.lower
    width = np.where(np.isfinite(span), span, 1.0)
    room = np.minimum(below, above)
    level = np.where(room <= TOUCH * width, AT, np.where(room <= SHARE * width, NEAR, FINE))
    level = level.astype(np.uint8)
    bones = np.zeros(len(skeleton.bones), np.uint8)
    owner = np.repeat(np.arange(len(skeleton.bones)), [b.joint.nv for b in skeleton.bones])
    np.maximum.at(bones, owner, level)
    return LimitState(below, above, level, bones)
