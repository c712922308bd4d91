"""Colours and words for the error bars of joints, and for what their values are worth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exactik._text import join_names
from exactik.model import Skeleton
from exactik.recordings.tracking import GRAVITY, QualityArray
from exactik.studio.player.scene import carry_quality
from exactik.studio.plots.colours import QUALITY_COLOURS, error_colours, format_hex
from exactik.typing import Array

MIN_SD, MAX_SD = np.radians(0.3), np.radians(15.0)  # ends of the logarithmic colour scale
UNKNOWN_SD = np.radians(90.0)  # larger ones mean that nothing is known
LEGEND = "bones: dark violet ±0.3° or less, green ±2°, yellow ±15° or more"


def compute_joint_deviations(skeleton: Skeleton, sd: Array) -> Array:
    """Return the largest standard deviation of the angles of each bone's joint [rad], (n_bones,).

    Args:
        sd: of every dof [rad or m], (nv,).
    """
    deviation = np.zeros(len(skeleton.bones))
    np.maximum.at(deviation, skeleton.dof_bones, np.where(skeleton.turns, sd, 0.0))
    return deviation


def colour_uncertainty(deviation: Array) -> NDArray[np.uint8]:
    """Return colours for standard deviations [rad], (n, 3)."""
    share = np.log(np.maximum(deviation, MIN_SD) / MIN_SD) / np.log(MAX_SD / MIN_SD)
    return error_colours(share)


def describe_least_certain(names: Sequence[str], deviation: Array, count: int = 3) -> str:
    """Return the joints with the largest standard deviations in words: "head ±2.1°, …".

    Joints of which the markers tell nothing, as of fingers without any, or of the twist of balls
    that a file without limits makes of all joints, are named after those of which they do.

    Args:
        names: of the joints, in the order of the bones.
        deviation: of each [rad], (n_bones,).
    """
    order = [int(k) for k in np.argsort(-deviation, kind="stable") if deviation[k] > 0.0]
    told = [
        f"{names[k]} ±{np.degrees(deviation[k]):.1f}°" for k in order if deviation[k] <= UNKNOWN_SD
    ]
    untold = [names[k] for k in sorted(order) if deviation[k] > UNKNOWN_SD]
    words = ", ".join(told[:count])
    if len(untold) > 0:
        words += (
            f"{'; ' if words else ''}markers do not tell {join_names(untold, count, last=', ')}"
        )
    return words


def colour_quality(skeleton: Skeleton, quality: QualityArray) -> NDArray[np.uint8]:
    """Return colours for what joints are worth, (n_bones,) to (n_bones, 3).

    A bone without a joint of its own has the colour of the bone that carries it.
    """
    return np.array([QUALITY_COLOURS[level] for level in sorted(GRAVITY)], dtype=np.uint8)[
        carry_quality(skeleton, quality)
    ]


def draw_quality_legend() -> str:
    """Return what the colours of `colour_quality` mean, as HTML."""
    words = "".join(
        '<span style="display:inline-flex;align-items:center;margin-right:10px">'
        f'<svg width="12" height="12" style="margin-right:4px">'
        f'<rect width="12" height="12" rx="2" fill="{format_hex(QUALITY_COLOURS[quality])}"/></svg>'
        f"{quality.name.lower()}</span>"
        for quality in GRAVITY
    )
    return f'<div class="exactik-quality" style="margin:2px 14px;font-size:12px">{words}</div>'
