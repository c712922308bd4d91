"""What each value of a track is worth: measured, inferred, doubtful, open or bound."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from exactik.model import Skeleton


class Quality(IntEnum):
    """What a value of one dof in one frame is worth.

    Attributes:
        MEASURED: markers determine it, see `AssessmentOptions.measured_sd`.
        INFERRED: it follows from before and after a gap, or from the usual posture as much as from
            markers.
        DOUBTFUL: a finding concerns it.
        OPEN: nothing determines it.
        BOUND: it is a limit or a lock, no measurement.
    """

    MEASURED = 0
    INFERRED = 1
    DOUBTFUL = 2
    OPEN = 3
    BOUND = 4


GRAVITY = (Quality.MEASURED, Quality.BOUND, Quality.INFERRED, Quality.DOUBTFUL, Quality.OPEN)
"""From the least grave to the gravest: a value to which several apply has the last of them."""

QualityArray = NDArray[np.uint8]
_RANKS = np.argsort(GRAVITY).astype(np.uint8)  # of each quality


def raise_quality(quality: QualityArray, new: Quality) -> NDArray[np.bool_]:
    """Make all cells of an array of this quality where it is graver; return which it was of."""
    changed = _RANKS[quality] < _RANKS[new]
    quality[changed] = new
    return changed


def find_joint_quality(skeleton: Skeleton, quality: QualityArray) -> QualityArray:
    """Return the worst quality of each joint's dofs, (T, B) of (T, nv); MEASURED without dofs."""
    joints = np.zeros((len(quality), len(skeleton.bones)), dtype=np.uint8)
    for k, bone in enumerate(np.asarray(skeleton.dof_bones)):
        joints[:, bone] = np.maximum(joints[:, bone], _RANKS[quality[:, k]])
    return np.array(GRAVITY, dtype=np.uint8)[joints]
