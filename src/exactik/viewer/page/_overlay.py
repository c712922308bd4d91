"""Several poses of a figure at once, see-through, each in a colour of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from exactik.model import Skeleton
from exactik.typing import Array
from exactik.viewer.page._colours import painted
from exactik.viewer.page._scene import add_batch
from exactik.viewer.page._shapes import LIMB, limbs_at, segments_of

__all__ = ["overlay"]

OPACITY = 0.4
SLIMMER = 0.7  # than the figure itself, which must remain to be seen


def overlay(
    server: Any,
    skeleton: Skeleton,
    poses: Sequence[Array],
    colours: ArrayLike,
    name: str = "/compared",
) -> Any:
    """Add poses, each (nq,), to the scene of a viser server, as one batched mesh.

    Args:
        server: viser's.
        skeleton: the figure.
        poses: any number.
        colours: one a pose at least, (n, 3) of 0 to 255.
        name: in the scene.
    """
    segments = segments_of(skeleton)
    drawn = [limbs_at(segments, skeleton.forward(q)) for q in poses]
    places = np.concatenate([place for place, _ in drawn])
    turns = np.concatenate([turn for _, turn in drawn])
    scale = np.tile(segments.scale * (SLIMMER, SLIMMER, 1.0), (len(poses), 1))
    paint = np.repeat(painted(colours)[: len(poses)], len(segments.bone), axis=0)
    look = {"batched_colors": paint, "opacity": OPACITY}
    return add_batch(server, name, LIMB, places, scale, turns, **look)
