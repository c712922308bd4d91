"""Colours and words for the error bars of joints."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from exactik.model import Skeleton
from exactik.report import error_colours
from exactik.typing import Array

__all__ = ["LEGEND", "colour_uncertainty", "compute_joint_deviations", "describe_least_certain"]


MIN_SD, MAX_SD = np.radians(0.3), np.radians(15.0)  # ends of the logarithmic colour scale
UNKNOWN_SD = np.radians(90.0)  # larger ones mean that nothing is known
LEGEND = "bones: dark violet ±0.3° or less, green ±2°, yellow ±15° or more"


def compute_joint_deviations(skeleton: Skeleton, sd: Array) -> Array:
    """Return the largest standard deviation of the angles of each bone's joint [rad], (n_bones,).

    Args:
        skeleton: the figure.
        sd: of every dof [rad or m], (nv,).
    """
    deviation = np.zeros(len(skeleton.bones))
    np.maximum.at(deviation, skeleton.dof_bones, np.where(skeleton.turns, sd, 0.0))
    return deviation


def colour_uncertainty(deviation: Array) -> NDArray[np.uint8]:
    """Return colours for standard deviations [rad], (n, 3)."""
    share = np.log(np.maximum(deviation, MIN_SD) / MIN_SD) / np.log(MAX_SD / MIN_SD)
    return error_colours(share)


def describe_least_certain(skeleton: Skeleton, deviation: Array, count: int = 3) -> str:
    """Return the bones with the largest standard deviations in words: "head ±2.1°, …"."""
    order = [int(k) for k in np.argsort(-deviation, kind="stable")[:count] if deviation[k] > 0.0]

    def describe(k: int) -> str:
        if deviation[k] > UNKNOWN_SD:
            return f"{skeleton.bone_names[k]} unknown"
        return f"{skeleton.bone_names[k]} ±{np.degrees(deviation[k]):.1f}°"

    return ", ".join(map(describe, order))
