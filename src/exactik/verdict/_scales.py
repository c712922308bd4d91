"""The proportions of a fitted figure against those that people have."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from exactik.model import Skeleton
from exactik.verdict._context import RecordingContext

__all__ = ["compare_scales"]

MAX_SCALE_SD = 0.1
"""Standard deviation of a bone's scale, as a share of it, up to which it is compared: what the
markers hardly tell stays where the prior has it."""


def compare_scales(
    context: RecordingContext, skeleton: Skeleton, instrumented: Collection[str]
) -> dict[str, float]:
    """Return the scale of each bone against the middle of all, of those that markers tell.

    Args:
        context: with the scales.
        skeleton: the figure.
        instrumented: bones with markers on them or beyond them.
    """
    known = {
        bone.name: context.scales[bone.name]
        for bone in skeleton.bones
        if bone.name in context.scales
        and bone.name in instrumented
        and context.scale_sds.get(bone.name, 0.0) <= MAX_SCALE_SD
    }
    if len(known) == 0:
        return {}
    middle = float(np.median(list(known.values())))
    return {name: scale / middle for name, scale in known.items()}
