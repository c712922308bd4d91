"""Bones in the colours of their error bars, and what the colours mean in words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from exactik.model import Skeleton
from exactik.report import error_colours
from exactik.typing import Array

__all__ = ["LEGEND", "joint_deviations", "least_certain", "uncertainty_colours"]


LEAST, MOST = np.radians(0.3), np.radians(15.0)  # of the scale, which is logarithmic
UNKNOWN = np.radians(90.0)  # more is as good as nothing
LEGEND = "bones: dark violet ±0.3° or less, green ±2°, yellow ±15° or more"


def joint_deviations(skeleton: Skeleton, sd: Array) -> Array:
    """Return the largest standard deviation of the angles of each bone's joint [rad], (n_bones,).

    Args:
        skeleton: the figure.
        sd: of every dof [rad or m], (nv,).
    """
    owner = np.repeat(np.arange(len(skeleton.bones)), [b.joint.nv for b in skeleton.bones])
    out = np.zeros(len(skeleton.bones))
    np.maximum.at(out, owner, np.where(skeleton.turns, sd, 0.0))
    return out


def uncertainty_colours(deviation: Array) -> NDArray[np.uint8]:
    """Return colours for standard deviations [rad], (n, 3)."""
    share = np.log(np.maximum(deviation, LEAST) / LEAST) / np.log(MOST / LEAST)
    return error_colours(share)


def least_certain(skeleton: Skeleton, deviation: Array, count: int = 3) -> str:
    """Return the bones with the largest standard deviations in words: "head ±2.1°, …"."""
    order = [int(k) for k in np.argsort(-deviation, kind="stable")[:count] if deviation[k] > 0.0]

    def said(k: int) -> str:
        if deviation[k] > UNKNOWN:
            return f"{skeleton.bone_names[k]} unknown"
        return f"{skeleton.bone_names[k]} ±{np.degrees(deviation[k]):.1f}°"

    return ", ".join(map(said, order))
